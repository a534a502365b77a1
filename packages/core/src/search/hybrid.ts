// Implements the default ranker: gathers candidates (candidates.ts), scores them (fusion.ts) and reorders them
// (reorder.ts).
// Implements S7.
import type { Hit, Rank } from '../query.ts'
import type { PoolTool } from '../types.ts'
import { CANDIDATES, type Candidates, gatherCandidates } from './candidates.ts'
import { type Evidence, type FusionWeights, fuse, fusionFeatures } from './fusion.ts'
import { readIntent } from './intent.ts'
import type { Translate } from './language.ts'
import { isMostlyLatin, mergeRankings, type QueryRanking } from './language.ts'
import type { LexicalIndex } from './lexical.ts'
import type { Vectors } from './meaning.ts'
import { type Breaks, createReading } from './reading.ts'
import { harmlessFirst, limitDuplicates, listingFirst, namedFirst } from './reorder.ts'
import { WITH_MODEL, WITHOUT_MODEL } from './weights.ts'
import { withoutHidden } from './words.ts'

/** What the hybrid ranker is built from. */
export type HybridParts = {
  /** The static table of word vectors; without it the ranking is by words alone. */
  readonly vectors: Vectors | undefined
  /** Returns the sentence encoder's cosines; undefined until it has embedded all tools. */
  readonly model?: (tools: readonly PoolTool[], query: string) => Promise<Float32Array | undefined>
  /** Translates queries in other languages, which are then ranked by both texts. */
  readonly translate?: Translate
  /** Lets other work run while tools are indexed; without it they are indexed in one go. */
  readonly breaks?: Breaks
}

/** The lowest cosine that counts as a match for a tool without any word of the query. Unrelated texts are above 0. */
const MIN_MEANING = 0.3

/**
 * A lower bound for tools that also have near words: "remember a fact" among nine tools of a server called memory.
 * Queries that no tool in such a list serves ("play some jazz") stay below 0.05.
 */
const MIN_MEANING_WITH_NEAR_WORDS = 0.1
const MIN_NEAR_WORDS = 0.2

/** Creates the hybrid ranker. */
export function createHybrid({ vectors, model, breaks, translate }: HybridParts): Rank {
  const reading = createReading(vectors, breaks)
  const rankEnglish = async (
    index: LexicalIndex,
    query: string,
    maxCandidates: number,
  ): Promise<QueryRanking> => {
    const { tools } = index
    const intent = readIntent(query)
    const modelScores = await model?.(tools, intent.text)
    const candidates = gatherCandidates(index, intent, vectors, modelScores, maxCandidates)
    const ranked = rankCandidates(candidates, tools, modelScores ? WITH_MODEL : WITHOUT_MODEL)
    const named = isShort(query) ? namedFirst(ranked, candidates, tools) : ranked
    const hits = harmlessFirst(listingFirst(named, intent), intent)
    return { hits, coverage: bestCoverage(candidates), matched: candidates.matched }
  }
  return async (allTools, typed, limit) => {
    const query = withoutHidden(typed)
    const { index, unread } = await reading(allTools)
    if (!index) return { hits: [], matched: 0, unread }
    // Many searches may have waited for the same tools; they continue one after the other.
    await breaks?.pause()
    const maxCandidates = Math.max(CANDIDATES, limit)
    const translation = await translate?.(query, index.knows)
    const own =
      translation || !isMostlyLatin(query)
        ? rankByWords(index, translation?.own ?? query, maxCandidates)
        : await rankEnglish(index, query, maxCandidates)
    const found = translation
      ? mergeRankings(own, await rankEnglish(index, translation.text, maxCandidates), translation.known)
      : own
    const hits = limitDuplicates(found.hits, limit)
    return { hits: hits.slice(0, limit), matched: Math.max(found.hits.length, found.matched()), unread }
  }
}

/** Ranks by words alone, for text that the table of meanings cannot read. */
function rankByWords(index: LexicalIndex, query: string, maxCandidates: number): QueryRanking {
  const { hits, matched } = index.search(query, maxCandidates)
  return {
    hits: hits.flatMap(({ document, score }) => {
      const tool = index.tools[document]
      return tool ? [{ tool, score }] : []
    }),
    coverage: hits.reduce((best, { queryCoverage }) => Math.max(best, queryCoverage), 0),
    matched,
  }
}

function bestCoverage({ evidence }: Candidates): number {
  return evidence.reduce((best, { words }) => Math.max(best, words.queryCoverage), 0)
}

/** Sorts by score; among equals by their order in the list of tools. */
function rankCandidates(
  { documents, evidence, scale }: Candidates,
  tools: readonly PoolTool[],
  weights: FusionWeights,
): Hit[] {
  const hits: Hit[] = []
  for (const [position, document] of documents.entries()) {
    const [tool, one] = [tools[document], evidence[position]]
    if (tool && one && isMatch(one)) hits.push({ tool, score: fuse(fusionFeatures(one, scale), weights) })
  }
  return hits.sort((a, b) => b.score - a.score)
}

function isShort(query: string): boolean {
  return query.trim().split(/\s+/).length <= 3
}

function isMatch({ words, meaning, nearWords, model }: Evidence): boolean {
  if (words.score > 0 || Math.max(meaning, model) >= MIN_MEANING) return true
  return meaning >= MIN_MEANING_WITH_NEAR_WORDS && nearWords >= MIN_NEAR_WORDS
}
