// Answers one HTTP request to the gateway: refuses it, or passes it to its session or to a server of its own.
import { isJsonContentType, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server'
import { type Bodies, type InspectorHandler, isForInspector } from '../../node/index.ts'
import { type Guard, refusal } from './http-guard.ts'
import { type HttpPages, METRICS_PATH } from './http-pages.ts'
import type { NoSession, Session, Sessions } from './http-sessions.ts'
import type { Traffic } from './http-traffic.ts'

/** Where clients reach the gateway. */
export const PATH = '/mcp'
/** Messages in one body, as in the SDK, which processes each of them before it counts. */
const MAX_BATCH = 100

export type RequestHandlerOptions = {
  readonly guard: Guard
  readonly bodies: Bodies
  readonly sessions: Sessions
  /** Answers clients of the newer protocol, which has no sessions. */
  readonly stateless: McpHttpHandler
  readonly inspector?: InspectorHandler | undefined
  /** Health, readiness and metrics. */
  readonly pages: HttpPages
  readonly traffic: Traffic
}

/** Returns the function that answers one HTTP request: refuses it, or passes it to its session. */
export function createRequestHandler(options: RequestHandlerOptions) {
  const { guard, bodies, sessions, stateless, inspector, pages, traffic } = options
  return handle

  async function handle(request: Request, network: string): Promise<Response> {
    const { pathname } = new URL(request.url)
    const stranger = guard.checkHost(request)
    const page = pages.open(pathname, stranger === undefined)
    if (page) return page
    if (stranger) return stranger
    if (inspector && isForInspector(pathname)) return inspector(request, network)
    const locked = guard.checkKey(request, network, sessionOf(request) !== undefined)
    if (locked) return locked
    if (pathname === METRICS_PATH) return pages.metrics()
    if (pathname !== PATH) return refusal(404, `no such path: ${pathname}; the gateway is at ${PATH}`)
    if (request.method !== 'POST')
      return traffic.run(request, undefined, () => answer(request, network, undefined))
    if (!isJsonContentType(request.headers.get('content-type')))
      return refusal(415, 'unsupported content type; send JSON with "Content-Type: application/json"')
    const body = await bodies.read(request)
    if ('status' in body) return refusal(body.status, body.message)
    if (Array.isArray(body.value) && body.value.length > MAX_BATCH) {
      body.release()
      return refusal(400, `the batch has ${body.value.length} messages; at most ${MAX_BATCH} are allowed`)
    }
    const respond = () => answer(request, network, body.value)
    return untilOver(body.release, () => traffic.run(request, body.value, respond))
  }

  /** @param parsedBody - undefined where the method has none. */
  async function answer(request: Request, network: string, parsedBody: unknown): Promise<Response> {
    if (!(await isLegacyRequest(request, parsedBody))) return stateless.fetch(request, { parsedBody })
    const client = { address: network }
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = await sessions.find(id, client)
      if (typeof session === 'string') return withoutSession(session)
      if (request.method === 'DELETE' && !(await sessions.finish(session)))
        return withoutSession('unavailable')
      return answerIn(session, request, parsedBody)
    }
    if (!isInitialize(parsedBody))
      return refusal(METHODS.has(request.method) ? 400 : 405, 'there is no session yet; initialize first')
    const session = await sessions.begin(client, parsedBody)
    if (typeof session === 'string') return withoutSession(session)
    const response = await answerIn(session, request, parsedBody)
    // A first request that opens no session is cleaned up.
    if (session.transport.sessionId === undefined) {
      await sessions.finish(session)
      await sessions.end(session)
    }
    return response
  }

  function sessionOf(request: Request): Session | undefined {
    return sessions.get(request.headers.get('mcp-session-id'))
  }

  async function answerIn(session: Session, request: Request, parsedBody: unknown): Promise<Response> {
    session.open++
    session.requests++
    let streams = 0
    const done = () => {
      session.open--
      session.streams -= streams
      session.seenAt = Date.now()
    }
    return untilOver(done, async () => {
      const response = await session.transport.handleRequest(request, { parsedBody })
      if (request.method === 'GET' && response.ok) {
        streams = 1
        session.streams++
        session.link?.streamOpened()
      }
      return response
    })
  }
}

/** Seconds after which a client may try again while the store is unreachable. */
const STORE_RETRY = 2

function withoutSession(reason: NoSession): Response {
  if (reason === 'ended') return refusal(404, 'the session has ended; initialize again')
  if (reason === 'full') return refusal(503, 'too many sessions; try again later')
  if (reason === 'large') return refusal(413, 'the initialize request is too large; send fewer capabilities')
  return refusal(503, 'the store that keeps sessions does not answer; try again in a moment', STORE_RETRY)
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
