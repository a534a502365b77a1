// `@toolshelf/messages/oracle`: a pure model of the API's behaviour, to test requests against.

export { countTokens, extendsPrefix, renderRequest, visibleTools } from '@toolshelf/core/internal'
export { signThinking } from './oracle/thinking.ts'
export { type ValidateOptions, validateRequest } from './oracle/validate.ts'
