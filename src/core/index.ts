// The public surface of core, name by name.
export {
  answer,
  type SearchOptions,
  type SearchOutcome,
  search,
  type UnsearchedServer,
} from './calls/answer.ts'
export { check, type ResolvedCall } from './calls/check.ts'
export { classic } from './calls/classic.ts'
export type { Hit, Rank, Ranking } from './calls/rank.ts'
export type { Content } from './calls/result.ts'
export type { LiveHost } from './calls/wait.ts'
export { type ErrorCode, ShelfError } from './errors.ts'
export {
  type Capabilities,
  type Capability,
  capabilities,
  capabilityOf,
  type ModelRow,
  mergeCapabilities,
  type ProviderRow,
} from './gate/capabilities.ts'
export { type CompactOptions, compactHistory, snipHistory } from './history/compact.ts'
export { type Facts, foldHistory } from './history/fold.ts'
export type { BoundaryNote, DeltaNote } from './history/notes.ts'
export { type Options, SEARCH_TOOL, type Settings, type Timer } from './options.ts'
export { type BreakCause, explainBreak, prefixHash, type Sent } from './prefix.ts'
export { type Prepared, prepare } from './prepare.ts'
export { type Kind, type PresentOptions, present, readKind, type Shown, searchKind } from './present.ts'
export { createHost, createShelf, type Shelf, type ShelfOptions } from './shelf.ts'
export { type Conversation, type Host, newConversation, type State } from './state.ts'
export { estimateTokens } from './tokens.ts'
export { mcpName } from './tools/names.ts'
export { codingHost, markByTable, type PolicyTable } from './tools/policy.ts'
export type { Trace } from './trace.ts'
export type {
  Block,
  Decision,
  Definition,
  Measure,
  Message,
  MessageLike,
  Mode,
  Origin,
  Pool,
  PoolTool,
  Problem,
  Reason,
  RequestLike,
  RequestTool,
  Server,
  Servers,
  Shelving,
  Step,
  Tool,
  ToolResult,
  ToolUse,
  Validate,
  WireName,
} from './types.ts'
