// Long work in short slices: whoever else is served by this process gets a turn in between.

/** Characters of JSON that are worked on before the others get a turn: some ten milliseconds. */
const SLICE_CHARACTERS = 50_000

/** Returns what to await after each piece of work, with its size. */
export function createSlices(): (characters: number) => Promise<void> | undefined {
  let worked = 0
  return (characters) => {
    worked += characters
    if (worked < SLICE_CHARACTERS) return undefined
    worked = 0
    return new Promise((resolve) => setImmediate(resolve))
  }
}
