// Sends clients the notifications that they chose, and the operator the logs that belong to no client.
import type { Server } from '@modelcontextprotocol/server'
import { cleanText, oneLine } from '@toolshelf/core/internal'
import { assertSendable } from '../lists/lists.ts'
import type { HostEvent, McpHost } from '../types.ts'
import type { ClientView } from './views.ts'

type UpdateOptions = Pick<ClientView, 'host' | 'resourcesAndPrompts' | 'addresses'> & {
  readonly server: Server
  readonly relisting: Relisting
  readonly subscriptions: ReturnType<typeof createSubscriptions>
  readonly logLevels: ReturnType<typeof createLogLevels>
  readonly isLogFor: (client: Server, event: LogEvent) => boolean
}

/** A log message of a server. */
export type LogEvent = Extract<HostEvent, { type: 'log' }>

/** Ignores a failed notification: a client that has disconnected misses it. */
const ignoreFailure = (sent: Promise<void>) => void sent.catch(() => {})

/** Notifies a client of changed lists until the returned function is called. */
export function notifyOfChanges({
  server,
  host,
  relisting,
}: Pick<UpdateOptions, 'server' | 'host' | 'relisting'>): () => void {
  return host.listen((event) => {
    const isAll = event.type === 'servers'
    if (isAll || event.type === 'tools') void relisting.notify()
    if (isAll || event.type === 'prompts') ignoreFailure(server.sendPromptListChanged())
    if (isAll || event.type === 'resources') ignoreFailure(server.sendResourceListChanged())
  })
}

/**
 * Notifies a client of everything that a client with a session can subscribe to, changed lists included, until the
 * returned function is called.
 */
export function keepInformed(options: UpdateOptions): () => void {
  const { server, host, resourcesAndPrompts, addresses, subscriptions, logLevels, isLogFor } = options

  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    await subscriptions.add(server, await resourcesAndPrompts.ownerOf(uri))
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    await subscriptions.remove(server, await resourcesAndPrompts.ownerOf(uri))
    return {}
  })
  server.setRequestHandler('logging/setLevel', async ({ params: { level } }) => {
    logLevels.set(server, level)
    return {}
  })
  server.setNotificationHandler('notifications/roots/list_changed', () =>
    host.notifyServers('notifications/roots/list_changed'),
  )

  // `params` come from the server as they are, without the SDK's type.
  const sendLog = async (params: object) =>
    server.notification(assertSendable({ method: 'notifications/message', params }) as never)

  logLevels.join(server)
  const stopNotifying = notifyOfChanges(options)
  const stop = host.listen((event) => {
    if (event.type === 'resource' && subscriptions.isWanted(server, event))
      ignoreFailure(server.sendResourceUpdated({ uri: addresses.uri(event.server, event.uri) }))
    if (event.type === 'log' && isLogFor(server, event) && logLevels.isWanted(server, event.level)) {
      const logger = cleanText(event.logger ? `${event.server}/${event.logger}` : event.server)
      const params = { level: event.level, logger, data: event.data }
      ignoreFailure(sendLog(params))
    }
  })
  return () => {
    stopNotifying()
    stop()
    subscriptions.leave(server)
    logLevels.leave(server)
  }
}

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const INFO = LEVELS.indexOf('info')

/** Creates the levels of a gateway's clients; servers are set to the lowest of them. */
export function createLogLevels(host: McpHost) {
  const wishes = new Map<object, number>()
  /** The level sent to each server since it connected. */
  const sentLevels = new Map<string, number>()
  let isWished = false

  const stop = host.listen((event) => {
    if (event.type !== 'state') return
    if (event.status.state === 'connected') notify()
    else sentLevels.delete(event.server)
  })

  function notify(): void {
    if (!isWished || wishes.size === 0) return
    const lowest = Math.min(...wishes.values())
    for (const { name, state, capabilities } of host.status()) {
      if (state !== 'connected' || !capabilities.logging || sentLevels.get(name) === lowest) continue
      sentLevels.set(name, lowest)
      host.request(name, 'logging/setLevel', { level: LEVELS[lowest] }).catch(() => {}) // The server may not support it.
    }
  }

  return {
    /** Adds a client; until it sets a level it gets `info` and above. */
    join: (client: object) => void wishes.set(client, INFO),
    set(client: object, level: string) {
      isWished = true
      wishes.set(client, LEVELS.indexOf(level))
      notify()
    },
    isWanted: (client: object, level: string) => LEVELS.indexOf(level) >= (wishes.get(client) ?? INFO),
    leave(client: object) {
      wishes.delete(client)
      notify()
    },
    close: stop,
  }
}

export type Resource = { readonly server: string; readonly uri: string }

/** Most resources that one client may subscribe to. */
const MAX_OF_CLIENT = 1000
/** Longest URI, in characters. */
const MAX_URI_LENGTH = 10_000

type Subscription = {
  readonly resource: Resource
  readonly clients: Set<object>
  /** Settles when the server has answered. */
  readonly answered: Promise<void>
}

