// The gateway's HTTP server: listens, applies limits, and reports one record per request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UsageMeter } from '@toolshelf/core/internal'
import { isSecret, OptionError } from '@toolshelf/core/internal/node'
import type { MessagesGateway, ModeSetting } from '@toolshelf/messages'
import { AUTO, apiFor, type RequestOutcome } from '@toolshelf/messages/internal'
import {
  answerNode,
  checkKeyLength,
  close,
  closeGently,
  createHttpServer,
  isForInspector,
  LOOPBACK,
} from '@toolshelf/server/internal'
import {
  type HttpService,
  type HttpServiceOptions,
  MAX_BODY_BYTES,
  openService,
  UNANSWERED,
} from '../service.ts'
import { createBodyMemory } from './body.ts'
import { createEndpoints, createForwardRules } from './endpoints.ts'
import { type ClientKey, createRequestGuard } from './guard.ts'
import { createMessagesMetrics, GATEWAY_LABEL, type MessagesMetrics } from './metrics.ts'
import {
  failureReason,
  outcomeHeaders,
  type RequestContext,
  recordRequest,
  reportAnswer,
} from './request-context.ts'
import { sendFailure } from './respond.ts'

export type MessagesHttpOptions = HttpServiceOptions & {
  readonly gateway: MessagesGateway
  /** The mode for requests that do not choose one. Default: `auto`. */
  readonly setting?: ModeSetting
  /** Counts requests for `/metrics`; default: its own. */
  readonly metrics?: MessagesMetrics
  /** Keys that clients must send, each with a mode of its own if it has one. */
  readonly keys?: readonly ClientKey[]
  readonly usage?: UsageMeter | undefined
  /** Additional requests to forward: a method and a path; `*` matches one segment, as in `GET /v1/files/*`. */
  readonly forward?: readonly string[]
  /** Allows listening beyond loopback without a key: anyone who can reach the gateway may use it. Default: false. */
  readonly isOpen?: boolean
  /** Maximum bytes of request bodies held at once; one client may use three quarters of it. Default: 512 MB. */
  readonly maxHeldBytes?: number
  /** Milliseconds without an event before a stream gets a ping. Default: 15,000. */
  readonly silenceMs?: number
  /** Milliseconds after which a stream starts without waiting for the upstream; later errors become events. Default: 5000. */
  readonly headWaitMs?: number
  /** Milliseconds for receiving a whole request; its headers must arrive within a minute. Default: 300,000. */
  readonly requestTimeoutMs?: number
  /** Called once per request, when it has ended. */
  readonly onDone?: (done: RequestRecord) => void
}

/** What the server reports about a finished request. */
export type RequestRecord = {
  /** The HTTP method. */
  readonly method: string
  /** The path without the query. */
  readonly path: string
  /** The HTTP status of the response; 499 if the client disconnected before it. */
  readonly status: number
  /** Time from the request to the end of the response. */
  readonly milliseconds: number
  /** The model that the client named. */
  readonly model: string | undefined
  /** What the gateway did; undefined for requests that are not about messages. */
  readonly outcome: RequestOutcome | undefined
  /** The error message sent to the client, if the request failed. */
  readonly error: string | undefined
  /** The id of the user who sent it; undefined where there are none. */
  readonly user?: string | undefined
}

const MAX_HELD_BYTES = 512_000_000
const SILENCE_MS = 15_000
const REQUEST_TIMEOUT_MS = 300_000
const HEAD_WAIT_MS = 5000

/**
 * Serves a gateway over HTTP. Beyond loopback it needs `keys` or `users`, unless `isOpen`.
 *
 * @example
 * const { url, close } = await serveMessagesGateway({ gateway: createMessagesGateway({ upstream }), port: 3388 })
 */
