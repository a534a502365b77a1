// Provides all rankers by name (S7). The first search loads the table of word vectors; one by `model` starts the
// encoder's worker.
// Implements S7.
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'
import { createEmbedder } from '../embed/embedder.ts'
import { createScheduler } from '../node/scheduler.ts'
import { startTimer } from '../node/timer.ts'
import { buildPool } from '../pool.ts'
import { classicRank, type Rank } from '../query.ts'
import { demoteDeprecated } from '../search/deprecated.ts'
import { explainFusion, type ScorePart } from '../search/explain-fusion.ts'
import { createHybrid, type HybridParts } from '../search/hybrid.ts'
import { type Bridge, createBridge, createTranslate, type Translation } from '../search/language.ts'
import type { LexicalIndex } from '../search/lexical.ts'
import { bm25, lexical } from '../search/lexical-rankers.ts'
import { createVectors, readMeaning, type Vectors } from '../search/meaning.ts'
import type { Breaks } from '../search/reading.ts'
import type { PoolTool, Tool } from '../types.ts'
import { createModelRank, type ModelRank } from './model-rank.ts'
import { regex } from './regex.ts'

/** Ranks by words and by meaning, with a table of word vectors from the package. */
const hybrid: Rank = (tools, query, limit) => {
  engines.hybrid ??= hybridWith({})
  return engines.hybrid(tools, query, limit)
}

/** Like `hybrid`, plus the sentence encoder, if it is installed, once it has read the tools that a search finds. */
const model: Rank = (tools, query, limit) => modelRank().rank(tools, query, limit)

/**
 * The rankers by name. All but `classic`, whose points are specified (S6), rank deprecated tools behind others.
 *
 * @example
 * const shelf = createShelf({ tools, rank: (tools, query, limit) => rankers.hybrid(tools, translated(query), limit) })
 */
export const rankers = {
  model: named('model', model),
  hybrid: named('hybrid', hybrid),
  lexical: named('lexical', lexical),
  classic: classicRank,
  bm25: named('bm25', bm25),
  regex: named('regex', regex),
} as const satisfies Record<string, Rank>

/** Ranks deprecated tools behind others, and names the ranker in the ranking, for events. */
function named(ranker: string, plain: Rank): Rank {
  const rank = demoteDeprecated(plain)
  return (tools, query, limit) => {
    const ranking = rank(tools, query, limit)
    return ranking instanceof Promise ? ranking.then((late) => ({ ...late, ranker })) : { ...ranking, ranker }
  }
}

/** The name of a ranker, as the option `rank` takes it. */
export type RankerName = keyof typeof rankers

/**
 * Waits until the encoder of the ranker `model` has read these tools; resolves to false if it is not installed or failed.
 *
 * @param progress receives how many tools are read, and how many there are, again and again.
 * @example
 * if (!(await warmUpSearch(tools))) console.warn('searches rank without the sentence encoder')
 */
export function warmUpSearch(
  tools: readonly Tool[],
  progress?: (done: number, total: number) => void,
): Promise<boolean> {
  const { tools: entries } = buildPool(tools, { descriptionLimit: 1, reserved: [], warn: () => {} })
  return warmUpEntries(entries, progress)
}

/** Like `warmUpSearch`, for tools that are already in a pool. */
export function warmUpEntries(
  entries: readonly PoolTool[],
  progress?: (done: number, total: number) => void,
): Promise<boolean> {
  return modelRank().ready(entries, progress)
}

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

/** Ranks like `model`, but waits until the encoder has read what a search finds; like `hybrid` if it is unavailable. */
export function patientModel(progress?: (done: number, total: number) => void): Rank {
  return whenIndexed(demoteDeprecated(modelRank().patient(progress)))
}

/** Returns the translation that `hybrid` and `model` use besides the query; undefined for a query in English. */
export function translateQuery(index: LexicalIndex, query: string): Translation | undefined {
  return translate(query, index.knows)
}

/** Explains `hybrid`'s ranking: the parts of each tool's score. */
export async function explainHybrid(
  index: LexicalIndex,
  query: string,
  toolsToExplain: readonly PoolTool[],
): Promise<Map<PoolTool, ScorePart[]>> {
  return explainFusion(index, await vectors(), query, toolsToExplain)
}

/** Milliseconds that a search waits for new tools to be indexed. */
const READING_TIMEOUT_MS = 4000

/** Milliseconds of work between two pauses: less than a request may take, because requests are served meanwhile. */
const SLICE_MS = 5

const breaks: Breaks = {
  pause: createScheduler({ sliceMs: SLICE_MS }).pause,
  startTimeout: () => startTimer(READING_TIMEOUT_MS),
}

const TABLE = new URL('../../data/meaning.bin', import.meta.url)

const BRIDGE = new URL('../../data/bridge.bin', import.meta.url)

/** The table has about 3 MB; one that unpacks to more is damaged. */
const MAX_BRIDGE_BYTES = 16 * 1024 * 1024

const engines: {
  hybrid?: Rank
  model?: ModelRank
  vectors?: Promise<Vectors | undefined>
  bridge?: Bridge | 'none'
} = {}

const translate = createTranslate(bridge)

/** Loads the language table when the first query needs it; without it, queries are not translated. */
function bridge(): Bridge | undefined {
  try {
    engines.bridge ??= createBridge(
      brotliDecompressSync(readFileSync(BRIDGE), { maxOutputLength: MAX_BRIDGE_BYTES }),
    )
  } catch (error) {
    engines.bridge = 'none'
    console.warn(`toolshelf: cannot read the language table, so queries are not translated: ${String(error)}`)
  }
  return engines.bridge === 'none' ? undefined : engines.bridge
}

function modelRank(): ModelRank {
  engines.model ??= createModelRank({
    embedder: createEmbedder({ notify: (message) => console.warn(`toolshelf: ${message}`) }),
    createHybrid: (cosines) => hybridWith({ model: cosines }),
  })
  return engines.model
}

/** Created with the first search, which loads the table. */
function hybridWith(parts: Pick<HybridParts, 'model'>): Rank {
  let opened: Promise<Rank> | undefined
  return async (tools, query, limit) => {
    opened ??= vectors().then((loaded) => createHybrid({ ...parts, vectors: loaded, translate, breaks }))
    return (await opened)(tools, query, limit)
  }
}

/** Loads the table of word vectors, once; without it, ranking is by words only. */
function vectors(): Promise<Vectors | undefined> {
  engines.vectors ??= readVectors()
  return engines.vectors
}

async function readVectors(): Promise<Vectors | undefined> {
  try {
    return createVectors(await readMeaning(await readFile(TABLE), breaks.pause))
  } catch (error) {
    console.warn(
      `toolshelf: cannot read the table of meanings, so search ranks by words alone: ${String(error)}`,
    )
    return undefined
  }
}
