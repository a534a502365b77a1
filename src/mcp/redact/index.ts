// Exports of mcp/redact for other folders.

export { redactEntries, redactLists } from './definitions.ts'
export { createRedactor, createTextRedactor, type Redactor, watchTokens } from './redactor.ts'
export { isHarmless, isKeyLike, isSecretName } from './shapes.ts'
