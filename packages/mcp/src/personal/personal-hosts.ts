// Manages servers for which each user has their own credentials: one host per user with these servers, joined with the
// shared one. Servers start at their first use; idle ones stop, the oldest first if there are too many.
import type { Shelf, Tool } from '@toolshelf/core'
import { errorMessage, groupBy, oncePer, type Pool, rightsOf, type User } from '@toolshelf/core/internal'
import { fillUserValues, userValuesIn } from '../config/references.ts'
import { nameServers } from '../config/slugs.ts'
import { createOAuth } from '../oauth/authorize.ts'
import { type CredentialFile, readCredentials } from '../oauth/credentials.ts'
import type { AuthProvider, CallOptions, HostEvent, McpHost, ServerConfig } from '../types.ts'
import { CredentialError, type CredentialStore, type UserCredentials } from './credential-store.ts'

export type PersonalHostsOptions = {
  /** The personal servers, as configured. */
  readonly servers: readonly ServerConfig[]
  readonly credentials: CredentialStore
  /** The host of the servers that all users share, and its shelf. */
  readonly shared: McpHost
  readonly sharedShelf: Shelf
  /** Creates a shelf with the settings of the shared one, without tools. */
  readonly makeShelf: () => Shelf
  /** Creates the host of one user's servers; it must store nothing about them. */
  readonly makeHost: (parts: {
    readonly shelf: Shelf
    readonly servers: readonly ServerConfig[]
    readonly authorize: (config: ServerConfig) => AuthProvider | undefined
  }) => McpHost
  /** Connections and processes at a time, of all users together. Default: 200. */
  readonly maxConnections?: number
  /** Inactive users whose servers are remembered. Default: 200. */
  readonly maxUsers?: number
  /** Milliseconds until credentials that could not be read are read again. */
  readonly retryMs?: number
  readonly notify?: (message: string) => void
}

/** What one user sees: shared and personal servers together. */
export type UserLayer = { readonly id: string; readonly shelf: Shelf; readonly host: McpHost }

/** Finds the servers of users. */
export type PersonalHosts = {
  /** Returns what a user sees; undefined if there are no personal servers that they may see. */
  layerFor(user: User): UserLayer | undefined
  names(): readonly string[]
  /** Replaces the personal servers. */
  configure(servers: readonly ServerConfig[]): void
  close(): Promise<void>
}

/**
 * Creates the hosts of users with their own credentials.
 *
 * @example
 * const personal = createPersonalHosts({ servers, credentials, shared: host, sharedShelf: shelf, makeShelf, makeHost })
 * const gateway = createMcpGateway({ shelf, makeHost: () => host, personal })
 */
export function createPersonalHosts(options: PersonalHostsOptions): PersonalHosts {
  const { maxUsers = 200, maxConnections = 200, credentials } = options
  const layers = new Map<string, Layer>()
  let servers = nameServers(options.servers)
  let uses = 0

  /** Closes layers that nobody uses, the least recently used first. */
  function makeRoom(): void {
    for (const [key, layer] of layers) {
      if (layers.size <= maxUsers) return
      if (layer.joined.isInUse()) continue
      layers.delete(key)
      void layer.close()
    }
  }

  /** Stops idle servers of the least recently used layers while there are too many connections. */
  function stopIdle(): void {
    const open = [...layers.values()].sort((a, b) => a.usedAt - b.usedAt)
    let excess = open.reduce((count, layer) => count + layer.connected().length, 0) - maxConnections
    for (const layer of open) {
      if (excess <= 0) return
      if (layer.joined.inFlight() > 0) continue
      const connected = layer.connected()
      excess -= connected.length
      for (const server of connected) void layer.own.disconnect(server).catch(() => {})
    }
  }

  const watching = credentials
    .watch((user) => {
      for (const layer of layers.values())
        if (user === undefined || layer.user.uid === user) void layer.refill()
    })
    .catch((error: unknown) => {
      options.notify?.(`cannot watch for changed credentials: ${errorMessage(error)}`)
      return async () => {}
    })

  return {
    names: () => servers.map(({ name }) => name),
    layerFor(user) {
      const rights = rightsOf(user.profile)
      const own = servers.filter(({ name, disabled }) => !disabled && rights.seesServer(name))
      if (own.length === 0) return undefined
      const key = JSON.stringify([user.uid, rights.id])
      let layer = layers.get(key)
      layers.delete(key)
      layer ??= new Layer(options, {
        key,
        user,
        servers: own,
        onConnected: stopIdle,
        nextUse: () => ++uses,
      })
      layers.set(key, layer)
      layer.use()
      makeRoom()
      return layer
    },
    configure(next) {
      servers = nameServers(next)
      for (const layer of layers.values()) {
        const rights = rightsOf(layer.user.profile)
        layer.servers = servers.filter(({ name, disabled }) => !disabled && rights.seesServer(name))
        void layer.refill()
      }
    },
    async close() {
      await (await watching)()
      await Promise.all([...layers.values()].map((layer) => layer.close()))
      layers.clear()
    },
  }
}

