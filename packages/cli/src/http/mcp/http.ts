// Serves the gateway to many clients over HTTP, in both protocol versions: sessions for the older one, single requests
// for the newer. Safe by default: listens on loopback only, accepts only known hosts and origins, and requires a key for
// everything else.
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TraceListener } from '@toolshelf/core'
import type { Authenticator } from '@toolshelf/core/internal'
import { OptionError } from '@toolshelf/core/internal/node'
import type { McpGateway, McpHost } from '@toolshelf/mcp'
import { PAGES } from '@toolshelf/mcp/internal'
import {
  answerNode,
  checkKeyLength,
  close,
  closeGently,
  createBodies,
  createClientNetwork,
  createHttpServer,
  createReadiness,
  LOOPBACK,
  listen,
  openTlsFiles,
  type ReadinessCheck,
  type TlsFiles,
  watchProcess,
} from '@toolshelf/server/internal'
import { createAccessWatch } from './access.ts'
import { createGuard } from './guard.ts'
import { createRequestHandler, PATH } from './handler.ts'
import type { ProtectedResource } from './pages.ts'
import { createHttpPages } from './pages.ts'
import { Sessions } from './sessions.ts'
import { createStateless } from './stateless.ts'
import { createTraffic, type Traffic } from './traffic.ts'

/** Options of `serveMcpGatewayOnHttp`. */
export type McpHttpOptions = {
  /** The port; 0 for any free one. */
  readonly port: number
  /** The address to listen on; any other than loopback needs a key or users. Default: `127.0.0.1`. */
  readonly address?: string
  /** The bearer token that clients must send. Default: none. */
  readonly key?: string
  /** Additional host names under which clients may reach it. */
  readonly hosts?: readonly string[]
  /** Milliseconds after which the session of an inactive client ends. Default: 600,000. */
  readonly idleMs?: number
  /** Maximum number of clients at a time. Default: 1,000. */
  readonly maxSessions?: number
  /** Maximum bytes of a request's body. Default: 32 MB. */
  readonly maxBodyBytes?: number
  /** Milliseconds that a client may go without reading its response. Default: 60,000. */
  readonly stalledMs?: number
  /** Finds the user of each request, which determines what it sees. `key` stays valid and sees everything. */
  readonly users?: Authenticator | undefined
  /** Tells clients without a token where to get one: what `createTokenAccess` returns. */
  readonly protectedResource?: ProtectedResource | undefined
  /** Receives an event for each request that a limit refuses. */
  readonly trace?: TraceListener | undefined
  /** Called with problems of the certificate's files. */
  readonly notify?: (message: string) => void
  /** Handles requests below `/inspect`; checks their hosts, origins and keys itself. */
  readonly inspector?: (request: Request) => Promise<Response>
  /** Files of a certificate and its key: serves HTTPS, and reloads them when they change. */
  readonly tls?: TlsFiles
  /** Addresses or subnets of proxies, such as `10.0.0.0/8`, whose `X-Forwarded-For` is trusted. Default: none. */
  readonly proxies?: readonly string[]
  /** Lets anyone read `/metrics`; otherwise they need the key, if there is one. Default: false. */
  readonly hasOpenMetrics?: boolean
  /** Conditions, besides the gateway's own, for `/ready` to report ready. */
  readonly readinessChecks?: readonly ReadinessCheck[]
  /** Milliseconds that `/ready` waits for servers that are always loaded. Default: 30,000. */
  readonly serverWaitMs?: number
}

/** A gateway that listens for HTTP clients. */
export type McpHttpGateway = {
  /** The URL of the endpoint, such as `http://127.0.0.1:8080/mcp`. */
  readonly url: string
  /** Returns the number of requests in progress, without streams of notifications. */
  activeRequests(): number
  /** Returns the number of sessions of clients of the older protocol. */
  sessions(): number
  /** Reloads the files of the certificate. */
  reloadTls(): void
  /**
   * Shuts down gracefully: `/ready` fails at once; after `delayMs` it ends streams, answers new requests with status
   * 503, waits up to `timeoutMs` for running calls, and closes.
   */
  drain(timeoutMs: number, delayMs?: number): Promise<void>
  /** Stops listening and ends all sessions at once, and stops all servers. */
  close(): Promise<void>
}

/** The same limit as for a message on stdio. */
const MAX_BODY_BYTES = 32_000_000
/** How many bodies of the largest size may be processed at once. */
const MAX_LARGE_BODIES = 4
/** A session needs a stream, and a connection for each running call. */
const CONNECTIONS_PER_SESSION = 4
const SERVER_WAIT_MS = 30_000
/** Milliseconds in which requests that arrive during shutdown are refused rather than cut off. */
const LAST_REFUSALS_MS = 5000
/** The status to count when the client disconnects before the response. */
const UNANSWERED = 499

