// Answers one HTTP request to the gateway: refuses it, or passes it to its session or to a server of its own.
import { isJsonContentType, isLegacyRequest } from '@modelcontextprotocol/server'
import type { TraceListener } from '../../core/index.ts'
import { type Bodies, type InspectorHandler, isForInspector } from '../../node/index.ts'
import type { UsageMeter, User } from '../../users/index.ts'
import type { TokenAccess } from '../../users/oauth/index.ts'
import type { AccessWatch } from './http-access.ts'
import { type Guard, refusal } from './http-guard.ts'
import type { Session, Sessions } from './http-sessions.ts'
import type { Stateless } from './http-stateless.ts'

/** Where clients reach the gateway. */
export const PATH = '/mcp'
/** Messages in one body, as in the SDK, which processes each of them before it counts. */
const MAX_BATCH = 100

export type RequestHandlerOptions = {
  readonly guard: Guard
  readonly bodies: Bodies
  readonly sessions: Sessions
  /** Answers clients of the newer protocol, which has no sessions. */
  readonly stateless: Stateless
  /** Ends the responses of users whose key is revoked meanwhile. */
  readonly access: AccessWatch
  /** Counts the requests of users who have a limit. */
  readonly usage?: UsageMeter | undefined
  /** Receives an event for each request that a limit refuses. */
  readonly trace?: TraceListener | undefined
  readonly inspector?: InspectorHandler | undefined
  /** Says where clients without a token get one. */
  readonly protectedResource?: ProtectedResource | undefined
}

/** Answers for the metadata of a resource that is protected by OAuth. */
export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>

/** Returns the function that answers one HTTP request: refuses it, or passes it to its session. */
export function createRequestHandler(options: RequestHandlerOptions) {
  const { guard, bodies, sessions, stateless, access, inspector } = options
  return handle

  async function handle(request: Request, network: string): Promise<Response> {
    const stranger = guard.checkHost(request)
    if (stranger) return stranger
    const { pathname } = new URL(request.url)
    const open = answerForEverybody(pathname, options)
    if (open) return open
    if (inspector && isForInspector(pathname)) return inspect(inspector, guard, request, network)
    const admitted = await guard.admit(request, network, sessionOf(request) !== undefined)
    if (admitted instanceof Response) return admitted
    const { user } = admitted
    if (pathname !== PATH) return refusal(404, `no such path: ${pathname}; the gateway is at ${PATH}`)
    if (request.method !== 'POST') return answer(request, { network, user }, undefined)
    if (!isJsonContentType(request.headers.get('content-type')))
      return refusal(415, 'unsupported content type; send JSON with "Content-Type: application/json"')
    const body = await bodies.read(request)
    if ('status' in body) return refusal(body.status, body.message)
    const limited = await overLimit(body.value, user, options)
    if (limited) {
      body.release()
      return limited
    }
    return untilOver(body.release, () => answer(request, { network, user }, body.value))
  }

  /** @param parsedBody - undefined where the method has none. */
  async function answer(request: Request, client: HttpClient, parsedBody: unknown): Promise<Response> {
    const { user, network } = client
    if (!(await isLegacyRequest(request, parsedBody)))
      return tracked(
        user,
        () => {},
        () => stateless.fetch(request, { parsedBody, user }),
      )
    if (request.headers.has('mcp-session-id')) {
      const session = sessionOf(request)
      if (session && access.owns(user, session)) return answerIn(session, request, parsedBody)
      return refusal(404, 'the session has ended; initialize again')
    }
    if (!isInitialize(parsedBody))
      return refusal(METHODS.has(request.method) ? 400 : 405, 'there is no session yet; initialize first')
    const session = await sessions.begin(network, user)
    if (!session) return refusal(503, 'too many sessions; try again later')
    const response = await answerIn(session, request, parsedBody)
    // A first request that opens no session is cleaned up.
    if (session.transport.sessionId === undefined) await sessions.end(session)
    return response
  }

  /** A response of a user ends when they may no longer use the gateway. */
  function tracked(
    user: User | undefined,
    done: () => void,
    respond: () => Promise<Response>,
  ): Promise<Response> {
    const { signal, over } = access.track(user)
    const end = () => {
      over()
      done()
    }
    return untilOver(end, respond, signal)
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
    return tracked(session.user, done, () => session.transport.handleRequest(request, { parsedBody }))
  }
}

async function inspect(inspector: InspectorHandler, guard: Guard, request: Request, network: string) {
  const response = await inspector(request, network, await guard.isOperator(request, network))
  if (response.status === 401 && request.headers.has('authorization')) guard.countWrongKey(network)
  return response
}

/** Who sends a request, and from where. */
type HttpClient = { readonly network: string; readonly user: User | undefined }

/** Refuses a body with too many messages, or with more than the user may still send. Each message counts. */
async function overLimit(
  body: unknown,
  user: User | undefined,
  { usage, trace }: Pick<RequestHandlerOptions, 'usage' | 'trace'>,
): Promise<Response | undefined> {
  const count = Array.isArray(body) ? body.length : 1
  if (count > MAX_BATCH)
    return refusal(400, `the batch has ${count} messages; at most ${MAX_BATCH} are allowed`)
  const limit = user && (await usage?.take(user, 'requests', Math.max(1, count)))
  if (!limit) return undefined
  const { status, message } = limit
  trace?.({ type: 'refused', user: user.id, reason: status === 503 ? 'store' : 'limit', status, message })
  return refusal(status, message, limit)
}

/** Answers what needs no key. */
function answerForEverybody(
  pathname: string,
  { sessions, protectedResource }: RequestHandlerOptions,
): Response | undefined {
  if (pathname === '/health') return Response.json({ status: 'ok', clients: sessions.size() })
  const metadata = protectedResource?.metadataAt(pathname)
  return metadata && Response.json(metadata, { headers: METADATA_HEADERS })
}

/** Everybody may read the metadata, pages of other origins too. */
const METADATA_HEADERS = { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' }

const METHODS = new Set(['GET', 'POST', 'DELETE'])

function isInitialize(body: unknown): boolean {
  return [body].flat().some((message) => (message as { method?: unknown } | null)?.method === 'initialize')
}

/** Calls `over` when the response has been sent, its reader has disconnected, or there is none. */
async function untilOver(
  over: () => void,
  respond: () => Promise<Response>,
  signal?: AbortSignal,
): Promise<Response> {
  try {
    return whenOver(await respond(), over, signal)
  } catch (error) {
    over()
    throw error
  }
}

/** Wraps the response; reports when its body has been sent or its reader has disconnected. The signal ends it early. */
function whenOver(response: Response, over: () => void, signal?: AbortSignal): Response {
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
  const end = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
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
