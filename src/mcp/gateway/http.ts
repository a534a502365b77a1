// The gateway for many clients over HTTP, of both protocol eras: sessions for the older one, single requests for the
// newer. Safe by default: loopback, known hosts and origins only, and a key for everything beyond.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { answerNode, close, isSecret, LOOPBACK, listen } from '../../http.ts'
import { PAGES } from './extensions.ts'
import type { Gateway } from './index.ts'

export type HttpOptions = {
  readonly port: number
  /** Loopback unless given; anything else needs a key. */
  readonly address?: string
  readonly key?: string
  /** Further host names under which clients may reach it. */
  readonly hosts?: readonly string[]
  /** Milliseconds after which a client that is not heard of is forgotten. */
  readonly idle?: number
  readonly mostSessions?: number
}

export type HttpGateway = { readonly url: string; close(): Promise<void> }

type Client = {
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Requests and streams that are open now. */
  open: number
  seenAt: number
}

const PATH = '/mcp'

export async function runOnHttp(gateway: Gateway, options: HttpOptions): Promise<HttpGateway> {
  const { port, address = '127.0.0.1', key, hosts = [], idle = 600_000, mostSessions = 1000 } = options
  if (!LOOPBACK.has(address) && !key)
    throw new Error(`listening on ${address} needs a key: set TOOLSHELF_KEY, or listen on 127.0.0.1`)
  const clients = new Map<string, Client>()
  await gateway.host.recall()
  gateway.host.start(EVERY_CAPABILITY)

  const stateless = createMcpHandler(
    ({ requestInfo }) => {
      const origin = LOOPBACK.has(address) ? originOf(requestInfo) : undefined
      return gateway.serve({ isStateless: true, ...(origin === undefined ? {} : { origin }) })
    },
    { legacy: 'reject' },
  )
  const stop = gateway.onChange((event) => {
    if (event.type === 'tools') stateless.notify.toolsChanged()
    if (event.type === 'prompts') stateless.notify.promptsChanged()
    if (event.type === 'resources') stateless.notify.resourcesChanged()
    if (event.type === 'resource') stateless.notify.resourceUpdated(gateway.uriFor(event.server, event.uri))
  })

  async function handle(request: Request): Promise<Response> {
    const names = [...localhostAllowedHostnames(), address, ...hosts]
    const isAnyHost = !LOOPBACK.has(address) && hosts.length === 0
    const rejected =
      (isAnyHost ? undefined : hostHeaderValidationResponse(request, names)) ??
      originValidationResponse(request, [...localhostAllowedOrigins(), ...hosts])
    if (rejected) return rejected
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return Response.json({ status: 'ok', clients: clients.size })
    if (key && !isSecret(request.headers.get('authorization'), `Bearer ${key}`))
      return refusal(401, 'a key is needed, as "Authorization: Bearer <key>"')
    if (pathname !== PATH) return refusal(404, `there is nothing at ${pathname}; the gateway is at ${PATH}`)
    return (await isLegacyRequest(request)) ? handleSession(request) : stateless.fetch(request)
  }

  async function handleSession(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) return begin(request)
    const client = clients.get(id)
    return client ? handleWith(client, request) : refusal(404, 'this session is over; initialize again')
  }

  /** The first request of a client; one that opens no session leaves nothing behind. */
  async function begin(request: Request): Promise<Response> {
    const client = await newClient()
    const response = await handleWith(client, request)
    if (client.transport.sessionId === undefined) await client.transport.close().catch(() => {})
    return response
  }

  async function handleWith(client: Client, request: Request): Promise<Response> {
    client.open++
    const done = () => {
      client.open--
      client.seenAt = Date.now()
    }
    try {
      return whenOver(await client.transport.handleRequest(request), done)
    } catch (error) {
      done()
      throw error
    }
  }

  async function newClient(): Promise<Client> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        if (clients.size >= mostSessions) forgetOldest()
        clients.set(id, client)
      },
      onsessionclosed: (id) => void clients.delete(id),
    })
    const client: Client = { transport, open: 0, seenAt: Date.now() }
    const server = gateway.serve({ isStateless: false })
    await server.connect(transport)
    return client
  }

  function forget(id: string, client: Client): void {
    clients.delete(id)
    void client.transport.close().catch(() => {})
  }

  function forgetOldest(): void {
    const [oldest] = [...clients].sort(([, a], [, b]) => a.open - b.open || a.seenAt - b.seenAt)
    if (oldest) forget(...oldest)
  }

  const sweeper = setInterval(
    () => {
      for (const [id, client] of clients)
        if (client.open === 0 && Date.now() - client.seenAt > idle) forget(id, client)
    },
    Math.max(1000, idle / 10),
  )
  sweeper.unref()

  const server = createServer((incoming, outgoing) => void answerNode(incoming, outgoing, handle))
  const url = await listen(server, port, address)
  return {
    url: url + PATH,
    async close() {
      clearInterval(sweeper)
      stop()
      for (const [id, client] of clients) forget(id, client)
      await stateless.close().catch(() => {})
      await close(server)
      await gateway.close()
    },
  }
}

/** Who calls is not known before; what a client cannot do is refused when a server asks for it. */
const EVERY_CAPABILITY = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  extensions: { [PAGES]: { mimeTypes: ['text/html;profile=mcp-app'] } },
}

/** Set by whoever stands between many people and us. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Programs on this machine that send the same headers are one person's. Where a proxy stands in between, or requests come
 * from elsewhere, nothing says that two of them come from the same client.
 */
function originOf(request: Request | undefined): string | undefined {
  if (!request || FORWARDED.some((name) => request.headers.has(name))) return undefined
  return JSON.stringify(['authorization', 'user-agent'].map((name) => request.headers.get(name)))
}

function refusal(status: number, message: string): Response {
  const headers = new Headers(status === 401 ? { 'www-authenticate': 'Bearer' } : {})
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }, { status, headers })
}

/** The same response; tells when its body has been sent, or its reader has gone. */
function whenOver(response: Response, over: () => void): Response {
  if (!response.body) {
    over()
    return response
  }
  let isOver = false
  const once = () => {
    if (!isOver) over()
    isOver = true
  }
  const reader = response.body.getReader()
  const body = new ReadableStream({
    async pull(controller) {
      const next = await reader.read().catch(() => ({ done: true as const, value: undefined }))
      if (!next.done) return controller.enqueue(next.value)
      once()
      controller.close()
    },
    async cancel(reason) {
      once()
      await reader.cancel(reason)
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
