// All rankers by name (S7). The first search loads the table of word vectors and starts the encoder's worker.
// Implements S7.
import { readFile } from 'node:fs/promises'
import { classicRank, type PoolTool, type Rank, type Tool } from '../core/index.ts'
import { buildPool } from '../core/tools/index.ts'
import { createEmbedder } from '../embed/index.ts'
import { createScheduler, startTimer } from '../node/index.ts'
import {
  type Breaks,
  behindSuccessors,
  bm25,
  createHybrid,
  createVectors,
  explainFusion,
  type LexicalIndex,
  lexical,
  readMeaning,
  type ScorePart,
  type Vectors,
} from '../search/index.ts'
import { createModelScores, type ModelScores } from './model-scores.ts'
import { regex } from './regex.ts'

/** Ranks by words and by meaning, with a table of word vectors from the package. */
const hybrid: Rank = async (tools, query, limit) => {
  const given = await vectors()
  engines.hybrid ??= createHybrid({ vectors: given, breaks })
  return engines.hybrid(tools, query, limit)
}

/** Like `hybrid`, plus the sentence encoder once it is installed and has embedded all tools. */
const model: Rank = async (tools, query, limit) => {
  const given = await vectors()
  engines.model ??= createHybrid({ vectors: given, model: modelScores().scores, breaks })
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

/** Explains `hybrid`'s ranking: the parts of each tool's score. */
export async function explainHybrid(
  index: LexicalIndex,
  query: string,
  of: readonly PoolTool[],
): Promise<Map<PoolTool, ScorePart[]>> {
  return explainFusion(index, await vectors(), query, of)
}

/** Milliseconds that a search waits for new tools to be indexed. */
const READING_TIMEOUT_MS = 4000

/** Less than a request may take, because requests are answered beside it. */
const SLICE_MS = 5

const breaks: Breaks = {
  pause: createScheduler({ sliceMs: SLICE_MS }).pause,
  startTimeout: () => startTimer(READING_TIMEOUT_MS),
}

const TABLE = new URL('../../data/meaning.bin', import.meta.url)

const engines: {
  hybrid?: Rank
  model?: Rank
  vectors?: Promise<Vectors | undefined>
  scores?: ModelScores
} = {}

function modelScores(): ModelScores {
  engines.scores ??= createModelScores(
    createEmbedder({ notify: (message) => console.warn(`toolshelf: ${message}`) }),
  )
  return engines.scores
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
      `toolshelf: the table of meanings cannot be read, so search goes by words alone: ${String(error)}`,
    )
    return undefined
  }
}
