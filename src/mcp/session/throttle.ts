// Limits a server's unsolicited output and the CPU time it costs. Above the limit we stop reading for a while: the pipe
// fills up, and the server waits instead of slowing down others.
// Implements H6.

/** Counts a server's unsolicited output. */
export type Throttle = {
  /** Adds to the count; returns the milliseconds to stop reading, 0 for none. */
  spend(bytes: number, milliseconds: number): number
}

const BURST_BYTES = 4_000_000
const BYTES_PER_MILLISECOND = 256
const BURST_TIME = 100
/** Share of the CPU time that a server may cost. */
const TIME_PER_MILLISECOND = 0.1
const MAX_PAUSE_MS = 5000

/** Creates the throttle of one server. */
export function createThrottle(now: () => number): Throttle {
  const bytes = createBudget(BURST_BYTES, BYTES_PER_MILLISECOND)
  const time = createBudget(BURST_TIME, TIME_PER_MILLISECOND)
  let last = now()
  return {
    spend(spentBytes, spentTime) {
      const passed = now() - last
      last += passed
      return Math.min(MAX_PAUSE_MS, Math.max(bytes(passed, spentBytes), time(passed, spentTime)))
    },
  }
}

/** Creates a token bucket that may be overdrawn; it returns the milliseconds until it no longer is. */
export function createBudget(capacity: number, refill: number): (passed: number, spent: number) => number {
  let left = capacity
  return (passed, spent) => {
    left = Math.min(capacity, left + passed * refill) - spent
    return left >= 0 ? 0 : -left / refill
  }
}
