// Implements a lock over a store: one holder among all replicas. Each renewal is conditional on the version of the last
// one, so that a holder that was too slow learns that it lost the lock.
import { setTimeout as sleep } from 'node:timers/promises'
import { errorMessage } from '../lib/index.ts'
import { type StateStore, StoreError } from './types.ts'

/** A lock, as seen by the work that runs under it. */
export type HeldLock = {
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal
  /**
   * Renews the lock now; rejects with a `LockLostError` if another process holds it. Call it right before what must not
   * race.
   */
  confirm(): Promise<void>
}

/** Options of `withLock`. */
export type LockOptions = {
  /** Milliseconds to wait for the current holder. Default: three times the time to live. */
  readonly waitMs?: number
}

/** The work outlived its lock: another process may hold it now. */
export class LockLostError extends StoreError {}

const MIN_PAUSE_MS = 5
const MAX_PAUSE_MS = 100

/**
 * Runs the work while no other replica holds the lock at `key`. Renews the lock while the work runs; if the holder dies, it
 * expires after `ttlMs`. Rejects with a `LockLostError` if the lock was lost meanwhile.
 *
 * @example
 * await withLock(store, 'lock/refresh', 10_000, async (lock) => {
 *   const tokens = await refresh(lock.signal)
 *   await lock.confirm()
 *   await save(tokens)
 * })
 */
export async function withLock<Value>(
  store: StateStore,
  key: string,
  ttlMs: number,
  work: (lock: HeldLock) => Promise<Value>,
  { waitMs = ttlMs * 3 }: LockOptions = {},
): Promise<Value> {
  const first = await acquire(store, key, ttlMs, waitMs)
  const lease = createLease(store, key, ttlMs, first)
  const done = work({ signal: lease.signal, confirm: lease.renew })
  try {
    const value = await Promise.race([done, lease.lost])
    // Work that finished after the lock expired does not count either.
    if (lease.isOver()) throw lostError(key, 'its time to live passed')
    return value
  } finally {
    done.catch(() => {})
    await lease.release()
  }
}

/** The lock's version, and when it expires, counted from before the write: never later than in the store. */
type Lease = { readonly version: string; readonly endsAt: number }

async function acquire(store: StateStore, key: string, ttlMs: number, waitMs: number): Promise<Lease> {
  const limit = Date.now() + waitMs
  for (let pause = MIN_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    const endsAt = Date.now() + ttlMs
    const version = await store.set(key, String(process.pid), { ttlMs, ifVersion: null })
    if (version !== undefined) return { version, endsAt }
    if (Date.now() + pause > limit)
      throw new StoreError(`the lock "${key}" was not free within ${waitMs} ms; try again`)
    await sleep(pause * (0.5 + Math.random()))
  }
}

function createLease(store: StateStore, key: string, ttlMs: number, first: Lease) {
  const controller = new AbortController()
  let { version, endsAt } = first
  let turn: Promise<void> = Promise.resolve()
  let isReleased = false
  let reject: (error: Error) => void = () => {}
  const lost = new Promise<never>((_, fail) => {
    reject = fail
  })
  lost.catch(() => {})
  const isOver = () => Date.now() >= endsAt

  function lose(reason: string): LockLostError {
    const error = lostError(key, reason)
    // Rejects first, so that an error caused by the signal does not hide the reason.
    reject(error)
    controller.abort(error)
    return error
  }

  async function renewNow(): Promise<void> {
    if (controller.signal.aborted) throw controller.signal.reason
    if (isReleased) throw new StoreError(`the lock "${key}" was released`)
    const next = Date.now() + ttlMs
    const renewed = await store.set(key, String(process.pid), { ttlMs, ifVersion: version })
    if (renewed === undefined) throw lose('another process holds it now')
    version = renewed
    endsAt = next
  }

  function renew(): Promise<void> {
    const done = turn.then(renewNow)
    turn = done.catch(() => {})
    return done
  }

  const timer = setInterval(() => {
    renew().catch((error: unknown) => {
      // Retries while the store is unreachable, until the lock expires.
      if (isOver() && !controller.signal.aborted) lose(errorMessage(error))
    })
  }, ttlMs / 3)
  timer.unref()

  return {
    signal: controller.signal,
    lost,
    isOver,
    renew,
    async release(): Promise<void> {
      clearInterval(timer)
      await turn
      isReleased = true
      await store.delete(key, { ifVersion: version }).catch(() => {})
    },
  }
}

function lostError(key: string, reason: string): LockLostError {
  return new LockLostError(`the lock "${key}" was lost while work under it ran: ${reason}; run it again`)
}
