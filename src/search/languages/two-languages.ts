// Ranks a translated query: merges the rankings of its own words and of the English ones, because tools may be in both
// languages.
// Implements S18.
import type { Hit } from '../../core/calls/index.ts'
import type { PoolTool } from '../../core/index.ts'

/** The ranking of one text. */
export type QueryRanking = {
  /** Best first. */
  readonly hits: readonly Hit[]
  /** The largest share of the query's words, by rarity, that any one tool has; 0 to 1. */
  readonly coverage: number
  readonly matched: () => number
}

/** The share of a text's letters that must be Latin for the table of meanings to read it. */
const MIN_READABLE_SHARE = 0.5

/** Returns whether most letters are Latin; a text without letters counts as readable. */
export function isMostlyLatin(text: string): boolean {
  const beginning = text.slice(0, MAX_TEXT_LENGTH)
  const foreign = beginning.match(NOT_LATIN)?.length ?? 0
  if (foreign === 0) return true
  const latin = beginning.match(LATIN)?.length ?? 0
  return latin >= MIN_READABLE_SHARE * (latin + foreign)
}

const MAX_TEXT_LENGTH = 2000
const LATIN = /\p{Script=Latin}/gu
const NOT_LATIN = /(?!\p{Script=Latin})\p{L}/gu

/**
 * Adds up both rankings. The weight of the query's own words is the share of them that the best tool covers, and at most
 * `known`, the share that tools have exactly: completed or corrected words are mostly similar by chance.
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

/**
 * Makes the query's own words count only if a tool has most of them: a few are borrowed from English, or similar by
 * chance.
 */
const OWN_POWER = 2
