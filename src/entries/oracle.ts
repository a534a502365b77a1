// `toolshelf/oracle`: a pure model of the API's behaviour, to test requests against.

export { extendsPrefix } from '../core/oracle/prefix.ts'
export { countTokens, renderRequest, visibleTools } from '../core/oracle/render.ts'
export { signThinking } from '../core/oracle/thinking.ts'
export { type ValidateOptions, validateRequest } from '../core/oracle/validate.ts'
