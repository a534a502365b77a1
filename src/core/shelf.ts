// The shelf: the pool and its servers, and one conversation on them. Everything it does is a function of core; it
// only holds what they need between two calls.

import { quote } from '../lib/index.ts'
import {
  answer,
  type Content,
  check,
  type ResolvedCall,
  type RunOptions,
  resolveCall,
  runCall,
  type SearchOptions,
  type SearchOutcome,
  search,
  toolResult,
} from './calls/index.ts'
import { type CompactOptions, compactHistory, snipHistory } from './compact.ts'
import { ShelfError } from './errors.ts'
import { learnRejection } from './gate/index.ts'
import { follow } from './history/index.ts'
import { type Options, resolveOptions, wrong } from './options.ts'
import { type Prepared, prepare } from './prepare.ts'
import { sendableMessages } from './sendable.ts'
import { type Conversation, type Host, newConversation, type State } from './state.ts'
import { createStore, type Store } from './store.ts'
import { shelve } from './tools/index.ts'
import type {
  History,
  Message,
  MessageLike,
  RequestLike,
  SendableItem,
  Server,
  Servers,
  Shelving,
  Tool,
  ToolResult,
  ToolUse,
} from './types.ts'

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
  /**
   * Answers a call of the model, whatever it is, with its tool_result: runs a search, explains a call that cannot be
   * run, or runs the tool with `execute`. Errors of the tool become error results; it rejects only where `execute` is
   * not a function. `answer`, `check`, `resolve` and `result` are its parts.
   *
   * @example
   * const calls = reply.content.filter((block) => block.type === 'tool_use')
   * const execute = ({ name, input }) => myTools[name](input)
   * const results = await Promise.all(calls.map((call) => shelf.run(call, { messages, execute })))
   * messages.push({ role: 'user', content: results })
   */
  run(call: ToolUse, options: RunOptions): Promise<ToolResult>
  /** A search call → its tool_result; any other call → undefined. */
  answer(call: ToolUse): Promise<ToolResult | undefined>
  /** What a search with this input finds, for hosts that show it their own way. Loads nothing. */
  search(input: unknown, options?: SearchOptions): Promise<SearchOutcome>
  /** A call that cannot be run → a tool_result that tells the model what to do; otherwise undefined. */
  check(call: ToolUse, messages?: readonly MessageLike[]): ToolResult | undefined
  /** What to run for a call: the real name and input, and the tool's server with its own name there. */
  resolve(call: ToolUse): ResolvedCall
  /** A tool's output → its tool_result. Output of others can never load a tool (L1). */
  result(call: ToolUse, output: Content, options?: { readonly isError?: boolean }): ToolResult
  /** Messages with the old ones summarised; loaded tools survive. */
  compact<Item extends MessageLike>(
    messages: readonly Item[],
    options: CompactOptions<Item>,
  ): Promise<History<SendableItem<Item>>>
  /** Messages without those that `drop` names, except what carries loaded tools. */
  snip<Item extends MessageLike>(
    messages: readonly Item[],
    drop: (message: Item, index: number) => boolean,
  ): Item[]
  /**
   * A history → messages in the SDK's own type that any model takes, without the shelf's notes and references: to count
   * them, or to send them where there is no tool search. To continue the conversation, send `prepared.request` instead.
   *
   * @example
   * const title = await client.messages.create({ model, max_tokens: 50, tools, messages: shelf.sendable(history) })
   */
  sendable<Item extends MessageLike>(history: readonly Item[]): SendableItem<Item>[]
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
  /** All tools of a server at once: those not given are gone, and the order is as given. */
  replace(server: string, tools: readonly Tool[]): void
  /** Reads a tool ahead of `replace`, which then takes less time: for hosts that must not stand still for thousands. */
  readAhead(tool: Tool): void
  /** A server is connecting: searches wait for it, unless a tool's name answers them (S8). */
  pending(server: string): void
  failed(server: string, error: unknown): void
  /** What else is known of a server: alwaysLoad, instructions, description, state. */
  server(name: string, details: Partial<Server>): void
  /** The same tools, a conversation of its own (U1): a sub-agent's, unless said otherwise. */
  fork(options?: { readonly subAgent?: boolean; readonly state?: State }): Shelf
  /** Replaces parts of the capability table; a table that cannot be had or read leaves the last good one (G3). */
  refreshCapabilities(load: () => unknown): Promise<boolean>
  /** The tools there are now, split into those always sent and those on the shelf. */
  tools(): Shelving
  /** What is known of the servers now. */
  servers(): Servers
  /** Plain JSON that goes with the messages when a conversation is saved. */
  state(): State
}

