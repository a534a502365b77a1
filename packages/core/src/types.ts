// The types that all of core uses: messages, tools, decisions; the host, a conversation and the context in which one request is
// prepared; the error for invalid configuration.
//
// Messages have the shapes of Anthropic's API. Only the fields that core reads are named; all others pass through unchanged.
// Implements G5, L5, U1.

import type { Capability } from './capabilities.ts'
import type { TraceListener } from './events.ts'
import type { Counts, ModeReading } from './gate.ts'
import type { Anchors, FoldedHistory } from './history.ts'
import { swallowErrors } from './lib/objects.ts'
import type { BoundRequest, NormalizedHistory } from './normalize.ts'
import type { Settings } from './options.ts'
import type { PrefixInput } from './prefix.ts'
import type { ResultRecord } from './results.ts'
import type { OwnRequest } from './working.ts'

/** A content block. */
export type Block = { readonly type?: unknown; readonly [field: string]: unknown }

/** An entry of a history: an API message, or one that carries a note of the shelf (notes.ts). */
export type Message = {
  /** `user`, `assistant` or `system`; other roles pass through. */
  readonly role?: unknown
  /** A text, or a list of blocks. */
  readonly content?: unknown
  readonly [field: string]: unknown
}

/** A message that a host may pass in; the message types of SDKs are assignable to it. */
export type MessageLike = { readonly role?: Role; readonly content?: unknown }

/**
 * A note that the shelf adds to a history: which names it announced, or what was loaded before a compaction. The API
 * refuses its fields; `content` is `unknown` so that TypeScript refuses it too.
 */
export type HistoryNote = {
  /** Which of the shelf's notes it is. */
  readonly type: 'deferred_tools_delta' | 'system'
  /** Notes are sent as user messages. */
  readonly role: 'user'
  /** The text that the model reads. */
  readonly content: unknown
}

/**
 * A conversation as the shelf keeps it: your messages and its notes. Append messages, save it as JSON, and pass it to
 * `prepare`, `run`, `check`, `compact` and `snip`. It does not fit where an SDK expects messages to send: those are
 * `prepared.request.messages`, or `shelf.sendable(history)`.
 *
 * @example
 * let history: History<Anthropic.MessageParam> = [{ role: 'user', content: 'hello' }]
 */
export type History<Item = MessageLike> = (Item | HistoryNote)[]

/** The items of a history that are messages of an SDK. */
export type SendableItem<Item> = Exclude<Item, HistoryNote>

/** Any role is accepted; naming the usual ones lets TypeScript keep the literal type of `role: 'user'`. */
export type Role = 'user' | 'assistant' | 'system' | (string & {})

/** A request that a host may pass in. Its own `tools` are sent unchanged, in front of the shelf's. */
export type RequestLike = { readonly model: string; readonly messages: readonly MessageLike[] }

/** A tool as the host or an MCP server describes it. */
export type Tool = {
  /** The tool's own name; the shelf adds the prefix of its server. */
  readonly name: string
  /** What it does; read by the model and by searches. */
  readonly description?: string
  /** The JSON schema of its input, draft-07 or 2020-12. Default: any object. */
  readonly input_schema?: unknown
  /** MCP's name for `input_schema`; used if that is missing. */
  readonly inputSchema?: unknown
  /** The MCP server of the tool. A tool with a server is an MCP tool; one without is a built-in. */
  readonly server?: string
  /** A curated phrase that search weighs above the description. */
  readonly searchHint?: string
  /** Never deferred (D1). On an MCP tool, `false` defers it even on an always-loaded server. */
  readonly alwaysLoad?: boolean
  /** A built-in that may be deferred (D7). */
  readonly shouldDefer?: boolean
  /** A built-in that the model must see in the first turn (D5); a function is called at each request. */
  readonly critical?: boolean | (() => boolean)
  /** A built-in that is still starting is deferred until it is ready (D6). */
  readonly initializing?: boolean | (() => boolean)
  /** Longest result of this tool, in characters, that is sent whole, in place of the general budget; 0 sends all whole. */
  readonly resultBudget?: number
  /** MCP's hints about the tool. With `deprecated`, here or in `_meta`, it ranks behind its successors. */
  readonly annotations?: { readonly [hint: string]: unknown }
  /** MCP's metadata: `anthropic/alwaysLoad` counts as `alwaysLoad`. */
  readonly _meta?: { readonly [key: string]: unknown }
}

