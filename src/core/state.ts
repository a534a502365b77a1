// What stands behind a request: the host, the conversation, and both as one request sees them.
// Implements L5, U1.
import type { Capability, Counts, ModeReading } from './gate/index.ts'
import type { Anchors, FoldedHistory } from './history/index.ts'
import type { Settings } from './options.ts'
import type { NormalizedHistory } from './request/index.ts'
import type { AnnouncementStep, Definition, Pool, Servers, ToolPartition, WireName } from './types.ts'

/** What all conversations of a host share: settings, tools and servers. `createHost` makes one. */
export type Host = {
  readonly settings: Settings
  readonly pool: Pool
  readonly servers: Servers
  /** Back-ends that refused references at run time, by `backEndKey` (G6). */
  readonly rejected: ReadonlySet<string>
  readonly counts: Counts
}

/** One conversation, the main thread or a sub-agent. Each request leaves its new state here. */
export type Conversation = { state: State; readonly memory: Memory; readonly isSubAgent: boolean }

/** What a conversation must remember beside its messages. Plain JSON: save it with them. */
export type State = {
  /** Auto has opened: it stays open (T6). */
  readonly opened: boolean
  /** Beta headers once sent (Q4). */
  readonly betas: readonly string[]
  /** How much of each tool the announcements print (A7). */
  readonly step?: AnnouncementStep | undefined
  /** Something was announced: a later "nothing before" is a fault (A4). */
  readonly announced: boolean
  /** How the last request let the model search. */
  readonly search?: WireName | 'off'
  /** The last request's model binds thinking to the prefix, or an earlier one did (N5). */
  readonly bound?: boolean | 'earlier'
  /** Definitions of loaded tools, vanished ones too, and of all that must not change any more (N5). */
  readonly kept: readonly Kept[]
}

/** `isFixed` once it was sent where nothing sent may change. */
export type Kept = {
  readonly definition: Definition
  readonly place: ToolSection
  readonly isFixed?: boolean
}
export type ToolSection = 'built-in' | 'mcp' | 'deferred'

export const emptyState: State = { opened: false, betas: [], announced: false, kept: [] }

/** What makes the next request cheap; losing it costs time only, except for notes that the host does not carry. */
export type Memory = {
  history: FoldedHistory | undefined
  sheet: NormalizedHistory | undefined
  /** The history, pool and number of deltas for which there was nothing more to announce. */
  announcedFor:
    | { readonly history: FoldedHistory; readonly partition: ToolPartition; readonly deltas: number }
    | undefined
  readonly anchors: Anchors
  requests: number
  /** Servers that were still connecting at the last search (S8). */
  missed: readonly string[]
  /** The latest searches, to learn from the calls that follow. */
  searches: readonly RecentSearch[]
}

/** A search of a conversation, and which of the tools it found were called. */
export type RecentSearch = {
  readonly query: string
  readonly found: ReadonlySet<string>
  readonly called: Set<string>
  /** Its query was counted for a tool of the next search. */
  isCounted: boolean
}

/** Starts a conversation of the function form, or continues one from its saved state. */
export function newConversation(
  options: { state?: State | undefined; isSubAgent?: boolean } = {},
): Conversation {
  const memory = {
    history: undefined,
    sheet: undefined,
    announcedFor: undefined,
    anchors: new WeakMap(),
    requests: 0,
    missed: [],
    searches: [],
  }
  return { state: options.state ?? emptyState, memory, isSubAgent: options.isSubAgent ?? false }
}

/** One request's view of all that. */
export type Context = Host &
  Readonly<Conversation> & {
    readonly model: string
    readonly capability: Capability
    /** In tokens: the host's word, or the capability table's. */
    readonly contextWindow: number
    readonly mode: ModeReading
    readonly partition: ToolPartition
  }
