// Shares few slots, such as threads, among the owners of work, so that none can take them all.

/** Runs a task as soon as its owner may have a slot. */
type Slots = <Value>(owner: unknown, task: () => Promise<Value>) => Promise<Value>

/**
 * Creates slots. An owner takes one only while more are free than it holds: one alone gets half of them, and there is one
 * left for the next. Owners that wait take turns.
 */
export function createSlots(total: number): Slots {
  const held = new Map<unknown, number>()
  const waiting = new Map<unknown, (() => void)[]>()
  let free = total
  const hold = (owner: unknown, more: 1 | -1) => {
    free -= more
    const now = (held.get(owner) ?? 0) + more
    if (now > 0) held.set(owner, now)
    else held.delete(owner)
  }
  const mayHold = (owner: unknown) => (held.get(owner) ?? 0) < free
  const startNext = () => {
    for (const [owner, queue] of waiting) {
      if (!mayHold(owner)) continue
      waiting.delete(owner)
      hold(owner, 1)
      queue.shift()?.()
      if (queue.length > 0) waiting.set(owner, queue)
    }
  }
  return async (owner, task) => {
    if (!waiting.has(owner) && mayHold(owner)) hold(owner, 1)
    else
      await new Promise<void>((resolve) => {
        const queue = waiting.get(owner)
        if (queue) queue.push(resolve)
        else waiting.set(owner, [resolve])
      })
    try {
      return await task()
    } finally {
      hold(owner, -1)
      startNext()
    }
  }
}
