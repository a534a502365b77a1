// The door of mcp/redact: what other folders use of it.

export { redactEntries, redactLists } from './definitions.ts'
export { createRedactor, watchTokens } from './redactor.ts'
export { isHarmless, isKeyLike, isSecretName } from './shapes.ts'
