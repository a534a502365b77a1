// The events of Toolshelf, the same for the library, both gateways and the agent, and those of tools and requests. The option
// `trace` receives those of a shelf. Besides names and numbers they contain queries of the model and error messages of
// back-ends, servers and rankers. Only the fields `content` contain what a conversation says; readers drop them unless told to
// keep them.
// Implements G5, A4.

import type { BilledTokens } from './figures.ts'
import type { Facts } from './history.ts'
import { listOf } from './lib/json.ts'
import { groupBy, hash, oncePer } from './lib/objects.ts'
import { type BreakCause, explainBreak, type PrefixInput } from './prefix.ts'
import { allDefinitionTokens, definitionTokens } from './tokens.ts'
import type { Block, Context, Decision, Origin, Pool, PoolTool, RequestTool } from './types.ts'

/** One event: a decision, a search, a call, a change of a server, … The option `trace` receives those of a shelf. */
export type Trace =
  /** A conversation began. It is the first event of each. */
  | {
      readonly type: 'opened'
      /** Where it takes place. */
      readonly kind: ConversationKind
      /** The client program's own name and version. */
      readonly client?: ClientIdentity | undefined
      /** The id of the user that it acts for, if the gateway has users. */
      readonly user?: string | undefined
      /** The W3C `traceparent` that the client sent with its first request. */
      readonly traceparent?: string | undefined
    }
  /**
   * All tools that a conversation can use, as ids of `tools` events. Reported when it changes; belongs to no conversation,
   * because many share it. A process repeats it after an hour, for readers of a file that begins later.
   */
  | {
      readonly type: 'pool'
      /** Identifies the pool by its content. */
      readonly id: string
      /** Ids of the `tools` events that make it up. */
      readonly parts: readonly string[]
      /** How many tools there are. */
      readonly total: number
      /** How many of them are always loaded. */
      readonly immediate: number
      /** Tokens of all definitions, by estimate. */
      readonly tokens: number
    }
  /** Tools of one server, or built-in ones: a part of a pool. A server with very many has several parts. */
  | {
      readonly type: 'tools'
      /** Identifies the part by its content: the same tools have the same id in every process. */
      readonly id: string
      /** The MCP server; undefined for built-in tools. */
      readonly server?: string | undefined
      /** Names of the tools that are always loaded. */
      readonly immediate: readonly string[]
      /** Names of the tools that stay on the shelf until a search loads them. */
      readonly deferred: readonly string[]
      /** Tokens of each definition by estimate: first those of `immediate`, then those of `deferred`. */
      readonly tokens: readonly number[]
    }
  /** The tools on an MCP client's list, when they have changed since its last call. */
  | {
      readonly type: 'listed'
      /** `list`: found tools join the list. `bridge`: they are called through CallTool, and `loaded` events name them. */
      readonly mode: 'list' | 'bridge'
      /** The id of the pool. */
      readonly pool: string
      /** Tools that searches put on the list, in the order of loading. */
      readonly loaded: readonly string[]
      /** How much of the tools is on the list. */
      readonly tools: ToolShare
    }
  /** A request was prepared: a turn of the conversation. `decision` says whether tool search is on, and why. */
  | {
      readonly type: 'decision'
      /** The model of the request. */
      readonly model: string
      /** Whether tool search is on, and why. */
      readonly decision: Decision
      /** How much of the tools the model sees. */
      readonly tools: ToolShare
      /** The id of the pool: which tools are always loaded, and which are on the shelf unless `loaded` names them. */
      readonly pool: string
      /** Deferred tools that the model sees, in the order of loading. */
      readonly loaded: readonly string[]
      /** How many messages the request has. */
      readonly messages: number
      /** True if a sub-agent makes the request. */
      readonly isSubAgent: boolean
    }
  /** Whether the request continues the cached prefix of the one before it; not for the first of a conversation. */
  | {
      readonly type: 'prefix'
      /** True if the prompt cache holds. */
      readonly isKept: boolean
      /** What broke it; the first hundred causes. */
      readonly causes: readonly ReportedBreakCause[]
      /** How many more causes there are. */
      readonly left: number
      /** What changed, one for each of `causes`; undefined if the cache holds. Only for readers that keep content. */
      readonly content?: readonly PrefixChange[]
    }
  /** Names of deferred tools were announced to the model, or withdrawn. */
  | {
      readonly type: 'announced'
      /** How many names are new. */
      readonly added: number
      /** How many names were withdrawn. */
      readonly removed: number
      /** How many names this conversation had announced before. */
      readonly announcedBefore: number
      /** The kind of conversation. */
      readonly origin: Origin
      /** True if a main conversation lost the records of earlier announcements (A4). */
      readonly fault: boolean
    }
  /** The model searched for tools. */
  | {
      readonly type: 'searched'
      /** The query as the model wrote it. */
      readonly query: string
      /** Names of the tools that it found, without those that `allowLoad` refused. */
      readonly found: readonly string[]
      /** The scores of `found`, in the same order; null for a tool that no ranker scored. */
      readonly scores: readonly (number | null)[]
      /** How many tools matched. */
      readonly matched: number
      /** What found them: `select`, `name` or `prefix` for names, else the ranker's name; `custom` if it has none. */
      readonly ranker: string
      /** How many tools could be found. */
      readonly searchable: number
      /** How many of those found `allowLoad` refused. */
      readonly refused: number
      /** Servers that were not searched, because they are connecting, failed or disabled; the first twenty. */
      readonly unsearched: readonly string[]
    }
  /** Tools were loaded: the model sees their definitions from now on. */
  | {
      readonly type: 'loaded'
      /** Their names. */
      readonly names: readonly string[]
      /** `reload`: they were no longer visible, for example after a compaction. */
      readonly by: 'search' | 'reload'
    }
  /** The model has replied, or the request has failed. Not for requests that a gateway passes on unread. */
  | {
      readonly type: 'sampled'
      /** The model that was asked. */
      readonly model: string
      /** The API that was asked: `messages`, `chat` or `responses`. */
      readonly api: string
      /** Tokens as the API counted them; undefined if it reported none. */
      readonly usage?: BilledTokens | undefined
      /** Why the model stopped, as the API reports it. */
      readonly stopReason?: string | undefined
      /** Time from the request to the end of the reply. */
      readonly milliseconds?: number | undefined
      /** Why it failed. */
      readonly error?: string | undefined
      /** The id of the W3C span that the API got as its parent. */
      readonly spanId?: string | undefined
    }
  /** The agent has finished working on a user message. Not for sub-agents, whose work is part of a call. */
  | {
      readonly type: 'turn'
      /** How it ended: `done`, `stopped`, `failed` or `limit`. */
      readonly reason: string
      /** Time from the message to the end. */
      readonly milliseconds: number
      /** Why it failed. */
      readonly error?: string | undefined
    }
  /** A tool is about to run. */
  | {
      readonly type: 'call'
      /** Identifies the call within its conversation. */
      readonly id: string
      /** The tool's name, as the model knows it. */
      readonly name: string
      /** The tool's MCP server, if it has one. */
      readonly server?: string | undefined
      /** The W3C `traceparent` that the client sent with the call. */
      readonly traceparent?: string | undefined
      /** The id of the W3C span that the agent's MCP server got as its parent. */
      readonly spanId?: string | undefined
      /** The arguments. Only for readers that were asked to keep content. */
      readonly content: unknown
    }
  /** A call has ended; also one that was refused and did not run. */
  | {
      readonly type: 'result'
      /** The id of the call. */
      readonly id: string
      /** The tool's name. */
      readonly name: string
      /** The tool's MCP server, if it has one. */
      readonly server?: string | undefined
      /** `failed`: the tool or its server reported an error. `refused`: the call was not run. */
      readonly outcome: 'done' | 'failed' | 'refused' | 'stopped'
      /** Why it was refused, if because of the user's `rights` or a `limit`. */
      readonly reason?: 'rights' | 'limit' | undefined
      /** Characters of the result as JSON, without those that escapes add. */
      readonly size: number
      /** How long the call took; undefined without a clock. */
      readonly milliseconds?: number | undefined
      /** The result. Only for readers that were asked to keep content. */
      readonly content: unknown
    }
  /** A long result was put on the shelf: the model got a preview of it. */
  | {
      readonly type: 'shelved'
      /** The id of the call. */
      readonly id: string
      /** The tool's name. */
      readonly name: string
      /** The tool's MCP server, if it has one. */
      readonly server?: string | undefined
      /** What kind of text it is, e.g. `JSON`. */
      readonly kind: string
      /** Characters of the result. */
      readonly size: number
      /** Characters that the model got in its place. */
      readonly shown: number
    }
  /** Rules or a person decided whether a call may run. */
  | {
      readonly type: 'permission'
      /** The id of the call. */
      readonly id: string
      /** The tool's name. */
      readonly name: string
      /** The tool's MCP server, if it has one. */
      readonly server?: string | undefined
      /** Whether it may run. */
      readonly isAllowed: boolean
    }
  /** Old messages were replaced by a summary. */
  | {
      readonly type: 'compacted'
      /** What caused it, e.g. `auto`. */
      readonly trigger: string
      /** Messages before. */
      readonly before: number
      /** Messages after. */
      readonly after: number
    }
  /** The state of an MCP server changed. */
  | {
      readonly type: 'server'
      /** The server's name. */
      readonly server: string
      /** `idle`, `pending`, `connected`, `failed` or `disabled`. */
      readonly state: string
      /** Why it failed. */
      readonly reason?: string | undefined
      /** How many tools it offers. */
      readonly tools: number
      /** Time from the start of the process, or of the connection, to the first list. */
      readonly startMilliseconds?: number | undefined
    }
  /** Definitions of an MCP server differ from those first seen. */
  | {
      readonly type: 'pins'
      /** The server's name. */
      readonly server: string
      /** What changed. */
      readonly kind: 'tool' | 'prompt' | 'instructions'
      /** Names of what changed now, as the server calls them; empty once everything is as accepted again. */
      readonly names: readonly string[]
      /** Whether they cannot be used until they are accepted. */
      readonly isHeld: boolean
    }
  /** The Messages gateway has answered a request. */
  | {
      readonly type: 'answered'
      /** The HTTP status of the response. */
      readonly status: number
      /** Time from the request to the end of the response. */
      readonly milliseconds: number
      /** The model that the client named. */
      readonly model: string | undefined
      /** What was done with the request: `pass`, `emulate`, `shelve`, `off` or `refused`. */
      readonly mode: string
      /** How found tools reach the model. */
      readonly wire?: string | undefined
      /** Why this mode and this wire. */
      readonly why: string
      /** The id of the pool of tools that the client sent; undefined if they were not read. */
      readonly pool?: string | undefined
      /** How many tools the client sent. */
      readonly toolsGiven: number
      /** How many of them the model saw. */
      readonly toolsVisible: number
      /** How many searches ran. */
      readonly searches: number
      /** Names of the tools that searches of this request loaded. */
      readonly loaded: readonly string[]
      /** Samplings that the upstream accepted. */
      readonly rounds: number
      /** The API that the client speaks: `messages`, `chat` or `responses`. */
      readonly api: string
      /** Input tokens without tool search, if known. */
      readonly tokensWithout?: number | undefined
      /** Input tokens with tool search. */
      readonly tokensWith?: number | undefined
      /** List price in dollars without tool search, if the model's price is known. */
      readonly dollarsWithout?: number | undefined
      /** List price in dollars with tool search. */
      readonly dollarsWith?: number | undefined
      /** The W3C `traceparent` that the client sent. */
      readonly traceparent?: string | undefined
      /** The error message sent to the client, if the request failed. */
      readonly error?: string | undefined
    }
  /** A gateway refused a request of a user; it belongs to no conversation. */
  | {
      readonly type: 'refused'
      /** The id of the user. */
      readonly user: string
      /** `limit`: the user has reached a limit. `store`: the store that counts usage does not answer. */
      readonly reason: 'limit' | 'store'
      /** The HTTP status of the response. */
      readonly status: number
      /** The message that the client got. */
      readonly message: string
    }
  /** The back-end refused tool search; from now on every tool is loaded for this model and base URL. */
  | {
      readonly type: 'rejected'
      /** The model of the request. */
      readonly model: string
      /** The back-end's error message. */
      readonly message: string
    }
  /** Something is wrong with a setting, a tool or a server; `notify` receives the same message. Once per message. */
  | {
      readonly type: 'warning'
      /** What is wrong. */
      readonly message: string
    }

