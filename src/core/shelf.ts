// The shelf: the pool and its servers, and one conversation on them. Everything it does is a function of core; it
// only holds what they need between two calls.
import { type AnswerContext, answerSearch } from './answer.ts'
import { capabilityOf, mergeCapabilities } from './capabilities.ts'
import { checkCall, type ResolvedCall, resolveCall } from './check.ts'
import { type CompactOptions, compactHistory, snipHistory } from './compact.ts'
import { quote, ShelfError } from './errors.ts'
import { backEndKey, isReferenceType, mayOffer, wireOf } from './gate.ts'
import { follow } from './history.ts'
import { readMode } from './mode.ts'
import { type Options, resolveOptions, wrong } from './options.ts'
import { shelve } from './policy.ts'
import { type Prepared, prepare } from './prepare.ts'
import { betasIn, rejection } from './recover.ts'
import { type Content, toolResult } from './result.ts'
import { emptyState, newMemory, type State } from './state.ts'
import { createStore, type Store } from './store.ts'
import type { Message, MessageLike, RequestLike, Server, Tool, ToolResult, ToolUse } from './types.ts'
import { makeWire } from './wire/index.ts'

export type ShelfOptions = Options & {
  /** Built-in and MCP tools, any number. */
  readonly tools?: readonly Tool[]
  readonly servers?: { readonly [name: string]: Partial<Server> }
  /** From `shelf.state()` of an earlier session. */
  readonly state?: State
}

export type Shelf = {
  /** The request to send, and the history to continue from. */
  prepare<Request extends RequestLike>(request: Request): Promise<Prepared<Request>>
  /** A search call → its tool_result; any other call → undefined. */
  answer(call: ToolUse): Promise<ToolResult | undefined>
  /** A call that cannot be run → a tool_result that tells the model what to do; otherwise undefined. */
  check(call: ToolUse, messages?: readonly MessageLike[]): ToolResult | undefined
  /** What to run for a call: the real name and input, and the tool's server with its own name there. */
  resolve(call: ToolUse): ResolvedCall
  /** A tool's output → its tool_result. Output of others can never load a tool (L1). */
  result(call: ToolUse, output: Content, options?: { readonly isError?: boolean }): ToolResult
  /** Messages with the old ones summarised; loaded tools survive. */
  compact<Item extends MessageLike>(messages: readonly Item[], options: CompactOptions): Promise<Item[]>
  /** Messages without those that `drop` names, except what carries loaded tools. */
  snip<Item extends MessageLike>(
    messages: readonly Item[],
    drop: (message: Item, index: number) => boolean,
  ): Item[]
  /** Prepares, sends, and once more with everything loaded where the back-end refuses references (G6). */
  send<Request extends RequestLike, Reply>(
    request: Request,
    send: (prepared: Prepared<Request>) => Promise<Reply>,
  ): Promise<{ reply: Reply; prepared: Prepared<Request> }>
  /** For those who send themselves: the request to send instead after such a refusal, or undefined. */
  recover<Request extends RequestLike>(
    error: unknown,
    request: Request,
    prepared: Prepared<Request>,
  ): Promise<Prepared<Request> | undefined>
  /** Adds tools; one that is there already under the same owner and name is replaced. */
  add(tools: Tool | readonly Tool[]): void
  /** Removes tools by name, or all of a server. */
  remove(names: string | readonly string[] | { readonly server: string }): void
  /** A server is connecting: searches that find nothing wait for it. */
  pending(server: string): void
  failed(server: string, error: unknown): void
  /** What else is known of a server: alwaysLoad, instructions, description, state. */
  server(name: string, details: Partial<Server>): void
  /** The same tools, a conversation of its own (U1): a sub-agent's, unless said otherwise. */
  fork(options?: { readonly subAgent?: boolean; readonly state?: State }): Shelf
  /** Replaces parts of the capability table; a table that cannot be had or read leaves the last good one (G3). */
  refreshCapabilities(load: () => unknown): Promise<boolean>
  /** Plain JSON that goes with the messages when a conversation is saved. */
  state(): State
}

export function createShelf({ tools = [], servers = {}, state, ...options }: ShelfOptions): Shelf {
  if (!Array.isArray(tools)) throw wrong('tools', tools, 'a list of tools')
  if (typeof servers !== 'object' || servers === null)
    throw wrong('servers', servers, 'an object by server name')
  checkState(state)
  const store = createStore(resolveOptions(options), tools)
  for (const [name, details] of Object.entries(servers)) store.setServer(name, details)
  return shelfOn(store, state ?? emptyState, false)
}

