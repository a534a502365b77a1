// How much a server may say unasked. Beyond it we stop listening for a while: the pipe fills up and the server waits,
// not its neighbours.

export type Throttle = {
  /** Counts; returns the milliseconds to stop listening, 0 for none. */
  spend(bytes: number): number
}

const BURST = 4_000_000
const BYTES_PER_MILLISECOND = 256
const LONGEST_PAUSE = 1000

export function createThrottle(now: () => number): Throttle {
  let left = BURST
  let last = now()
  return {
    spend(bytes) {
      const time = now()
      left = Math.min(BURST, left + (time - last) * BYTES_PER_MILLISECOND) - bytes
      last = time
      return left >= 0 ? 0 : Math.min(LONGEST_PAUSE, -left / BYTES_PER_MILLISECOND)
    },
  }
}
