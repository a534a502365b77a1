// Searches by name and by table: what the rankers of one set of tables share. The first search that wants a table loads it.
// Implements S7.
import { tables as tablesHere } from '#tables'
import { classicRank, type Rank, type Ranking } from '../query.ts'
import { createScheduler, hasTurns, startTimer } from '../schedule.ts'
import { explainFusion } from '../search/explain.ts'
import { createHybrid } from '../search/hybrid.ts'
import { createBridge, createTranslate } from '../search/language.ts'
import type { LexicalIndex } from '../search/lexical.ts'
import { bm25, lexical } from '../search/lexical-search.ts'
import { readMeaning } from '../search/meaning.ts'
import type { Breaks } from '../search/reading.ts'
import { demoteDeprecated } from '../search/reorder.ts'
import { createVectors } from '../search/vectors.ts'
import type { PoolTool } from '../types.ts'
import type { Rankers, TableSource, Tables } from './rankers.ts'
import { regex } from './regex.ts'

/** Milliseconds that a search waits for new tools to be indexed. */
const READING_TIMEOUT_MS = 4000

/** Milliseconds of work between two pauses: less than a request may take, because requests are served meanwhile. */
const SLICE_MS = 5

const breaks: Breaks | undefined = hasTurns
  ? {
      pause: createScheduler({ sliceMs: SLICE_MS }).pause,
      startTimeout: () => startTimer(READING_TIMEOUT_MS),
    }
  : undefined

/** Makes the rankers of one set of tables. */
export function createEngine(tables: Tables) {
  const meaning = openTable('meanings', 'searches rank by words alone', tables.meaning, async (bytes) =>
    createVectors(await readMeaning(bytes, breaks?.pause ?? (() => undefined))),
  )
  const bridge = openTable('languages', 'queries are not translated', tables.bridge, createBridge)
  const translate = createTranslate(bridge.load)

  /** Created with the first search, which loads the table. */
  const opened = once(async () => {
    const vectors = await meaning.load()
    if (!vectors && !tables.bridge && !tables.model) return byWords
    return createHybrid({ vectors, model: tables.model, translate, ...(breaks ? { breaks } : {}) })
  })
  const hybrid: Rank = async (tools, query, limit) => (await opened())(tools, query, limit)
  const lacks = () => [meaning.problem(), bridge.problem()].filter(Boolean).join('; ') || undefined

  const rankers: Rankers = {
    hybrid: named('hybrid', hybrid, lacks),
    lexical: named('lexical', lexical),
    classic: classicRank,
    bm25: named('bm25', bm25),
    regex: named('regex', regex),
  }
  return {
    rankers,
    /** The translation that `hybrid` uses besides the query; undefined for a query in English. */
    translate: (index: LexicalIndex, query: string) => translate(query, index.knows),
    /** Explains `hybrid`'s ranking: the parts of each tool's score. */
    explain: async (index: LexicalIndex, query: string, tools: readonly PoolTool[]) =>
      explainFusion(index, await meaning.load(), query, tools),
  }
}

/** Ranks as `lexical` does, and says so. */
const byWords: Rank = async (tools, query, limit) => {
  const { hits, matched } = await lexical(tools, query, limit)
  return { hits, matched, ranker: 'lexical' }
}

/** Ranks deprecated tools behind others, and names the ranker in the ranking, for events. */
function named(ranker: string, plain: Rank, lacks?: () => string | undefined): Rank {
  const rank = demoteDeprecated(plain)
  const withName = (ranking: Ranking): Ranking => ({ ...ranking, ranker: ranking.ranker ?? ranker })
  const wrapped: Rank = (tools, query, limit) => {
    const ranking = rank(tools, query, limit)
    return ranking instanceof Promise ? ranking.then(withName) : withName(ranking)
  }
  return lacks ? Object.assign(wrapped, { lacks }) : wrapped
}

/** A table that is loaded once, when first wanted; a missing or damaged one is reported once. */
function openTable<Table>(
  name: string,
  effect: string,
  source: TableSource | undefined,
  read: (bytes: Uint8Array) => Table | Promise<Table>,
) {
  let problem = source ? undefined : `no table of ${name}: ${effect}`
  const load = once(async () => {
    try {
      if (source) return await read(typeof source === 'function' ? await source() : source)
    } catch (error) {
      problem = `cannot read the table of ${name}: ${effect} (${String(error)})`
    }
    notify(problem ?? '')
    return undefined
  })
  return { load, problem: () => problem }
}

/** Returns a function that makes a value with its first call. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: { readonly value: Value } | undefined
  let making: Promise<Value> | undefined
  return async () => {
    if (made) return made.value
    if (hasTurns) making ??= make()
    const value = await (making ?? make())
    made ??= { value }
    return made.value
  }
}

function notify(message: string): void {
  console.warn(`toolshelf: ${message}`)
}

/** The rankers of this runtime. */
export const engine = createEngine(tablesHere)

/**
 * Wraps a ranker to wait until all tools are indexed, however long that takes; an agent's search continues after four
 * seconds.
 */
export function whenIndexed(rank: Rank): Rank {
  return async (tools, query, limit) => {
    for (;;) {
      const ranking = await rank(tools, query, limit)
      if (!ranking.unread) return ranking
    }
  }
}