/** Receives events. */
export type TraceListener = (event: Trace) => void

/** Where a conversation takes place: a client of the MCP gateway or of `serve`, a chat, a run, or a host program. */
export type ConversationKind = 'mcp' | 'serve' | 'chat' | 'run' | 'library'

/** The name and version by which a program identifies itself. */
export type ClientIdentity = {
  /** Its name. */
  readonly name: string
  /** Its version. */
  readonly version?: string | undefined
}

/** The part of the tools that a model sees, by estimates of their definitions alone. */
export type ToolShare = {
  /** Tools whose definitions the model sees. */
  readonly visible: number
  /** Tools on the shelf. */
  readonly total: number
  /** Tokens of the visible definitions. */
  readonly tokensWith: number
  /** Tokens of all definitions, which a request without tool search contains. */
  readonly tokensWithout: number
}

/** A `BreakCause` as events report it: without what the conversation says. */
export type ReportedBreakCause = {
  /** What changed: `model`, `system`, `header`, `tool-added`, `message-edited`, … as in `explainBreak`. */
  readonly kind: string
  /** The tool's name. */
  readonly name?: string
  /** The message's position. */
  readonly index?: number
}

/** What a cause changed, such as a definition or message, before and after; undefined if there was none. */
export type PrefixChange = {
  /** As it was sent before. */
  readonly before?: unknown
  /** As it is sent now. */
  readonly after?: unknown
}

