// Handles one HTTP request to the gateway: refuses it, or passes it to its session or to a stateless server.
import { isJsonContentType, isLegacyRequest } from '@modelcontextprotocol/server'
import { fieldsOf, hasCode, type User } from '@toolshelf/core/internal'
import type { ClientWork, LimitError } from '@toolshelf/core/internal/node'
import { type Bodies, isForInspector } from '@toolshelf/server/internal'
import type { TokenAccess } from '@toolshelf/server/internal/oauth'
import type { ServicePages } from '../service.ts'
import { type Guard, refusal } from './guard.ts'
import type { McpHttpOptions } from './http.ts'
import type { AccessWatch, NoSession, Session, SessionClient, Sessions } from './sessions.ts'
import type { Stateless } from './stateless.ts'
import { type Traffic, whenOver } from './traffic.ts'

export const PATH = '/mcp'
const METRICS_PATH = '/metrics'

/** What the gateway needs of OAuth, besides the users that it finds by tokens. */
export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>

/** Most messages in one body. The SDK has the same limit, but counts only after processing each message. */
const MAX_BATCH = 100

type RequestHandlerOptions = Pick<McpHttpOptions, 'trace' | 'inspector' | 'protectedResource'> & {
  readonly guard: Guard
  readonly bodies: Bodies
  readonly sessions: Sessions
  /** Handles clients of the newer protocol, which has no sessions. */
  readonly stateless: Stateless
  /** Ends the responses of users whose key is revoked meanwhile. */
  readonly access: AccessWatch
  readonly workOf: (user: User) => ClientWork
  /** Health, readiness and metrics. */
  readonly pages: ServicePages
  /** Whether metrics need no key. */
  readonly hasOpenMetrics: boolean
  readonly traffic: Traffic
}

/** Returns the function that answers one HTTP request: refuses it, or passes it to its session. */
export function createRequestHandler(options: RequestHandlerOptions) {
  const { guard, inspector, pages, hasOpenMetrics, sessions, protectedResource } = options
  const answer = createTrackedAnswer(options)
  return handle

  async function handle(request: Request, network: string): Promise<Response> {
    const { pathname } = new URL(request.url)
    const stranger = guard.checkHost(request)
    // Probes use a container's address as host; they learn only whether it is healthy.
    if (pathname === '/health')
      return Response.json({ status: 'ok', ...(stranger ? {} : { clients: sessions.size() }) })
    if (pathname === '/ready') return asResponse(await pages.ready())
    if (pathname === METRICS_PATH && hasOpenMetrics) return asResponse(await pages.metrics())
    if (stranger) return stranger
    const metadata = protectedResource?.metadataAt(pathname)
    if (metadata) return Response.json(metadata, { headers: METADATA_HEADERS })
    if (inspector && isForInspector(pathname)) return inspector(request)
    const admitted = await guard.admit(request)
    if (admitted instanceof Response) return admitted
    const { user } = admitted
    if (pathname === METRICS_PATH)
      return user && !user.profile.isOperator
        ? refusal(403, 'metrics are for operators; use the key of one')
        : asResponse(await pages.metrics())
    if (pathname !== PATH) return refusal(404, `no such path: ${pathname}; the gateway is at ${PATH}`)
    return answer(request, { address: network, user })
  }
}

function asResponse({ body, ...head }: Awaited<ReturnType<ServicePages['metrics' | 'ready']>>): Response {
  return new Response(body, head)
}

/**
 * Returns the function that answers an accepted request and aborts it when the user may no longer use the gateway. It
 * watches from here on, because a body can take minutes, and by the request's key, because the session may have another
 * one.
 */
function createTrackedAnswer(options: RequestHandlerOptions) {
  const { access, bodies, traffic } = options
  const answer = createAnswer(options)

  return async (request: Request, client: SessionClient): Promise<Response> => {
    const { signal, over } = access.track(client.user)
    const posted = request.method === 'POST' ? await read(request, client, signal).catch(failAfter(over)) : {}
    if (posted instanceof Response) {
      over()
      return posted
    }
    const { value, release } = posted
    const end = () => {
      over()
      release?.()
    }
    return untilOver(end, () => traffic.run(request, value, () => answer(request, client, value)), signal)
  }

  /** Reads the body of a request; returns a response if it is refused. */
  async function read(
    request: Request,
    { user }: SessionClient,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly value?: unknown; readonly release?: () => void } | Response> {
    if (!isJsonContentType(request.headers.get('content-type')))
      return refusal(415, 'unsupported content type; send JSON with "Content-Type: application/json"')
    const body = await bodies.read(request)
    if ('status' in body) return refusal(body.status, body.message)
    if (!signal?.aborted) {
      const limited = await overLimit(body.value, user, options).catch(failAfter(body.release))
      if (!limited) return body
      body.release()
      return limited
    }
    body.release()
    // The client's next request shows whether the key still works.
    const message = 'the key or its rights have changed during the request; send it again'
    return refusal(503, message, { retryAfter: 1 })
  }
}