/** Creates subscriptions: at a server once for all clients, and again after it reconnects. */
export function createSubscriptions(host: McpHost) {
  const wanted = new Map<string, Subscription>()
  /** Keys of each client's subscriptions. */
  const ofClients = new Map<object, Set<string>>()
  const away = new Set<string>()

  /**
   * Returns whether the host has the server. The host's own error would name all servers, even those that the user may
   * not see.
   */
  const isShared = ({ server }: Resource) => host.status().some(({ name }) => name === server)

  const send = async (method: string, { server, uri }: Resource) => {
    await host.request(server, `resources/${method}`, { uri })
  }

  const stop = host.listen((event) => {
    if (event.type !== 'state') return
    if (event.status.state !== 'connected') away.add(event.server)
    else if (away.delete(event.server)) {
      for (const { resource } of wanted.values())
        if (resource.server === event.server) send('subscribe', resource).catch(() => {}) // The resource may be gone by now.
    }
  })

  /** Returns true if this was the last client subscribed to it. */
  function drop(client: object, key: string): boolean {
    const own = ofClients.get(client)
    own?.delete(key)
    if (own?.size === 0) ofClients.delete(client)
    const clients = wanted.get(key)?.clients
    if (!clients?.delete(client) || clients.size > 0) return false
    return wanted.delete(key)
  }

  async function remove(client: object, resource: Resource): Promise<void> {
    if (drop(client, keyOf(resource)) && isShared(resource)) await send('unsubscribe', resource)
  }

  function keep(client: object, key: string): void {
    const own = ofClients.get(client) ?? new Set()
    if (!own.has(key) && own.size >= MAX_OF_CLIENT)
      throw new Error(`a client can subscribe to ${MAX_OF_CLIENT} resources; unsubscribe from some first`)
    ofClients.set(client, own.add(key))
  }

  return {
    async add(client: object, resource: Resource) {
      if (resource.uri.length > MAX_URI_LENGTH)
        throw new Error(`a URI of ${resource.uri.length} characters is too long to subscribe to`)
      if (!isShared(resource))
        throw new Error(
          `clients cannot subscribe to resources of "${resource.server}"; read them again when you need them`,
        )
      const key = keyOf(resource)
      keep(client, key)
      const entry = wanted.get(key) ?? { resource, clients: new Set(), answered: send('subscribe', resource) }
      wanted.set(key, entry)
      entry.clients.add(client)
      await entry.answered.catch((error) => {
        drop(client, key)
        throw error
      })
    },
    remove,
    isWanted: (client: object, resource: Resource) =>
      wanted.get(keyOf(resource))?.clients.has(client) ?? false,
    /** Removes a client that has disconnected, with its subscriptions. */
    leave(client: object) {
      for (const key of [...(ofClients.get(client) ?? [])]) {
        const { resource } = wanted.get(key) ?? {}
        if (resource) remove(client, resource).catch(() => {}) // The server may be gone.
      }
    },
    close: stop,
  }
}

function keyOf({ server, uri }: Resource): string {
  return `${server}\n${uri}`
}

export type Relisting = ReturnType<typeof createRelisting>

const MAX_WAIT_MS = 5000
/** Milliseconds for the client to process the list: about as long as its request took, because both wait for its event loop. */
const MIN_DIGESTION_MS = 50
const MAX_DIGESTION_MS = 1000

/**
 * Creates the notifications of one client, which `send` sends. Delays the answer to a search until the client has fetched
 * the new list, because it builds its next request from the list it has. A client that does not is not waited for again
 * until it does.
 */
export function createRelisting(list: () => string, send: () => Promise<void>) {
  const waiting = new Set<() => void>()
  let isHeard = true
  let announcedAt = 0
  /** The list version that the client has, or was notified of. */
  let known = ''

  async function notify(): Promise<void> {
    const current = list()
    if (current === known) return
    known = current
    await send()
  }

  return {
    /** Notifies the client that the list has changed, unless it has the current one. */
    notify,
    /** Notifies too; resolves when the client has fetched the new list, or seems not to fetch it. */
    async announce() {
      if (!isHeard) return notify()
      // A client may request the list before the notification counts as sent.
      const heard = new Promise<void>((resolve) => {
        const giveUp = setTimeout(() => {
          isHeard = false
          waiting.delete(go)
          resolve()
        }, MAX_WAIT_MS)
        const go = () => {
          clearTimeout(giveUp)
          resolve()
        }
        waiting.add(go)
        announcedAt = performance.now()
      })
      await notify()
      await heard
    },
    /** Records that the client has requested the list, or has just connected. */
    listed() {
      known = list()
      isHeard = true
      const ready = [...waiting]
      waiting.clear()
      if (ready.length === 0) return
      const pause = Math.max(MIN_DIGESTION_MS, performance.now() - announcedAt)
      setTimeout(
        () => {
          for (const go of ready) go()
        },
        Math.min(MAX_DIGESTION_MS, pause),
      )
    },
  }
}

const TOLD: ReadonlySet<string> = new Set(['warning', 'error', 'critical', 'alert', 'emergency'])
/** Messages per server. */
const MAX_PER_MINUTE = 10
const MINUTE_MS = 60_000

/** Reports the servers' warnings and errors that go to no client, a few per minute, until the returned function is called. */
export function reportToOperator(
  host: McpHost,
  isForOperator: (event: LogEvent) => boolean,
  notify: (message: string) => void = () => {},
): () => void {
  const recent = new Map<string, number[]>()
  return host.listen((event) => {
    if (event.type !== 'log' || !TOLD.has(event.level) || !isForOperator(event)) return
    const now = Date.now()
    const times = (recent.get(event.server) ?? []).filter((at) => now - at < MINUTE_MS)
    recent.set(event.server, times)
    if (times.length >= MAX_PER_MINUTE) return
    times.push(now)
    const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
    notify(`server "${event.server}" logs (${event.level}): ${oneLine(text ?? '', 300)}`)
  })
}
