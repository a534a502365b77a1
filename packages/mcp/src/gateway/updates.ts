// Sends notifications to connected clients, and handles the requests by which clients choose them.
import type { Server } from '@modelcontextprotocol/server'
import { cleanText } from '@toolshelf/core/internal'
import { type Addresses, assertSendable, type ResourcesAndPrompts } from '../lists/lists.ts'
import type { HostEvent, McpHost } from '../types.ts'
import type { LogLevels } from './log-levels.ts'
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