/** Cleans up after work that failed. */
function failAfter(clean: () => void): (error: unknown) => never {
  return (error) => {
    clean()
    throw error
  }
}

/** Returns the function that passes an accepted request to its session, or to the handler of stateless clients. */
function createAnswer({ sessions, stateless }: RequestHandlerOptions) {
  return answer

  /** Answers a request. @param parsedBody - undefined if the method has no body. */
  async function answer(request: Request, client: SessionClient, parsedBody: unknown): Promise<Response> {
    if (!(await isLegacyRequest(request, parsedBody)))
      return stateless.fetch(request, { parsedBody, user: client.user })
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = await sessions.find(id, client)
      if (typeof session === 'string') return withoutSession(session)
      return answerIn(session, request, parsedBody)
    }
    if (!isInitialize(parsedBody))
      return refusal(METHODS.has(request.method) ? 400 : 405, 'there is no session yet; initialize first')
    const session = await sessions.begin(client)
    if (typeof session === 'string') return withoutSession(session)
    const response = await answerIn(session, request, parsedBody)
    // Cleans up after a first request that opened no session.
    if (session.transport.sessionId === undefined) await sessions.end(session)
    return response
  }

  async function answerIn(session: Session, request: Request, parsedBody: unknown): Promise<Response> {
    session.open++
    session.requests++
    const done = () => {
      session.open--
      session.seenAt = Date.now()
    }
    return untilOver(done, () => session.transport.handleRequest(request, { parsedBody }))
  }
}

/** Refuses a body with too many messages or values, or with more than the user may still send. Each message counts. */
async function overLimit(
  body: unknown,
  user: User | undefined,
  { workOf, trace }: Pick<RequestHandlerOptions, 'workOf' | 'trace'>,
): Promise<Response | undefined> {
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  const count = messages.length
  if (count > MAX_BATCH)
    return refusal(400, `the batch has ${count} messages; at most ${MAX_BATCH} are allowed`)
  const reason = tooManyMessageValues(messages)
  if (reason !== undefined) return refusal(400, reason)
  if (!user) return undefined
  try {
    await workOf(user).use('calls', Math.max(1, count))
    return undefined
  } catch (error) {
    if (!hasCode<LimitError>(error, 'LIMIT')) throw error
    const { status, message } = error.refusal
    trace?.(error.event)
    return refusal(status, message, error.refusal)
  }
}

function withoutSession(reason: NoSession): Response {
  if (reason === 'ended') return refusal(404, 'the session has ended; initialize again')
  return refusal(503, 'too many sessions; try again later')
}

/** The metadata is public, also for pages of other origins. */
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

/**
 * Values of one request body. The SDK validates each with its schemas, which takes seconds for a million. An argument of a
 * tool call, which is passed on unvalidated, counts as one; those of a prompt count in full: the SDK's error would list them.
 */
const MAX_VALUES = 10_000

/** Returns the reason to refuse messages that have too many values; undefined if they have not. */
function tooManyMessageValues(messages: readonly unknown[]): string | undefined {
  if (!hasMoreValues(messages.map(withCountedArguments), MAX_VALUES)) return undefined
  return `the body has more than ${MAX_VALUES} values, each argument of a tool call counted as one; send fewer`
}

function withCountedArguments(message: unknown): unknown {
  const { params, ...rest } = fieldsOf(message)
  if (rest.method !== 'tools/call') return message
  const { arguments: given, ...others } = fieldsOf(params)
  return [rest, others, Object.keys(fieldsOf(given))]
}

function hasMoreValues(root: unknown, max: number): boolean {
  const open: unknown[] = [root]
  let count = 0
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const inside: unknown[] = Array.isArray(value) ? value : Object.values(value)
    count += inside.length
    if (count > max) return true
    for (const one of inside) open.push(one)
  }
  return false
}
