// Splits long work into short slices, so that the event loop can serve others in between.

/** Characters of JSON to process before yielding: about ten milliseconds of work. */
const SLICE_CHARACTERS = 50_000

/** Returns a function to call and await after each piece of work with its size in characters. */
export function createYieldBySize(): (characters: number) => Promise<void> | undefined {
  let worked = 0
  return (characters) => {
    worked += characters
    if (worked < SLICE_CHARACTERS) return undefined
    worked = 0
    return new Promise((resolve) => setImmediate(resolve))
  }
}
