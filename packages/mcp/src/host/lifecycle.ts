// Defines the states of the connection to one server, and the only transitions between them.
import type { ServerSession } from '../session/session.ts'

/** The state of a connection, with its session. */
export type ConnectionPhase =
  /** No session. `stopping` resolves when the previous one has closed. */
  | { readonly state: 'idle'; readonly stopping?: Promise<void> }
  | { readonly state: 'connecting'; readonly opening: Promise<ServerSession> }
  | { readonly state: 'ready'; readonly opening: Promise<ServerSession>; readonly session: ServerSession }
  | { readonly state: 'failed' }
  | { readonly state: 'closed' }

export type ConnectionTransition =
  | { readonly type: 'connect'; readonly opening: Promise<ServerSession> }
  | { readonly type: 'opened'; readonly session: ServerSession }
  /** The attempt has failed, or the session has ended and must be replaced. */
  | { readonly type: 'failed' }
  /** The session has ended or is being closed, and the next call opens another. */
  | { readonly type: 'stopped'; readonly stopping?: Promise<void> }
  /** The host no longer needs the server. */
  | { readonly type: 'close' }

type State = ConnectionPhase['state']

const TRANSITIONS: {
  readonly [from in State]: { readonly [transition in ConnectionTransition['type']]?: State }
} = {
  idle: { connect: 'connecting', close: 'closed' },
  connecting: { opened: 'ready', failed: 'failed', close: 'closed' },
  ready: { stopped: 'idle', failed: 'failed', close: 'closed' },
  failed: { connect: 'connecting', close: 'closed' },
  closed: {},
}

/** The current state of a connection. */
export type Lifecycle = {
  phase(): ConnectionPhase
  /** Returns the session in use; undefined in every state but `ready`. */
  session(): ServerSession | undefined
  isClosed(): boolean
  /** Aborted once the connection is closed. */
  readonly signal: AbortSignal
  /** Changes the state; returns false, and changes nothing, if the table has no such transition. */
  apply(transition: ConnectionTransition): boolean
}

/** Creates a lifecycle in the state `idle`. */
export function createLifecycle(): Lifecycle {
  const closing = new AbortController()
  let phase: ConnectionPhase = { state: 'idle' }
  return {
    phase: () => phase,
    session: () => (phase.state === 'ready' ? phase.session : undefined),
    isClosed: () => phase.state === 'closed',
    signal: closing.signal,
    apply({ type, ...data }) {
      const state = TRANSITIONS[phase.state][type]
      if (state === undefined) return false
      const opening = 'opening' in phase && state === 'ready' ? { opening: phase.opening } : {}
      phase = { state, ...opening, ...data } as ConnectionPhase
      if (state === 'closed') closing.abort(new Error('the host was closed'))
      return true
    },
  }
}
