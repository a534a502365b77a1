// Connects to many servers in the background and puts their tools on one shelf. A slow or failing server does not
// affect the others.
// Implements H2.
import type { Shelf, ToolResult, ToolUse } from '@toolshelf/core'
import { type Block, bindMethods, type Fields, toJson } from '@toolshelf/core/internal'
import { createLimiter, withTimeout } from '@toolshelf/core/internal/node'
import { type DefinitionCache, defaultCacheFolder, openDefinitionCache } from '../cache/definition-cache.ts'
import { nameServers } from '../config/slugs.ts'
import type { StdioLimits } from '../session/stdio.ts'
import type {
  AuthProvider,
  CallOptions,
  CallOutput,
  HostEvent,
  McpHost,
  QuestionHandler,
  ServerConfig,
  ServerStatus,
} from '../types.ts'
import type { PinChecker } from './change-guard.ts'
import { type Connection, defaultTimeouts, type HostTimeouts } from './connection.ts'
import { createListeners, type Listeners } from './host-events.ts'
import {
  alwaysLoadedFirst,
  describeHeldBack,
  hasAlwaysLoadedTools,
  type Member,
  whyUnavailable,
} from './member-lists.ts'
import { Members } from './members.ts'
import type { AlwaysLoadLimits } from './publisher.ts'

/** Options of `createMcpHost`. */
export type McpHostOptions = {
  /** Receives the servers' tools and states. */
  readonly shelf: Shelf
  /** The servers, as `readConfig` returns them. */
  readonly servers: readonly ServerConfig[]
  /** Where to store definitions between runs; false stores none. Default: in the user's cache folder. */
  readonly cacheFolder?: string | false
  /** Replaces the cache in `cacheFolder`. */
  readonly cache?: DefinitionCache
  /** Ignores definitions stored by earlier runs, but stores new ones. Default: false. */
  readonly isCacheIgnored?: boolean
  /** How many servers start at a time. Default: 4. */
  readonly concurrency?: number
  /** Remembers definitions, so that later changes are detected. */
  readonly pins?: PinChecker
  /** Whether a tool, a prompt or instructions that changed since first seen are only reported or also held back. Default: `report`. */
  readonly onChange?: 'report' | 'hold'
  /** Returns the sentence that says how to accept a server's changes, for messages. Default: names `pins.accept`. */
  readonly acceptHint?: (server: string) => string
  /**
   * Whether the user trusts what a server says about its own tools, such as that one only reads; see `isReadOnly`. A
   * server's entry cannot say so. Default: none.
   */
  readonly trustsAnnotations?: (server: ServerConfig) => boolean
  /** Supplies the tokens for remote servers. */
  readonly authorize?: (config: ServerConfig) => AuthProvider | undefined | Promise<AuthProvider | undefined>
  /**
   * Says how to give a remote server a token, for the message about a server that needs a login, or permissions
   * (`scope`) that its token lacks. Default: names the option `authorize`.
   */
  readonly loginHint?: (server: string, scope?: string) => string
  /** Answers questions of servers during calls that have no handler of their own; outside of calls, only `roots/list`. */
  readonly questionHandler?: QuestionHandler
  /** Called with messages for the operator. */
  readonly notify?: (message: string) => void
  /** The name and version that servers see. */
  readonly clientInfo?: { readonly name: string; readonly version: string }
  /** Timeouts and intervals in place of the defaults. */
  readonly times?: Partial<HostTimeouts>
  /** Limits for the output of server processes. */
  readonly limits?: StdioLimits
  /** Limits for always-loaded tools. */
  readonly alwaysLoad?: Partial<AlwaysLoadLimits>
}

/**
 * Creates a host: connects to MCP servers in the background and keeps their tools on a shelf.
 *
 * @example
 * const { servers } = await readConfig(['.mcp.json'])
 * const host = createMcpHost({ shelf, servers })
 * host.start()
 * await host.settled({ timeoutMs: 5000 })
 */
export function createMcpHost(options: McpHostOptions): McpHost {
  if (!Array.isArray(options.servers) || options.servers.some((server) => !server?.transport?.kind))
    throw new TypeError('createMcpHost takes the `servers` that readConfig() returns')
  return bindMethods(new ServerHost(options))
}

function nameAccept(server: string): string {
  return `Accept the change with pins.accept(${JSON.stringify(server)}).`
}

