// Reads lists of tools into an index and vectors, with breaks for others. A search that would wait too long for a new list
// gets what was read before, and says how many tools that leaves out.
import { searchText } from '../core/calls/index.ts'
import type { PoolTool } from '../core/index.ts'
import type { LexicalIndex } from './lexical.ts'
import { createIndexes } from './rankers.ts'
import { LEXICAL } from './settings.ts'
import { createToolSlices, type Pause, runAtOnce, runInSlices, type Sliced } from './slices.ts'
import type { Vectors } from './vectors.ts'

/** What pure code lacks to let others have a turn. */
export type Breaks = {
  readonly pause: Pause
  /** Resolves when a search has waited long enough for its tools to be read; `cancel` when it need not. */
  readonly startTimeout: () => { readonly over: Promise<void>; readonly cancel: () => void }
}

export type Read = {
  /** Index of the tools read so far; undefined if there are none yet. */
  readonly index: LexicalIndex | undefined
  /** How many of the tools that were asked for are not in it. */
  readonly unread: number
}

/** Tools that are read in a fraction of a second. */
const SMALL_LIST = 1000

export function createReading(
  vectors: Vectors | undefined,
  breaks: Breaks | undefined,
): (tools: readonly PoolTool[]) => Promise<Read> {
  const indexFor = createIndexes(LEXICAL)
  const readings = new WeakMap<readonly PoolTool[], Promise<LexicalIndex>>()
  const indexes = new WeakMap<readonly PoolTool[], LexicalIndex>()
  let last: Promise<unknown> = Promise.resolve()
  let latest: LexicalIndex | undefined

  function* read(tools: readonly PoolTool[]): Sliced<LexicalIndex> {
    const isSliceOver = createToolSlices()
    for (const tool of tools) {
      searchText(tool)
      if (isSliceOver(tool)) yield
    }
    const index = yield* indexFor(tools)
    if (vectors) yield* vectors.prepare(tools)
    return index
  }

  /** One large list after the other: what they have in common is read once. Small ones wait for nobody. */
  function readLater(tools: readonly PoolTool[], { pause }: Breaks): Promise<LexicalIndex> {
    const known = readings.get(tools)
    if (known) return known
    const isSmall = tools.length <= SMALL_LIST
    const reading = isSmall
      ? runInSlices(read(tools), pause)
      : last.then(() => runInSlices(read(tools), pause))
    readings.set(tools, reading)
    const over = reading.then(
      (index) => {
        latest = index
        indexes.set(tools, index)
      },
      () => readings.delete(tools),
    )
    if (!isSmall) last = over
    return reading
  }

  function readNow(tools: readonly PoolTool[]): LexicalIndex {
    const index = indexes.get(tools) ?? runAtOnce(read(tools))
    indexes.set(tools, index)
    return index
  }

  return async (tools) => {
    if (!breaks) return { index: readNow(tools), unread: 0 }
    const known = indexes.get(tools)
    if (known) return { index: known, unread: 0 }
    const { over, cancel } = breaks.startTimeout()
    try {
      const index = await Promise.race([readLater(tools, breaks), over])
      if (index) return { index, unread: 0 }
    } finally {
      cancel()
    }
    return readBefore(tools)
  }

  /**
   * The part of a list that was read with another one. That may have been another client's: what is only there must neither
   * be found nor count as a tool that has a word.
   */
  function readBefore(tools: readonly PoolTool[]): Read {
    const known = latest && new Set(latest.tools)
    const common = known ? tools.filter((tool) => known.has(tool)) : []
    const unread = tools.length - common.length
    if (!latest || common.length === 0) return { index: undefined, unread }
    return { index: common.length === known?.size ? latest : latest.update(common), unread }
  }
}
