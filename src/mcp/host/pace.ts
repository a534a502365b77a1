// Limits how often a changed list is read: soon at first, less and less often while it keeps changing.
// Implements H4.

const LONGEST_GAP = 30_000

/** Returns a function to call at each change; the task runs once for all changes until then. */
export function createPace(
  shortest: number,
  later: (task: () => void, milliseconds: number) => unknown,
  task: () => void,
): () => void {
  let isWaiting = false
  let ranAt = Number.NEGATIVE_INFINITY
  let gap = shortest
  return () => {
    if (isWaiting) return
    isWaiting = true
    const now = performance.now()
    gap = now - ranAt < 4 * gap ? Math.min(gap * 2, LONGEST_GAP) : shortest
    later(
      () => {
        isWaiting = false
        ranAt = performance.now()
        task()
      },
      Math.max(shortest / 5, ranAt + gap - now),
    )
  }
}