/** An event as readers receive it, and as a line of the audit file: the fields of the event and these. */
export type TraceRecord = Trace & {
  /** The version of this format, 1. New types of events and new fields do not change it. */
  readonly version: 1
  /** When it happened, in ISO 8601. */
  readonly time: string
  /** The conversation: a W3C trace id. Undefined for events of a whole process, such as the state of a server. */
  readonly conversation?: string
  /** The id of the process that recorded it: several may write to one audit file. */
  readonly processId: number
  /** Counts the records of a process from 1; a gap means that records were lost. */
  readonly sequence: number
}

/** What is known of a conversation when it begins. */
export type ConversationStart = {
  /** The client program. */
  readonly client?: ClientIdentity | undefined
  /** The id of the user that it acts for. */
  readonly user?: string | undefined
  /** The valid W3C `traceparent` of its first request, whose trace id the conversation adopts. */
  readonly traceparent?: string | undefined
}

/** Starts a conversation and returns the listener for its events. */
export type OpenTrace = (start: ConversationStart) => ConversationListener

/** Receives the events of a conversation. */
export type ConversationListener = TraceListener & {
  /** The conversation's trace id, if its calls become spans: servers get the call's span as their parent. */
  readonly traceId?: string | undefined
}

/** The events that describe a pool: its parts, then the pool itself. */
type PoolDescription = { readonly id: string; readonly events: readonly Trace[] }

