// Implements the shelf that users hold: the tools and their servers, which its forks share, and one conversation.
// Implements D1, D2, G3, G6, L5, S10, U1.

import { type SearchOptions, type SearchOutcome, searchTools } from './answer.ts'
import {
  answerOwn,
  type Content,
  checkCall,
  type ResolvedCall,
  type RunOptions,
  resolveCall,
  runCall,
  shelveResult,
  toolResult,
} from './calls.ts'
import { mergeCapabilities } from './capabilities.ts'
import { type CompactOptions, compactHistory, snipHistory } from './compaction.ts'
import type { TraceListener } from './events.ts'
import { follow } from './history.ts'
import { attempt, dropOldest, oncePer, silencePromise, swallowErrors } from './lib/objects.ts'
import { quote } from './lib/text.ts'
import { sendableMessages } from './normalize.ts'
import { badOption, type Options, type Pause, resolveOptions, type Settings, type Timer } from './options.ts'
import { oddMark, partitionOf, poolOf } from './policy.ts'
import { buildPool, checkTool, type PoolOptions, readAhead, serverOf } from './pool.ts'
import { type Prepared, prepareRequest } from './prepare.ts'
import { learnRejection } from './recover.ts'
import { aboutShelved, READ_TOOL, type ShelvedResult } from './results.ts'
import { readResultTool } from './results-read.ts'
import {
  type Conversation,
  type History,
  type Host,
  type LiveHost,
  type MessageLike,
  newConversation,
  type Pool,
  type PoolTool,
  type RequestLike,
  type SendableItem,
  type ServerDetails,
  type Servers,
  ShelfError,
  type State,
  type Tool,
  type ToolPartition,
  type ToolResult,
  type ToolUse,
} from './types.ts'
import { PLACEHOLDER } from './wires.ts'

/** Options of `createPureShelf`: the tools and servers to start with, and every setting of `Options`. */
export type PureShelfOptions = Options & {
  /** Tools of the host and of MCP servers, any number; `shelf.add` adds more later. */
  readonly tools?: readonly Tool[]
  /** Details of MCP servers by name: whether to always load their tools, their instructions, their state. */
  readonly servers?: { readonly [name: string]: Partial<ServerDetails> }
  /** Continues an earlier conversation: what its `shelf.state()` returned. */
  readonly state?: State
}

/**
 * Tools and servers that do not exist for a fork, besides those that the option `isHidden` hides. A fork that hides anything
 * does not use the option `related`, which could reveal them. The functions must always return the same for a tool, because
 * results are cached per list of tools; forks with the same object share one search index.
 */
export type HiddenParts = {
  /** Returns whether a tool is hidden; it also is if this throws. */
  readonly tool: (tool: PoolTool) => boolean
  /** Returns whether a server is hidden, with its state and all of its tools. */
  readonly server: (name: string) => boolean
}

/** Options of `shelf.fork`. */
export type ForkOptions = {
  /** False for another main conversation. Default: true. */
  readonly isSubAgent?: boolean
  /** Continues an earlier conversation: what its `shelf.state()` returned. */
  readonly state?: State
  /** Receives the events of the new conversation in place of the option `trace`. */
  readonly trace?: TraceListener | undefined
  /**
   * Tools and servers that do not exist for the new conversation and its forks: not searched, suggested, checked or
   * called.
   */
  readonly hide?: HiddenParts | undefined
}

