// A clock for core, which has none.
import type { Timer } from '../core/index.ts'

export function startTimer(milliseconds: number): Timer {
  let handle: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    handle = setTimeout(resolve, milliseconds)
  })
  return { over, cancel: () => clearTimeout(handle) }
}
