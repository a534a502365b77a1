// Timers that never keep the process alive: those of one connection, cancelled together, and the delay between retries.

export type Timers = {
  /** Runs the task once, unless `clear` is called first. A later timer of the same name replaces an earlier one. */
  start(task: () => unknown, milliseconds: number, name?: string): void
  cancel(name: string): void
  clear(): void
}

type Timer = ReturnType<typeof setTimeout>

export function createTimers(): Timers {
  const timers = new Map<unknown, Timer>()
  const cancel = (key: unknown) => {
    clearTimeout(timers.get(key))
    timers.delete(key)
  }
  return {
    start(task, milliseconds, name) {
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

export type Backoff = {
  /** Milliseconds to wait before the next attempt: doubles with each failure, with 25 % jitter. */
  nextDelay(): number
  connected(): void
  /** Starts over with the shortest delay if the connection lasted long enough. */
  disconnected(): void
}

export function createBackoff(first: number, longest: number): Backoff {
  let failures = 0
  let delay = 0
  let connectedAt = 0
  return {
    nextDelay() {
      delay = Math.min(longest, first * 2 ** failures++)
      return delay * (0.75 + Math.random() / 2)
    },
    connected() {
      connectedAt = performance.now()
    },
    disconnected() {
      if (performance.now() - connectedAt > RECOVERED_AFTER_DELAYS * delay) failures = 0
    },
  }
}
