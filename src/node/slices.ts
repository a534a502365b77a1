// Splits long work into short slices, so that the event loop can serve others in between.

/** Characters of JSON to process before yielding: about ten milliseconds of work. */
const SLICE_CHARACTERS = 50_000

/** Milliseconds of work before the event loop serves others. */
const SLICE_MS = 5

/**
 * Returns a function that lets others have a turn, and undefined if the last turn was a moment ago. Of several that wait,
 * each continues in an iteration of its own of the event loop.
 */
export function createPause(): () => Promise<void> | undefined {
  let started = performance.now()
  let last: Promise<void> = Promise.resolve()
  const next = () =>
    new Promise<void>((resolve) => {
      setImmediate(() => {
        started = performance.now()
        resolve()
      })
    })
  return () => {
    if (performance.now() - started < SLICE_MS) return undefined
    last = last.then(next)
    return last
  }
}

/** Returns a function to call and await after each piece of work with its size in characters. */
export function createSlices(): (characters: number) => Promise<void> | undefined {
  let worked = 0
  return (characters) => {
    worked += characters
    if (worked < SLICE_CHARACTERS) return undefined
    worked = 0
    return new Promise((resolve) => setImmediate(resolve))
  }
}
