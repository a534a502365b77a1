// Public API of lib for other folders.

export { parseBetas } from './betas.ts'
export { bindMethods } from './bind-methods.ts'
export { cleanText, cleanValue, SEQUENCES, UNSEEN, unsafeKinds } from './clean-text.ts'
export { type DiffLine, type FileChange, fileChange } from './diff.ts'
export type { Environment } from './environment.ts'
export { hash } from './hash.ts'
export { bare, type Fields, fieldsOf, isFields, listOf, textOf, toJson, without } from './json.ts'
export { byName, closestNames, fullName, MCP_PREFIX, splitName } from './names.ts'
export { oncePerFrozen } from './once-per-frozen.ts'
export { cut, errorMessage, oneLine, quote, spellOutInvisible } from './text.ts'
export { isContainer, walkJson } from './walk-json.ts'
export { matchesAny } from './wildcard.ts'
