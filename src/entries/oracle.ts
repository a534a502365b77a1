// `toolshelf/oracle`: a pure model of the API's behaviour, to test requests against.
export {
  countTokens,
  extendsPrefix,
  renderRequest,
  signThinking,
  type ValidateOptions,
  validateRequest,
  visibleTools,
} from '../core/oracle/index.ts'
