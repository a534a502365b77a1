// Manages servers for which each user has their own credentials: one host per user with these servers, joined with the
// shared one. Servers start at their first use; idle ones stop, the oldest first if there are too many.
import type { Shelf } from '../../core/index.ts'
import { errorMessage } from '../../lib/index.ts'
import type { CredentialStore } from '../../users/credentials/index.ts'
import { rightsOf, type User } from '../../users/index.ts'
import { nameServers } from '../config/index.ts'
import type { AuthProvider, HostEvent, McpHost, ServerConfig } from '../types.ts'
import { type FoundCredentials, serverForUser } from './fill.ts'
import { type JoinedHost, joinHosts } from './joined-host.ts'
import { type Mirror, mirrorShelf } from './mirror.ts'
import { storedLogin } from './user-login.ts'

/** Options of `createPersonalHosts`. */
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
  /** Called with messages for the operator. */
  readonly notify?: (message: string) => void
}

/** What one user sees: shared and personal servers together. */
export type UserLayer = { readonly id: string; readonly shelf: Shelf; readonly host: McpHost }

/** Finds the servers of users. */
export type PersonalHosts = {
  /** Returns what a user sees; undefined if there are no personal servers that they may see. */
  layerFor(user: User): UserLayer | undefined
  /** Returns the names of the personal servers. */
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
  /** Called when one of its servers has connected. */
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
  readonly #mirror: Mirror
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
    this.#mirror.sync()
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
    if (event.type === 'servers') this.#mirror.sync()
    else if (event.type === 'tools' || event.type === 'state') this.#mirror.sync(event.server)
  }
}
