// So many at a time; the rest wait in line. A task that takes very long does not hold up those behind it.

export type Limiter = <Value>(task: () => Promise<Value>, isUrgent?: boolean) => Promise<Value>

export function createLimiter(most: number, patience: number): Limiter {
  const waiting: (() => void)[] = []
  let running = 0
  const passOn = () => {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  return async (task, isUrgent = false) => {
    if (running >= most) {
      await new Promise<void>((resolve) => {
        if (isUrgent) waiting.unshift(resolve)
        else waiting.push(resolve)
      })
    } else running++
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      passOn()
    }, patience)
    try {
      return await task()
    } finally {
      clearTimeout(timer)
      if (!isOver) passOn()
    }
  }
}
