// Limits how many tasks run at once and queues the rest. A task that runs too long no longer counts toward the limit.

/** Runs a task when a slot is free; urgent tasks go to the front of the queue. */
export type Limiter = <Value>(task: () => Promise<Value>, isUrgent?: boolean) => Promise<Value>

/**
 * Creates a limiter for `maxRunning` tasks at once; a task gives up its slot after `slotMs` milliseconds but keeps running.
 */
export function createLimiter(maxRunning: number, slotMs: number): Limiter {
  const waiting: (() => void)[] = []
  let running = 0
  const passOn = () => {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  return async (task, isUrgent = false) => {
    if (running >= maxRunning) {
      await new Promise<void>((resolve) => {
        if (isUrgent) waiting.unshift(resolve)
        else waiting.push(resolve)
      })
    } else running++
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      passOn()
    }, slotMs)
    try {
      return await task()
    } finally {
      clearTimeout(timer)
      if (!isOver) passOn()
    }
  }
}
