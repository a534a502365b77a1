// The door of core/calls: what other folders use of it.

export { answer, type SearchOptions, type SearchOutcome, search, type UnsearchedServer } from './answer.ts'
export { check, type ResolvedCall, resolveCall } from './check.ts'
export { classic } from './classic.ts'
export { cleanQuery, find } from './query.ts'
export type { Hit, Rank, Ranking } from './rank.ts'
export { type Content, toolResult } from './result.ts'
export { type Execute, type RunOptions, runCall } from './run.ts'
export { searchText } from './search-text.ts'
export type { LiveHost } from './wait.ts'