/** Characters of the names in one part, so that it stays a short line. */
const MAX_PART_LENGTH = 24_000
/** Characters that a name adds besides itself: quotes, a comma and its token count. */
const AROUND_NAME = 9

/** The parts of a tool that a description needs. */
type DescribedTool = Pick<PoolTool, 'name' | 'server' | 'json'>

/** Tools, split as in a request; a `ToolPartition` is one. */
export type DescribedTools = {
  readonly immediate: readonly DescribedTool[]
  readonly deferred: readonly DescribedTool[]
}

/** Returns the events of a partition; the same object for the same partition. */
export const describePool = oncePer(({ immediate, deferred }: DescribedTools): PoolDescription => {
  const all = [...immediate, ...deferred]
  const isDeferred = new Set(deferred)
  const parts = [...groupBy(all, ({ server }) => server)].flatMap(([server, tools]) =>
    inParts(tools).map((part) => partEvent(server, part, isDeferred)),
  )
  const ids = parts.map(({ id }) => id)
  const id = hash(ids.join())
  const counts = { total: all.length, immediate: immediate.length, tokens: allDefinitionTokens(all) }
  return { id, events: [...parts, { type: 'pool', id, parts: ids, ...counts }] }
})

function inParts(tools: readonly DescribedTool[]): DescribedTool[][] {
  const parts: DescribedTool[][] = []
  let room = 0
  for (const tool of tools) {
    const needed = tool.name.length + AROUND_NAME
    const part = parts.at(-1)
    const fits = part !== undefined && needed <= room
    if (fits) part.push(tool)
    else parts.push([tool])
    room = (fits ? room : MAX_PART_LENGTH) - needed
  }
  return parts
}

