// Exports of lib for other folders.

export { parseBetas } from './betas.ts'
export { bindMethods } from './bind-methods.ts'
export { cleanText, cleanValue, unsafeKinds } from './clean-text.ts'
export { type DiffLine, type FileChange, fileChange } from './diff.ts'
export { dropOldest } from './drop-oldest.ts'
export type { Environment } from './environment.ts'
export { hash } from './hash.ts'
export { readableText } from './html.ts'
export {
  type Fields,
  fieldsOf,
  isFields,
  isShallow,
  jsonLength,
  listOf,
  omitFields,
  textOf,
  toJson,
  wellFormed,
  wellFormedJson,
  withoutCacheControl,
} from './json.ts'
export { literalRanges, replaceLiterals } from './literals.ts'
export {
  byName,
  closestNames,
  editDistance,
  fullName,
  MAX_SLUG_LENGTH,
  MCP_PREFIX,
  slugOf,
  splitName,
  splitToolName,
} from './names.ts'
export { oncePerFrozen } from './once-per-frozen.ts'
export { CALL_THESE, CALL_TOOL, callToolInput, misnamesArguments, SEARCH_TOOL } from './own-tools.ts'
export { aboutChanges, cut, errorMessage, oneLine, quote, spellOutInvisible } from './text.ts'
export {
  matchesServer,
  matchesTool,
  readServerPattern,
  readToolPattern,
  type ToolPattern,
} from './tool-pattern.ts'
export { isContainer, walkJson } from './walk-json.ts'
export { matchesAny } from './wildcard.ts'
