// Ranks a query that was translated: the ranking of its own words and that of the English ones become one, because a
// catalogue may hold tools in both languages.
import type { Hit } from '../core/calls/index.ts'
import type { PoolTool } from '../core/index.ts'

export type QueryRanking = {
  /** Best first. */
  readonly hits: readonly Hit[]
  /** How much of the query's words, by rarity, the tool has that has most of them; 0 to 1. */
  readonly coverage: number
  readonly matched: () => number
}

/** The part of a text's letters that the table of meanings must be able to read. */
const LEAST_READABLE = 0.5

/** Whether most letters are Latin; a text without letters counts as readable. */
export function readsMost(text: string): boolean {
  const beginning = text.slice(0, LONGEST)
  const foreign = beginning.match(NOT_LATIN)?.length ?? 0
  if (foreign === 0) return true
  const latin = beginning.match(LATIN)?.length ?? 0
  return latin >= LEAST_READABLE * (latin + foreign)
}

const LONGEST = 2000
const LATIN = /\p{Script=Latin}/gu
const NOT_LATIN = /(?!\p{Script=Latin})\p{L}/gu

/**
 * Adds up both rankings. The query's own words count by how much of them the best tool covers, and at most by `known`, the
 * part of them that tools have as they are: what was completed or corrected is mostly alike by chance.
 */
export function mergeRankings(own: QueryRanking, english: QueryRanking, known: number): QueryRanking {
  const scores = new Map<PoolTool, number>()
  const add = ({ hits }: QueryRanking, share: number) => {
    const best = hits.reduce((most, { score }) => Math.max(most, score), 0)
    if (best <= 0) return
    for (const { tool, score } of hits) scores.set(tool, (scores.get(tool) ?? 0) + (share * score) / best)
  }
  const ownShare = Math.min(own.coverage, known) ** OWN_POWER
  add(own, ownShare)
  add(english, 1 - ownShare)
  const hits = [...scores].map(([tool, score]) => ({ tool, score })).sort((a, b) => b.score - a.score)
  return {
    hits,
    coverage: Math.max(own.coverage, english.coverage),
    matched: () => Math.max(own.matched(), english.matched()),
  }
}

/** A query's own words decide only where a tool has most of them: a few are borrowed from English or alike by chance. */
const OWN_POWER = 2