/** Within a group, immediate tools come first. */
function partEvent(
  server: string | undefined,
  tools: readonly DescribedTool[],
  isDeferred: ReadonlySet<DescribedTool>,
): Extract<Trace, { type: 'tools' }> {
  const namesOf = (wantsDeferred: boolean) =>
    tools.filter((tool) => isDeferred.has(tool) === wantsDeferred).map(({ name }) => name)
  const [immediate, deferred] = [namesOf(false), namesOf(true)]
  const tokens = tools.map(definitionTokens)
  const id = hash(JSON.stringify([server, immediate, deferred, tokens]))
  return { type: 'tools', id, server, immediate, deferred, tokens }
}

/** Returns the share of a pool that a model sees with these distinct names; ignores names of other tools. */
export function toolShare(pool: Pool, names: readonly string[]): ToolShare {
  const visible = names.flatMap((name) => pool.byName.get(name) ?? [])
  const tokens = { tokensWith: allDefinitionTokens(visible), tokensWithout: tokensOfPool(pool) }
  return { visible: visible.length, total: pool.tools.length, ...tokens }
}

const tokensOfPool = oncePer(({ tools }: Pool) => allDefinitionTokens(tools))

type Assembled = PrefixInput & {
  readonly request: { readonly tools: readonly RequestTool[]; readonly messages: readonly unknown[] }
}

/** Most causes in one event. */
const MAX_CAUSES = 100

type Reported = {
  readonly decision: Decision
  readonly facts: Facts
  readonly shown: readonly string[] | undefined
}

/** Reports the events of a prepared request. */
export function reportRequest(
  { memory, model, partition, isSubAgent }: Context,
  trace: TraceListener,
  { decision, facts, shown }: Reported,
  sent: Assembled,
): void {
  const { id, events } = describePool(partition)
  if (memory.pool !== id) for (const event of events) trace(event)
  memory.pool = id
  const { pool, deferredNames } = partition
  const { tools, messages } = sent.request
  const loaded = [...facts.loaded.keys()].filter((name) => deferredNames.has(name))
  trace({
    type: 'decision',
    model,
    decision,
    tools: toolShare(pool, shown ?? tools.map(({ name }) => name)),
    pool: id,
    loaded,
    messages: messages.length,
    isSubAgent,
  })
  if (memory.sent) reportPrefix(trace, memory.sent, sent)
  memory.sent = sent
}

function reportPrefix(trace: TraceListener, before: PrefixInput, after: PrefixInput): void {
  const all = explainBreak(before, after)
  const causes = all.slice(0, MAX_CAUSES)
  trace({
    type: 'prefix',
    isKept: all.length === 0,
    left: all.length - causes.length,
    causes: causes.map(withoutContent),
    ...(all.length > 0 ? { content: causes.map((cause) => changeOf(cause, before, after)) } : {}),
  })
}

/** Drops the texts of headers and system prompts. */
function withoutContent(cause: BreakCause): ReportedBreakCause {
  const { kind } = cause
  if ('name' in cause) return { kind, name: cause.name }
  return 'index' in cause ? { kind, index: cause.index } : { kind }
}

function changeOf(cause: BreakCause, before: PrefixInput, after: PrefixInput): PrefixChange {
  const both = (pick: (request: PrefixInput['request']) => unknown) => ({
    before: pick(before.request),
    after: pick(after.request),
  })
  if ('before' in cause) return { before: cause.before, after: cause.after }
  const toolsOf = ({ tools }: PrefixInput['request']) => listOf(tools) as readonly Block[]
  if ('name' in cause) return both((request) => toolsOf(request).find(({ name }) => name === cause.name))
  if ('index' in cause) return both(({ messages }) => listOf(messages)[cause.index])
  const isListed = (tool: Block) => tool.defer_loading !== true
  return both((request) =>
    toolsOf(request)
      .filter(isListed)
      .map(({ name }) => name),
  )
}
