// `toolshelf/oracle`: a pure model of the API's behaviour, to test requests against.

export { extendsPrefix } from './oracle/prefix.ts'
export { countTokens, renderRequest, visibleTools } from './oracle/render.ts'
export { signThinking } from './oracle/thinking.ts'
export { type ValidateOptions, validateRequest } from './oracle/validate.ts'
