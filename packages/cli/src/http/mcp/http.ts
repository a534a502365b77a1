// Serves the gateway to many clients over HTTP, in both protocol versions: sessions for the older one, single requests
// for the newer. Safe by default: listens on loopback only, accepts only known hosts and origins, and requires a key for
// everything else.
import { OptionError } from '@toolshelf/core/internal/node'
import type { McpGateway } from '@toolshelf/mcp'
import { PAGES } from '@toolshelf/mcp/internal'
import {
  answerNode,
  checkKeyLength,
  close,
  closeGently,
  createBodies,
  createClientNetwork,
  createHttpServer,
  LOOPBACK,
} from '@toolshelf/server/internal'
import {
  type HttpService,
  type HttpServiceOptions,
  MAX_BODY_BYTES,
  openService,
  UNANSWERED,
} from '../service.ts'
import { createGuard } from './guard.ts'
import { createRequestHandler, PATH, type ProtectedResource } from './handler.ts'
import { createAccessWatch, Sessions } from './sessions.ts'
import { createStateless } from './stateless.ts'
import { createTraffic } from './traffic.ts'

/** Options of `serveMcpGatewayOnHttp`. */
export type McpHttpOptions = HttpServiceOptions & {
  /** The bearer token that clients must send. Default: none. It stays valid beside users, and sees everything. */
  readonly key?: string
  /** Milliseconds after which the session of an inactive client ends. Default: 600,000. */
  readonly idleMs?: number
  /** Maximum number of clients at a time. Default: 1,000. */
  readonly maxSessions?: number
  /** Milliseconds that a client may go without reading its response. Default: 60,000. */
  readonly stalledMs?: number
  /** Tells clients without a token where to get one: what `createTokenAccess` returns. */
  readonly protectedResource?: ProtectedResource | undefined
  /** Addresses or subnets of proxies, such as `10.0.0.0/8`, whose `X-Forwarded-For` is trusted. Default: none. */
  readonly proxies?: readonly string[]
  /** Milliseconds that `/ready` waits for servers that are always loaded. Default: 30,000. */
  readonly serverWaitMs?: number
}

/** The gateway at its URL, such as `http://127.0.0.1:8080/mcp`. While it drains, it refuses new requests with status 503. */
export type McpHttpGateway = HttpService & {
  /** Returns the number of sessions of clients of the older protocol. */
  sessions(): number
}

/** How many bodies of the largest size may be processed at once. */
const MAX_LARGE_BODIES = 4
/** A session needs a stream, and a connection for each running call. */
const CONNECTIONS_PER_SESSION = 4
const SERVER_WAIT_MS = 30_000
/** Milliseconds in which requests that arrive during shutdown are refused rather than cut off. */
const LAST_REFUSALS_MS = 5000

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
  if (!LOOPBACK.has(address) && !key && !users)
    throw new OptionError(
      'key',
      `listening on ${address} needs a key`,
      'set the option "key" or "users", or listen on 127.0.0.1',
    )
  if (key) checkKeyLength(key)
  const { maxBodyBytes = MAX_BODY_BYTES, stalledMs, inspector } = options
  const { serverWaitMs = SERVER_WAIT_MS, hasOpenMetrics = false } = options
  const sessions = new Sessions(gateway, { maxSessions, idleMs })
  const bodies = createBodies({ maxBytes: maxBodyBytes, maxTotalBytes: maxBodyBytes * MAX_LARGE_BODIES })
  const guard = createGuard({ address, key, users, hosts })
  const access = createAccessWatch(users, sessions)
  const networkOf = createClientNetwork(options.proxies ?? [])
  const { host, metrics } = gateway
  let isSettled = false
  const service = openService(options, metrics, [
    {
      reason: 'servers are starting',
      check: async () => {
        if (!isSettled) throw new Error('not settled')
      },
    },
  ])
  await host.readCache()
  host.start(EVERY_CAPABILITY)
  // Every client sees the tools of these servers at once: they have listed them, or had enough time.
  void host.settled({ timeoutMs: serverWaitMs, only: 'alwaysLoad' }).then(() => {
    isSettled = true
  })
  const { tls, readiness, pages } = service
  const stateless = createStateless(gateway, { isLocal: LOOPBACK.has(address) })
  const traffic = createTraffic(metrics)
  metrics.read('toolshelf_sessions', () => [{ value: sessions.size() }])
  const { workOf } = gateway
  const shared = { guard, bodies, sessions, stateless, access, pages, hasOpenMetrics, traffic, workOf }
  const handle = createRequestHandler({ ...shared, trace, inspector, protectedResource })
  const server = createHttpServer(tls, {}, (incoming, outgoing) => {
    const network = networkOf(incoming)
    const started = performance.now()
    if (readiness.isDraining()) outgoing.setHeader('connection', 'close')
    const answer = (request: Request) => {
      outgoing.once('close', () => {
        const status = outgoing.headersSent ? outgoing.statusCode : UNANSWERED
        traffic.over(request, status, (performance.now() - started) / 1000)
      })
      return handle(request, network)
    }
    void answerNode(incoming, outgoing, answer, { stalledMs })
  })
  server.maxConnections = maxSessions * CONNECTIONS_PER_SESSION
  const closeAll = once(async () => {
    service.release()
    access.close()
    await sessions.close()
    await stateless.close()
    await close(server)
    await gateway.close()
  })
  const url = await service.listen(server, port, address)
  return {
    url: url + PATH,
    activeRequests: traffic.running,
    sessions: sessions.size,
    reloadTls: () => tls?.reload(),
    async drain(timeoutMs, delayMs = 0) {
      await service.beginDrain(delayMs)
      await Promise.all([traffic.drain(timeoutMs), gateway.drain(timeoutMs)])
      await closeGently(server, traffic.running() > 0 ? 0 : LAST_REFUSALS_MS)
      await closeAll()
    },
    close: closeAll,
  }
}

/** Runs the work at the first call only; all calls wait for it. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work()
    return running
  }
}

/** Declared to servers, because the client is not known yet; a capability that it lacks is refused when a server uses it. */
const EVERY_CAPABILITY = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  extensions: { [PAGES]: { mimeTypes: ['text/html;profile=mcp-app'] } },
}
