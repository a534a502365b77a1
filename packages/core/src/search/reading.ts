// Indexes and embeds lists of tools, with breaks for other work. A search that would wait too long for a new list gets
// the tools indexed so far, and how many are missing.

import type { Pause } from '../options.ts'
import { searchText } from '../query.ts'
import type { PoolTool } from '../types.ts'
import type { LexicalIndex } from './lexical.ts'
import { createIndexes } from './lexical-rankers.ts'
import type { Vectors } from './meaning.ts'
import { LEXICAL } from './settings.ts'
import { createToolSlices, runAtOnce, runInSlices, type Sliced } from './slices.ts'

/** Lets pure code give way to other work; the caller supplies the clock. */
export type Breaks = {
  readonly pause: Pause
  /** Starts a timer: `over` resolves when a search has waited long enough for its tools, `cancel` stops it. */
  readonly startTimeout: () => { readonly over: Promise<void>; readonly cancel: () => void }
}

/** The result of waiting for tools to be indexed. */
type IndexedTools = {
  /** Index of the tools read so far; undefined if there is none yet. */
  readonly index: LexicalIndex | undefined
  /** The number of tools that the index lacks. */
  readonly unread: number
}

/** Lists up to this size take a fraction of a second. */
const SMALL_LIST = 1000

/** Returns a function that indexes lists of tools and waits at most until the timeout of `breaks`. */
export function createReading(
  vectors: Vectors | undefined,
  breaks: Breaks | undefined,
): (tools: readonly PoolTool[]) => Promise<IndexedTools> {
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

  /** Reads large lists one after the other, so that common tools are read once. Small lists do not wait. */
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
   * Returns the tools of a list that were indexed with another list. That may be another client's: its other tools must
   * neither be found nor count toward word frequencies.
   */
  function readBefore(tools: readonly PoolTool[]): IndexedTools {
    const known = latest && new Set(latest.tools)
    const common = known ? tools.filter((tool) => known.has(tool)) : []
    const unread = tools.length - common.length
    if (!latest || common.length === 0) return { index: undefined, unread }
    return { index: common.length === known?.size ? latest : latest.update(common), unread }
  }
}
