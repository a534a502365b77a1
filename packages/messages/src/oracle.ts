// `@toolshelf/messages/oracle`: a pure model of the API's behaviour, to test requests against.

export { countTokens, renderRequest, visibleTools } from '@toolshelf/core/internal'
export { extendsPrefix } from './oracle/prefix.ts'
export { signThinking } from './oracle/thinking.ts'
export { type ValidateOptions, validateRequest } from './oracle/validate.ts'