type LayerOptions = {
  readonly key: string
  readonly user: User
  readonly servers: readonly ServerConfig[]
  readonly onConnected: () => void
  readonly nextUse: () => number
}

/** Milliseconds until credentials that could not be read are read again. */
const RETRY_MS = 5000

class Layer implements UserLayer {
  readonly id: string
  readonly user: User
  readonly shelf: Shelf
  readonly own: McpHost
  readonly joined: JoinedHost
  servers: readonly ServerConfig[]
  usedAt = 0
  readonly #options: PersonalHostsOptions
  readonly #nextUse: () => number
  readonly #mirror: (server?: string) => void
  readonly #stops: (() => void)[]
  /** Resolves when the last update of credentials is done; they run one after the other. */
  #filling: Promise<void>
  #retry: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: PersonalHostsOptions, { key, user, servers, onConnected, nextUse }: LayerOptions) {
    const { shared, sharedShelf, credentials } = options
    const isOwn = (server: string) => this.servers.some(({ name }) => name === server)
    this.id = key
    this.user = user
    this.servers = servers
    this.#options = options
    this.#nextUse = nextUse
    this.shelf = options.makeShelf()
    this.#mirror = mirrorShelf(sharedShelf, this.shelf, isOwn)
    this.#mirror()
    this.own = options.makeHost({
      shelf: this.shelf,
      servers: servers.map((config) => ({ ...config, blocked: 'its credentials are being read' })),
      authorize: (config) => storedLogin(config, user, credentials),
    })
    this.#stops = [
      shared.listen((event) => this.#follow(event)),
      this.own.listen((event) => {
        if (event.type === 'state' && event.status.state === 'connected') onConnected()
      }),
    ]
    this.joined = joinHosts({
      shared,
      own: this.own,
      shelf: this.shelf,
      isOwn,
      ready: () => this.#filling,
      onUse: () => this.use(),
    })
    this.#filling = this.#fill()
  }

  get host(): McpHost {
    return this.joined.host
  }

  use(): void {
    this.usedAt = this.#nextUse()
  }

  connected(): readonly string[] {
    return this.own.status().flatMap(({ name, state }) => (state === 'connected' ? [name] : []))
  }

  /** Reads the credentials again; reopens servers whose values changed, once their calls are answered. */
  refill(): Promise<void> {
    this.#filling = this.#filling.then(() => this.#fill())
    return this.#filling
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    for (const stop of this.#stops) stop()
    await this.own.close()
  }

  async #fill(): Promise<void> {
    if (this.#isClosed) return
    const found = await this.#read()
    if (this.#isClosed) return
    const failed = this.own.status().filter(({ state }) => state === 'failed')
    await this.own.configure(
      this.servers.map((config) => serverForUser(config, this.user.id, found(config.name))),
    )
    // A login that was missing may be there now.
    const blocked = (server: string) => this.own.status().find(({ name }) => name === server)?.config.blocked
    for (const { name, config } of failed)
      if (config.blocked === undefined && blocked(name) === undefined)
        void this.own.connect(name).catch(() => {})
  }

  async #read(): Promise<(server: string) => FoundCredentials> {
    try {
      const all = await this.#options.credentials.readAll(this.user.uid)
      return (server) => all.get(server)
    } catch (error) {
      clearTimeout(this.#retry)
      this.#retry = setTimeout(() => void this.refill(), this.#options.retryMs ?? RETRY_MS)
      this.#retry.unref()
      return () => new Error(errorMessage(error))
    }
  }

  #follow(event: HostEvent): void {
    if (event.type === 'servers') this.#mirror()
    else if (event.type === 'tools' || event.type === 'state') this.#mirror(event.server)
  }
}

