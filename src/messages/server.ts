// The gateway's HTTP server: listens, applies limits, and reports one record per request.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answerNode, close, isForInspector, LOOPBACK, listen, networkOf, OptionError } from '../node/index.ts'
import { createEndpoints } from './endpoints.ts'
import { reasonIn } from './errors.ts'
import { createForwarding } from './forwarding.ts'
import type { MessagesGateway } from './gateway.ts'
import { type ClientKey, createRequestGuard } from './guard.ts'
import { createBodyMemory } from './held-bytes.ts'
import { apiFor } from './inbound/index.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { AUTO, type Setting } from './plan.ts'
import { reportAnswer } from './report-answer.ts'
import { outcomeHeaders, type RequestContext, record } from './request-context.ts'
import type { RequestOutcome } from './request-outcome.ts'
import { sendFailure } from './respond.ts'

/** Options of `serve`. */
export type ServeOptions = {
  /** Answers the requests. */
  readonly gateway: MessagesGateway
  /** The mode for requests that do not choose one. Default: `auto`. */
  readonly setting?: Setting
  /** Counts requests for `/metrics`; default: its own. */
  readonly metrics?: Metrics
  /** The port; 0 for any free one. */
  readonly port: number
  /** Address to listen on. Default: 127.0.0.1. */
  readonly address?: string
  /** Keys that clients must send, each with a mode of its own if it has one. */
  readonly keys?: readonly ClientKey[]
  /** Additional host names under which clients may reach it. */
  readonly hosts?: readonly string[]
  /** Additional requests to forward: a method and a path; `*` matches one segment, as in `GET /v1/files/*`. */
  readonly forward?: readonly string[]
  /** Allows listening beyond loopback without a key: anyone who can reach the gateway may use it. */
  readonly isOpen?: boolean
  /** Maximum size of a request body in bytes. */
  readonly mostBody?: number
  /** Maximum bytes of request bodies held at once; one client may use three quarters of it. */
  readonly maxHeldBytes?: number
  /** Milliseconds without an event before a stream gets a ping. */
  readonly silence?: number
  /** Milliseconds after which a stream starts without waiting for the upstream; later errors become events. */
  readonly headWaitMs?: number
  /** Milliseconds for receiving a whole request; its headers must arrive within a minute. */
  readonly requestTimeoutMs?: number
  /** Called about wrong keys, at most once a minute. */
  readonly notify?: (message: string) => void
  /** Called once per request, when it has ended. */
  readonly onDone?: (done: RequestRecord) => void
  /** Answers requests below `/inspect`, and checks their keys on its own. They are neither counted nor reported. */
  readonly inspector?: (request: Request, network: string) => Promise<Response>
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
}

/** A listening gateway. */
export type RunningServer = {
  readonly url: string
  /** The number of requests in progress. */
  active(): number
  /** Stops accepting requests and resolves when those in progress end; aborts them after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
  /** Closes immediately and aborts requests in progress. */
  close(): Promise<void>
}

const MOST_BODY = 32_000_000
const MAX_HELD_BYTES = 512_000_000
const SILENCE = 15_000
const REQUEST_TIMEOUT_MS = 300_000
const HEAD_WAIT_MS = 5000
/** Longer than clients keep a connection: one that we close just as a client uses it again costs the client a failed request. */
const KEEP_ALIVE_MS = 75_000
/** The status recorded when the client disconnects before the response. */
const UNANSWERED = 499

/**
 * Serves a gateway over HTTP. Beyond loopback it needs `keys`, unless `isOpen`.
 *
 * @example
 * const { url, close } = await serve({ gateway: createMessagesGateway({ upstream }), port: 3388 })
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { gateway, setting = AUTO, metrics = createMetrics(), port } = options
  const { address = '127.0.0.1', keys = [], hosts = [] } = options
  const { mostBody = MOST_BODY, silence = SILENCE, isOpen = false, onDone = () => {} } = options
  const {
    requestTimeoutMs = REQUEST_TIMEOUT_MS,
    maxHeldBytes = MAX_HELD_BYTES,
    headWaitMs = HEAD_WAIT_MS,
  } = options
  if (!LOOPBACK.has(address) && keys.length === 0 && !isOpen)
    throw new OptionError(
      'keys',
      `listening on ${address} needs a key`,
      'set the option "keys", listen on 127.0.0.1, or set "isOpen" if anyone may use it',
    )
  const guard = createRequestGuard({ address, keys, hosts, notify: options.notify })
  const forwarding = createForwarding(options.forward ?? [])
  const bodyMemory = createBodyMemory(maxHeldBytes)
  const limited = { mostBody, bodyMemory, silence, headWaitMs }
  const answer = createEndpoints({ forwarding, gateway, setting, metrics, guard, ...limited })
  let active = 0
  let isDraining = false

  const server = createServer(
    connectionLimits(requestTimeoutMs),
    (incoming, outgoing) => void handleRequest(incoming, outgoing),
  )
  async function handleRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { inspector } = options
    if (inspector && isForInspector(incoming.url ?? '')) {
      outgoing.once('close', () => isDraining && server.closeIdleConnections())
      return answerNode(incoming, outgoing, (request) => inspector(request, networkOf(incoming)))
    }
    const started = performance.now()
    const gone = new AbortController()
    const context = newContext(incoming, outgoing, gone.signal)
    const over = metrics.begin()
    active++
    if (isDraining) outgoing.setHeader('connection', 'close')
    outgoing.once('close', () => {
      active--
      if (isDraining) server.closeIdleConnections()
      gone.abort(new Error('the client went away'))
      over()
      const milliseconds = performance.now() - started
      const status = outgoing.headersSent ? outgoing.statusCode : UNANSWERED
      const { path, model, outcome, error } = context
      record(metrics, context, status, milliseconds)
      reportAnswer(gateway, context, status, milliseconds)
      onDone({ method: incoming.method ?? '', path, status, milliseconds, model, outcome, error })
    })
    try {
      await answer(context)
    } catch (error) {
      if (gone.signal.aborted) return
      const headers = context.outcome ? outcomeHeaders(context.outcome) : {}
      context.error = reasonIn(sendFailure(outgoing, error, context, headers).body)
    }
  }

  const url = await listen(server, port, address)
  return {
    url,
    active: () => active,
    async drain(timeoutMs) {
      isDraining = true
      const cutOff = setTimeout(() => server.closeAllConnections(), timeoutMs)
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      clearTimeout(cutOff)
    },
    close: () => close(server),
  }
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

/** How long a connection may take for a request, and may be idle. */
function connectionLimits(requestTimeout: number) {
  return {
    requestTimeout,
    headersTimeout: Math.min(requestTimeout, 60_000),
    connectionsCheckingInterval: Math.min(requestTimeout, 30_000),
    keepAliveTimeout: KEEP_ALIVE_MS,
  }
}