export async function serveMessagesGateway(options: MessagesHttpOptions): Promise<HttpService> {
  const { gateway, setting = AUTO, metrics = createMessagesMetrics(), port } = options
  const { address = '127.0.0.1', keys = [], hosts = [], hasOpenMetrics = false } = options
  const { maxBodyBytes = MAX_BODY_BYTES, silenceMs = SILENCE_MS, isOpen = false, onDone = () => {} } = options
  const {
    requestTimeoutMs = REQUEST_TIMEOUT_MS,
    maxHeldBytes = MAX_HELD_BYTES,
    headWaitMs = HEAD_WAIT_MS,
  } = options
  const { users, usage, trace } = options
  if (!LOOPBACK.has(address) && keys.length === 0 && !users && !isOpen) throw needsKey(address)
  for (const { secret } of keys) checkKeyLength(secret)
  const guard = createRequestGuard({ address, keys, users, usage, hosts })
  const mayForward = createForwardRules(options.forward ?? [])
  const bodyMemory = createBodyMemory(maxHeldBytes)
  const limited = { maxBodyBytes, bodyMemory, silenceMs, headWaitMs, trace }
  const service = openService(options, metrics)
  const { tls, readiness, pages, release } = service
  const answer = createEndpoints({
    mayForward,
    gateway,
    setting,
    metrics,
    guard,
    pages,
    hasOpenMetrics,
    ...limited,
  })
  let active = 0
  metrics.read('toolshelf_active_requests', () => [{ labels: GATEWAY_LABEL, value: active }])

  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    void handleRequest(incoming, outgoing)
  const server = createHttpServer(tls, connectionLimits(requestTimeoutMs), listener)
  async function handleRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { inspector } = options
    if (inspector && isForInspector(incoming.url ?? '')) return answerNode(incoming, outgoing, inspector)
    const started = performance.now()
    const gone = new AbortController()
    takeKeyFromPath(incoming, keys)
    const context = newContext(incoming, outgoing, gone.signal)
    active++
    if (readiness.isDraining()) outgoing.setHeader('connection', 'close')
    outgoing.once('close', () => {
      active--
      gone.abort(new Error('the client went away'))
      const milliseconds = performance.now() - started
      const status = outgoing.headersSent ? outgoing.statusCode : UNANSWERED
      const { path, model, outcome, error, user } = context
      recordRequest(metrics, context, status, milliseconds)
      reportAnswer(gateway, context, status, milliseconds)
      const about = user === undefined ? {} : { user }
      onDone({ method: incoming.method ?? '', path, status, milliseconds, model, outcome, error, ...about })
    })
    try {
      await answer(context)
    } catch (error) {
      if (gone.signal.aborted) return
      const headers = context.outcome ? outcomeHeaders(context.outcome) : {}
      context.error = failureReason(sendFailure(outgoing, error, context, headers).body, context)
    }
  }

  const url = await service.listen(server, port, address)
  return {
    url,
    activeRequests: () => active,
    reloadTls: () => tls?.reload(),
    async drain(timeoutMs, delayMs = 0) {
      await service.beginDrain(delayMs)
      release()
      await closeGently(server, timeoutMs)
    },
    async close() {
      release()
      await close(server)
    },
  }
}

function needsKey(address: string): OptionError {
  return new OptionError(
    'keys',
    `listening on ${address} needs a key`,
    'set the option "keys" or "users", listen on 127.0.0.1, or set "isOpen" if anyone may use it',
  )
}

/** Puts a key that is the first segment of the path, for clients that have no other place for it, into its header. */
function takeKeyFromPath(incoming: IncomingMessage, keys: readonly ClientKey[]): void {
  const [, segment, rest] = /^\/([^/?]+)(\/.*)$/.exec(incoming.url ?? '') ?? []
  if (!keys.some(({ secret }) => isSecret(segment, secret))) return
  incoming.url = rest
  incoming.headers['x-toolshelf-key'] = segment
}

function newContext(incoming: IncomingMessage, outgoing: ServerResponse, gone: AbortSignal): RequestContext {
  const address = addressOf(incoming)
  const path = pathOf(address)
  const unknown = { model: undefined, outcome: undefined, writer: undefined, error: undefined }
  return { incoming, outgoing, address, path, api: apiFor(path, incoming.headers), gone, ...unknown }
}

/** The path; OpenAI's clients leave out `/v1` if their base URL does. */
function pathOf(address: URL | undefined): string {
  const path = address?.pathname ?? ''
  // The AI SDK posts to ANTHROPIC_BASE_URL + "/messages", Anthropic's own to ANTHROPIC_BASE_URL + "/v1/messages".
  return /^\/(?:chat\/completions|responses|models|messages)(?:\/|$)/.test(path) ? `/v1${path}` : path
}

function addressOf({ url = '/' }: IncomingMessage): URL | undefined {
  try {
    return new URL(url, 'http://gateway')
  } catch {
    return undefined
  }
}

/** How long a connection may take for a request. */
function connectionLimits(requestTimeout: number) {
  return {
    requestTimeout,
    headersTimeout: Math.min(requestTimeout, 60_000),
    connectionsCheckingInterval: Math.min(requestTimeout, 30_000),
  }
}
