// `toolshelf/oracle`: a pure model of the API's behaviour, to test requests against.
export {
  type ApiError,
  countTokens,
  extendsPrefix,
  type PrefixCheck,
  type Revealed,
  renderRequest,
  type Segment,
  signThinking,
  thinkingPrefix,
  type ValidateOptions,
  validateRequest,
  visibleTools,
  type Walk,
  type WalkStep,
  walkRequest,
} from '../core/oracle/index.ts'
