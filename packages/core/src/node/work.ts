// Owns the work of one client: what it causes is counted against its user before it is done, and takes turns with the work
// of other clients.
// Implements H10.

import type { Trace } from '../events.ts'
import { type Slice, turns } from '../schedule.ts'
import { type AccessRefusal, isLimited, type UsageMeter, type User } from '../users.ts'

/** What work uses up. Calls count as requests. */
export type WorkKind = 'calls' | 'searches' | 'tokens'

/** The work of one client, handed to whatever works for it. */
export type ClientWork = {
  /** The client, as queues know it: the same value for all that belongs to one user. */
  readonly owner: unknown
  /**
   * Counts use before it happens, then waits for the client's turn. Throws a `LimitError` if the user may not use as much.
   * Tokens, whose number is not known yet, count as an estimate until they are settled.
   */
  use(kind: WorkKind, amount?: number): Promise<StartedWork>
  /** Waits for the client's turn. */
  turn(): Promise<Slice>
  /** Returns whether the user has a limit of this kind. */
  isLimited(kind: WorkKind): boolean
  /** Returns the same for the work of one message, which has been counted and covers one call. */
  ofMessage(): ClientWork
}

/** Work that may begin. */
export type StartedWork = {
  readonly slice: Slice
  /** Replaces an estimate by the actual amount. Never fails. */
  settle(amount: number): Promise<void>
}

/** A user has reached a limit, or it cannot be checked; the message is for whoever asked for the work. */
export class LimitError extends Error {
  readonly code = 'LIMIT'
  override readonly name = 'LimitError'
  readonly refusal: AccessRefusal
  /** Reports a request that was refused for it. */
  readonly event: Trace

  constructor({ id: user }: User, refusal: AccessRefusal) {
    const { status, message } = refusal
    super(message)
    this.refusal = refusal
    this.event = { type: 'refused', user, reason: status === 503 ? 'store' : 'limit', status, message }
  }
}

/** Who the work belongs to, and what counts it. */
type ClientWorkOptions = {
  /** Identifies the client if it has no user. */
  readonly client: unknown
  readonly user?: User | undefined
  /** Counts what users with limits use. */
  readonly usage?: UsageMeter | undefined
}

const KINDS = { calls: 'requests', searches: 'searches', tokens: 'tokens' } as const

/**
 * Creates the owner of a client's work. It keeps no state of its own, so there may be several for one client.
 *
 * @example
 * const work = createClientWork({ client: session, user, usage })
 * const { slice } = await work.use('searches')
 */
export function createClientWork({ client, user, usage }: ClientWorkOptions): ClientWork {
  const owner = user?.uid ?? client

  async function count(kind: WorkKind, amount: number): Promise<StartedWork['settle']> {
    if (!user || !usage || amount === 0) return async () => {}
    const counted =
      kind === 'tokens' ? await usage.begin(user, kind, amount) : await usage.take(user, KINDS[kind], amount)
    if (counted && 'status' in counted) throw new LimitError(user, counted)
    return counted?.settle ?? (async () => {})
  }

  function create(covered: number): ClientWork {
    let free = covered
    const work: ClientWork = {
      owner,
      async use(kind, amount = 1) {
        const covers = kind === 'calls' ? Math.min(free, amount) : 0
        free -= covers
        const settle = await count(kind, amount - covers)
        return { slice: await work.turn(), settle }
      },
      turn: () => turns.turn(owner),
      isLimited: (kind) => user !== undefined && usage !== undefined && isLimited(user, KINDS[kind]),
      ofMessage: () => create(1),
    }
    return work
  }

  return create(0)
}
