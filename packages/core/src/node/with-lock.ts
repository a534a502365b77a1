// Implements a lock over a store: one holder among all replicas. Each renewal is conditional on the version of the last
// one, so that a holder that was too slow learns that it lost the lock.

import { setTimeout as sleep } from 'node:timers/promises'
import { errorMessage } from '../lib/text.ts'
import { type StateStore, StoreError } from '../store.ts'

/** Options of `withLock`. */
type LockOptions = {
  /** Milliseconds to wait for the current holder. Default: three times the time to live. */
  readonly waitMs?: number
}

const MIN_PAUSE_MS = 5
const MAX_PAUSE_MS = 100

/**
 * Runs the work while no other replica holds the lock at `key`. Renews the lock while the work runs; if the holder dies, it
 * expires after `ttlMs`. Rejects with a `StoreError` if the lock was lost meanwhile.
 *
 * @example
 * await withLock(store, 'lock/refresh', 10_000, async () => save(await refresh()))
 */
export async function withLock<Value>(
  store: StateStore,
  key: string,
  ttlMs: number,
  work: () => Promise<Value>,
  { waitMs = ttlMs * 3 }: LockOptions = {},
): Promise<Value> {
  const lease = await acquire(store, key, ttlMs, waitMs)
  const { lost, release } = keep(store, key, ttlMs, lease)
  const done = work()
  try {
    const value = await Promise.race([done, lost])
    // Work that finished after the lock expired does not count either.
    if (Date.now() >= lease.endsAt) throw lostError(key, 'its time to live passed')
    return value
  } finally {
    done.catch(() => {})
    await release()
  }
}

/** The lock's version, and when it expires, counted from before the write: never later than in the store. */
type Lease = { version: string; endsAt: number }

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

/** Renews the lock until it is released; `lost` rejects if that fails for too long. */
function keep(store: StateStore, key: string, ttlMs: number, lease: Lease) {
  let turn: Promise<void> = Promise.resolve()
  let lose: (error: Error) => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    lose = reject
  })
  lost.catch(() => {})

  async function renew(): Promise<void> {
    const endsAt = Date.now() + ttlMs
    try {
      const version = await store.set(key, String(process.pid), { ttlMs, ifVersion: lease.version })
      if (version === undefined) return lose(lostError(key, 'another process holds it now'))
      Object.assign(lease, { version, endsAt })
    } catch (error) {
      // Retries while the store is unreachable, until the lock expires.
      if (Date.now() >= lease.endsAt) lose(lostError(key, errorMessage(error)))
    }
  }

  const timer = setInterval(() => {
    turn = turn.then(renew)
  }, ttlMs / 3)
  timer.unref()
  return {
    lost,
    async release(): Promise<void> {
      clearInterval(timer)
      await turn
      await store.delete(key, { ifVersion: lease.version }).catch(() => {})
    },
  }
}

function lostError(key: string, reason: string): StoreError {
  return new StoreError(`the lock "${key}" was lost while work under it ran: ${reason}; run it again`)
}
