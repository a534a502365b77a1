// Slows down whoever guesses keys: after a few wrong ones, requests from that address are refused without looking at
// their key. Reports wrong keys to the operator, at most once a minute.

export type WrongKeys = {
  /** Seconds until a key from this address is looked at again; 0 if it is now. */
  waitSeconds(address: string): number
  /** Counts a wrong key. */
  add(address: string): void
}

export type WrongKeysOptions = {
  readonly notify?: ((message: string) => void) | undefined
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

/** Wrong keys that an address may send at once. */
const BURST = 10
/** Milliseconds after which it may send one more. */
const REFILL_MS = 6000
const REPORT_GAP_MS = 60_000
const MAX_ADDRESSES = 1000

export function createWrongKeys({ notify, now = () => performance.now() }: WrongKeysOptions = {}): WrongKeys {
  /** When all wrong keys of an address are forgotten; the address that was last heard of is last. */
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
      const [oldest] = clearAt.keys()
      if (clearAt.size > MAX_ADDRESSES && oldest !== undefined) clearAt.delete(oldest)
      report(address)
    },
  }
}
