// What a connected client hears without asking, and how it says what it wants to hear.
import type { Server } from '@modelcontextprotocol/server'
import type { HostEvent, McpHost } from '../types.ts'
import type { Addresses } from './addresses.ts'
import type { Desk } from './desk.ts'
import type { Offers } from './offers.ts'

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export type UpdateOptions = {
  readonly server: Server
  readonly host: McpHost
  readonly desk: Desk
  readonly offers: Offers
  readonly addresses: Addresses
}

/** Until the returned function is called. */
export function keepInformed({ server, host, desk, offers, addresses }: UpdateOptions): () => void {
  const subscriptions = new Set<string>()
  let level = LEVELS.indexOf('info')
  let shown = JSON.stringify(desk.tools())
  const tell = (sent: Promise<void>) => void sent.catch(() => {})

  server.setRequestHandler('resources/subscribe', async ({ params }) => {
    const owner = await offers.ownerOf(params.uri)
    await host.request(owner.server, 'resources/subscribe', { uri: owner.uri })
    subscriptions.add(addresses.uri(owner.server, owner.uri))
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', async ({ params }) => {
    const owner = await offers.ownerOf(params.uri)
    subscriptions.delete(addresses.uri(owner.server, owner.uri))
    await host.request(owner.server, 'resources/unsubscribe', { uri: owner.uri })
    return {}
  })
  server.setRequestHandler('logging/setLevel', async ({ params }) => {
    level = LEVELS.indexOf(params.level)
    for (const { name, state, capabilities } of host.status()) {
      if (state === 'connected' && capabilities.logging)
        host.request(name, 'logging/setLevel', { level: params.level }).catch(() => {})
    }
    return {}
  })
  server.setNotificationHandler('notifications/roots/list_changed', () =>
    host.notify('notifications/roots/list_changed'),
  )

  return host.listen((event) => {
    if (event.type === 'tools') {
      const now = JSON.stringify(desk.tools())
      if (now !== shown) tell(server.sendToolListChanged())
      shown = now
    }
    if (hasNew('prompts', event)) tell(server.sendPromptListChanged())
    if (hasNew('resources', event)) tell(server.sendResourceListChanged())
    if (event.type === 'resource') {
      const uri = addresses.uri(event.server, event.uri)
      if (subscriptions.has(uri)) tell(server.sendResourceUpdated({ uri }))
    }
    if (event.type === 'log' && LEVELS.indexOf(event.level) >= level) {
      const logger = event.logger ? `${event.server}/${event.logger}` : event.server
      const params = { level: event.level, logger, data: event.data }
      tell(server.notification({ method: 'notifications/message', params } as never))
    }
  })
}

/** A server has changed them, or has come with them. */
function hasNew(kind: 'prompts' | 'resources', event: HostEvent): boolean {
  if (event.type === kind) return true
  return (
    event.type === 'state' && event.status.state === 'connected' && Boolean(event.status.capabilities[kind])
  )
}