function shelfOn(store: Store, initial: State, isSubAgent: boolean): Shelf {
  let state = initial
  const memory = newMemory()
  const settings = () => store.host.settings
  const searchName = settings().searchTool
  const now = () => {
    const { pool, servers } = store.host
    return { shelving: shelve(pool, servers, settings().hidden), servers }
  }
  const entriesOf = (messages: readonly MessageLike[]) => {
    memory.history = follow(memory.history, messages as readonly Message[], memory.anchors, searchName)
    return memory.history
  }

  const shelf: Shelf = {
    async prepare(request) {
      checkRequest(request)
      const prepared = await prepare(store.host, { state, memory, isSubAgent }, request)
      state = prepared.state
      return prepared
    },
    async answer(call) {
      if (call.name !== searchName) return undefined
      const wire = isSearchOn(store, state) ? answeringWire(store, state) : undefined
      const context: AnswerContext = { settings: settings(), wire, now, changed: store.changed }
      return answerSearch(call, context)
    },
    check(call, messages) {
      const { facts } = messages ? entriesOf(messages) : (memory.history ?? entriesOf([]))
      const { shelving, servers } = now()
      const isTombstone = (name: string) => state.kept.some(({ definition }) => definition.name === name)
      const canSearch = isSearchOn(store, state)
      return checkCall(call, {
        settings: settings(),
        shelving,
        servers,
        loaded: facts.loaded,
        isTombstone,
        canSearch,
      })
    },
    resolve: (call) => resolveCall(call, store.host.pool, settings()),
    result: toolResult,
    async compact<Item extends MessageLike>(messages: readonly Item[], options: CompactOptions) {
      const { entries } = entriesOf(messages)
      return (await compactHistory([...entries], searchName, options)) as unknown as Item[]
    },
    snip<Item extends MessageLike>(
      messages: readonly Item[],
      drop: (message: Item, index: number) => boolean,
    ) {
      const entries = messages as readonly (Item & Message)[]
      return snipHistory(entries, searchName, drop)
    },
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
    async recover(error, request, { decision, headers }) {
      const { baseURL, notify, trace } = settings()
      const spoke = decision.open && isReferenceType(decision.wire)
      const message = spoke ? rejection(error, betasIn(headers)) : undefined
      if (message === undefined) return undefined
      const key = backEndKey(baseURL, request.model)
      if (store.reject(key)) {
        const said = message.slice(0, 300)
        trace({ type: 'rejected', model: request.model, baseURL, message: said })
        notify(
          `${request.model} refused deferred tools, so all tools are loaded from now on. It said: ${said}`,
        )
      }
      return shelf.prepare(request)
    },
    add: (added) => store.add(Array.isArray(added) ? (added as readonly Tool[]) : [added as Tool]),
    remove: store.remove,
    pending: (server) => store.setServer(server, { state: 'pending' }),
    failed: (server, error) => store.setServer(server, { state: 'failed', error: String(error) }),
    server: store.setServer,
    fork: (options = {}) => shelfOn(store, options.state ?? emptyState, options.subAgent ?? true),
    async refreshCapabilities(load) {
      try {
        store.setCapabilities(mergeCapabilities(settings().capabilities, await load()))
        return true
      } catch (error) {
        settings().notify(
          `the capability table was not refreshed and the last good one is used: ${String(error)}`,
        )
        return false
      }
    },
    state: () => state,
  }
  return shelf
}

function checkState(state: State | undefined): void {
  const isGood = state === undefined || (Array.isArray(state?.betas) && Array.isArray(state.kept))
  if (!isGood) throw wrong('state', state, 'what shelf.state() returned, or leave it out')
}

function checkRequest(request: RequestLike): void {
  const given = request as { model?: unknown; messages?: unknown } | null | undefined
  if (typeof given?.model !== 'string') throw badRequest('model', 'the id of a model', given?.model)
  if (!Array.isArray(given.messages)) throw badRequest('messages', 'the list of messages', given.messages)
}

function badRequest(field: string, expected: string, value: unknown): ShelfError {
  return new ShelfError(
    'BAD_REQUEST',
    `prepare() needs "${field}", ${expected}, but was given ${quote(value)}.`,
    value,
  )
}

/** As the last request had it; before the first one, as the optimistic gate sees it. */
function isSearchOn({ host: { settings } }: Store, { search }: State): boolean {
  if (search !== undefined) return search !== 'off'
  const mode = readMode(settings.toolSearch, settings.environment)
  return mayOffer(settings, mode, capabilityOf('', settings.provider, settings.capabilities)) === 'open'
}

/** The wire that the last request used; before the first one, the back-end's own. */
function answeringWire({ host: { settings } }: Store, { search }: State) {
  const capability = capabilityOf('', settings.provider, settings.capabilities)
  const name = search && search !== 'off' ? search : (wireOf(settings, capability) ?? 'reference')
  return makeWire(name, settings, capability)
}
