// Answers one HTTP request to the gateway: refuses it, or passes it to its session or to a server of its own.
import { isJsonContentType, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server'
import { type Bodies, type InspectorHandler, isForInspector } from '../../node/index.ts'
import type { Authenticator } from '../../users/index.ts'
import type { TokenAccess } from '../../users/oauth/index.ts'
import { type Guard, refusal } from './http-guard.ts'
import type { Session, Sessions } from './http-sessions.ts'

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
  /** Knows the users of the gateway; their tokens are checked in place of the key. */
  readonly users?: Authenticator | undefined
  /** Where clients without a token get one. */
  readonly protectedResource?: ProtectedResource | undefined
}

/** Answers for the metadata of a resource that is protected by OAuth. */
export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>

/** Returns the function that answers one HTTP request: refuses it, or passes it to its session. */
export function createRequestHandler(options: RequestHandlerOptions) {
  const { guard, bodies, sessions, stateless, inspector, users, protectedResource } = options
  return handle

  async function handle(request: Request, network: string): Promise<Response> {
    const stranger = guard.checkHost(request)
    if (stranger) return stranger
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return Response.json({ status: 'ok', clients: sessions.size() })
    if (inspector && isForInspector(pathname)) return inspector(request, network)
    const metadata = protectedResource?.metadataAt(pathname)
    if (metadata) return Response.json(metadata, { headers: METADATA_HEADERS })
    const user = await guard.checkUser(request)
    if (user instanceof Response) return user
    const locked = users ? undefined : guard.checkKey(request, network, sessionOf(request) !== undefined)
    if (locked) return locked
    if (pathname !== PATH) return refusal(404, `no such path: ${pathname}; the gateway is at ${PATH}`)
    if (request.method !== 'POST') return answer(request, network, undefined)
    if (!isJsonContentType(request.headers.get('content-type')))
      return refusal(415, 'unsupported content type; send JSON with "Content-Type: application/json"')
    const body = await bodies.read(request)
    if ('status' in body) return refusal(body.status, body.message)
    if (Array.isArray(body.value) && body.value.length > MAX_BATCH) {
      body.release()
      return refusal(400, `the batch has ${body.value.length} messages; at most ${MAX_BATCH} are allowed`)
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
        : refusal(404, 'the session has ended; initialize again')
    }
    if (!isInitialize(parsedBody))
      return refusal(METHODS.has(request.method) ? 400 : 405, 'there is no session yet; initialize first')
    const session = await sessions.begin(network)
    if (!session) return refusal(503, 'too many sessions; try again later')
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
}

/** Everybody may read the metadata, pages of other origins too. */
const METADATA_HEADERS = { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' }

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