/** Tools, and one conversation that uses them. `createShelf` makes one, `fork` another conversation on the same tools. */
export type Shelf = {
  /** The name under which the model calls the search: the option `searchTool`. */
  readonly searchTool: string
  /**
   * Returns the request to send: decides whether tool search is on, chooses the tools, announces new names, and makes the
   * messages valid for both. `prepared.request` and `prepared.headers` go to the API, `prepared.history` is what to
   * continue from, and `prepared.decision` says why. Rejects only if `model` or `messages` is missing.
   *
   * @example
   * const prepared = await shelf.prepare({ model: 'claude-opus-4-6', max_tokens: 1024, messages })
   * const reply = await client.messages.create(prepared.request, { headers: prepared.headers })
   * messages = [...prepared.history, { role: 'assistant', content: reply.content }]
   */
  prepare<Request extends RequestLike>(request: Request): Promise<Prepared<Request>>
  /**
   * Answers a call of the model, whatever it is, with its tool_result: runs a search, explains a call that cannot be
   * run, or calls `execute` with the resolved call and turns what it returns or throws into the result. Rejects only if
   * `execute` is not a function. `answer`, `check`, `resolve` and `result` are its parts.
   *
   * @example
   * const calls = reply.content.filter((block): block is Anthropic.ToolUseBlock => block.type === 'tool_use')
   * const execute: Execute = ({ name, input }) => myTools[name](input)
   * const results = await Promise.all(calls.map((call) => shelf.run(call, { messages, execute })))
   * messages.push({ role: 'user', content: results })
   */
  run(call: ToolUse, options: RunOptions): Promise<ToolResult>
  /**
   * Answers a call of the shelf's own tools: a search, which loads what it finds, or a read of a long result. Returns
   * undefined for any other call.
   */
  answer(call: ToolUse): Promise<ToolResult | undefined>
  /** Searches without loading anything, for hosts that present tools to the model in their own way. */
  search(input: unknown, options?: SearchOptions): Promise<SearchOutcome>
  /**
   * Explains a call that cannot be run (unknown tool, invalid input) in an error result, which tells the model what to do,
   * such as to load the tool first; returns undefined for a valid call. A call of a tool that was never loaded is valid,
   * unless `unloadedCalls` is `'refuse'`. `messages` says what is loaded; default: the messages last prepared.
   */
  check(call: ToolUse, messages?: readonly MessageLike[]): ToolResult | undefined
  /**
   * Returns what to run for a call: `{ name, input, server, original }`; `original` is the tool's own name at its
   * server.
   */
  resolve(call: ToolUse): ResolvedCall
  /**
   * Turns a tool's output (text, content blocks or an MCP server's answer) into its tool_result, without anything that
   * would load a tool (L1).
   */
  result(call: ToolUse, output: Content, options?: { readonly isError?: boolean }): ToolResult
  /**
   * Puts a result that is longer than its budget on the shelf, and returns a preview with a handle in its place. Returns
   * any other result as it is. Only with the option `results`; `run` does it on its own.
   */
  shelve(call: ToolUse, result: ToolResult): Promise<ToolResult>
  /** Returns the long results of this conversation, the newest last; what the store has dropped is still listed. */
  results(): readonly ShelvedResult[]
  /**
   * Replaces all but the newest `keep` messages by a summary; loaded tools stay loaded. Keeps none by default, and more
   * than `keep` where a result would lose its call. `summarize` receives messages that any model accepts, or is the summary.
   *
   * @example
   * messages = await shelf.compact(messages, { keep: 4, summarize: (old) => summaryOf(old) })
   */
  compact<Item extends MessageLike>(
    messages: readonly Item[],
    options: CompactOptions<Item>,
  ): Promise<History<SendableItem<Item>>>
  /** Drops the messages for which `drop` returns true, except those that loaded tools depend on. */
  snip<Item extends MessageLike>(
    messages: readonly Item[],
    drop: (message: Item, index: number) => boolean,
  ): Item[]
  /**
   * Converts a history into messages of the SDK's type that any model accepts, without the shelf's notes and references:
   * to count them, or to send them without tool search. To continue the conversation, send `prepared.request` instead.
   *
   * @example
   * const title = await client.messages.create({ model, max_tokens: 50, messages: shelf.sendable(history) })
   */
  sendable<Item extends MessageLike>(history: readonly Item[]): SendableItem<Item>[]
  /**
   * Prepares a request and sends it with your function. If the back-end refuses deferred tools, sends it once more with
   * every tool loaded, and remembers that (G6).
   *
   * @example
   * const { reply, prepared } = await shelf.send(request, ({ request, headers }) =>
   *   client.messages.create(request, { headers }),
   * )
   */
  send<Request extends RequestLike, Reply>(
    request: Request,
    send: (prepared: Prepared<Request>) => Promise<Reply>,
  ): Promise<{ reply: Reply; prepared: Prepared<Request> }>
  /** For hosts that send requests themselves: returns the request to send after such a refusal, or undefined. */
  recover<Request extends RequestLike>(
    error: unknown,
    request: Request,
    prepared: Prepared<Request>,
  ): Promise<Prepared<Request> | undefined>
  /** Adds tools while conversations run, for all forks too; replaces those of the same server and name. */
  add(tools: Tool | readonly Tool[]): void
  /** Removes tools by name, or all tools of a server. */
  remove(names: string | readonly string[] | { readonly server: string }): void
  /** Replaces all tools of a server by these, in this order. */
  replace(server: string, tools: readonly Tool[]): void
  /** Processes a tool in advance of `replace`, so that a host with thousands of tools can do that work in slices. */
  readAhead(tool: Tool): void
  /** Marks a server as connecting: searches wait for it, unless a tool's name answers them (S8). */
  pending(server: string): void
  /** Marks a server as failed: searches report it with this error. Its tools stay until they are removed. */
  failed(server: string, error: unknown): void
  /** Updates the given details of a server: `state`, `alwaysLoad`, `instructions`, `description`. */
  setServer(name: string, details: Partial<ServerDetails>): void
  /** Starts another conversation with the same tools (U1, L5): a sub-agent's, unless `isSubAgent` is false. */
  fork(options?: ForkOptions): Shelf
  /** Reloads parts of the capability table; returns false and keeps the last good one if that fails (G3). */
  refreshCapabilities(load: () => unknown): Promise<boolean>
  /** All tools that the model may use, hidden ones left out, under the names by which it calls them. */
  tools(): readonly PoolTool[]
  /** The same tools split into `immediate` (sent with every request) and `deferred` (found by searching). */
  partition(): ToolPartition
  /** Returns the details of the servers, by name. */
  servers(): Servers
  /** Returns the conversation's state as plain JSON, to save beside its messages; `createShelf({ state })` takes it back. */
  state(): State
}

