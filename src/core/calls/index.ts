// Exports of core/calls for other folders.

export {
  answerSearch,
  type FindRelated,
  type LiveHost,
  type RelatedItem,
  type SearchOptions,
  type SearchOutcome,
  searchTools,
  type UnsearchedServer,
} from './answer.ts'
export {
  answerRead,
  BATCH_TOOL,
  type BatchCall,
  batchContent,
  type CallOutcome,
  type CallSubject,
  type Content,
  callToolsTool,
  checkCall,
  createQueue,
  type Execute,
  type ResolvedCall,
  type RunOptions,
  readBatch,
  resolveCall,
  resultEvent,
  runBatch,
  runCall,
  shelveResult,
  toolResult,
} from './calls.ts'
export { classicRank, cleanQuery, find, type Hit, type Rank, type Ranking, searchText } from './query.ts'
