// Finds the tools or skills relevant to a user message: those that the search engine scores high enough to mention.
import { cleanQuery } from '../../core/calls/index.ts'
import type { PoolTool, Rank } from '../../core/index.ts'
import { rankers } from '../../rankers/index.ts'
import { FILLER_WORDS, STOP_WORDS, splitWords } from '../../search/index.ts'

/** On the scale of `hybrid`: nine in ten correct answers to real tasks score higher, small talk about tools mostly lower. */
const MIN_SCORE = 5
/** Share of the best score. */
const MIN_SHARE = 0.6
/** With fewer words, any match scores high: "go on", "continue", "the other one". */
const MIN_WORDS = 2

/** Returns the relevant entries, best first; none if the message is too short or nothing matches well. */
export async function relevantTools(
  entries: readonly PoolTool[],
  message: string,
  limit: number,
  rank: Rank = rankers.hybrid,
): Promise<readonly PoolTool[]> {
  const query = cleanQuery(message)
  if (entries.length === 0 || limit < 1 || tellingWords(query) < MIN_WORDS) return []
  const { hits } = await rank(entries, query, limit)
  const minScore = Math.max(MIN_SCORE, (hits[0]?.score ?? 0) * MIN_SHARE)
  return hits.filter(({ score }) => score >= minScore).map(({ tool }) => tool)
}

function tellingWords(text: string): number {
  const words = splitWords(text).filter((word) => /\p{L}/u.test(word))
  return new Set(words.filter((word) => !STOP_WORDS.has(word) && !FILLER_WORDS.has(word))).size
}
