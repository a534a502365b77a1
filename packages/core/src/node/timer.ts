// Implements the timer that core receives, since core itself uses no clock.
import type { Timer } from '../options.ts'

/** Starts a timer; `over` resolves when it ends, `cancel` stops it. */
export function startTimer(milliseconds: number): Timer {
  let handle: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    handle = setTimeout(resolve, milliseconds)
  })
  return { over, cancel: () => clearTimeout(handle) }
}