/**
 * Creates a shelf without Node: unless the options provide more, it ranks searches by words, validates no inputs and has
 * no timeouts. The `createShelf` of the package's main entry has all of that.
 *
 * @example
 * const shelf = createPureShelf({ tools, validate: myValidator })
 */
export function createPureShelf({
  tools = [],
  servers = {},
  state,
  ...options
}: PureShelfOptions = {}): Shelf {
  const isGood = state === undefined || (Array.isArray(state?.betas) && Array.isArray(state.kept))
  if (!isGood) throw badOption('state', state, 'what shelf.state() returned, or leave it out')
  if (!Array.isArray(tools)) throw badOption('tools', tools, 'a list of tools')
  if (typeof servers !== 'object' || servers === null)
    throw badOption('servers', servers, 'an object by server name')
  const settings = resolveOptions(options)
  const shared = createHost(settings, settings.results ? withReadTool(tools) : tools)
  for (const [name, details] of Object.entries(servers)) shared.setServer(name, details)
  return shelfOn(shared, newConversation({ state }))
}

function withReadTool(tools: readonly Tool[]): readonly Tool[] {
  const { name, description, schema } = readResultTool
  if (tools.some((tool) => tool.name === READ_TOOL && tool.server === undefined))
    throw badOption('tools', READ_TOOL, `another name for this tool, or leave the option "results" out`)
  return [...tools, { name, description, input_schema: schema, alwaysLoad: true }]
}

function shelfOn(shared: SharedHost, conversation: Conversation): Shelf {
  const { remove, replace, readAhead, setServer, refreshCapabilities } = shared
  const { searchTool, trace } = shared.host.settings
  const shelf: Shelf = {
    searchTool,
    async prepare(request) {
      checkRequest(request)
      return prepareRequest(shared.host, conversation, request)
    },
    run: (call, options) => runCall(shared, conversation, call, options),
    answer: async (call) => answerOwn(shared, conversation, call),
    search: (input, options) => searchTools(shared, input, { trace: conversation.trace, ...options }),
    check: (call, messages) => checkCall(shared.host, conversation, call, messages),
    resolve: (call) => resolveCall(shared.host, call),
    result: toolResult,
    shelve: (call, result) => shelveResult(shared.host, conversation, call, result),
    results: () => conversation.state.results?.shelved ?? [],
    async compact<Item extends MessageLike>(messages: readonly Item[], options: CompactOptions<Item>) {
      const { entries } = follow(conversation.memory, messages, searchTool)
      const reminder = aboutShelved(shelf.results())
      const compacted = await compactHistory(entries as unknown as Item[], searchTool, {
        ...options,
        reminder,
      })
      const counts = { before: messages.length, after: compacted.length }
      ;(conversation.trace ?? trace)?.({ type: 'compacted', trigger: options.trigger ?? 'manual', ...counts })
      return compacted
    },
    snip: (messages, drop) => snipHistory(messages, searchTool, drop),
    sendable: (history) => sendableMessages(history, conversation.state.grounds !== undefined),
    async send(request, send) {
      const prepared = await shelf.prepare(request)
      try {
        return { reply: await send(prepared), prepared }
      } catch (error) {
        const again = await shelf.recover(error, request, prepared)
        if (!again) throw error
        return { reply: await send(again), prepared: again }
      }
    },
    async recover(error, request, prepared) {
      return learnRejection(shared.host, error, request.model, prepared) ? shelf.prepare(request) : undefined
    },
    add: (added) => shared.add([added].flat()),
    remove,
    replace,
    readAhead,
    pending: (server) => setServer(server, { state: 'pending' }),
    failed: (server, error) => setServer(server, { state: 'failed', error: String(error) }),
    setServer,
    fork: ({ isSubAgent = true, state, trace, hide } = {}) =>
      shelfOn(
        hide ? restricted(shared)(hide) : shared,
        newConversation({ state, isSubAgent, trace: trace ?? conversation.trace }),
      ),
    refreshCapabilities,
    tools: () => partitionOf(shared.host).pool.tools,
    partition: () => partitionOf(shared.host),
    servers: () => shared.host.servers,
    state: () => conversation.state,
  }
  return shelf
}

