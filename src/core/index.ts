// The public surface of core, name by name.

export {
  type Capabilities,
  type Capability,
  capabilities,
  capabilityOf,
  type ModelRow,
  mergeCapabilities,
  type ProviderRow,
} from './capabilities.ts'
export type { ResolvedCall } from './check.ts'
export { classic } from './classic.ts'
export { type CompactOptions, compactHistory, snipHistory } from './compact.ts'
export { type ErrorCode, ShelfError } from './errors.ts'
export type { Decision, Reason } from './gate.ts'
export { type Facts, foldHistory } from './history.ts'
export { mcpName, nearest, splitName } from './names.ts'
export type { BoundaryNote, DeltaNote } from './notes.ts'
export type { Options, Settings } from './options.ts'
export { resolveOptions } from './options.ts'
export { codingHost, markByTable, type PolicyTable } from './policy.ts'
export { buildPool } from './pool.ts'
export { type BreakCause, explainBreak, prefixHash, type Sent } from './prefix.ts'
export { type Conversation, type Host, type Prepared, prepare } from './prepare.ts'
export { type Kind, type PresentOptions, present, readKind, type Shown, searchKind } from './present.ts'
export type { Hit, Rank, Ranking } from './rank.ts'
export { createShelf, type Shelf, type ShelfOptions } from './shelf.ts'
export { emptyState, newMemory, type State } from './state.ts'
export { estimateTokens } from './tokens.ts'
export type { Origin, Trace } from './trace.ts'
export type {
  Block,
  Definition,
  Message,
  MessageLike,
  Pool,
  PoolTool,
  Problem,
  RequestLike,
  RequestTool,
  Server,
  Servers,
  Tool,
  ToolResult,
  ToolUse,
  Validate,
  WireName,
} from './types.ts'
