// The condition of readiness that the shared store answers.
import type { StateStore } from '../store/index.ts'
import type { ReadinessCheck } from './readiness.ts'

/** Options of `createStoreCheck`. */
export type StoreCheckOptions = {
  /**
   * Milliseconds without an answer after which the gateway is not ready. What needs no store goes on meanwhile, and all
   * replicas share the store's fate. Default: 30,000.
   */
  readonly patienceMs?: number
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

const PATIENCE_MS = 30_000

/** Fails if the store does not answer, and has not for a while; at the start it must answer once. */
export function createStoreCheck(
  store: Pick<StateStore, 'ping'>,
  { patienceMs = PATIENCE_MS, now = () => performance.now() }: StoreCheckOptions = {},
): ReadinessCheck {
  let answeredAt = Number.NEGATIVE_INFINITY
  return {
    reason: 'store unreachable',
    async check() {
      try {
        await store.ping()
        answeredAt = now()
      } catch (error) {
        if (now() - answeredAt > patienceMs) throw error
      }
    },
  }
}