/** A tool definition as it is sent, without the fields that only one request adds (Q9). */
export type Definition = { readonly name: string; readonly [field: string]: unknown }

/** An entry of a request's `tools`, assignable to the SDK's type. */
export type RequestTool = {
  /** The name by which the model calls it. */
  name: string
  /** What it does, for the model. */
  description?: string
  /** The JSON schema of its input. */
  input_schema: { type: 'object'; [field: string]: unknown }
  /** Hides the definition from the model until a reference loads it. */
  defer_loading?: boolean
}

/** A tool in the pool, with the name by which the model calls it and its definition. */
export type PoolTool = {
  /** The name by which the model calls it. */
  readonly name: string
  /** The tool as the host registered it. */
  readonly tool: Tool
  /** The MCP server; with `original`, the tool's own name there, it identifies the tool behind `name` (H3). */
  readonly server: string | undefined
  /** The tool's own name at its server. */
  readonly original: string
  /** The curated phrase that search weighs above the description. */
  readonly hint: string
  /** What is sent: cleaned, cut to its limits, with names that the API accepts. */
  readonly definition: Definition
  /** The definition as JSON, for counting and for detecting changes. */
  readonly json: string
  /** Maps argument names as sent to the server's own names, for arguments whose names the API does not accept. */
  readonly names?: ReadonlyMap<string, string>
}

/** All current tools of the host. Immutable: a change creates a new pool. */
export type Pool = {
  /** In the order in which the host and its servers list them. */
  readonly tools: readonly PoolTool[]
  /** The same tools by the names by which the model calls them. */
  readonly byName: ReadonlyMap<string, PoolTool>
}

/** A pool split for one request; an unchanged split returns the same object. */
export type ToolPartition = {
  /** The pool that was split. */
  readonly pool: Pool
  /** Tools that every request contains, in the order in which they are sent. */
  readonly immediate: readonly PoolTool[]
  /** Tools that are hidden until a search loads them. */
  readonly deferred: readonly PoolTool[]
  /** The names of the deferred tools. */
  readonly deferredNames: ReadonlySet<string>
}

/** Details of an MCP server. */
export type ServerDetails = {
  /** Whether its tools can be searched; searches wait for a pending server. */
  readonly state: 'pending' | 'connected' | 'failed' | 'disabled'
  /** Why it failed. */
  readonly error?: string | undefined
  /** True: its tools are not deferred, unless a tool says otherwise (D2). */
  readonly alwaysLoad?: boolean | undefined
  /** How many of its definitions changed since the user accepted them, and whether they are held back until then. */
  readonly changes?: { readonly count: number; readonly isHeld: boolean } | undefined
  /** Announced with the server's tools (A6). */
  readonly instructions?: string | undefined
  /** Longest result of its tools, in characters, that is sent whole, in place of the general budget. */
  readonly resultBudget?: number | undefined
  /** One line, for announcements that have room only for servers, not for tools (A7). */
  readonly description?: string | undefined
}

/** MCP servers by name. */
export type Servers = ReadonlyMap<string, ServerDetails>

/** Every wire (Q5). */
export const wireNames = ['reference', 'addition', 'append', 'bridge', 'hosted'] as const
/** The name of a wire: the way in which loaded tools reach the model. */
export type WireName = (typeof wireNames)[number]

/** The mode that the option `toolSearch` asks for: always on, on above a threshold, or off. */
export type ToolSearchMode = 'tst' | 'tst-auto' | 'standard'

/** Why tool search is on or off for a request (G5). */
export type DecisionReason =
  | 'open'
  | 'kill-switch'
  | 'mode'
  | 'proxy'
  | 'model'
  | 'provider'
  | 'rejected'
  | 'no-search-tool'
  | 'nothing-to-search'
  | 'below-threshold'

/** Whether tool search is on for a request, and why. */
export type Decision = {
  /** True when tools are deferred. */
  readonly open: boolean
  /** Why it is on or off. */
  readonly reason: DecisionReason
  /** What the user asked for: always, above a threshold, or never. */
  readonly mode: ToolSearchMode
  /** How loaded tools reach the model when tool search is on; undefined for an unknown back-end. */
  readonly wire: WireName | undefined
  /** How many tools could be deferred. */
  readonly deferrable: number
  /** What the threshold of `auto` was compared with. */
  readonly thresholdCheck?: ThresholdCheck
  /** Why a check could not be made. */
  readonly error?: string
  /** What searches do without, such as the table of meanings where there is none, and what follows from that. */
  readonly lacks?: string
}

