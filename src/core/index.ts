// Exports of core for other folders. src/entries/core.ts is the one for users.

export { CALL_TOOL, SEARCH_TOOL } from '../lib/index.ts'
export type { Content, Execute, Hit, LiveHost, Rank, Ranking } from './calls/index.ts'
export {
  answerSearch,
  BATCH_TOOL,
  type BatchCall,
  batchContent,
  type CallOutcome,
  type CallSubject,
  callToolsTool,
  checkCall,
  classicRank,
  createQueue,
  type FindRelated,
  type RelatedItem,
  type ResolvedCall,
  type RunOptions,
  readBatch,
  resultEvent,
  runBatch,
  type SearchOptions,
  type SearchOutcome,
  searchTools,
  type UnsearchedServer,
} from './calls/index.ts'
export { type CompactOptions, compactHistory, snipHistory } from './compact.ts'
export { type ErrorCode, ShelfError } from './errors.ts'
export {
  type Capabilities,
  type Capability,
  capabilityOf,
  defaultCapabilities,
  type ModelRow,
  mergeCapabilities,
  type ProviderRow,
} from './gate/index.ts'
export type { BoundaryNote, DeltaNote } from './history/index.ts'
export { type Facts, foldHistory } from './history/index.ts'
export { type Options, type Pause, resolveOptions, type Settings, type Timer } from './options.ts'
export { type BreakCause, explainBreak, type PrefixInput, prefixHash } from './prefix.ts'
export { type Prepared, prepareRequest } from './prepare.ts'
export {
  type CallKind,
  describeReads,
  describeSearches,
  type PresentedItem,
  type PresentOptions,
  presentMessages,
} from './present.ts'
export {
  type BlockInMaking,
  blockEvents,
  createCollector,
  eventsOf,
  finishBlock,
  grow,
  inputOf,
  type StreamEvent,
} from './reply.ts'
export { type DescribedTools, describePool, toolShare } from './report-pool.ts'
export type { HiddenParts } from './restricted-shelf.ts'
export {
  DEFAULT_BUDGET,
  idIn,
  pageSizeFor,
  previewOf,
  READ_TOOL,
  type ReadInput,
  type ResultKind,
  type ResultRecord,
  type ResultSettings,
  type ResultStore,
  readPart,
  readResultTool,
  readShelved,
  replacementFor,
  type ShelvedResult,
  shelveText,
  unknownHandle,
} from './results/index.ts'
export { createPureShelf, type ForkOptions, type PureShelfOptions, type Shelf } from './shelf.ts'
export { type Conversation, type Host, newConversation, type State } from './state.ts'
export {
  allDefinitionTokens,
  CHARACTERS_PER_TOKEN,
  definitionTokens,
  estimateTokens,
  MIN_CHARACTERS_PER_TOKEN,
  tokensFor,
} from './tokens.ts'
export { applyPolicy, codingAgentPolicy, mcpName, serverOfName, type ToolPolicy } from './tools/index.ts'
export type {
  ClientIdentity,
  ConversationKind,
  PrefixChange,
  ReportedBreakCause,
  ToolShare,
  Trace,
  TraceListener,
  TraceRecord,
} from './trace.ts'
export type { ConversationListener, ConversationStart, OpenTrace } from './trace-conversation.ts'
export type {
  AnnouncementStep,
  Block,
  Decision,
  DecisionReason,
  Definition,
  History,
  HistoryNote,
  InputProblem,
  Message,
  MessageLike,
  Origin,
  Pool,
  PoolTool,
  RequestLike,
  RequestTool,
  ServerDetails,
  Servers,
  ThresholdCheck,
  Tool,
  ToolPartition,
  ToolResult,
  ToolSearchMode,
  ToolUse,
  Validate,
  WireName,
} from './types.ts'
