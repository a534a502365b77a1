// Splits long work into slices: pure code yields where it may be interrupted, and the caller decides how to pause.
import type { PoolTool } from '../core/index.ts'

/** Work that may be interrupted wherever it yields. */
export type Sliced<Value> = Generator<undefined, Value, void>

/** Characters of definitions and descriptions that are read in one slice: some ten milliseconds of work. */
const SLICE_CHARACTERS = 30_000

/** Returns a function that says, for each tool that was read, whether a slice is over. */
export function createToolSlices(): (tool: PoolTool) => boolean {
  let read = 0
  return ({ json, tool }) => {
    read += json.length + String(tool.description ?? '').length
    if (read < SLICE_CHARACTERS) return false
    read = 0
    return true
  }
}

/** Runs the work without a break. */
export function runAtOnce<Value>(work: Sliced<Value>): Value {
  let step = work.next()
  while (!step.done) step = work.next()
  return step.value
}

/** Runs the work with a pause after each slice. */
export async function runInSlices<Value>(work: Sliced<Value>, pause: () => Promise<void>): Promise<Value> {
  let step = work.next()
  while (!step.done) {
    await pause()
    step = work.next()
  }
  return step.value
}