class ServerHost implements McpHost {
  readonly #shelf: Shelf
  readonly #members: Members
  readonly #listeners: Listeners
  readonly #acceptHint: (server: string) => string
  readonly #trusts: (server: ServerConfig) => boolean
  readonly #closing = new AbortController()
  #capabilities: Fields = {}
  #isStarted = false
  #isWatching = false

  constructor(options: McpHostOptions) {
    const { notify = () => {}, acceptHint = nameAccept } = options
    const times = { ...defaultTimeouts, ...options.times }
    this.#shelf = options.shelf
    this.#listeners = createListeners(notify)
    this.#acceptHint = acceptHint
    this.#trusts = options.trustsAnnotations ?? (() => false)
    this.#members = new Members(nameServers(options.servers), {
      ...options,
      notify,
      acceptHint,
      times,
      cache: cacheFor(options, notify),
      limit: createLimiter(options.concurrency ?? 4, times.startSlotMs),
      capabilities: () => this.#capabilities,
      emit: this.#listeners.emit,
      later: (task) => {
        setTimeout(() => !this.#closing.signal.aborted && task(), times.pinRecheckMs).unref()
      },
    })
  }

  async readCache(): Promise<void> {
    const all = this.#members.all()
    await Promise.all(all.map((member) => this.#members.lists.readCache(member)))
    await Promise.all(
      all.filter(hasAlwaysLoadedTools).map(({ connection }) => connection.publishCachedTools()),
    )
  }

  publishCachedTools(): Promise<void> {
    return eachInTurn(this.#members.all(), () => {})
  }

  start(capabilities: Fields = {}): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#capabilities = capabilities
    void eachInTurn(this.#members.all(), (connection) => void connection.start())
  }

  async configure(servers: readonly ServerConfig[]): Promise<void> {
    const joined = await this.#members.replace(nameServers(servers))
    this.#listeners.emit({ type: 'servers' })
    for (const member of joined.filter(this.#members.isHere)) {
      const status = this.#members.lists.status(member)
      this.#listeners.emit({ type: 'state', server: member.config.name, status })
      if (this.#isWatching) member.connection.watchLists()
    }
    if (this.#isStarted)
      void eachInTurn(joined.filter(this.#members.isHere), (connection) => void connection.start())
  }

  status(): ServerStatus[] {
    return this.#members.all().map((member) => this.#members.lists.status(member))
  }

  async run(used: ToolUse, options: CallOptions = {}): Promise<ToolResult> {
    const { server, original, input } = this.#shelf.resolve(used)
    if (server === undefined)
      return this.#shelf.result(used, `"${used.name}" is not a tool of an MCP server.`, { isError: true })
    try {
      const output = await this.call(server, original, (input ?? {}) as Fields, options)
      return this.#shelf.result(used, toBlocks(output), output.isError ? { isError: true } : {})
    } catch (error) {
      return this.#shelf.result(used, (error as Error).message, { isError: true })
    }
  }

  isReadOnly(used: ToolUse): boolean {
    const { server = '', original } = this.#shelf.resolve(used)
    const member = this.#members.find(server)
    const listed = member?.connection.view().tools.find(({ name }) => name === original)
    return member !== undefined && this.#trusts(member.config) && listed?.annotations?.readOnlyHint === true
  }

  folderOf(server: string): string | undefined {
    return this.#members.find(server)?.config.folder?.path
  }

  async call(server: string, tool: string, input: Fields, options: CallOptions = {}): Promise<CallOutput> {
    const member = this.#members.get(server)
    if (member.hidden.has(tool) || member.held.has(tool))
      throw new Error(whyUnavailable(member, tool, this.#acceptHint(server)))
    return underWay(member, member.connection.call(tool, input, options))
  }

  async request(server: string, method: string, params?: Fields, options: CallOptions = {}): Promise<Fields> {
    const member = this.#members.get(server)
    const { guard } = this.#members.lists
    if (method === 'prompts/get' && guard.isHeld(server, 'prompt', params?.name))
      throw new Error(describeHeldBack(`the prompt "${params?.name}"`, this.#acceptHint(server)))
    const result = await underWay(member, member.connection.request(method, params, options))
    if (method !== 'prompts/list' || !Array.isArray(result.prompts)) return result
    const isWhole = params?.cursor === undefined && result.nextCursor === undefined
    return { ...result, prompts: await guard.prompts(server, result.prompts, isWhole) }
  }

  async settled({ timeoutMs, only }: { timeoutMs?: number; only?: 'alwaysLoad' } = {}): Promise<void> {
    const isPending = () =>
      this.#members
        .all()
        .some(
          ({ config, connection }) =>
            connection.view().state === 'pending' && (only !== 'alwaysLoad' || config.alwaysLoad === true),
        )
    await this.#listeners.untilNot(isPending, { signal: this.#closing.signal, timeoutMs })
    await Promise.all(this.#members.all().map(({ publishing }) => publishing))
  }

  notifyServers(method: string): void {
    for (const { connection } of this.#members.all()) void connection.notify(method).catch(() => {})
  }

  async connect(server: string): Promise<void> {
    const member = this.#members.get(server)
    await member.connection.connect()
    await member.publishing
  }

  disconnect(server: string): Promise<void> {
    return this.#members.get(server).connection.disconnect()
  }

  async refresh(server: string): Promise<void> {
    const member = this.#members.get(server)
    await member.connection.refresh()
    await member.publishing
  }

  watchLists(): void {
    this.#isWatching = true
    for (const { connection } of this.#members.all()) connection.watchLists()
  }

  async refreshStaleLists({ timeoutMs }: { timeoutMs: number }): Promise<void> {
    const all = Promise.all(this.#members.all().map(({ connection }) => connection.refreshStaleLists()))
    await withTimeout(all, timeoutMs, 'late').catch(() => {}) // The next access gets it.
  }

  listen(listener: (event: HostEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#listeners.clear()
    await this.#members.close()
  }
}

function cacheFor(options: McpHostOptions, notify: (message: string) => void): DefinitionCache | undefined {
  const { cacheFolder } = options
  const opened =
    options.cache ??
    (cacheFolder === false ? undefined : openDefinitionCache(cacheFolder ?? defaultCacheFolder(), notify))
  return opened && options.isCacheIgnored ? { ...opened, read: async () => undefined } : opened
}

/** Tracks a call, so that its server is not closed before it is answered. */
function underWay<Value>({ calls }: Member, answered: Promise<Value>): Promise<Value> {
  calls.add(answered)
  const forget = () => void calls.delete(answered)
  answered.then(forget, forget)
  return answered
}

/**
 * Runs the work for each server in turn, and yields to the event loop after each, because thousands of definitions take a
 * while and clients need answers meanwhile.
 */
async function eachInTurn(
  members: readonly Member[],
  task: (connection: Connection) => unknown,
): Promise<void> {
  for (const { connection } of [...members].sort(alwaysLoadedFirst)) {
    await connection.publishCachedTools()
    task(connection)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

type McpBlock = CallOutput['content'][number]

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function toBlocks({ content, structuredContent }: CallOutput): Block[] {
  if (content.length > 0) return content.map(toBlock)
  if (structuredContent !== undefined) return [text(toJson(structuredContent))]
  return []
}

function toBlock(block: McpBlock): Block {
  const { type, data, mimeType, uri } = block
  if (type === 'text') return text(String(block.text ?? ''))
  if (type === 'image' && IMAGES.has(String(mimeType))) return image(String(mimeType), String(data))
  if (type === 'image' || type === 'audio')
    return text(`[${type} of type ${mimeType}, ${String(data ?? '').length} base64 characters]`)
  if (type === 'resource_link') {
    const about = [block.title ?? block.name, block.description].filter(Boolean).join(': ')
    return text(`[resource ${uri}${about ? ` (${about})` : ''}]`)
  }
  if (type === 'resource') return resource((block.resource ?? {}) as Partial<McpBlock>)
  return text(toJson(block))
}

function resource({ uri, mimeType, text: written, blob }: Partial<McpBlock>): Block {
  if (typeof written === 'string') return text(`[resource ${uri}]\n${written}`)
  if (typeof blob === 'string' && IMAGES.has(String(mimeType))) return image(String(mimeType), blob)
  return text(
    `[resource ${uri} of type ${mimeType ?? 'unknown'}, ${String(blob ?? '').length} base64 characters]`,
  )
}

function text(written: string): Block {
  return { type: 'text', text: written }
}

function image(mediaType: string, data: string): Block {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}
