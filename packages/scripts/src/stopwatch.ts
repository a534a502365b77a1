// Measures time while it runs, and calls back when the time is used up.

/** A countdown that can be paused. */
export type Stopwatch = {
  /** Starts, or resumes after a pause; does nothing while it runs. */
  start(): void
  /** Pauses. Pauses nest: it runs again after as many calls of `start`. */
  pause(): void
  /** Stops and restores the full time. */
  reset(): void
  stop(): void
}

export function createStopwatch(milliseconds: number, onEnd: () => void): Stopwatch {
  let left = milliseconds
  let startedAt = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let pauses = 0
  let isStopped = false
  const halt = () => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    left -= performance.now() - startedAt
  }
  return {
    start() {
      pauses = Math.max(0, pauses - 1)
      if (timer !== undefined || pauses > 0 || isStopped) return
      startedAt = performance.now()
      timer = setTimeout(onEnd, Math.max(0, left))
    },
    pause() {
      pauses++
      halt()
    },
    reset() {
      halt()
      left = milliseconds
    },
    stop() {
      isStopped = true
      halt()
    },
  }
}
