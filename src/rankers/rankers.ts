// All rankers by name (S7). The first search loads the table of word vectors and starts the encoder's worker.
// Implements S7.
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { classicRank, type PoolTool, type Rank, type Tool } from '../core/index.ts'
import { buildPool } from '../core/tools/index.ts'
import { createEmbedder } from '../embed/index.ts'
import { startTimer } from '../node/index.ts'
import {
  type Breaks,
  type Bridge,
  behindSuccessors,
  bm25,
  createBridge,
  createHybrid,
  createMeaning,
  createTranslate,
  createVectors,
  explainFusion,
  type LexicalIndex,
  lexical,
  type ScorePart,
  type Translation,
  type Vectors,
} from '../search/index.ts'
import { createModelScores, type ModelScores } from './model-scores.ts'
import { regex } from './regex.ts'

/** Ranks by words and by meaning, with a table of word vectors from the package. */
const hybrid: Rank = (tools, query, limit) => {
  engines.hybrid ??= createHybrid({ vectors: vectors(), translate, breaks })
  return engines.hybrid(tools, query, limit)
}

/** Like `hybrid`, plus the sentence encoder once it is installed and has embedded all tools. */
const model: Rank = (tools, query, limit) => {
  engines.model ??= createHybrid({ vectors: vectors(), model: modelScores().scores, translate, breaks })
  return engines.model(tools, query, limit)
}

/**
 * The rankers by name. All but `classic`, whose points are specified (S6), rank deprecated tools behind others.
 *
 * @example
 * const shelf = createShelf({ tools, rank: (tools, query, limit) => rankers.hybrid(tools, translated(query), limit) })
 */
export const rankers = {
  model: behindSuccessors(model),
  hybrid: behindSuccessors(hybrid),
  lexical: behindSuccessors(lexical),
  classic: classicRank,
  bm25: behindSuccessors(bm25),
  regex: behindSuccessors(regex),
} as const satisfies Record<string, Rank>

/** The name of a ranker, as the option `rank` takes it. */
export type RankerName = keyof typeof rankers

/**
 * Waits until the encoder of the ranker `model` has read these tools; resolves to false if it is not installed or failed.
 *
 * @example
 * if (!(await warmUpSearch(tools))) console.warn('searches rank without the sentence encoder')
 */
export function warmUpSearch(tools: readonly Tool[]): Promise<boolean> {
  const { tools: entries } = buildPool(tools, { descriptionLimit: 1, reserved: [], warn: () => {} })
  return warmUpEntries(entries)
}

export function warmUpEntries(entries: readonly PoolTool[]): Promise<boolean> {
  return modelScores().ready(entries)
}

/** The translation that `hybrid` and `model` search by besides the query; undefined for a query in English. */
export function translateQuery(index: LexicalIndex, query: string): Translation | undefined {
  return translate(query, index.knows)
}

/** Explains `hybrid`'s ranking: the parts of each tool's score. */
export function explainHybrid(
  index: LexicalIndex,
  query: string,
  of: readonly PoolTool[],
): Map<PoolTool, ScorePart[]> {
  return explainFusion(index, vectors(), query, of)
}

/** Milliseconds that a search waits for new tools to be indexed. */
const READING_TIMEOUT_MS = 4000

const breaks: Breaks = {
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  startTimeout: () => startTimer(READING_TIMEOUT_MS),
}

const TABLE = new URL('../../data/meaning.bin', import.meta.url)

const BRIDGE = new URL('../../data/bridge.bin', import.meta.url)

/** The table's size is about 3 MB; what unpacks to more is damaged. */
const MOST_BRIDGE_BYTES = 16 * 1024 * 1024

const engines: {
  hybrid?: Rank
  model?: Rank
  vectors?: Vectors | 'none'
  bridge?: Bridge | 'none'
  scores?: ModelScores
} = {}

const translate = createTranslate(bridge)

/** Loads the language table when the first query needs it; without it, queries are not translated. */
function bridge(): Bridge | undefined {
  try {
    engines.bridge ??= createBridge(
      brotliDecompressSync(readFileSync(BRIDGE), { maxOutputLength: MOST_BRIDGE_BYTES }),
    )
  } catch (error) {
    engines.bridge = 'none'
    console.warn(
      `toolshelf: the language table cannot be read, so queries are not translated: ${String(error)}`,
    )
  }
  return engines.bridge === 'none' ? undefined : engines.bridge
}

function modelScores(): ModelScores {
  engines.scores ??= createModelScores(
    createEmbedder({ notify: (message) => console.warn(`toolshelf: ${message}`) }),
  )
  return engines.scores
}

/** Loads the table of word vectors; without it, ranking is by words only. */
function vectors(): Vectors | undefined {
  try {
    engines.vectors ??= createVectors(createMeaning(readFileSync(TABLE)))
  } catch (error) {
    engines.vectors = 'none'
    console.warn(
      `toolshelf: the table of meanings cannot be read, so search goes by words alone: ${String(error)}`,
    )
  }
  return engines.vectors === 'none' ? undefined : engines.vectors
}
