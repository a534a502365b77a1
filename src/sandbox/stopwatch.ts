// Counts time while it runs, and calls back once the time is used up.

export type Stopwatch = {
  /** Starts, or goes on after a pause; does nothing while it runs. */
  start(): void
  /** Keeps the time that was used. As often as it was paused it must be started before it runs again. */
  pause(): void
  /** Stops, with all time left. */
  reset(): void
  /** Ends it for good. */
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
