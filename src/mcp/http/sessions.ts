// Manages the sessions of HTTP clients of the older protocol that are live in this process. Limits their number, in
// total and per address, and never evicts a session in use. With a store, any replica can continue a session: it replays
// the client's `initialize` in its own transport.
import { randomUUID } from 'node:crypto'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { LOOPBACK } from '../../node/index.ts'
import { hasSameRights, type User } from '../../users/index.ts'
import type { McpGateway } from '../gateway/index.ts'
import {
  createSessionLinks,
  initializeParams,
  type SessionLink,
  type SessionLinks,
} from '../replicas/index.ts'

/** A session that is live in this process. */
export type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Network address of the client. */
  readonly address: string
  /** The user who opened it; nobody else may use it. */
  readonly user: User | undefined
  /** Connects it with other replicas; undefined without a store. */
  readonly link: SessionLink | undefined
  /** Number of open requests and streams. */
  open: number
  /** Number of open streams for notifications. */
  streams: number
  /** Number of requests so far; a session that has only been initialized may have been abandoned. */
  requests: number
  seenAt: number
}

/** The sender of a request. */
export type SessionClient = {
  /** Network address. */
  readonly address: string
  /** Undefined if the gateway has no users. */
  readonly user?: User | undefined
}

/**
 * Why a request gets no session. `ended`: there is none; `full`: the limit is reached; `large`: its first request is too
 * large to be shared; `unavailable`: the store does not answer, or is being refilled.
 */
export type NoSession = 'ended' | 'full' | 'large' | 'unavailable'

/** Options of `createSessions`. */
export type SessionsOptions = {
  readonly maxSessions: number
  /** Milliseconds after which a session without requests ends. */
  readonly idleMs: number
}

/** The sessions of a gateway. */
export type Sessions = {
  readonly size: () => number
  /** Returns the sessions that are live here. */
  all(): readonly Session[]
  /** Returns a session that is live here. */
  get(id: string | null): Session | undefined
  /** Returns the client's session; continues it here if another replica opened it. */
  find(id: string, client: SessionClient): Promise<Session | NoSession>
  /** Opens a session for a client's first request, which is `initialize`. */
  begin(client: SessionClient, initialize: unknown): Promise<Session | NoSession>
  /** Ends the session at all replicas, because its client does; returns false while the store is unreachable. */
  finish(session: Session): Promise<boolean>
  /** Ends a session in this process; other replicas may continue it. */
  end(session: Session): Promise<void>
  /** Closes all sessions of this process. */
  close(): Promise<void>
}

/**
 * The share of sessions that one address, or one user, may have. On the gateway's own machine all clients share one
 * address.
 */
const SHARE_OF_ADDRESS = 0.5
/** Milliseconds without a request after which a session that other replicas can continue may make room. */
const RESTING_MS = 10_000

/** Creates the sessions of a gateway. */
export function createSessions(gateway: McpGateway, options: SessionsOptions): Sessions {
  return new HttpSessions(gateway, options)
}

class HttpSessions implements Sessions {
  readonly #gateway: McpGateway
  readonly #options: SessionsOptions
  /** Finds the sessions of other replicas; undefined without a store. */
  readonly #links: SessionLinks | undefined
  readonly #byId = new Map<string, Session>()
  /** All sessions, including those whose first request is being processed. */
  readonly #all = new Set<Session>()
  readonly #resuming = new Map<string, Promise<Session | NoSession>>()
  readonly #sweeper: NodeJS.Timeout

