// Defines the timeouts of a host, and timers that never keep the process alive: those of one connection, cancelled
// together, and the delay between retries.
// Implements H4.

/** Timeouts and intervals of a host, in milliseconds. */
export type HostTimeouts = {
  /** Delay of the first retry; doubles with each failure, up to `maxRetryMs`. Default: 1000. */
  readonly firstRetryMs: number
  /** Longest delay between two retries. Default: 300,000. */
  readonly maxRetryMs: number
  /** Time without calls after which a lazy server is stopped. Default: 300,000. */
  readonly idleMs: number
  /** Interval between health checks of an inactive server. Default: 60,000. */
  readonly healthIntervalMs: number
  /** Timeout of a health check. Default: 10,000. */
  readonly pingTimeoutMs: number
  /** Time after which a server that is still starting no longer delays the next one. Default: 2000. */
  readonly startSlotMs: number
  /** Shortest interval between two refreshes of a list that keeps changing. Default: 500. */
  readonly refreshMs: number
  /** Interval between checks whether a definition held back has been accepted. Default: 2000. */
  readonly pinRecheckMs: number
  /** How long to wait for the running calls of a server that was removed. Default: 60,000. */
  readonly drainMs: number
}

/** The default timeouts. */
export const defaultTimeouts: HostTimeouts = {
  firstRetryMs: 1000,
  maxRetryMs: 300_000,
  idleMs: 300_000,
  healthIntervalMs: 60_000,
  pingTimeoutMs: 10_000,
  startSlotMs: 2000,
  refreshMs: 500,
  pinRecheckMs: 2000,
  drainMs: 60_000,
}

export function createTimers() {
  const timers = new Map<unknown, ReturnType<typeof setTimeout>>()
  const cancel = (key: unknown) => {
    clearTimeout(timers.get(key))
    timers.delete(key)
  }
  return {
    /** Runs the task once, unless `clear` is called first. A later timer of the same name replaces an earlier one. */
    start(task: () => unknown, milliseconds: number, name?: string) {
      const key = name ?? {}
      cancel(key)
      const timer = setTimeout(() => {
        timers.delete(key)
        task()
      }, milliseconds)
      timer.unref()
      timers.set(key, timer)
    },
    cancel,
    clear() {
      for (const key of timers.keys()) cancel(key)
    },
  }
}

/** A connection that lasts this many times the previous delay counts as recovered; a shorter one as flapping. */
const RECOVERED_AFTER_DELAYS = 10

/** Delays between attempts to connect. */
export type Backoff = ReturnType<typeof createBackoff>

/** Creates delays from `firstMs` to `maxMs` milliseconds. */
export function createBackoff(firstMs: number, maxMs: number) {
  let failures = 0
  let delay = 0
  let connectedAt = 0
  return {
    /** Returns the milliseconds to wait before the next attempt: doubles with each failure, with 25 % jitter. */
    nextDelay() {
      delay = Math.min(maxMs, firstMs * 2 ** failures++)
      return delay * (0.75 + Math.random() / 2)
    },
    connected() {
      connectedAt = performance.now()
    },
    /** Starts over with the shortest delay if the connection lasted long enough. */
    disconnected() {
      if (performance.now() - connectedAt > RECOVERED_AFTER_DELAYS * delay) failures = 0
    },
  }
}
