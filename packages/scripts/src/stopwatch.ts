// Measures time while it runs, and calls back when the time is used up.

/** A countdown that can be paused. */
export type Stopwatch = ReturnType<typeof createStopwatch>

export function createStopwatch(milliseconds: number, onEnd: () => void) {
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
    /** Starts, or resumes after a pause; does nothing while it runs. */
    start() {
      pauses = Math.max(0, pauses - 1)
      if (timer !== undefined || pauses > 0 || isStopped) return
      startedAt = performance.now()
      timer = setTimeout(onEnd, Math.max(0, left))
    },
    /** Pauses. Pauses nest: it runs again after as many calls of `start`. */
    pause() {
      pauses++
      halt()
    },
    /** Stops and restores the full time. */
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
