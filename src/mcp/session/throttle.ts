// How much a server may say unasked, and how much of our time that may take. Beyond it we stop listening for a while: the
// pipe fills up and the server waits, not its neighbours.

export type Throttle = {
  /** Counts; returns the milliseconds to stop listening, 0 for none. */
  spend(bytes: number, milliseconds: number): number
}

const BURST_BYTES = 4_000_000
const BYTES_PER_MILLISECOND = 256
const BURST_TIME = 100
/** A tenth of our time. */
const TIME_PER_MILLISECOND = 0.1
const LONGEST_PAUSE = 5000

export function createThrottle(now: () => number): Throttle {
  const bytes = createBudget(BURST_BYTES, BYTES_PER_MILLISECOND)
  const time = createBudget(BURST_TIME, TIME_PER_MILLISECOND)
  let last = now()
  return {
    spend(spentBytes, spentTime) {
      const passed = now() - last
      last += passed
      return Math.min(LONGEST_PAUSE, Math.max(bytes(passed, spentBytes), time(passed, spentTime)))
    },
  }
}

/** Fills up as time passes; returns the milliseconds until it is no longer overdrawn. */
export function createBudget(most: number, refill: number): (passed: number, spent: number) => number {
  let left = most
  return (passed, spent) => {
    left = Math.min(most, left + passed * refill) - spent
    return left >= 0 ? 0 : -left / refill
  }
}
