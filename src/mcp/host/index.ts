// Many servers, connected in the background, feeding one shelf. Nothing waits for a slow one, and none harms another.
import type { AuthProvider } from '@modelcontextprotocol/client'
import type { Server, Shelf, Tool } from '../../core/index.ts'
import type {
  Asker,
  CallOptions,
  HostEvent,
  ListedTool,
  McpHost,
  ServerConfig,
  ServerState,
  ServerStatus,
} from '../types.ts'
import { type Connection, createConnection } from './connection.ts'
import { toBlocks } from './content.ts'
import { defaultCacheFolder, openDefinitionCache } from './definition-cache.ts'
import { isAllowed } from './definitions.ts'
import { createLimiter } from './limiter.ts'
import type { Fields } from './session.ts'
import { toShelvedTool } from './shelved-tool.ts'
import type { StdioLimits } from './stdio.ts'
import { defaultTimes, type Times } from './times.ts'

export type McpHostOptions = {
  /** Gets the servers' tools, and their states. */
  readonly shelf: Shelf
  readonly servers: readonly ServerConfig[]
  /** Where definitions are kept between runs; false keeps none. */
  readonly cacheFolder?: string | false
  /** How many servers start at a time. */
  readonly concurrency?: number
  /** Remembers definitions, so that a later change is noticed. */
  readonly pins?: { judge(server: string, tools: readonly ListedTool[]): Promise<Changes> }
  /** What happens to a tool whose definition changed since it was first seen: told, or also held back. */
  readonly onChange?: 'report' | 'hold'
  /** Gives remote servers their tokens. */
  readonly authorize?: (config: ServerConfig) => AuthProvider | undefined | Promise<AuthProvider | undefined>
  /** Answers servers that ask outside of a call, or in one that brought nobody to ask. */
  readonly asker?: Asker
  /** Told to the person who runs this. */
  readonly notify?: (message: string) => void
  readonly clientInfo?: { readonly name: string; readonly version: string }
  readonly times?: Partial<Times>
  readonly limits?: StdioLimits
}

/** Tools whose definition is not the one first seen. */
type Changes = { readonly changed: readonly { readonly tool: string }[] }

type Member = {
  readonly config: ServerConfig
  readonly connection: Connection
  /** What the shelf has: unchanged definitions stay the same objects, so that nothing is computed anew. */
  shelved: ReadonlyMap<string, Tool>
  hidden: ReadonlySet<string>
  held: ReadonlySet<string>
  publishing: Promise<void>
}

const CORE_STATE: { readonly [state in ServerState]: Server['state'] } = {
  idle: 'connected',
  pending: 'pending',
  connected: 'connected',
  failed: 'failed',
  disabled: 'disabled',
}

