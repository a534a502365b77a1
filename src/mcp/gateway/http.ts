// Serves the gateway to many clients over HTTP, in both protocol versions: sessions for the older one, single requests
// for the newer. Safe by default: loopback only, known hosts and origins only, and a key for everything else.
import { createServer } from 'node:http'
import type { TraceListener } from '../../core/index.ts'
import {
  answerNode,
  close,
  createBodies,
  LOOPBACK,
  listen,
  networkOf,
  OptionError,
} from '../../node/index.ts'
import type { Authenticator, UsageMeter } from '../../users/index.ts'
import { PAGES } from '../greeting/index.ts'
import type { McpGateway } from './gateway.ts'
import { createAccessWatch } from './http-access.ts'
import { createGuard } from './http-guard.ts'
import { createRequestHandler, PATH, type ProtectedResource } from './http-handler.ts'
import { createSessions } from './http-sessions.ts'
import { createStateless } from './http-stateless.ts'

/** Options of `runOnHttp`. */
export type HttpOptions = {
  /** The port; 0 for any free one. */
  readonly port: number
  /** Loopback by default; any other host needs a key or users. */
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
  /** Finds the user of each request, who decides what it sees. `key` stays valid beside it, and sees everything. */
  readonly users?: Authenticator | undefined
  /** Says where clients without a token get one: what `createTokenAccess` returns. */
  readonly protectedResource?: ProtectedResource | undefined
  /** Counts the requests of users who have a limit. */
  readonly usage?: UsageMeter | undefined
  /** Receives an event for each request that a limit refuses. */
  readonly trace?: TraceListener | undefined
  /** Reports wrong keys to the operator. */
  readonly notify?: (message: string) => void
  /** Answers requests below `/inspect`; checks their keys on its own, unless `isOperator`. */
  readonly inspector?: (request: Request, network: string, isOperator?: boolean) => Promise<Response>
}

/** A gateway that listens for HTTP clients. */
export type HttpGateway = { readonly url: string; close(): Promise<void> }

/** The same limit as for a message on stdio. */
const MAX_BODY_BYTES = 32_000_000
/** How many bodies of the largest size may be processed at once. */
const MAX_LARGE_BODIES = 4
/** A session needs a stream, and a connection for each running call. */
const CONNECTIONS_PER_SESSION = 4

/**
 * Serves a gateway over streamable HTTP, at `/mcp`. Beyond loopback it needs a key or users.
 *
 * @example
 * const { url, close } = await runOnHttp(gateway, { port: 8080 })
 */
export async function runOnHttp(gateway: McpGateway, options: HttpOptions): Promise<HttpGateway> {
  const { port, address = '127.0.0.1', key, hosts = [], idle = 600_000, mostSessions = 1000 } = options
  const { users, usage, trace, protectedResource } = options
  if (!LOOPBACK.has(address) && !key && !users)
    throw new OptionError(
      'key',
      `listening on ${address} needs a key`,
      'set the option "key" or "users", or listen on 127.0.0.1',
    )
  const { maxBodyBytes = MAX_BODY_BYTES, stalledMs, notify, inspector } = options
  const sessions = createSessions(gateway, { maxSessions: mostSessions, idleMs: idle })
  const bodies = createBodies({ maxBytes: maxBodyBytes, maxTotalBytes: maxBodyBytes * MAX_LARGE_BODIES })
  const guard = createGuard({ address, key, users, hosts, notify })
  const access = createAccessWatch(users, sessions)
  await gateway.host.recall()
  gateway.host.start(EVERY_CAPABILITY)

  const stateless = createStateless(gateway, { isLocal: LOOPBACK.has(address) })
  const handle = createRequestHandler({
    ...{ guard, bodies, sessions, stateless, access, usage, trace, inspector, protectedResource },
  })
  const server = createServer((incoming, outgoing) => {
    const network = networkOf(incoming)
    void answerNode(incoming, outgoing, (request) => handle(request, network), { stalledMs })
  })
  server.maxConnections = mostSessions * CONNECTIONS_PER_SESSION
  const url = await listen(server, port, address)
  return {
    url: url + PATH,
    async close() {
      access.close()
      await sessions.close()
      await stateless.close()
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