/** The result of the automatic threshold (T). */
export type ThresholdCheck = {
  /** What all deferrable definitions take together. */
  readonly count: number
  /** Tokens by the option `countTokens`, or characters if that failed or is missing. */
  readonly method: 'counter' | 'estimate'
  /** In the unit of the count: tokens for a counter, characters for the estimate. */
  readonly threshold: number
  /** Whether the count is at or above the threshold, so that tools are deferred. */
  readonly reached: boolean
}

/** How much of each tool an announcement prints. A conversation moves down these steps, never up (A7). */
export type AnnouncementStep = 'described' | 'names' | 'grouped' | 'servers'

/** The kind of conversation in which an announcement was made (A4). */
export type Origin = 'main' | 'sub-agent' | 'resumed' | 'compacted'

/** The model's call of a tool. */
export type ToolUse = { readonly id: string; readonly name: string; readonly input?: unknown }

/** A block that answers a call, assignable to the SDK's type. */
export type ToolResult = {
  /** The API's type of the block. */
  type: 'tool_result'
  /** The id of the call that it answers. */
  tool_use_id: string
  /** Content blocks; a reference among them loads its tool. */
  content: (TextBlock | ReferenceBlock)[]
  /** True if the call failed or was not run. */
  is_error?: boolean
}

/** A text block. */
export type TextBlock = { type: 'text'; text: string }
/** A block that loads a tool. */
export type ReferenceBlock = { type: 'tool_reference'; tool_name: string }

/** What is wrong with a call's input: where, and what was expected there. */
export type InputProblem = {
  /** Property names and array indices from the root, joined by dots; empty for the input itself. */
  readonly path: string
  /** What is wrong, such as `must be a number`. */
  readonly message: string
  /** The accepted JSON types, if the type is wrong. */
  readonly expected?: readonly string[]
}

/** Validates an input against a JSON schema; an empty list means valid. Must not throw for invalid schemas. */
export type Validate = (schema: unknown, input: unknown) => readonly InputProblem[]

/** What all conversations of a host share: settings, tools and servers. */
export type Host = {
  /** Every option with its value. */
  readonly settings: Settings
  /** All current tools. */
  readonly pool: Pool
  /** Details of the MCP servers, by name. */
  readonly servers: Servers
  /** Back-ends that refused references at run time, by `backEndKey` (G6). */
  readonly rejected: Set<string>
  /** Token counts of pools, shared by all conversations (T5). */
  readonly counts: Counts
}

/** A host whose tools, servers and settings change: each step takes `host` once. */
export type LiveHost = {
  readonly host: Host
  /** Resolves at the next change of tools or servers. */
  changed(): Promise<void>
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
  history?: FoldedHistory
  normalized?: NormalizedHistory
  bound?: BoundRequest
  /** The history, pool and number of deltas for which there was nothing more to announce. */
  announcedFor?: {
    readonly history: FoldedHistory
    readonly partition: ToolPartition
    readonly deltas: number
  }
  readonly anchors: Anchors
  requests: number
  /** The last request, if someone listens to events: the next one is compared with it (K2). */
  sent?: PrefixInput
  /** The id of the pool that was last reported. */
  pool?: string
  /** Servers that were still connecting at the last search (S8). */
  missed: readonly string[]
}

/** Starts a conversation, or continues one from its saved state. */
export function newConversation(
  options: { state?: State | undefined; isSubAgent?: boolean; trace?: TraceListener | undefined } = {},
): Conversation {
  const { state = emptyState, isSubAgent = false, trace } = options
  const memory = { anchors: new WeakMap(), requests: 0, missed: [] }
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
    readonly own: OwnRequest
    /** Nothing that was sent may change (N5). */
    readonly keepsSent: boolean
    readonly partition: ToolPartition
  }

/** What is wrong, as `error.code`. */
type ErrorCode =
  | 'DUPLICATE_TOOL'
  | 'BAD_TOOL'
  | 'BAD_TOOL_NAME'
  | 'BAD_OPTION'
  | 'BAD_CAPABILITIES'
  | 'BAD_REQUEST'

/** Thrown for an invalid option, tool or request; never for what a model or server sends. */
export class ShelfError extends Error {
  readonly code: ErrorCode
  /** The offending value. */
  readonly value: unknown

  constructor(code: ErrorCode, message: string, value?: unknown) {
    super(`toolshelf: ${message} [${code}]`)
    this.name = 'ShelfError'
    this.code = code
    this.value = value
  }
}