type JoinedHostOptions = {
  readonly shared: McpHost
  readonly own: McpHost
  /** The shelf with the tools of both. */
  readonly shelf: Shelf
  readonly isOwn: (server: string) => boolean
  /** Resolves when the user's servers are configured; never rejects. */
  readonly ready: () => Promise<void>
  /** Called when the user's servers are used. */
  readonly onUse: () => void
}

type JoinedHost = ReturnType<typeof joinHosts>

function joinHosts({ shared, own, shelf, isOwn, ready, onUse }: JoinedHostOptions) {
  const both = [shared, own]
  let calls = 0
  let listeners = 0

  async function using<Value>(server: string, work: (host: McpHost) => Promise<Value>): Promise<Value> {
    if (!isOwn(server)) return work(shared)
    calls++
    onUse()
    try {
      await ready()
      return await work(own)
    } finally {
      calls--
      onUse()
    }
  }

  const host: McpHost = {
    readCache: () => shared.readCache(),
    publishCachedTools: () => shared.publishCachedTools(),
    start(capabilities) {
      shared.start(capabilities)
      void ready().then(() => own.start(capabilities))
    },
    async configure() {
      throw new Error('the servers of a user follow those of the gateway; configure the gateway instead')
    },
    status: () => both.flatMap((one) => one.status()),
    async run(call, callOptions) {
      const { server = '' } = shelf.resolve(call)
      return using(server, (one) => one.run(call, callOptions))
    },
    isReadOnly(call) {
      const { server = '' } = shelf.resolve(call)
      return (isOwn(server) ? own : shared).isReadOnly(call)
    },
    folderOf: (server) => (isOwn(server) ? own : shared).folderOf(server),
    call: (server, tool, input, callOptions?: CallOptions) =>
      using(server, (one) => one.call(server, tool, input, callOptions)),
    request: (server, method, params, callOptions) =>
      using(server, (one) => one.request(server, method, params, callOptions)),
    async settled(callOptions) {
      await ready()
      await Promise.all(both.map((one) => one.settled(callOptions)))
    },
    notifyServers(method) {
      for (const one of both) one.notifyServers(method)
    },
    connect: (server) => using(server, (one) => one.connect(server)),
    disconnect: (server) => using(server, (one) => one.disconnect(server)),
    refresh: (server) => using(server, (one) => one.refresh(server)),
    watchLists() {
      for (const one of both) one.watchLists()
    },
    async refreshStaleLists(callOptions) {
      await Promise.all(both.map((one) => one.refreshStaleLists(callOptions)))
    },
    listen(listener: (event: HostEvent) => void) {
      const stops = both.map((one) => one.listen(listener))
      let isOver = false
      listeners++
      return () => {
        for (const stop of stops) stop()
        if (!isOver) listeners--
        isOver = true
      }
    },
    close: () => own.close(),
  }
  return {
    host,
    /** Returns whether calls are running or clients listen. */
    isInUse: () => calls > 0 || listeners > 0,
    /** Returns the number of running calls of the user's own servers. */
    inFlight: () => calls,
  }
}