export function createMcpHost(options: McpHostOptions): McpHost {
  if (!Array.isArray(options.servers) || options.servers.some((server) => !server?.transport?.kind))
    throw new TypeError('createMcpHost takes the `servers` that readConfig() returns')
  const { shelf, pins, onChange = 'report', concurrency = 4, cacheFolder, notify = () => {} } = options
  const cache =
    cacheFolder === false ? undefined : openDefinitionCache(cacheFolder ?? defaultCacheFolder(), notify)
  const times = { ...defaultTimes, ...options.times }
  const limit = createLimiter(concurrency, times.turn)
  const listeners = new Set<(event: HostEvent) => void>()
  const members = new Map<string, Member>()
  let capabilities: Fields = {}
  const closing = new AbortController()
  let isStarted = false

  for (const config of options.servers) if (!members.has(config.name)) members.set(config.name, join(config))

  function join(config: ServerConfig): Member {
    const { name } = config
    const connection = createConnection({
      config,
      clientInfo: options.clientInfo ?? { name: 'toolshelf', version: '0.1.0' },
      capabilities: () => capabilities,
      cache,
      limit,
      authorize: async () => (config.transport.kind === 'stdio' ? undefined : options.authorize?.(config)),
      times,
      limits: options.limits,
      asker: options.asker,
      onState: () => {
        tellShelf(member)
        tell({ type: 'state', server: name, status: statusOf(member) })
      },
      onTools: () => {
        const listed = connection.view().tools
        member.publishing = member.publishing
          .then(() => publish(member, listed))
          .catch((error: Error) => notify(`server "${name}": its tools could not be used: ${error.message}`))
        return member.publishing
      },
      onNotification: (method, params) => hear(name, method, params),
    })
    const member: Member = {
      config,
      connection,
      shelved: new Map(),
      hidden: new Set(),
      held: new Set(),
      publishing: Promise.resolve(),
    }
    tellShelf(member)
    return member
  }

  async function publish(member: Member, listed: readonly ListedTool[]): Promise<void> {
    const { config } = member
    const held = await heldOf(member, listed)
    const shown = listed.filter(({ name }) => isAllowed(name, config) && !held.has(name))
    const shelved = new Map<string, Tool>()
    for (const one of shown) {
      const tool = toShelvedTool(one, config)
      const before = member.shelved.get(one.name)
      shelved.set(one.name, before && JSON.stringify(before) === JSON.stringify(tool) ? before : tool)
    }
    const isSame =
      shelved.size === member.shelved.size &&
      [...shelved].every(([name, tool]) => member.shelved.get(name) === tool)
    member.hidden = new Set(listed.flatMap(({ name }) => (isAllowed(name, config) ? [] : [name])))
    member.held = held
    member.shelved = shelved
    if (!isSame) {
      shelf.replace(config.name, [...shelved.values()])
    }
    if (!isSame) tell({ type: 'tools', server: config.name, status: statusOf(member) })
  }

  /** Own names of the tools that changed since they were first seen, where that holds them back. */
  async function heldOf(
    { config: { name: server }, connection }: Member,
    listed: readonly ListedTool[],
  ): Promise<ReadonlySet<string>> {
    // What the cache holds was judged when it came; where nothing is held back, that need not cost a start.
    const isKnown = connection.view().isCached && onChange === 'report'
    if (!pins || isKnown || listed.length === 0) return new Set()
    try {
      const { changed } = await pins.judge(server, listed)
      const names = changed.map(({ tool }) => tool)
      if (names.length > 0) {
        const outcome = onChange === 'hold' ? 'held back until accepted' : 'used as they are now'
        notify(
          `server "${server}": ${names.length} definition(s) changed since first seen (${names.slice(0, 5).join(', ')}), ${outcome}; see "toolshelf pins show ${server}"`,
        )
      }
      return new Set(onChange === 'hold' ? names : [])
    } catch (error) {
      notify(`server "${server}": its definitions could not be compared: ${(error as Error).message}`)
      return new Set()
    }
  }

  function tellShelf({ config, connection }: Member): void {
    const { state, reason, instructions } = connection.view()
    shelf.server(config.name, {
      state: CORE_STATE[state],
      ...(reason !== undefined ? { error: reason } : {}),
      ...(config.alwaysLoad !== undefined ? { alwaysLoad: config.alwaysLoad } : {}),
      ...(instructions !== undefined ? { instructions } : {}),
      ...(config.description !== undefined ? { description: config.description } : {}),
    })
  }

  function hear(server: string, method: string, params: Fields): void {
    if (method === 'notifications/resources/list_changed') tell({ type: 'resources', server })
    if (method === 'notifications/prompts/list_changed') tell({ type: 'prompts', server })
    if (method === 'notifications/resources/updated')
      tell({ type: 'resource', server, uri: String(params.uri) })
    if (method === 'notifications/message') {
      const { level, logger, data } = params
      tell({
        type: 'log',
        server,
        level: String(level ?? 'info'),
        logger: typeof logger === 'string' ? logger : undefined,
        data,
      })
    }
  }

  function tell(event: HostEvent): void {
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        notify(`a listener failed: ${(error as Error).message}`)
      }
    }
  }

  function memberFor(server: string): Member {
    const member = members.get(server)
    if (member) return member
    throw new Error(`there is no server "${server}"; there are ${[...members.keys()].join(', ') || 'none'}`)
  }

  const call: McpHost['call'] = async (server, tool, input, callOptions = {}) => {
    const member = memberFor(server)
    if (member.hidden.has(tool) || member.held.has(tool)) throw new Error(whyNot(member, tool))
    return member.connection.call(tool, input, callOptions)
  }

  /** Thousands of definitions take a while: who answers clients meanwhile gets a turn after each server. */
  async function eachInTurn(task: (connection: Connection) => unknown): Promise<void> {
    for (const { connection } of [...members.values()].sort(pinnedFirst)) {
      await connection.prime()
      task(connection)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const prime = () => eachInTurn(() => {})

  return {
    async recall() {
      const all = [...members.values()]
      await Promise.all(all.map(({ connection }) => connection.recall()))
      await Promise.all(all.filter(isPinned).map(({ connection }) => connection.prime()))
    },
    prime,
    start(given = {}) {
      if (isStarted) return
      isStarted = true
      capabilities = given
      void eachInTurn((connection) => void connection.start())
    },
    status: () => [...members.values()].map(statusOf),
    async run(used, callOptions: CallOptions = {}) {
      const { server, original, input } = shelf.resolve(used)
      if (server === undefined)
        return shelf.result(used, `"${used.name}" is no tool of an MCP server.`, { isError: true })
      try {
        const output = await call(server, original, (input ?? {}) as Fields, callOptions)
        return shelf.result(used, toBlocks(output), output.isError ? { isError: true } : {})
      } catch (error) {
        return shelf.result(used, (error as Error).message, { isError: true })
      }
    },
    call,
    request: async (server, method, params, callOptions = {}) =>
      memberFor(server).connection.request(method, params, callOptions),
    async settled({ timeout, only } = {}) {
      const isPending = () =>
        !closing.signal.aborted &&
        [...members.values()].some(
          ({ config, connection }) =>
            connection.view().state === 'pending' && (only !== 'alwaysLoad' || config.alwaysLoad === true),
        )
      const published = () => Promise.all([...members.values()].map(({ publishing }) => publishing))
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((resolve) => {
        const leave = () => {
          listeners.delete(look)
          closing.signal.removeEventListener('abort', leave)
          resolve()
        }
        const look = () => {
          if (!isPending()) leave()
        }
        listeners.add(look)
        closing.signal.addEventListener('abort', leave)
        if (timeout !== undefined) timer = setTimeout(leave, timeout)
        look()
      })
      clearTimeout(timer)
      await published()
    },
    notify(method) {
      for (const { connection } of members.values()) void connection.notify(method).catch(() => {})
    },
    async refresh(server) {
      const member = memberFor(server)
      await member.connection.refresh()
      await member.publishing
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      closing.abort()
      listeners.clear()
      await Promise.all([...members.values()].map(({ connection }) => connection.close()))
    },
  }
}

function statusOf({ config, connection, hidden, held }: Member): ServerStatus {
  const view = connection.view()
  const shown = view.tools.filter(({ name }) => !hidden.has(name))
  return { name: config.name, config, ...view, tools: shown, hidden: [...hidden], held: [...held] }
}

function whyNot({ config, hidden }: Member, tool: string): string {
  if (hidden.has(tool)) return `"${tool}" of "${config.name}" is not allowed by ${config.source}`
  return `"${tool}" of "${config.name}" is held back: its definition changed since it was first seen. Look at it with "toolshelf pins show ${config.name}" and allow it with "toolshelf pins accept ${config.name}".`
}

function pinnedFirst(a: Member, b: Member): number {
  return Number(isPinned(b)) - Number(isPinned(a))
}

function isPinned({ config: { alwaysLoad, tools } }: Member): boolean {
  return alwaysLoad === true || Object.values(tools).some((tool) => tool.alwaysLoad === true)
}
