// Tracks which clients subscribe to which resources. Subscribes at a server once for all clients, and again after it
// reconnects.
import type { McpHost } from '../types.ts'

export type Resource = { readonly server: string; readonly uri: string }

export type Subscriptions = ReturnType<typeof createSubscriptions>

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
