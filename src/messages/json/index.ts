// Exports of messages/json for other folders.

export { exactJson, isDeepJson, parseExact, stringifyExact } from './exact.ts'
export { createListCache, type ListCache, type ListItem } from './lists.ts'
export { readValue } from './read.ts'
export {
  endOfValue,
  isListAt,
  isObjectAt,
  memberAt,
  nextItem,
  ScanError,
  skipSpace,
} from './scan.ts'
export { jsonBytes } from './text.ts'
