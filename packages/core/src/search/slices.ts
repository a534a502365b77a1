// Splits long work into slices: pure code yields where it may be interrupted, and the caller decides how to pause.
import type { Pause } from '../options.ts'
import type { PoolTool } from '../types.ts'

/** Work that may be interrupted wherever it yields. */
export type Sliced<Value> = Generator<undefined, Value, void>

/** Characters of definitions after which indexing may be interrupted: a few milliseconds of work at most. */
const SLICE_CHARACTERS = 3000

/** Returns a function that says after each tool whether work may be interrupted. */
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

/** Runs the work with a pause wherever it may be interrupted. */
export async function runInSlices<Value>(work: Sliced<Value>, pause: Pause): Promise<Value> {
  let step = work.next()
  while (!step.done) {
    const turn = pause()
    if (turn) await turn
    step = work.next()
  }
  return step.value
}
