// Rate-limits key guessing: after several wrong keys from an address, refuses requests from it without checking their
// key. Reports wrong keys to the operator at most once a minute.
import { dropOldest } from '../lib/index.ts'

/** Counts wrong keys by address. */
export type WrongKeys = {
  /** Returns the seconds until keys from this address are checked again; 0 if they are checked now. */
  waitSeconds(address: string): number
  /** Records a wrong key. */
  add(address: string): void
}

/** Options of `createWrongKeys`. */
export type WrongKeysOptions = {
  readonly notify?: ((message: string) => void) | undefined
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number
}

/** Wrong keys that an address may send in a burst. */
const BURST = 10
/** Milliseconds until it may send one more. */
const REFILL_MS = 6000
const REPORT_GAP_MS = 60_000
const MAX_ADDRESSES = 1000

/** Creates a counter of wrong keys. */
export function createWrongKeys({ notify, now = () => performance.now() }: WrongKeysOptions = {}): WrongKeys {
  /** When the wrong keys of each address expire; most recent address last. */
  const clearAt = new Map<string, number>()
  let unreported = 0
  let reportedAt = Number.NEGATIVE_INFINITY

  function report(address: string): void {
    unreported++
    if (now() - reportedAt < REPORT_GAP_MS) return
    const before = unreported > 1 ? ` (${unreported} wrong keys since the last report)` : ''
    notify?.(`refused a wrong key from ${address}${before}`)
    reportedAt = now()
    unreported = 0
  }

  return {
    waitSeconds(address) {
      const over = (clearAt.get(address) ?? 0) - now() - (BURST - 1) * REFILL_MS
      return Math.max(0, Math.ceil(over / 1000))
    },
    add(address) {
      const clear = Math.max(clearAt.get(address) ?? 0, now()) + REFILL_MS
      clearAt.delete(address)
      clearAt.set(address, clear)
      dropOldest(clearAt, MAX_ADDRESSES)
      report(address)
    },
  }
}
