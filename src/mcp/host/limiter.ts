// So many at a time; the rest wait in line.

export type Limiter = <Value>(task: () => Promise<Value>, isUrgent?: boolean) => Promise<Value>

export function createLimiter(most: number): Limiter {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task, isUrgent = false) => {
    if (running >= most) {
      await new Promise<void>((resolve) => {
        if (isUrgent) waiting.unshift(resolve)
        else waiting.push(resolve)
      })
    } else running++
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
