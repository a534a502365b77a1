// Keeps the sessions of HTTP clients of the older protocol. Limits their number, in total and per address, and never
// evicts a session in use.
import { randomUUID } from 'node:crypto'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { LOOPBACK } from '../../node/index.ts'
import type { User } from '../../users/index.ts'
import type { McpGateway } from './gateway.ts'

export type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Network address of the client. */
  readonly address: string
  /** Who opened it: nobody else may use it. */
  readonly user: User | undefined
  /** Requests and streams open now. */
  open: number
  /** Requests so far; a session that has only been initialized may have been abandoned. */
  requests: number
  seenAt: number
}

export type SessionsOptions = {
  readonly maxSessions: number
  /** Milliseconds after which a session without requests ends. */
  readonly idleMs: number
}

export type Sessions = {
  readonly size: () => number
  readonly get: (id: string | null) => Session | undefined
  /** Opens a session for a client's first request; undefined if there is no room. */
  begin(address: string, user: User | undefined): Promise<Session | undefined>
  readonly all: () => readonly Session[]
  end(session: Session): Promise<void>
  /** Closes all sessions. */
  close(): Promise<void>
}

/** One address, or one user, cannot take all sessions; on the gateway's own machine all clients share one address. */
const SHARE_OF_ADDRESS = 0.5

export function createSessions(gateway: McpGateway, { maxSessions, idleMs }: SessionsOptions): Sessions {
  const byId = new Map<string, Session>()
  /** Includes those whose first request is being processed. */
  const all = new Set<Session>()

  function forget(session: Session): void {
    all.delete(session)
    if (session.transport.sessionId !== undefined) byId.delete(session.transport.sessionId)
  }

  async function end(session: Session): Promise<void> {
    forget(session)
    await session.transport.close().catch(() => {})
  }

  /** Makes room by closing a session of the same user or address that has not been used since it was opened. */
  function hasRoom(address: string, user: User | undefined): boolean {
    // Behind a proxy all users have one address.
    const own = [...all].filter((one) => (user ? one.user?.id === user.id : one.address === address))
    const share = LOOPBACK.has(address) && !user ? 1 : SHARE_OF_ADDRESS
    if (all.size < maxSessions && own.length < Math.ceil(maxSessions * share)) return true
    const unused = own.find(({ open, requests }) => open === 0 && requests <= 1)
    if (unused) void end(unused)
    return unused !== undefined
  }

  const sweeper = setInterval(
    () => {
      for (const session of all)
        if (session.open === 0 && Date.now() - session.seenAt > idleMs) void end(session)
    },
    Math.max(1000, idleMs / 10),
  )
  sweeper.unref()

  return {
    size: () => byId.size,
    get: (id) => (id === null ? undefined : byId.get(id)),
    all: () => [...all],
    async begin(address, user) {
      if (!hasRoom(address, user)) return undefined
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void byId.set(id, session),
        onsessionclosed: () => forget(session),
      })
      const session: Session = { transport, address, user, open: 0, requests: 0, seenAt: Date.now() }
      all.add(session)
      await gateway.serve({ isStateless: false, user }).connect(transport)
      return session
    },
    end,
    async close() {
      clearInterval(sweeper)
      await Promise.all([...all].map(end))
    },
  }
}
