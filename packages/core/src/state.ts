// Defines the host, a conversation, and the context in which one request is prepared.
// Implements L5, U1.

import { swallowErrors } from './attempt.ts'
import type { Capability } from './capabilities.ts'
import type { TraceListener } from './events.ts'
import type { Counts, ModeReading } from './gate.ts'
import type { Anchors, FoldedHistory } from './history.ts'
import type { BoundRequest, NormalizedHistory } from './normalize.ts'
import type { Settings } from './options.ts'
import type { PrefixInput } from './prefix.ts'
import type { ResultRecord } from './results.ts'
import type { AnnouncementStep, Definition, Pool, Servers, ToolPartition, WireName } from './types.ts'

/** What all conversations of a host share: settings, tools and servers. */
export type Host = {
  /** Every option with its value. */
  readonly settings: Settings
  /** All current tools. */
  readonly pool: Pool
  /** Details of the MCP servers, by name. */
  readonly servers: Servers
  /** Back-ends that refused references at run time, by `backEndKey` (G6). */
  readonly rejected: ReadonlySet<string>
  /** Token counts of pools, shared by all conversations (T5). */
  readonly counts: Counts
}

/** One conversation, the main thread or a sub-agent. Each request leaves its new state here. */
export type Conversation = {
  /** What to save beside the messages; each request replaces it. */
  state: State
  /** Caches; never saved. */
  readonly memory: Memory
  /** Whether a sub-agent has it. */
  readonly isSubAgent: boolean
  /** Receives the events of this conversation in place of the option `trace`. */
  readonly trace?: TraceListener | undefined
}

/** What a conversation must remember beside its messages. Plain JSON: save it with them. */
export type State = {
  /** `auto` has turned tool search on; it stays on (T6). */
  readonly hasOpened: boolean
  /** Beta headers sent so far (Q4). */
  readonly betas: readonly string[]
  /** How much of each tool the announcements print (A7). */
  readonly step?: AnnouncementStep | undefined
  /** Something was announced: if the history has no record of it later, that is a fault (A4). */
  readonly hasAnnounced: boolean
  /** The wire by which the model could search in the last request. */
  readonly search?: WireName | 'off'
  /**
   * The tools whose definitions the last request let the model read: the answer to what it sees. Undefined if tool
   * search was off, because then it saw all.
   */
  readonly shown?: readonly string[] | undefined
  /**
   * Hashes of thinking together with everything in front of it, and of requests that no reply has followed yet.
   * Undefined before the first request to a model that binds thinking (N5).
   */
  readonly grounds?: readonly string[] | undefined
  /** Definitions of loaded tools, removed ones included, and of all tools that must not change any more (N5). */
  readonly kept: readonly Kept[]
  /** The long results on the shelf; undefined while there is none. */
  readonly results?: ResultRecord
}

/** A definition to keep, and where it is sent; `isFixed` if it was sent where nothing may change. */
export type Kept = {
  readonly definition: Definition
  readonly place: ToolSection
  readonly isFixed?: true
}
/** The part of a request's tools that a tool belongs to. */
export type ToolSection = 'built-in' | 'mcp' | 'deferred'

/** The state of a new conversation. */
const emptyState: State = { hasOpened: false, betas: [], hasAnnounced: false, kept: [] }

/** Caches that make the next request cheap. Losing them costs only time, except for notes that the host did not keep. */
export type Memory = {
  history: FoldedHistory | undefined
  normalized: NormalizedHistory | undefined
  bound: BoundRequest | undefined
  /** The history, pool and number of deltas for which there was nothing more to announce. */
  announcedFor:
    | { readonly history: FoldedHistory; readonly partition: ToolPartition; readonly deltas: number }
    | undefined
  readonly anchors: Anchors
  requests: number
  /** The last request, if someone listens to events: the next one is compared with it (K2). */
  sent: PrefixInput | undefined
  /** The id of the pool that was last reported. */
  pool: string | undefined
  /** Servers that were still connecting at the last search (S8). */
  missed: readonly string[]
}

/** Starts a conversation of the function form, or continues one from its saved state. */
export function newConversation(
  options: { state?: State | undefined; isSubAgent?: boolean; trace?: TraceListener | undefined } = {},
): Conversation {
  const memory = {
    history: undefined,
    normalized: undefined,
    bound: undefined,
    announcedFor: undefined,
    anchors: new WeakMap(),
    requests: 0,
    sent: undefined,
    pool: undefined,
    missed: [],
  }
  const { state = emptyState, isSubAgent = false, trace } = options
  return { state, memory, isSubAgent, trace: trace && swallowErrors(trace) }
}

/** Everything that preparing one request uses. */
export type Context = Host &
  Readonly<Conversation> & {
    readonly model: string
    readonly capability: Capability
    /** In tokens: the option, or the capability table's value. */
    readonly contextWindow: number
    readonly mode: ModeReading
    /** Nothing that was sent may change (N5). */
    readonly isFixed: boolean
    readonly partition: ToolPartition
  }