function checkRequest(request: RequestLike): void {
  const { model, messages } = (request ?? {}) as { model?: unknown; messages?: unknown }
  const missing = (field: string, expected: string, value: unknown) => {
    const message = `prepare() needs "${field}", ${expected}, but was given ${quote(value)}.`
    return new ShelfError('BAD_REQUEST', message, value)
  }
  if (typeof model !== 'string') throw missing('model', 'the id of a model', model)
  if (!Array.isArray(messages)) throw missing('messages', 'the list of messages', messages)
}

/** A host that changes: what a shelf and its forks share. */
type SharedHost = LiveHost &
  Pick<Shelf, 'remove' | 'replace' | 'readAhead' | 'setServer' | 'refreshCapabilities'> & {
    add(tools: readonly Tool[]): void
  }

function createHost(unguarded: Settings, initial: readonly Tool[]): SharedHost {
  const settings = withoutFaults(unguarded)
  const servers = new Map<string, ServerDetails>()
  const poolOptions: PoolOptions = {
    descriptionLimit: settings.descriptionLimit,
    definitionLimit: settings.definitionLimit,
    reserved: [settings.searchTool, settings.callTool, PLACEHOLDER],
    warn: settings.notify,
    namePrefix: settings.namePrefix,
    exactNames: settings.exactNames,
    slugs: new Map(),
  }
  let tools: readonly Tool[] = []
  let host: Host = {
    settings,
    pool: buildPool(tools, poolOptions),
    servers,
    rejected: new Set(),
    counts: new Map(),
  }
  let wake = () => {}
  let changed = Promise.resolve()

  const change = () => {
    wake()
    changed = new Promise((resolve) => {
      wake = resolve
    })
  }
  const setTools = (next: readonly Tool[]) => {
    for (const tool of next) {
      checkTool(tool)
      const warning = oddMark(tool)
      if (warning) settings.notify(warning)
    }
    host = { ...host, pool: buildPool(next, poolOptions) }
    tools = next
    change()
  }
  const setServer = (name: string, details: Partial<ServerDetails>) => {
    servers.set(name, withDetails(name, servers.get(name), details))
    change()
  }

  setTools(initial)
  if (!settings.capabilities.providers.some(({ provider }) => provider === settings.provider)) {
    const known = settings.capabilities.providers.map(({ provider }) => provider).join(', ')
    settings.notify(
      `provider "${settings.provider}" is not in the capability table (${known}), so all tools are loaded.`,
    )
  }
  return {
    get host() {
      return host
    },
    changed: () => changed,
    add(added) {
      added.forEach(checkTool)
      const replacements = new Map(added.map((tool) => [ownKey(tool), tool]))
      const known = new Set(tools.map(ownKey))
      const kept = tools.map((tool) => replacements.get(ownKey(tool)) ?? tool)
      setTools([...kept, ...added.filter((tool) => !known.has(ownKey(tool)))])
      for (const server of new Set(added.map(serverOf))) {
        if (server !== undefined && servers.get(server)?.state !== 'connected')
          setServer(server, { state: 'connected' })
      }
    },
    remove(names) {
      const server = typeof names === 'object' && 'server' in names ? names.server : undefined
      const gone = new Set([names].flat().map((name) => host.pool.byName.get(name as string)?.tool))
      setTools(tools.filter((tool) => (server === undefined ? !gone.has(tool) : serverOf(tool) !== server)))
      if (server !== undefined && servers.has(server)) setServer(server, { state: 'disabled' })
    },
    replace(server, replacements) {
      replacements.forEach(checkTool)
      const owned = replacements.map((tool) => (tool.server === server ? tool : { ...tool, server }))
      setTools([...tools.filter((tool) => serverOf(tool) !== server), ...owned])
    },
    readAhead: (tool) => readAhead(tool, poolOptions),
    setServer,
    async refreshCapabilities(load) {
      try {
        const capabilities = mergeCapabilities(host.settings.capabilities, await load())
        host = { ...host, settings: { ...host.settings, capabilities } }
        return true
      } catch (error) {
        settings.notify(
          `the capability table was not refreshed and the last good one is used: ${String(error)}`,
        )
        return false
      }
    },
  }
}

