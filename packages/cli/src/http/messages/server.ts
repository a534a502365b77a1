// The gateway's HTTP server: listens, applies limits, and reports one record per request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TraceListener } from '@toolshelf/core'
import type { Authenticator, UsageMeter } from '@toolshelf/core/internal'
import { isSecret, OptionError } from '@toolshelf/core/internal/node'
import type { MessagesGateway, ModeSetting } from '@toolshelf/messages'
import { AUTO, apiFor, type RequestOutcome } from '@toolshelf/messages/internal'
import {
  answerNode,
  checkKeyLength,
  close,
  closeGently,
  createHttpServer,
  createReadiness,
  isForInspector,
  LOOPBACK,
  listen,
  openTlsFiles,
  type ReadinessCheck,
  type TlsFiles,
  watchProcess,
} from '@toolshelf/server/internal'
import { createEndpoints } from './endpoints.ts'
import { createForwardRules } from './forwarder.ts'
import { type ClientKey, createRequestGuard } from './guard.ts'
import { createBodyMemory } from './held-bytes.ts'
import { createMessagesMetrics, type MessagesMetrics } from './metrics.ts'
import { createServerPages } from './pages.ts'
import { reportAnswer } from './report-answer.ts'
import { failureReason, outcomeHeaders, type RequestContext, recordRequest } from './request-context.ts'
import { sendFailure } from './respond.ts'

export type MessagesHttpOptions = {
  readonly gateway: MessagesGateway
  /** The mode for requests that do not choose one. Default: `auto`. */
  readonly setting?: ModeSetting
  /** Counts requests for `/metrics`; default: its own. */
  readonly metrics?: MessagesMetrics
  /** The port; 0 for any free one. */
  readonly port: number
  /** The address to listen on; any other than loopback needs `keys` or `users`, unless `isOpen`. Default: `127.0.0.1`. */
  readonly address?: string
  /** Keys that clients must send, each with a mode of its own if it has one. */
  readonly keys?: readonly ClientKey[]
  /** Finds the user of each request without one of `keys`: their mode, limits and events. */
  readonly users?: Authenticator | undefined
  readonly usage?: UsageMeter | undefined
  /** Receives an event for each request that a limit refuses. */
  readonly trace?: TraceListener | undefined
  /** Additional host names under which clients may reach it. */
  readonly hosts?: readonly string[]
  /** Additional requests to forward: a method and a path; `*` matches one segment, as in `GET /v1/files/*`. */
  readonly forward?: readonly string[]
  /** Allows listening beyond loopback without a key: anyone who can reach the gateway may use it. Default: false. */
  readonly isOpen?: boolean
  /** Maximum bytes of a request body. Default: 32 MB. */
  readonly maxBodyBytes?: number
  /** Maximum bytes of request bodies held at once; one client may use three quarters of it. Default: 512 MB. */
  readonly maxHeldBytes?: number
  /** Milliseconds without an event before a stream gets a ping. Default: 15,000. */
  readonly silenceMs?: number
  /** Milliseconds after which a stream starts without waiting for the upstream; later errors become events. Default: 5000. */
  readonly headWaitMs?: number
  /** Milliseconds for receiving a whole request; its headers must arrive within a minute. Default: 300,000. */
  readonly requestTimeoutMs?: number
  /** Called with problems of the certificate's files. */
  readonly notify?: (message: string) => void
  /** Called once per request, when it has ended. */
  readonly onDone?: (done: RequestRecord) => void
  /** Handles requests below `/inspect`; checks their hosts, origins and keys itself. They are not reported. */
  readonly inspector?: (request: Request) => Promise<Response>
  /** Files of a certificate and its key: serves HTTPS, and reads them again when they change. */
  readonly tls?: TlsFiles
  /** Lets anyone read `/metrics`; without it they need a key, if there is one. Default: false. */
  readonly hasOpenMetrics?: boolean
  /** Conditions, besides the gateway's own, for `/ready` to report ready. */
  readonly readinessChecks?: readonly ReadinessCheck[]
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

export type MessagesHttpGateway = {
  /** The URL at which it listens. */
  readonly url: string
  activeRequests(): number
  /** Reads the files of the certificate again. */
  reloadTls(): void
  /**
   * Shuts down gracefully: `/ready` fails at once; after `delayMs` it accepts no more requests and finishes those in
   * progress, or aborts them after `timeoutMs`.
   */
  drain(timeoutMs: number, delayMs?: number): Promise<void>
  /** Closes immediately and aborts requests in progress. */
  close(): Promise<void>
}

const MAX_BODY_BYTES = 32_000_000
const MAX_HELD_BYTES = 512_000_000
const SILENCE_MS = 15_000
const REQUEST_TIMEOUT_MS = 300_000
const HEAD_WAIT_MS = 5000
/** The status recorded when the client disconnects before the response. */
const UNANSWERED = 499

/**
 * Serves a gateway over HTTP. Beyond loopback it needs `keys` or `users`, unless `isOpen`.
 *
 * @example
 * const { url, close } = await serveMessagesGateway({ gateway: createMessagesGateway({ upstream }), port: 3388 })
 */
export async function serveMessagesGateway(options: MessagesHttpOptions): Promise<MessagesHttpGateway> {
  const { gateway, setting = AUTO, metrics = createMessagesMetrics(), port } = options
  const { address = '127.0.0.1', keys = [], hosts = [] } = options
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
  const { tls, readiness, pages, pause, release } = openService(options, metrics)
  const answer = createEndpoints({ mayForward, gateway, setting, metrics, guard, pages, ...limited })
  let active = 0

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
    const over = metrics.begin()
    active++
    if (readiness.isDraining()) outgoing.setHeader('connection', 'close')
    outgoing.once('close', () => {
      active--
      gone.abort(new Error('the client went away'))
      over()
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

  const url = await listen(server, port, address).catch((error: unknown) => {
    release()
    throw error
  })
  return {
    url,
    activeRequests: () => active,
    reloadTls: () => tls?.reload(),
    async drain(timeoutMs, delayMs = 0) {
      readiness.drain()
      if (delayMs > 0) await pause(delayMs)
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

/** What the server needs to be operated: certificates, readiness and metrics. */
function openService(
  { tls: files, notify, readinessChecks = [], ...options }: MessagesHttpOptions,
  metrics: MessagesMetrics,
) {
  const tls = files && openTlsFiles(files, { notify })
  const readiness = createReadiness({ checks: readinessChecks })
  const processMetrics = watchProcess()
  const { hasOpenMetrics = false } = options
  const pages = createServerPages({ readiness, metrics, processMetrics, hasOpenMetrics })
  const closing = new AbortController()
  /** Waits, unless the server closes meanwhile. */
  const pause = (ms: number) => sleep(ms, undefined, { signal: closing.signal }).catch(() => {})
  const release = () => {
    closing.abort()
    tls?.close()
    processMetrics.close()
  }
  return { tls, readiness, pages, pause, release }
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
