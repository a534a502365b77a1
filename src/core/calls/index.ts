// Exports of core/calls for other folders.

export {
  answerSearch,
  type SearchOptions,
  type SearchOutcome,
  searchTools,
  type UnsearchedServer,
} from './answer.ts'
export {
  BATCH_TOOL,
  type BatchCall,
  type BatchResult,
  type BatchSteps,
  batchContent,
  callToolsTool,
  createQueue,
  readBatch,
  runBatch,
} from './batch.ts'
export { type CallOutcome, type CallSubject, resultEvent } from './call-events.ts'
export { checkCall, type ResolvedCall, resolveCall } from './check.ts'
export { classicRank } from './classic.ts'
export { cleanQuery, find } from './query.ts'
export type { Hit, Rank, Ranking } from './rank.ts'
export type { FindRelated, RelatedItem } from './related.ts'
export { type Content, toolResult } from './result.ts'
export { type Execute, type RunOptions, runCall } from './run.ts'
export { searchText } from './search-text.ts'
export { answerRead, shelveResult } from './shelve-result.ts'
export type { LiveHost } from './wait.ts'