const states = ['pending', 'connected', 'failed', 'disabled']

/** Adds details to the known ones of a server; keeps its state unless they have one. */
function withDetails(
  name: string,
  known: ServerDetails | undefined,
  details: Partial<ServerDetails>,
): ServerDetails {
  const isObject = typeof details === 'object' && details !== null
  if (!isObject || !(details.state === undefined || states.includes(details.state)))
    throw badOption(`servers.${name}`, details, `an object with a state of ${states.join(', ')}`)
  return { ...known, ...details, state: details.state ?? known?.state ?? 'connected' }
}

function ownKey(tool: Tool): string {
  return JSON.stringify([serverOf(tool) ?? null, tool.name])
}

/** By host and by `hide`: the host without the hidden parts. */
const restricted = oncePer((shared: SharedHost) =>
  oncePer((hide: HiddenParts): SharedHost => {
    const isServerShown = (name: string) => !isHidden(() => hide.server(name))
    const isShown = (entry: PoolTool) =>
      (entry.server === undefined || isServerShown(entry.server)) && !isHidden(() => hide.tool(entry))
    const visible = oncePer((pool: Pool) => poolOf(pool, isShown))
    const own = oncePer((settings: Settings): Settings => ({ ...settings, related: undefined }))
    return {
      ...shared,
      get host(): Host {
        const { host } = shared
        const servers = new Map([...host.servers].filter(([name]) => isServerShown(name)))
        return { ...host, settings: own(host.settings), pool: visible(host.pool), servers }
      },
    }
  }),
)

function isHidden(check: () => unknown): boolean {
  try {
    return Boolean(check())
  } catch {
    return true
  }
}

/** Messages remembered as sent; a server that causes ever new ones must not fill the memory. */
const MAX_MESSAGES = 1000

/** Sends each message to the operator once, and to the trace as a warning. Guards against listeners that throw (G4). */
function withoutFaults(settings: Settings): Settings {
  const reported = new Set<string>()
  const trace = settings.trace && swallowErrors(settings.trace)
  const notify = (message: string) => {
    if (reported.has(message)) return
    reported.add(message)
    dropOldest(reported, MAX_MESSAGES)
    trace?.({ type: 'warning', message })
    attempt(() => settings.notify(message))
  }
  return {
    ...settings,
    trace,
    notify,
    timer: settings.timer && safeTimer(settings.timer, notify),
    pause: safePause(settings.pause),
    isHidden: settings.isHidden && requireSynchronous(settings.isHidden, notify),
  }
}

/** Wraps `isHidden` to warn if it is asynchronous, which hides every tool, because a promise is truthy. */
function requireSynchronous(isHidden: (tool: Tool) => boolean, notify: (message: string) => void) {
  return (tool: Tool): boolean => {
    const answer: unknown = isHidden(tool)
    if (silencePromise(answer))
      notify('option "isHidden" returned a promise, so the tool is hidden; return true or false.')
    return Boolean(answer)
  }
}

/** Lets other work run; if that fails, goes on. */
function safePause(pause: Pause): Pause {
  return () => {
    try {
      return pause()?.catch(() => {})
    } catch {
      return undefined
    }
  }
}

/** Starts a timer; one that cannot be started expires at once, so that nothing waits for it. */
function safeTimer(start: (milliseconds: number) => Timer, notify: (message: string) => void) {
  const fail = (error: unknown) =>
    notify(`the timer failed, so searches do not wait for servers: ${String(error)}`)
  return (milliseconds: number): Timer => {
    try {
      const timer = start(milliseconds)
      return {
        over: Promise.resolve(timer.over).then(() => {}, fail),
        cancel: () => attempt(() => timer.cancel()),
      }
    } catch (error) {
      fail(error)
      return { over: Promise.resolve(), cancel: () => {} }
    }
  }
}