/**
 * Serves a gateway over streamable HTTP, at `/mcp`. Beyond loopback it needs a key or users.
 *
 * @example
 * const { url, close } = await serveMcpGatewayOnHttp(gateway, { port: 8080 })
 */
export async function serveMcpGatewayOnHttp(
  gateway: McpGateway,
  options: McpHttpOptions,
): Promise<McpHttpGateway> {
  const { port, address = '127.0.0.1', key, hosts = [], idleMs = 600_000, maxSessions = 1000 } = options
  const { users, trace, protectedResource } = options
  checkAddress(address, options)
  if (key) checkKeyLength(key)
  const { maxBodyBytes = MAX_BODY_BYTES, stalledMs, notify, inspector } = options
  const sessions = new Sessions(gateway, { maxSessions, idleMs })
  const bodies = createBodies({ maxBytes: maxBodyBytes, maxTotalBytes: maxBodyBytes * MAX_LARGE_BODIES })
  const guard = createGuard({ address, key, users, hosts })
  const access = createAccessWatch(users, sessions)
  const networkOf = createClientNetwork(options.proxies ?? [])
  const tls = options.tls && openTlsFiles(options.tls, { notify })
  await gateway.host.readCache()
  gateway.host.start(EVERY_CAPABILITY)
  const { readinessChecks = [], serverWaitMs = SERVER_WAIT_MS } = options
  const readiness = createReadiness({
    checks: [alwaysLoadedServers(gateway.host, serverWaitMs), ...readinessChecks],
  })

  const stateless = createStateless(gateway, { isLocal: LOOPBACK.has(address) })
  const { metrics } = gateway
  const traffic = createTraffic(metrics)
  metrics.read('toolshelf_sessions', () => [{ value: sessions.size() }])
  const processMetrics = watchProcess()
  const pages = createHttpPages({
    readiness,
    metrics,
    processMetrics,
    hasOpenMetrics: options.hasOpenMetrics ?? false,
    sessions: sessions.size,
  })
  const { workOf } = gateway
  const shared = { guard, bodies, sessions, stateless, access, pages, traffic, workOf }
  const handle = createRequestHandler({ ...shared, trace, inspector, protectedResource })
  const server = createHttpServer(tls, {}, (incoming, outgoing) => {
    const network = networkOf(incoming)
    const count = watchResponse(outgoing, traffic)
    if (readiness.isDraining()) outgoing.setHeader('connection', 'close')
    const answer = (request: Request) => {
      count(request)
      return handle(request, network)
    }
    void answerNode(incoming, outgoing, answer, { stalledMs })
  })
  server.maxConnections = maxSessions * CONNECTIONS_PER_SESSION
  const closing = new AbortController()
  const closeAll = once(async () => {
    closing.abort()
    access.close()
    tls?.close()
    processMetrics.close()
    await sessions.close()
    await stateless.close()
    await close(server)
    await gateway.close()
  })
  const url = await listen(server, port, address).catch((error: unknown) => {
    tls?.close()
    processMetrics.close()
    throw error
  })
  return {
    url: url + PATH,
    activeRequests: traffic.running,
    sessions: sessions.size,
    reloadTls: () => tls?.reload(),
    async drain(timeoutMs, delayMs = 0) {
      readiness.drain()
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => {})
      await Promise.all([traffic.drain(timeoutMs), gateway.drain(timeoutMs)])
      await closeGently(server, traffic.running() > 0 ? 0 : LAST_REFUSALS_MS)
      await closeAll()
    },
    close: closeAll,
  }
}

function checkAddress(address: string, { key, users }: McpHttpOptions): void {
  if (LOOPBACK.has(address) || key || users) return
  throw new OptionError(
    'key',
    `listening on ${address} needs a key`,
    'set the option "key" or "users", or listen on 127.0.0.1',
  )
}

/** Returns a function that counts the request of a response once it has been sent or abandoned. */
function watchResponse(outgoing: ServerResponse, traffic: Traffic): (request: Request) => void {
  const started = performance.now()
  return (request) =>
    void outgoing.once('close', () => {
      const status = outgoing.headersSent ? outgoing.statusCode : UNANSWERED
      traffic.over(request, status, (performance.now() - started) / 1000)
    })
}

/** Runs the work at the first call only; all calls wait for it. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work()
    return running
  }
}

/** Checks that servers whose tools every client sees at once have listed them, or had enough time. */
function alwaysLoadedServers(host: McpHost, timeoutMs: number): ReadinessCheck {
  let hasSettled = false
  void host.settled({ timeoutMs, only: 'alwaysLoad' }).then(() => {
    hasSettled = true
  })
  return {
    reason: 'servers are starting',
    check: async () => {
      if (!hasSettled) throw new Error('not settled')
    },
  }
}

/** Declared to servers, because the client is not known yet; a capability that it lacks is refused when a server uses it. */
const EVERY_CAPABILITY = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  extensions: { [PAGES]: { mimeTypes: ['text/html;profile=mcp-app'] } },
}