export function createShelf(options: ShelfOptions = {}): Shelf {
  const { state } = options
  const isGood = state === undefined || (Array.isArray(state?.betas) && Array.isArray(state.kept))
  if (!isGood) throw wrong('state', state, 'what shelf.state() returned, or leave it out')
  return shelfOn(storeFor(options), newConversation({ state }))
}

/** For those who keep their own state: the host of the function form, `prepare(host, conversation, request)`. */
export function createHost(options: ShelfOptions): Host {
  return storeFor(options).host
}

function storeFor({ tools = [], servers = {}, state: _, ...options }: ShelfOptions): Store {
  if (!Array.isArray(tools)) throw wrong('tools', tools, 'a list of tools')
  if (typeof servers !== 'object' || servers === null)
    throw wrong('servers', servers, 'an object by server name')
  const store = createStore(resolveOptions(options), tools)
  for (const [name, details] of Object.entries(servers)) store.setServer(name, details)
  return store
}

function shelfOn(store: Store, conversation: Conversation): Shelf {
  const { memory } = conversation
  const searchName = store.host.settings.searchTool
  const read = (messages: readonly MessageLike[]) => {
    memory.history = follow(memory.history, messages as readonly Message[], memory.anchors, searchName)
    return memory.history
  }
  const shelf: Shelf = {
    async prepare(request) {
      checkRequest(request)
      return prepare(store.host, conversation, request)
    },
    async run(call, options) {
      const execute: unknown = options?.execute
      if (typeof execute !== 'function') throw wrong('execute', execute, 'a function that runs a tool')
      return runCall(shelf, call, options)
    },
    answer: (call) => answer(store, conversation, call),
    search: (input, options) => search(store, input, options),
    check(call, messages) {
      const { facts } = messages ? read(messages) : (memory.history ?? read([]))
      return check(store.host, conversation, call, facts.loaded)
    },
    resolve: (call) => resolveCall(call, store.host.pool, store.host.settings),
    result: toolResult,
    async compact<Item extends MessageLike>(messages: readonly Item[], options: CompactOptions<Item>) {
      const bound = conversation.state.bound ?? false
      return compactHistory(read(messages).entries as unknown as Item[], searchName, { ...options, bound })
    },
    snip: (messages, drop) =>
      snipHistory(messages, searchName, drop, { bound: conversation.state.bound ?? false }),
    sendable: (history) => sendableMessages(history, { bound: conversation.state.bound ?? false }),
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
      return learnRejection(store, error, request.model, prepared) ? shelf.prepare(request) : undefined
    },
    add: (added) => store.add([added].flat()),
    remove: store.remove,
    replace: store.replace,
    readAhead: store.readAhead,
    pending: (server) => store.setServer(server, { state: 'pending' }),
    failed: (server, error) => store.setServer(server, { state: 'failed', error: String(error) }),
    server: store.setServer,
    fork: ({ subAgent = true, state } = {}) =>
      shelfOn(store, newConversation({ state, isSubAgent: subAgent })),
    refreshCapabilities: store.refreshCapabilities,
    tools: () => shelve(store.host.pool, store.host.servers, store.host.settings.hidden),
    servers: () => store.host.servers,
    state: () => conversation.state,
  }
  return shelf
}

function checkRequest(request: RequestLike): void {
  const given = request as { model?: unknown; messages?: unknown } | null | undefined
  if (typeof given?.model !== 'string') throw badRequest('model', 'the id of a model', given?.model)
  if (!Array.isArray(given.messages)) throw badRequest('messages', 'the list of messages', given.messages)
}

function badRequest(field: string, expected: string, value: unknown): ShelfError {
  const message = `prepare() needs "${field}", ${expected}, but was given ${quote(value)}.`
  return new ShelfError('BAD_REQUEST', message, value)
}
