// `toolshelf/oracle`: the API's side as a pure model, to test requests against.
export {
  type ApiError,
  countTokens,
  extendsPrefix,
  type PrefixCheck,
  type Revealed,
  render,
  type Segment,
  sign,
  thinkingPrefix,
  type ValidateOptions,
  validateRequest,
  visibleTools,
  type Walk,
  type WalkStep,
  walk,
} from '../core/oracle/index.ts'
