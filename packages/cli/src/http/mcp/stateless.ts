// Handles HTTP clients of the newer protocol, which has no sessions. All users with the same rights share one handler,
// so that its notifications reach only those who may see what has changed.
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { User } from '@toolshelf/core/internal'
import type { McpGateway } from '@toolshelf/mcp'

/** Handles requests of clients without sessions. */
export type Stateless = ReturnType<typeof createStateless>

type Handler = { readonly handler: McpHttpHandler; readonly stop: () => void }

/** Handlers to keep; beyond this the least recently used are closed, and their clients reconnect. */
const MAX_HANDLERS = 200

/**
 * Creates the handlers.
 *
 * @param isLocal - Whether the gateway listens on loopback only.
 */
export function createStateless(gateway: McpGateway, { isLocal }: { readonly isLocal: boolean }) {
  const handlers = new Map<string, Handler>()

  function create(user: User | undefined): Handler {
    const handler = createMcpHandler(
      ({ requestInfo, authInfo }) => {
        const caller = authInfo?.extra?.user as User | undefined
        const origin = caller
          ? originOfUser(requestInfo, caller)
          : isLocal
            ? originOf(requestInfo)
            : undefined
        return gateway.serve({
          isStateless: true,
          user: caller,
          ...(origin === undefined ? {} : { origin }),
        })
      },
      { legacy: 'reject' },
    )
    return { handler, stop: notifyClients(gateway, handler, user) }
  }

  async function close({ handler, stop }: Handler): Promise<void> {
    stop()
    await handler.close().catch(() => {})
  }

  function handlerFor(user: User | undefined): McpHttpHandler {
    const id = gateway.viewOf(user).id
    const found = handlers.get(id) ?? create(user)
    handlers.delete(id)
    handlers.set(id, found)
    const [oldest] = handlers
    if (handlers.size > MAX_HANDLERS && oldest) {
      handlers.delete(oldest[0])
      void close(oldest[1])
    }
    return found.handler
  }

  return {
    fetch: (
      request: Request,
      { parsedBody, user }: { readonly parsedBody: unknown; readonly user: User | undefined },
    ) => handlerFor(user).fetch(request, { parsedBody, ...(user ? { authInfo: authInfoOf(user) } : {}) }),
    async close() {
      await Promise.all([...handlers.values()].map(close))
    },
  }
}

function notifyClients(gateway: McpGateway, { notify }: McpHttpHandler, user: User | undefined): () => void {
  return gateway.onChange((event) => {
    const isAll = event.type === 'servers'
    if (isAll || event.type === 'tools') notify.toolsChanged()
    if (isAll || event.type === 'prompts') notify.promptsChanged()
    if (isAll || event.type === 'resources') notify.resourcesChanged()
    if (event.type === 'resource') notify.resourceUpdated(gateway.uriFor(event.server, event.uri))
  }, user)
}

/** Passes the user to our server through the SDK; the key is not passed on. */
function authInfoOf(user: User) {
  return { token: '', clientId: user.uid, scopes: [], extra: { user } }
}

/** Headers set by proxies that serve many users. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Returns an id for programs on this machine that send the same headers, which belong to one user; undefined behind a
 * proxy or from another machine, where nothing proves that two requests come from the same client.
 */
function originOf(request: Request | undefined): string | undefined {
  if (!request || FORWARDED.some((name) => request.headers.has(name))) return undefined
  return JSON.stringify(['authorization', 'user-agent'].map((name) => request.headers.get(name)))
}

/** Returns an id for a user's client: a key proves who sends a request, wherever it comes from. */
function originOfUser(request: Request | undefined, { uid }: User): string {
  return JSON.stringify({ user: uid, agent: request?.headers.get('user-agent') ?? null })
}
