// Indexes lists of tools in slices, with breaks for other work. A search that would wait too long for a new list gets the
// tools indexed so far, and how many are missing.
import type { Pause } from '../options.ts'
import type { PoolTool } from '../types.ts'
import type { LexicalIndex } from './lexical.ts'

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

/** Lets pure code give way to other work; the caller supplies the clock. */
export type Breaks = {
  readonly pause: Pause
  /** Starts a timer: `over` resolves when a search has waited long enough for its tools, `cancel` stops it. */
  readonly startTimeout: () => { readonly over: Promise<void>; readonly cancel: () => void }
}

/** The index of the tools read so far, undefined if there is none yet, and how many tools it lacks. */
type IndexedTools = { readonly index: LexicalIndex | undefined; readonly unread: number }

/** Lists up to this size take a fraction of a second. */
const SMALL_LIST = 1000

/**
 * Keeps an index per list of tools, as long as the list lives. `read` builds one, from the latest where they overlap.
 */
export function createReading(
  read: (tools: readonly PoolTool[], latest: LexicalIndex | undefined) => Sliced<LexicalIndex>,
) {
  const indexes = new WeakMap<readonly PoolTool[], LexicalIndex>()
  const readings = new WeakMap<readonly PoolTool[], Promise<LexicalIndex>>()
  let latest: LexicalIndex | undefined
  let last: Promise<unknown> = Promise.resolve()

  function keep(tools: readonly PoolTool[], index: LexicalIndex): LexicalIndex {
    latest = index
    indexes.set(tools, index)
    return index
  }

  function now(tools: readonly PoolTool[]): LexicalIndex {
    const known = indexes.get(tools)
    if (known) return known
    return keep(tools, runAtOnce(read(tools, latest)))
  }

  /** Reads large lists one after the other, so that common tools are read once. Small lists do not wait. */
  function later(tools: readonly PoolTool[], pause: Pause): Promise<LexicalIndex> {
    const known = readings.get(tools)
    if (known) return known
    const start = () => runInSlices(read(tools, latest), pause)
    const isSmall = tools.length <= SMALL_LIST
    const reading = isSmall ? start() : last.then(start)
    readings.set(tools, reading)
    const over = reading.then(
      (index) => keep(tools, index),
      () => readings.delete(tools),
    )
    if (!isSmall) last = over
    return reading
  }

  /**
   * Returns the tools of a list that were indexed with another list. That may be another client's: its other tools must
   * neither be found nor count toward word frequencies.
   */
  function before(tools: readonly PoolTool[]): IndexedTools {
    const known = new Set(latest?.tools)
    const common = tools.filter((tool) => known.has(tool))
    const unread = tools.length - common.length
    if (!latest || common.length === 0) return { index: undefined, unread }
    return { index: common.length === known.size ? latest : runAtOnce(read(common, latest)), unread }
  }

  return {
    /** Returns the index of all tools, read in one go. */
    now,
    /** Waits for the index, at most until the timeout of `breaks`. */
    async within(tools: readonly PoolTool[], { pause, startTimeout }: Breaks): Promise<IndexedTools> {
      const known = indexes.get(tools)
      if (known) return { index: known, unread: 0 }
      const { over, cancel } = startTimeout()
      try {
        const index = await Promise.race([later(tools, pause), over])
        return index ? { index, unread: 0 } : before(tools)
      } finally {
        cancel()
      }
    },
  }
}
