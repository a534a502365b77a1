// Sends notifications to connected clients, and handles the requests by which clients choose them.
import type { Server } from '@modelcontextprotocol/server'
import { cleanText } from '../../lib/index.ts'
import type { Addresses, ResourcesAndPrompts } from '../lists/index.ts'
import { assertSendable } from '../lists/index.ts'
import type { SessionState, SharedSession } from '../replicas/index.ts'
import type { HostEvent, McpHost } from '../types.ts'
import type { LogLevels } from './log-levels.ts'
import type { Relisting } from './relisting.ts'
import type { Subscriptions } from './subscriptions.ts'

/** Options of the notifications. */
export type UpdateOptions = {
  readonly server: Server
  readonly host: McpHost
  readonly relisting: Relisting
  readonly resourcesAndPrompts: ResourcesAndPrompts
  readonly addresses: Addresses
  readonly subscriptions: Subscriptions
  readonly logLevels: LogLevels
  readonly isLogFor: (client: Server, event: LogEvent) => boolean
  /** The session, if other replicas serve it too. */
  readonly shared?: SharedSession | undefined
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
  const { server, host, resourcesAndPrompts, addresses, subscriptions, logLevels, isLogFor, shared } = options
  /** URIs that this replica subscribed to for the client. */
  const subscribed = new Set<string>()

  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    await subscriptions.add(server, await resourcesAndPrompts.ownerOf(uri))
    subscribed.add(uri)
    await shared?.change((state) => withSubscription(state, uri, true))
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    await subscriptions.remove(server, await resourcesAndPrompts.ownerOf(uri))
    subscribed.delete(uri)
    await shared?.change((state) => withSubscription(state, uri, false))
    return {}
  })
  server.setRequestHandler('logging/setLevel', async ({ params: { level } }) => {
    logLevels.set(server, level)
    await shared?.change((state) => ({ ...state, logLevel: level }))
    return {}
  })
  server.setNotificationHandler('notifications/roots/list_changed', () =>
    host.notifyServers('notifications/roots/list_changed'),
  )

  // `params` come from the server as they are, without the SDK's type.
  const sendLog = async (params: object) =>
    server.notification(assertSendable({ method: 'notifications/message', params }) as never)

  logLevels.join(server)
  if (shared) followChoices(options, shared, subscribed)
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

function withSubscription(state: SessionState, uri: string, isWanted: boolean): SessionState {
  const others = state.subscriptions.filter((one) => one !== uri)
  return { ...state, subscriptions: isWanted ? [...others, uri] : others }
}

/** Applies what the client chose at other replicas. Only the replica that has its stream subscribes to resources. */
function followChoices(
  { server, resourcesAndPrompts, subscriptions, logLevels }: UpdateOptions,
  shared: SharedSession,
  subscribed: Set<string>,
): void {
  let level: string | undefined

  async function subscribe(uri: string, isWanted: boolean): Promise<void> {
    const resource = await resourcesAndPrompts.ownerOf(uri)
    await (isWanted ? subscriptions.add(server, resource) : subscriptions.remove(server, resource))
  }

  function apply({ logLevel, subscriptions: wanted }: SessionState): void {
    if (logLevel !== undefined && logLevel !== level) logLevels.set(server, logLevel)
    level = logLevel
    if (!shared.hasStream()) return
    for (const uri of wanted) if (!subscribed.has(uri)) ignoreFailure(subscribe(uri, true))
    for (const uri of subscribed) if (!wanted.includes(uri)) ignoreFailure(subscribe(uri, false))
    subscribed.clear()
    for (const uri of wanted) subscribed.add(uri)
  }

  apply(shared.state())
  shared.onChange(apply)
}
