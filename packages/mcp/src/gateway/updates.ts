// Sends notifications to connected clients, and handles the requests by which clients choose them. Servers log at the lowest
// level that a client wants; the operator sees warnings and errors that belong to no client.

import type { Server } from '@modelcontextprotocol/server'
import { cleanText, oneLine } from '@toolshelf/core/internal'
import { type Addresses, assertSendable, type ResourcesAndPrompts } from '../lists/lists.ts'
import type { HostEvent, McpHost } from '../types.ts'
import type { Relisting } from './relisting.ts'
import type { Subscriptions } from './subscriptions.ts'

type UpdateOptions = {
  readonly server: Server
  readonly host: McpHost
  readonly relisting: Relisting
  readonly resourcesAndPrompts: ResourcesAndPrompts
  readonly addresses: Addresses
  readonly subscriptions: Subscriptions
  readonly logLevels: LogLevels
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

type LogLevels = ReturnType<typeof createLogLevels>

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const INFO = LEVELS.indexOf('info')

/** Creates the levels of a gateway's clients. */
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