  constructor(gateway: McpGateway, options: SessionsOptions) {
    const { peers } = gateway
    const { idleMs } = options
    this.#gateway = gateway
    this.#options = options
    this.#links = peers && createSessionLinks({ replica: peers, calls: peers.calls, idleMs })
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(1000, idleMs / 10))
    this.#sweeper.unref()
  }

  readonly size = (): number => this.#byId.size

  all(): Session[] {
    return [...this.#all]
  }

  get(id: string | null): Session | undefined {
    return id === null ? undefined : this.#byId.get(id)
  }

  async find(id: string, client: SessionClient): Promise<Session | NoSession> {
    const live = this.#byId.get(id)
    if (live && live.user?.uid !== client.user?.uid) return 'ended'
    // A session keeps the rights of its user at the time; if they have changed, it is reopened.
    if (live && !hasSameRights(live.user, client.user)) await this.end(live)
    if (live && (await live.link?.isCurrent()) === false) await this.end(live)
    const current = this.#byId.get(id)
    current?.link?.used()
    if (current || !this.#links) return current ?? 'ended'
    // Keyed by user, so that another user's request for the session does not affect its owner.
    const key = JSON.stringify([id, client.user?.uid])
    const resumed =
      this.#resuming.get(key) ??
      this.#resume(this.#links, id, client).finally(() => this.#resuming.delete(key))
    this.#resuming.set(key, resumed)
    return resumed
  }

  async begin(client: SessionClient, initialize: unknown): Promise<Session | NoSession> {
    if (!this.#hasRoom(client)) return 'full'
    if (!this.#links) return this.#connect(client)
    const [message] = [initialize].flat()
    try {
      return await this.#connect(client, await this.#links.open(initializeParams(message), client.user?.uid))
    } catch (error) {
      return error instanceof RangeError ? 'large' : 'unavailable'
    }
  }

  async finish({ link }: Session): Promise<boolean> {
    try {
      await link?.finish()
      return true
    } catch {
      return false
    }
  }

  async end(session: Session): Promise<void> {
    this.#forget(session)
    await session.transport.close().catch(() => {})
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.all([...this.#all].map((session) => this.end(session)))
    this.#links?.close()
  }

  #forget(session: Session): void {
    this.#all.delete(session)
    const { sessionId } = session.transport
    if (sessionId !== undefined && this.#byId.get(sessionId) === session) this.#byId.delete(sessionId)
    session.link?.leave()
  }

  #sweep(): void {
    for (const session of this.#all) {
      if (session.open > 0) session.link?.used()
      else if (Date.now() - session.seenAt > this.#options.idleMs) void this.end(session)
    }
  }

  /**
   * Makes room by closing a session of the same user or address that was never used since it was opened, or is resting.
   */
  #hasRoom({ address, user }: SessionClient): boolean {
    const { maxSessions } = this.#options
    // Behind a proxy all users share one address.
    const own = this.all().filter((one) => (user ? one.user?.uid === user.uid : one.address === address))
    const share = LOOPBACK.has(address) && !user ? 1 : SHARE_OF_ADDRESS
    if (this.#all.size < maxSessions && own.length < Math.ceil(maxSessions * share)) return true
    const idle = own.filter(({ open }) => open === 0).sort((a, b) => a.seenAt - b.seenAt)
    const unused =
      idle.find(({ requests }) => requests <= 1) ??
      idle.find(({ link, seenAt }) => link !== undefined && Date.now() - seenAt > RESTING_MS)
    if (unused) void this.end(unused)
    return unused !== undefined
  }

  async #connect({ address, user }: SessionClient, link?: SessionLink): Promise<Session> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => link?.id ?? randomUUID(),
      onsessioninitialized: (id) => void this.#byId.set(id, session),
      onsessionclosed: () => this.#forget(session),
    })
    const counts = { open: 0, streams: 0, requests: 0, seenAt: Date.now() }
    const session: Session = { transport, address, user, link, ...counts }
    this.#all.add(session)
    const local = { hasStream: () => session.streams > 0, end: () => void this.end(session) }
    const server = this.#gateway.serve({ isStateless: false, user, shared: link?.shared })
    await server.connect(link?.wrap(transport, local) ?? transport)
    return session
  }

  /** Continues a session that another replica opened. */
  async #resume(links: SessionLinks, id: string, client: SessionClient): Promise<Session | NoSession> {
    const link = await links.resume(id, client.user?.uid).catch(() => 'unavailable' as const)
    if (link === undefined) return links.isRestoring() ? 'unavailable' : 'ended'
    if (link === 'unavailable') return link
    if (!this.#hasRoom(client)) {
      link.leave()
      return 'full'
    }
    const session = await this.#connect(client, link)
    await replay(session, link)
    if (this.#byId.get(id) === session) return session
    await this.end(session)
    return 'ended'
  }
}

/** Repeats the client's first two messages, so that a new transport and server know the client. */
async function replay({ transport }: Session, { id, initialize }: SessionLink): Promise<void> {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-session-id': id,
  }
  for (const message of [
    { jsonrpc: '2.0', id: 'replay', method: 'initialize', params: initialize },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
  ]) {
    const request = new Request('http://replica.invalid/mcp', { method: 'POST', headers })
    const response = await transport.handleRequest(request, { parsedBody: message })
    await response.text()
  }
}
