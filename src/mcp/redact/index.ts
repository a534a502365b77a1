// The door of mcp/redact: what other folders use of it.

export { redactEntries, redactLists } from './definitions.ts'
export { createRedactor, type Redactor, watchTokens } from './redactor.ts'
export { isHarmless, isKeyLike, isSecretName } from './shapes.ts'
