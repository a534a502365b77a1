// The door of messages/json: what other folders use of it.

export { exactJson, parseExact, stringifyExact } from './exact.ts'
export { createListCache, type ListCache, type ListItem } from './lists.ts'
export { readValue } from './read.ts'
export {
  DEEPEST,
  DepthError,
  endOfValue,
  isListAt,
  isObjectAt,
  memberAt,
  nextItem,
  ScanError,
  skipSpace,
} from './scan.ts'
export { jsonBytes } from './text.ts'
