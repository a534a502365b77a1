// Serves the gateway to many clients over HTTP, in both protocol versions: sessions for the older one, single requests
// for the newer. Safe by default: loopback only, known hosts and origins only, and a key for everything else.
import { createServer } from 'node:http'
import { createMcpHandler, isJsonContentType, isLegacyRequest } from '@modelcontextprotocol/server'
import { answerNode, close, LOOPBACK, listen, networkOf } from '../../node/index.ts'
import { PAGES } from '../greeting/index.ts'
import type { McpGateway } from './gateway.ts'
import { createBodies } from './http-body.ts'
import { createGuard, refusal } from './http-guard.ts'
import { createSessions, type Session } from './http-sessions.ts'

/** Options of `runOnHttp`. */
export type HttpOptions = {
  /** The port; 0 for any free one. */
  readonly port: number
  /** Loopback by default; any other host needs a key. */
  readonly address?: string
  /** The bearer token that clients must send. */
  readonly key?: string
  /** Additional host names under which clients may reach it. */
  readonly hosts?: readonly string[]
  /** Milliseconds after which an inactive client is forgotten. */
  readonly idle?: number
  /** Maximum number of clients at a time; 1,000 by default. */
  readonly mostSessions?: number
  /** Maximum bytes of a request's body; 32 MB by default. */
  readonly maxBodyBytes?: number
  /** Milliseconds that a client may take to read a response. */
  readonly stalledMs?: number
  /** Reports wrong keys to the operator. */
  readonly notify?: (message: string) => void
}

export type HttpGateway = { readonly url: string; close(): Promise<void> }

const PATH = '/mcp'
/** The same limit as for a message on stdio. */
const MAX_BODY_BYTES = 32_000_000
/** Messages in one body, as in the SDK, which processes each of them before it counts. */
const MAX_BATCH = 100
/** How many bodies of the largest size may be processed at once. */
const MAX_LARGE_BODIES = 4
/** A session needs a stream, and a connection for each running call. */
const CONNECTIONS_PER_SESSION = 4

export async function runOnHttp(gateway: McpGateway, options: HttpOptions): Promise<HttpGateway> {
  const { port, address = '127.0.0.1', key, hosts = [], idle = 600_000, mostSessions = 1000 } = options
  if (!LOOPBACK.has(address) && !key)
    throw new Error(`listening on ${address} needs a key: set TOOLSHELF_KEY, or listen on 127.0.0.1`)
  const { maxBodyBytes = MAX_BODY_BYTES, stalledMs, notify } = options
  const sessions = createSessions(gateway, { maxSessions: mostSessions, idleMs: idle })
  const bodies = createBodies({ maxBytes: maxBodyBytes, maxTotalBytes: maxBodyBytes * MAX_LARGE_BODIES })
  const guard = createGuard({ address, key, hosts, notify })
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
    const isAll = event.type === 'servers'
    if (isAll || event.type === 'tools') stateless.notify.toolsChanged()
    if (isAll || event.type === 'prompts') stateless.notify.promptsChanged()
    if (isAll || event.type === 'resources') stateless.notify.resourcesChanged()
    if (event.type === 'resource') stateless.notify.resourceUpdated(gateway.uriFor(event.server, event.uri))
  })

  async function handle(request: Request, network: string): Promise<Response> {
    const stranger = guard.checkHost(request)
    if (stranger) return stranger
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return Response.json({ status: 'ok', clients: sessions.size() })
    const locked = guard.checkKey(request, network, sessionOf(request) !== undefined)
    if (locked) return locked
    if (pathname !== PATH) return refusal(404, `there is nothing at ${pathname}; the gateway is at ${PATH}`)
    if (request.method !== 'POST') return answer(request, network, undefined)
    if (!isJsonContentType(request.headers.get('content-type')))
      return refusal(415, 'a request is JSON: send "Content-Type: application/json"')
    const body = await bodies.read(request)
    if ('status' in body) return refusal(body.status, body.message)
    if (Array.isArray(body.value) && body.value.length > MAX_BATCH) {
      body.release()
      return refusal(400, `a batch holds ${MAX_BATCH} messages at most, not ${body.value.length}`)
    }
    return untilOver(body.release, () => answer(request, network, body.value))
  }

  /** @param parsedBody - undefined where the method has none. */
  async function answer(request: Request, network: string, parsedBody: unknown): Promise<Response> {
    if (!(await isLegacyRequest(request, parsedBody))) return stateless.fetch(request, { parsedBody })
    if (request.headers.has('mcp-session-id')) {
      const session = sessionOf(request)
      return session
        ? answerIn(session, request, parsedBody)
        : refusal(404, 'this session is over; initialize again')
    }
    if (!isInitialize(parsedBody))
      return refusal(METHODS.has(request.method) ? 400 : 405, 'there is no session yet; initialize first')
    const session = await sessions.begin(network)
    if (!session) return refusal(503, 'this gateway has no room for another session; try again later')
    const response = await answerIn(session, request, parsedBody)
    // A first request that opens no session is cleaned up.
    if (session.transport.sessionId === undefined) await sessions.end(session)
    return response
  }

  function sessionOf(request: Request): Session | undefined {
    return sessions.get(request.headers.get('mcp-session-id'))
  }

  function answerIn(session: Session, request: Request, parsedBody: unknown): Promise<Response> {
    session.open++
    session.requests++
    const done = () => {
      session.open--
      session.seenAt = Date.now()
    }
    return untilOver(done, () => session.transport.handleRequest(request, { parsedBody }))
  }

  const server = createServer((incoming, outgoing) => {
    const network = networkOf(incoming)
    void answerNode(incoming, outgoing, (request) => handle(request, network), { stalledMs })
  })
  server.maxConnections = mostSessions * CONNECTIONS_PER_SESSION
  const url = await listen(server, port, address)
  return {
    url: url + PATH,
    async close() {
      stop()
      await sessions.close()
      await stateless.close().catch(() => {})
      await close(server)
      await gateway.close()
    },
  }
}

/** The client is not known yet; a capability that it lacks is refused when a server asks for it. */
const EVERY_CAPABILITY = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  extensions: { [PAGES]: { mimeTypes: ['text/html;profile=mcp-app'] } },
}

/** Headers set by proxies that serve many users. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Programs on this machine that send the same headers belong to one user. Behind a proxy, or from another machine,
 * nothing proves that two requests come from the same client.
 */
function originOf(request: Request | undefined): string | undefined {
  if (!request || FORWARDED.some((name) => request.headers.has(name))) return undefined
  return JSON.stringify(['authorization', 'user-agent'].map((name) => request.headers.get(name)))
}

const METHODS = new Set(['GET', 'POST', 'DELETE'])

function isInitialize(body: unknown): boolean {
  return [body].flat().some((message) => (message as { method?: unknown } | null)?.method === 'initialize')
}

/** Calls `over` when the response has been sent, its reader has disconnected, or there is none. */
async function untilOver(over: () => void, respond: () => Promise<Response>): Promise<Response> {
  try {
    return whenOver(await respond(), over)
  } catch (error) {
    over()
    throw error
  }
}

/** Wraps the response; reports when its body has been sent or its reader has disconnected. */
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
