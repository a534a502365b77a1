// Connects to many servers in the background and puts their tools on one shelf. A slow or failing server does not
// affect the others.
// Implements H2.

import { isDeepStrictEqual } from 'node:util'
import type { Server, Shelf } from '../../core/index.ts'
import { type Fields, unsafeKinds } from '../../lib/index.ts'
import { createLimiter, withTimeout } from '../../node/index.ts'
import { type DefinitionCache, defaultCacheFolder, openDefinitionCache } from '../cache/index.ts'
import { isAllowed } from '../config/index.ts'
import { isForModel } from '../protocol/index.ts'
import type { StdioLimits } from '../session/index.ts'
import type {
  AuthProvider,
  CallOptions,
  HostEvent,
  ListedTool,
  McpHost,
  QuestionHandler,
  ServerConfig,
  ServerState,
} from '../types.ts'
import { type AlwaysLoadLimits, alwaysLoadLimits } from './always-load.ts'
import { createChangeGuard, type Judge } from './change-guard.ts'
import { createConnection } from './connection.ts'
import type { Connection } from './connection-types.ts'
import { toBlocks } from './content.ts'
import { eventOf, untilNot } from './host-events.ts'
import { describeMember, heldBack, isPinned, type Member, newMember, pinnedFirst, whyNot } from './member.ts'
import { createPublisher } from './publisher.ts'
import { defaultTimes, type Times } from './times.ts'