/** Tools by server, grouped once for all mirrors of a shelf, since a pool is immutable. */
const toolsOf = oncePer(({ tools }: Pool) => {
  const groups = [...groupBy(tools, ({ server }) => server)]
  return new Map(groups.map(([server, entries]) => [server, entries.map(({ tool }) => tool)]))
})

/** Returns a function that copies changes of one server, or of all, except those that belong to the target shelf alone. */
function mirrorShelf(from: Shelf, to: Shelf, isOwn: (server: string) => boolean): (server?: string) => void {
  const shown = new Map<string, readonly Tool[]>()

  function syncServer(server: string, tools: readonly Tool[]): void {
    const details = from.servers().get(server)
    if (isOwn(server) || !details) return
    const before = shown.get(server)
    if (!before || !isSame(before, tools)) {
      shown.set(server, tools)
      to.replace(server, tools)
    }
    to.setServer(server, details)
  }

  return (server) => {
    const all = toolsOf(from.partition().pool)
    const names = server === undefined ? from.servers().keys() : [server]
    for (const name of names) syncServer(name, all.get(name) ?? [])
  }
}

function isSame(one: readonly Tool[], other: readonly Tool[]): boolean {
  return one.length === other.length && one.every((tool, index) => tool === other[index])
}

/** A user's credentials for a server; an error if they cannot be read. */
type FoundCredentials = UserCredentials | Error | undefined

/** Returns the configuration of a user's server, which starts at its first use and stops when idle. */
function serverForUser(config: ServerConfig, user: string, found: FoundCredentials): ServerConfig {
  const { blocked: _, ...own } = config
  const lazy = { ...own, lazy: true }
  if (found instanceof CredentialError)
    return { ...lazy, blocked: `your credentials cannot be used: ${found.message}` }
  if (found instanceof Error)
    return { ...lazy, blocked: `your credentials cannot be read now: ${found.message}` }
  const missing = userValuesIn(config.transport).filter((name) => !Object.hasOwn(found?.values ?? {}, name))
  if (missing.length > 0) return { ...lazy, blocked: aboutMissing(config.name, user, missing) }
  return fillUserValues(lazy, found?.values ?? {})
}

function aboutMissing(server: string, user: string, names: readonly string[]): string {
  const [first = ''] = names
  const command = ['toolshelf users credentials set', shellWord(user), shellWord(server), first].join(' ')
  return `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set for you; the operator of the gateway sets a value with: ${command}`
}

/** Quotes a word for a command line; ids of users may contain any character. */
function shellWord(text: string): string {
  return /^[\w@.+:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns a provider that authorizes a user's requests; undefined for a server that needs no login. */
function storedLogin(
  { name, transport }: ServerConfig,
  { id, uid }: Pick<User, 'id' | 'uid'>,
  credentials: CredentialStore,
): AuthProvider | undefined {
  if (transport.kind === 'stdio') return undefined
  if (Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization'))
    return undefined
  return createOAuth({
    server: name,
    file: loginFile(credentials, uid, { server: name, url: transport.url }, true),
    command: `toolshelf login ${shellWord(name)} --user ${shellWord(id)}`,
  })
}

/** Opens the stored login of a user, by their `uid`, to a server. */
export function loginFile(
  credentials: CredentialStore,
  user: string,
  { server, url }: { readonly server: string; readonly url: string },
  isQuiet = false,
): CredentialFile {
  return {
    async read() {
      const found = readCredentials((await credentials.read(user, server))?.login)
      // Ignores a login for another URL.
      return found?.server === server && found.url === url ? found : undefined
    },
    write: (login) =>
      credentials.update(
        user,
        server,
        (before) => ({ values: before?.values ?? {}, login: { server, url, ...login } }),
        { isQuiet },
      ),
    remove: () =>
      credentials.update(user, server, (before) => {
        if (!before || Object.keys(before.values).length === 0) return undefined
        return { values: before.values }
      }),
    alone: (work) => credentials.alone(user, server, work),
  }
}
