// Which clients want to hear of which resources. A server is asked once for all of them, and again after it was away.
import type { McpHost } from '../types.ts'

export type Resource = { readonly server: string; readonly uri: string }

export type Subscriptions = {
  add(client: object, resource: Resource): Promise<void>
  remove(client: object, resource: Resource): Promise<void>
  isWanted(client: object, resource: Resource): boolean
  /** The client is gone, and all that it wanted. */
  leave(client: object): void
  close(): void
}

export function createSubscriptions(host: McpHost): Subscriptions {
  const wanted = new Map<string, { readonly resource: Resource; readonly clients: Set<object> }>()
  const away = new Set<string>()

  const send = async (method: string, { server, uri }: Resource) => {
    await host.request(server, `resources/${method}`, { uri })
  }

  const stop = host.listen((event) => {
    if (event.type !== 'state') return
    if (event.status.state !== 'connected') away.add(event.server)
    else if (away.delete(event.server)) {
      for (const { resource } of wanted.values())
        if (resource.server === event.server) send('subscribe', resource).catch(() => {}) // It may be gone by now.
    }
  })

  async function remove(client: object, resource: Resource): Promise<void> {
    const entry = wanted.get(keyOf(resource))
    if (!entry?.clients.delete(client) || entry.clients.size > 0) return
    wanted.delete(keyOf(resource))
    await send('unsubscribe', resource)
  }

  return {
    async add(client, resource) {
      const entry = wanted.get(keyOf(resource)) ?? { resource, clients: new Set() }
      if (entry.clients.size === 0) await send('subscribe', resource)
      entry.clients.add(client)
      wanted.set(keyOf(resource), entry)
    },
    remove,
    isWanted: (client, resource) => wanted.get(keyOf(resource))?.clients.has(client) ?? false,
    leave(client) {
      for (const { resource } of [...wanted.values()]) remove(client, resource).catch(() => {}) // So is the server.
    },
    close: stop,
  }
}

function keyOf({ server, uri }: Resource): string {
  return `${server}\n${uri}`
}
