// Every ranker by name (S7). The table of meanings is read, and the model's worker started, at the first search.
import { readFileSync } from 'node:fs'
import { classic, type PoolTool, type Rank, type Tool } from '../core/index.ts'
import { buildPool } from '../core/tools/index.ts'
import { createEmbedder } from '../embed/index.ts'
import { startTimer } from '../node/index.ts'
import {
  type Breaks,
  behindSuccessors,
  bm25,
  createHybrid,
  createMeaning,
  createVectors,
  explainFusion,
  type LexicalIndex,
  lexical,
  type ScorePart,
  type Vectors,
} from '../search/index.ts'
import { createModelScores, type ModelScores } from './model-scores.ts'
import { regex } from './regex.ts'

/** By words and by meaning, from a table in the package. */
const hybrid: Rank = (tools, query, limit) => {
  engines.hybrid ??= createHybrid({ vectors: vectors(), breaks })
  return engines.hybrid(tools, query, limit)
}

/** The same with the real sentence encoder where it is installed and has read all tools; until then as `hybrid`. */
const model: Rank = (tools, query, limit) => {
  engines.model ??= createHybrid({ vectors: vectors(), model: modelScores().scores, breaks })
  return engines.model(tools, query, limit)
}

/** All but `classic`, whose points are specified (S6), rank deprecated tools behind their successors. */
export const rankers = {
  model: behindSuccessors(model),
  hybrid: behindSuccessors(hybrid),
  lexical: behindSuccessors(lexical),
  classic,
  bm25: behindSuccessors(bm25),
  regex: behindSuccessors(regex),
} as const satisfies Record<string, Rank>

export type RankerName = keyof typeof rankers

/** Until the model has read these tools; false when it is not installed or failed. */
export function warmUp(tools: readonly Tool[]): Promise<boolean> {
  const { tools: entries } = buildPool(tools, { descriptionLimit: 1, reserved: [], warn: () => {} })
  return warmUpEntries(entries)
}

export function warmUpEntries(entries: readonly PoolTool[]): Promise<boolean> {
  return modelScores().ready(entries)
}

/** Why `hybrid` ranks these tools as it does: the parts of each score. */
export function explainHybrid(
  index: LexicalIndex,
  query: string,
  of: readonly PoolTool[],
): Map<PoolTool, ScorePart[]> {
  return explainFusion(index, vectors(), query, of)
}

/** Milliseconds that a search waits for new tools to be read. */
const READING_PATIENCE = 4000

const breaks: Breaks = {
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  patience: () => startTimer(READING_PATIENCE),
}

const TABLE = new URL('../../data/meaning.bin', import.meta.url)

const engines: { hybrid?: Rank; model?: Rank; vectors?: Vectors | 'none'; scores?: ModelScores } = {}

function modelScores(): ModelScores {
  engines.scores ??= createModelScores(
    createEmbedder({ notify: (message) => console.warn(`toolshelf: ${message}`) }),
  )
  return engines.scores
}

/** A package without its table still ranks, by words. */
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
