// Manages the sessions of HTTP clients of the older protocol. Limits their number, in total and per address, never evicts a
// session in use, and ends whatever a user has open when their key is revoked or expires, or their rights change.
import { randomUUID } from 'node:crypto'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { type Authenticator, hasSameRights, type User } from '@toolshelf/core/internal'
import type { McpGateway } from '@toolshelf/mcp'
import { LOOPBACK } from '@toolshelf/server/internal'
import type { McpHttpOptions } from './http.ts'

/** A session that is live in this process. */
export type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Network address of the client. */
  readonly address: string
  /** The user who opened it; nobody else may use it. */
  readonly user: User | undefined
  open: number
  /** Number of requests so far; a session that has only been initialized may have been abandoned. */
  requests: number
  seenAt: number
}

/** The sender of a request. */
export type SessionClient = {
  readonly address: string
  /** Undefined if the gateway has no users. */
  readonly user?: User | undefined
}

/** Why a request gets no session. `ended`: there is none; `full`: the limit is reached. */
export type NoSession = 'ended' | 'full'

type SessionsOptions = Required<Pick<McpHttpOptions, 'maxSessions' | 'idleMs'>>

/** The share of sessions that one address, or one user, may have. On the gateway's own machine all clients share one address. */
const SHARE_OF_ADDRESS = 0.5

export class Sessions {
  readonly #gateway: McpGateway
  readonly #options: SessionsOptions
  readonly #byId = new Map<string, Session>()
  /** All sessions, including those whose first request is being processed. */
  readonly #all = new Set<Session>()
  readonly #sweeper: NodeJS.Timeout

  constructor(gateway: McpGateway, options: SessionsOptions) {
    const { idleMs } = options
    this.#gateway = gateway
    this.#options = options
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(1000, idleMs / 10))
    this.#sweeper.unref()
  }

  readonly size = (): number => this.#byId.size

  all(): Session[] {
    return [...this.#all]
  }

  /** Returns a session, whosever it is. */
  get(id: string | null): Session | undefined {
    return id === null ? undefined : this.#byId.get(id)
  }

  async find(id: string, client: SessionClient): Promise<Session | NoSession> {
    const session = this.#byId.get(id)
    if (!session || session.user?.uid !== client.user?.uid) return 'ended'
    if (hasSameRights(session.user, client.user)) return session
    // A session keeps the rights that its user had when it began.
    await this.end(session)
    return 'ended'
  }

  /** Opens a session for a client's first request, which is `initialize`. */
  async begin(client: SessionClient): Promise<Session | NoSession> {
    return this.#hasRoom(client) ? this.#connect(client) : 'full'
  }

  async end(session: Session): Promise<void> {
    this.#forget(session)
    await session.transport.close().catch(() => {})
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.all([...this.#all].map((session) => this.end(session)))
  }

  #forget(session: Session): void {
    this.#all.delete(session)
    const { sessionId } = session.transport
    if (sessionId !== undefined && this.#byId.get(sessionId) === session) this.#byId.delete(sessionId)
  }

  #sweep(): void {
    for (const session of this.#all) {
      if (session.open === 0 && Date.now() - session.seenAt > this.#options.idleMs) void this.end(session)
    }
  }

  /** Makes room by closing a session of the same user or address that was never used since it was opened. */
  #hasRoom({ address, user }: SessionClient): boolean {
    const { maxSessions } = this.#options
    // Behind a proxy all users share one address.
    const own = this.all().filter((one) => (user ? one.user?.uid === user.uid : one.address === address))
    const share = LOOPBACK.has(address) && !user ? 1 : SHARE_OF_ADDRESS
    if (this.#all.size < maxSessions && own.length < Math.ceil(maxSessions * share)) return true
    const idle = own.filter(({ open }) => open === 0).sort((a, b) => a.seenAt - b.seenAt)
    const unused = idle.find(({ requests }) => requests <= 1)
    if (unused) void this.end(unused)
    return unused !== undefined
  }

  async #connect({ address, user }: SessionClient): Promise<Session> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#byId.set(id, session),
      onsessionclosed: () => this.#forget(session),
    })
    const counts = { open: 0, requests: 0, seenAt: Date.now() }
    const session: Session = { transport, address, user, ...counts }
    this.#all.add(session)
    await this.#gateway.serve({ isStateless: false, user }).connect(transport)
    return session
  }
}

export type AccessWatch = ReturnType<typeof createAccessWatch>

/** Milliseconds until users are checked again after the store did not answer. */
const RETRY_MS = 5000

/** Watches the users of a gateway; does nothing without users. */
export function createAccessWatch(users: Authenticator | undefined, sessions: Sessions) {
  const responses = new Set<{ readonly user: User; readonly controller: AbortController }>()
  let retry: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let isChecking = false
  let isStale = false

  /** Checks every user with something open; repeats if something changed meanwhile. */
  async function check(users: Authenticator): Promise<void> {
    isStale = true
    if (isChecking) return
    isChecking = true
    while (isStale && !isClosed) {
      isStale = false
      await checkAll(users).catch(() => {
        retry = setTimeout(check, RETRY_MS, users)
        retry.unref()
      })
    }
    isChecking = false
  }

  async function checkAll(users: Authenticator): Promise<void> {
    const open = [...sessions.all(), ...responses]
    const known = new Map(open.flatMap(({ user }) => (user ? [[keyOf(user), user]] : [])))
    for (const [key, user] of known) {
      const now = await users.refresh(user)
      // Of two sessions with the same key, one may have been opened before the rights changed and one after.
      const isOver = (owner: User) => keyOf(owner) === key && !(now && hasSameRights(now, owner))
      for (const session of sessions.all())
        if (session.user && isOver(session.user)) void sessions.end(session)
      for (const { user: owner, controller } of responses)
        if (isOver(owner)) controller.abort(new Error('the key was revoked, or its rights have changed'))
    }
  }

  const stop = users?.onChange(() => void check(users))
  return {
    /** Registers a response of the user; the signal aborts when they may no longer use the gateway. */
    track(user: User | undefined) {
      if (!user) return { over: () => {} }
      const response = { user, controller: new AbortController() }
      const { signal } = response.controller
      responses.add(response)
      const stopTimer = atExpiry(user, () => response.controller.abort(new Error('the key has expired')))
      const over = () => {
        stopTimer()
        responses.delete(response)
      }
      return { signal, over }
    },
    close() {
      isClosed = true
      clearTimeout(retry)
      stop?.()
    },
  }
}

/** Longest timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls the function when the user's key expires. Returns a function that cancels it. */
function atExpiry({ expiresAt }: User, expire: () => void): () => void {
  if (expiresAt === undefined) return () => {}
  let timer: ReturnType<typeof setTimeout>
  const wait = () => {
    const rest = expiresAt - Date.now()
    timer = setTimeout(rest > MAX_TIMER_MS ? wait : expire, Math.min(Math.max(rest, 0), MAX_TIMER_MS))
    timer.unref()
  }
  wait()
  return () => clearTimeout(timer)
}

/** Returns a key for user and key: sessions of one user may have been opened with different keys. */
function keyOf({ uid, keyId }: User): string {
  return JSON.stringify([uid, keyId ?? null])
}
