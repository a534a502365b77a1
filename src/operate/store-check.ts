// Implements the readiness check of the shared store.
import type { StateStore } from '../store/index.ts'
import type { ReadinessCheck } from './readiness.ts'

/** Options of `createStoreCheck`. */
export type StoreCheckOptions = {
  /**
   * Milliseconds without an answer after which the gateway is not ready. It tolerates shorter outages, because much works
   * without the store and all replicas would be unready at once. Default: 30,000.
   */
  readonly toleranceMs?: number
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

const TOLERANCE_MS = 30_000

/** Creates a check that fails if the store has not answered for a while; at the start it must answer once. */
export function createStoreCheck(
  store: Pick<StateStore, 'ping'>,
  { toleranceMs = TOLERANCE_MS, now = () => performance.now() }: StoreCheckOptions = {},
): ReadinessCheck {
  let answeredAt = Number.NEGATIVE_INFINITY
  return {
    reason: 'store unreachable',
    async check() {
      try {
        await store.ping()
        answeredAt = now()
      } catch (error) {
        if (now() - answeredAt > toleranceMs) throw error
      }
    },
  }
}