/** Options of `createMcpHost`. */
export type McpHostOptions = {
  /** Receives the servers' tools and states. */
  readonly shelf: Shelf
  /** The servers, as `readConfig` returns them. */
  readonly servers: readonly ServerConfig[]
  /** Where definitions are stored between runs; false stores none. */
  readonly cacheFolder?: string | false
  /** Used instead of a cache in `cacheFolder`. */
  readonly cache?: DefinitionCache
  /** Ignores definitions stored by earlier runs, but stores new ones. */
  readonly isCacheIgnored?: boolean
  /** How many servers start at a time. */
  readonly concurrency?: number
  /** Remembers definitions, so that later changes are noticed. */
  readonly pins?: Judge
  /** Whether a tool, a prompt or instructions that changed since first seen are only reported or also held back. */
  readonly onChange?: 'report' | 'hold'
  /** Supplies the tokens for remote servers. */
  readonly authorize?: (config: ServerConfig) => AuthProvider | undefined | Promise<AuthProvider | undefined>
  /** Answers what servers ask in a call that has no handler of its own; outside of calls, only `roots/list`. */
  readonly asker?: QuestionHandler
  /** Reports to the operator. */
  readonly notify?: (message: string) => void
  /** The name and version that servers see. */
  readonly clientInfo?: { readonly name: string; readonly version: string }
  /** Timeouts and intervals. */
  readonly times?: Partial<Times>
  /** Limits for the output of server processes. */
  readonly limits?: StdioLimits
  /** Limits for always-loaded tools. */
  readonly alwaysLoad?: Partial<AlwaysLoadLimits>
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
  const opened =
    options.cache ??
    (cacheFolder === false ? undefined : openDefinitionCache(cacheFolder ?? defaultCacheFolder(), notify))
  const cache = opened && options.isCacheIgnored ? { ...opened, read: async () => undefined } : opened
  const times = { ...defaultTimes, ...options.times }
  const limit = createLimiter(concurrency, times.turn)
  const listeners = new Set<(event: HostEvent) => void>()
  const members = new Map<string, Member>()
  let capabilities: Fields = {}
  const closing = new AbortController()
  /** Connections of servers that are no longer configured, until their calls have ended. */
  const leaving = new Set<Connection>()
  let isStarted = false
  let isWatching = false
  const publisher = createPublisher(options.servers, {
    shelf,
    limits: { ...alwaysLoadLimits, ...options.alwaysLoad },
    notify,
    onTools: (server) => tell({ type: 'tools', server, status: statusOf(memberFor(server)) }),
  })

  const guard = createChangeGuard({
    pins,
    onChange,
    notify,
    later: (task) => {
      setTimeout(() => !closing.signal.aborted && task(), times.accepted).unref()
    },
    recheck(server) {
      const member = members.get(server)
      if (member) void publishSoon(member).then(() => tellShelf(member))
    },
    onPrompts(server) {
      const member = members.get(server)
      if (member) void showPrompts(member)
    },
  })

  const statusOf = (member: Member) => describeMember(member, publisher.problems(member.config.name))

  for (const config of options.servers) if (!members.has(config.name)) admit(config)

  function admit(config: ServerConfig): void {
    const member = join(config)
    members.set(config.name, member)
    tellShelf(member)
  }

  /** False once its server has been reconfigured or removed. */
  function isHere(member: Member): boolean {
    return members.get(member.config.name) === member
  }

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
        if (!isHere(member)) return
        tellShelf(member)
        tell({ type: 'state', server: name, status: statusOf(member) })
      },
      onTools: () => publishSoon(member),
      onList: (type) => void (type === 'prompts' ? showPrompts(member) : tell({ type, server: name })),
      onNotification: (method, params, client) => {
        const event = isHere(member) ? eventOf(name, method, params, client) : undefined
        if (event) tell(event)
      },
      notify,
    })
    const member = newMember(config, connection)
    return member
  }

  /** Servers whose entry is unchanged stay as they are. */
  async function configure(servers: readonly ServerConfig[]): Promise<void> {
    const before = new Map(members)
    members.clear()
    for (const config of servers) {
      const known = before.get(config.name)
      if (members.has(config.name)) continue
      if (known && isDeepStrictEqual(known.config, config)) members.set(config.name, known)
      else admit(config)
    }
    const joined = [...members.values()].filter((member) => before.get(member.config.name) !== member)
    for (const member of before.values()) if (!isHere(member)) void leave(member)
    await publisher.arrange([...members.values()].map(({ config }) => config))
    await Promise.all(joined.map(recallTexts))
    tell({ type: 'servers' })
    for (const member of joined.filter(isHere)) {
      tell({ type: 'state', server: member.config.name, status: statusOf(member) })
      if (isWatching) member.connection.watchLists()
    }
    if (isStarted) void eachInTurn(joined.filter(isHere), (connection) => void connection.start())
  }

  /** Closes a connection once its calls are answered. */
  async function leave({ calls, connection }: Member): Promise<void> {
    leaving.add(connection)
    await withTimeout(Promise.allSettled(calls), times.farewell, 'late').catch(() => {})
    await connection.close()
    leaving.delete(connection)
  }

  /** Shows the prompts that are not held back, after comparing them. */
  async function showPrompts(member: Member): Promise<void> {
    if (!isHere(member)) return
    const { name } = member.config
    member.comparing++
    const listed = member.connection.view().prompts
    const prompts = listed && (await guard.prompts(name, listed))
    member.comparing--
    if (member.connection.view().prompts !== listed) return
    member.prompts = prompts
    tell({ type: 'prompts', server: name })
  }

  /** Publishes one list after the other, so that the latest wins. */
  function publishSoon(member: Member): Promise<void> {
    const listed = member.connection.view().tools
    member.publishing = member.publishing
      .then(() => publish(member, listed))
      .catch((error: Error) =>
        notify(`server "${member.config.name}": its tools could not be used: ${error.message}`),
      )
    return member.publishing
  }

  async function publish(member: Member, listed: readonly ListedTool[]): Promise<void> {
    const { config } = member
    const { isCached, instructions } = member.connection.view()
    // Cached definitions were compared when they arrived; if nothing is held back, they need not be compared again at
    // the start.
    const isKnown = isCached && onChange === 'report'
    const held = isKnown ? new Set<string>() : await guard.tools(config.name, listed)
    member.instructions = isKnown ? instructions : await guard.instructions(config.name, instructions)
    reportLimits(member)
    member.hidden = new Set(listed.flatMap(({ name }) => (isAllowed(name, config) ? [] : [name])))
    member.held = held
    const shown = listed.filter(({ name }) => !member.hidden.has(name) && !held.has(name))
    await publisher.publish(config, shown.filter(isForModel))
    const pageTools = shown.filter((tool) => !isForModel(tool))
    if (isDeepStrictEqual(pageTools, member.pageTools)) return
    member.pageTools = pageTools
    tell({ type: 'tools', server: config.name, status: statusOf(member) })
  }

  /** Reports once that a list is too long. */
  function reportLimits(member: Member): void {
    const limit = member.connection.view().problems.find(({ kind }) => kind === 'limited')
    if (limit && !member.isLimited) notify(`server "${member.config.name}": ${limit.message}`)
    member.isLimited = limit !== undefined
  }

  function tellShelf(member: Member): void {
    if (!isHere(member)) return
    const { config, connection } = member
    const { state, reason } = connection.view()
    const { instructions } = member
    if (instructions !== undefined && !member.isNoted && unsafeKinds(instructions).length > 0) {
      member.isNoted = true
      notify(
        `server "${config.name}": its instructions hold hidden characters or marks of ours; they are used without.`,
      )
    }
    shelf.setServer(config.name, {
      state: CORE_STATE[state],
      error: reason,
      alwaysLoad: config.alwaysLoad,
      instructions,
      description: config.description,
    })
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
    return underWay(member, member.connection.call(tool, input, callOptions))
  }

  /** Tracks a call, so that its server is not closed before it is answered. */
  function underWay<Value>({ calls }: Member, answered: Promise<Value>): Promise<Value> {
    calls.add(answered)
    const forget = () => void calls.delete(answered)
    answered.then(forget, forget)
    return answered
  }

  /**
   * Thousands of definitions take a while: yields to the event loop after each server, so that clients get answers
   * meanwhile.
   */
  async function eachInTurn(
    some: readonly Member[],
    task: (connection: Connection) => unknown,
  ): Promise<void> {
    for (const { connection } of [...some].sort(pinnedFirst)) {
      await connection.prime()
      task(connection)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const prime = () => eachInTurn([...members.values()], () => {})

  /** Cached texts were compared when they arrived; with `hold`, some may have been accepted since. */
  async function recallTexts(member: Member): Promise<void> {
    await member.connection.recall()
    const { instructions, prompts } = member.connection.view()
    const { name } = member.config
    const isHolding = onChange === 'hold'
    member.instructions = isHolding ? await guard.instructions(name, instructions) : instructions
    member.prompts = isHolding && prompts ? await guard.prompts(name, prompts) : prompts
  }

  return {
    async recall() {
      const all = [...members.values()]
      await Promise.all(all.map(recallTexts))
      await Promise.all(all.filter(isPinned).map(({ connection }) => connection.prime()))
    },
    prime,
    start(given = {}) {
      if (isStarted) return
      isStarted = true
      capabilities = given
      void eachInTurn([...members.values()], (connection) => void connection.start())
    },
    configure,
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
    isReadOnly(used) {
      const { server = '', original } = shelf.resolve(used)
      const member = members.get(server)
      const listed = member?.connection.view().tools.find(({ name }) => name === original)
      return member?.config.trustAnnotations === true && listed?.annotations?.readOnlyHint === true
    },
    call,
    async request(server, method, params, callOptions = {}) {
      const member = memberFor(server)
      if (method === 'prompts/get' && guard.isPromptHeld(server, params?.name))
        throw new Error(heldBack(server, `the prompt "${params?.name}"`))
      const result = await underWay(member, member.connection.request(method, params, callOptions))
      if (method !== 'prompts/list' || !Array.isArray(result.prompts)) return result
      return { ...result, prompts: await guard.prompts(server, result.prompts) }
    },
    async settled({ timeout, only } = {}) {
      const isPending = () =>
        [...members.values()].some(
          ({ config, connection }) =>
            connection.view().state === 'pending' && (only !== 'alwaysLoad' || config.alwaysLoad === true),
        )
      await untilNot(isPending, { listeners, signal: closing.signal, timeout })
      await Promise.all([...members.values()].map(({ publishing }) => publishing))
    },
    notify(method) {
      for (const { connection } of members.values()) void connection.notify(method).catch(() => {})
    },
    async refresh(server) {
      const member = memberFor(server)
      await member.connection.refresh()
      await member.publishing
    },
    watchLists() {
      isWatching = true
      for (const { connection } of members.values()) connection.watchLists()
    },
    async freshen({ timeout }) {
      const all = Promise.all([...members.values()].map(({ connection }) => connection.freshen()))
      await withTimeout(all, timeout, 'late').catch(() => {}) // It comes with the next access.
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      closing.abort()
      listeners.clear()
      const connections = [...members.values()].map(({ connection }) => connection)
      await Promise.all([...connections, ...leaving].map((connection) => connection.close()))
    },
  }
}
