// `toolshelf/oracle`: a pure model of the API's behaviour, to test requests against.
export {
  type ApiError,
  countTokens,
  extendsPrefix,
  type PrefixCheck,
  type PromptSegment,
  type RequestWalk,
  type RevealedTool,
  renderRequest,
  signThinking,
  thinkingPrefix,
  type ValidateOptions,
  validateRequest,
  visibleTools,
  type WalkStep,
  walkRequest,
} from '../core/oracle/index.ts'
