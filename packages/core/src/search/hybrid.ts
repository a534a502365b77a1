// Implements the default ranker: gathers candidates by words, by meaning and by the encoder, computes a few features of
// each, and ranks them by the weighted sum; then reorders them (reorder.ts).
// Implements S7, S18.
import { type Hit, type Rank, searchText } from '../query.ts'
import type { PoolTool } from '../types.ts'
import { actionOfTool, type Intent, isUnwanted, readIntent } from './intent.ts'
import { isMostlyLatin, mergeRankings, type QueryRanking, type Translate } from './language.ts'
import { buildLexicalIndex, type LexicalIndex } from './lexical.ts'
import { bestOf, type LexicalHit, searchIndex } from './lexical-search.ts'
import { type Breaks, createReading, createToolSlices } from './reading.ts'
import { harmlessFirst, limitDuplicates, listingFirst, namedFirst } from './reorder.ts'
import { LEXICAL } from './settings.ts'
import type { Vectors } from './vectors.ts'
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

/** Creates the hybrid ranker. */
export function createHybrid({ vectors, model, breaks, translate }: HybridParts): Rank {
  const reading = createReading(function* (tools, latest) {
    const isSliceOver = createToolSlices()
    for (const tool of tools) {
      searchText(tool)
      if (isSliceOver(tool)) yield
    }
    const index = yield* buildLexicalIndex(tools, LEXICAL, latest)
    if (vectors) yield* vectors.prepare(tools)
    return index
  })
  const rankEnglish = async (
    index: LexicalIndex,
    query: string,
    maxCandidates: number,
  ): Promise<QueryRanking> => {
    const intent = readIntent(query)
    const modelScores = await model?.(index.tools, intent.text)
    const found = gatherCandidates(index, intent, vectors, modelScores, maxCandidates)
    const weights = modelScores ? WITH_MODEL : WITHOUT_MODEL
    const ranked: Hit[] = []
    for (const { tool, features, isMatch } of found.candidates)
      if (isMatch) ranked.push({ tool, score: fuse(features, weights) })
    ranked.sort((a, b) => b.score - a.score)
    const named = isShort(query) ? namedFirst(ranked, found.candidates) : ranked
    return { ...found, hits: harmlessFirst(listingFirst(named, intent), intent) }
  }
  return async (allTools, typed, limit) => {
    const query = withoutHidden(typed)
    const read = breaks ? await reading.within(allTools, breaks) : { index: reading.now(allTools), unread: 0 }
    const { index, unread } = read
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
  const { hits, matched } = searchIndex(index, query, maxCandidates)
  return {
    hits: hits.map(({ document, score }): Hit => ({ tool: index.tools[document]!, score })),
    coverage: hits.reduce((best, { queryCoverage }) => Math.max(best, queryCoverage), 0),
    matched,
  }
}

function isShort(query: string): boolean {
  return query.trim().split(/\s+/).length <= 3
}

/**
 * Weights of a linear model for words and the static table: learned by `npm run train` (scripts/train-fusion.ts) on
 * development queries, validated by leaving out whole sets, and copied here so that they can be read. One weight per
 * feature; features are between 0 and about 1.
 */
export const WITHOUT_MODEL = {
  /** The lexical score relative to the best candidate's. */
  wordsLead: 1.78,
  meaning: 2.58,
  meaningLead: 0.32,
  /** Words and meaning agree. */
  both: 1.16,
  nameCoverage: 0.62,
  /** The meaning relative to the best candidate's; counts the more, the fewer words of the query any candidate has. */
  unsureMeaning: 1.28,
  serverCoverage: 1.24,
  queryCoverage: 2.34,
  /** The nearness of single words relative to the best candidate's. */
  nearWordsLead: 2.06,
  /** 1 unless the tool does something else than the query asks for. */
  action: 0.9,
  model: 0,
  modelLead: 0,
}

/** A number per feature. */
export type FusionWeights = Readonly<typeof WITHOUT_MODEL>

/** Weights that include the sentence encoder. */
const WITH_MODEL: FusionWeights = {
  wordsLead: 1.5,
  meaning: 1.3,
  meaningLead: 0.67,
  both: 1.68,
  nameCoverage: 0.44,
  unsureMeaning: 0.01,
  serverCoverage: 0.99,
  queryCoverage: 2.63,
  nearWordsLead: 1.98,
  action: 0.75,
  model: 1.65,
  modelLead: 2.62,
}

/** The names of all features. */
export const FUSION_FEATURES = Object.keys(WITHOUT_MODEL) as readonly (keyof FusionWeights)[]

/** Returns the weighted sum of the features. */
export function fuse(features: FusionWeights, weights: FusionWeights): number {
  let score = 0
  for (const feature of FUSION_FEATURES) score += weights[feature] * features[feature]
  return score
}

/** A tool that may fit the query; `document` is its place in the list. */
export type Candidate = {
  readonly tool: PoolTool
  readonly document: number
  readonly features: FusionWeights
  /** Whether it has a word of the query or is near enough by meaning. */
  readonly isMatch: boolean
}

/** The candidates of a query, in the order of the list. */
type Candidates = {
  readonly candidates: readonly Candidate[]
  /** The largest share of the query's words, by rarity, that any one tool has; 0 to 1. */
  readonly coverage: number
  /** Counts the tools that have a word of the query. */
  readonly matched: () => number
}

/** Candidates to take from each side. */
export const CANDIDATES = 30

/** Finds the best tools by words, by meaning and by the encoder, with the features of each. */
export function gatherCandidates(
  index: LexicalIndex,
  intent: Intent,
  vectors: Vectors | undefined,
  model: Float32Array | undefined,
  maxCandidates: number,
): Candidates {
  const meaning = vectors?.scores(index.tools, intent.text)
  const others = new Set<number>()
  for (const scores of [meaning, model])
    if (scores) for (const document of bestOf(scores, maxCandidates)) others.add(document)
  const found = searchIndex(index, intent.words, maxCandidates, others)
  const hits = [...found.hits].sort((a, b) => a.document - b.document)
  const tools = hits.map(({ document }) => index.tools[document]!)
  const nearWords = vectors?.nearWords(tools, found.words)
  const best = { words: 0, meaning: 0, nearWords: 0, model: 0, coverage: 0 }
  const evidence = hits.map((words, place): Evidence => {
    const one = {
      words,
      tool: tools[place]!,
      meaning: meaning?.[words.document] ?? 0,
      nearWords: nearWords?.[place] ?? 0,
      model: model?.[words.document] ?? 0,
    }
    best.words = Math.max(best.words, words.score)
    best.meaning = Math.max(best.meaning, one.meaning)
    best.nearWords = Math.max(best.nearWords, one.nearWords)
    best.model = Math.max(best.model, one.model)
    best.coverage = Math.max(best.coverage, words.queryCoverage)
    return one
  })
  const trust = Math.min(1, ratio(best.words, found.perfect))
  const candidates = evidence.map((one) => ({
    tool: one.tool,
    document: one.words.document,
    features: featuresOf(one, best, trust, intent),
    isMatch: isMatch(one),
  }))
  return { candidates, coverage: best.coverage, matched: found.matched }
}

/** The scores of one candidate. */
type Evidence = {
  readonly tool: PoolTool
  readonly words: LexicalHit
  /** The cosine by the static table; 0 if it knows no word of the tool. */
  readonly meaning: number
  /** How near the tool's words are to the query's, word by word; 0 if none is known. */
  readonly nearWords: number
  /** The cosine by the sentence encoder, if available; 0 if it cannot read the tool. */
  readonly model: number
}

/** The best scores among all candidates of a query, for normalising. */
type Best = { readonly [score in 'words' | 'meaning' | 'nearWords' | 'model']: number }

/** If the best candidate matches less than this share of the query, its words match by chance and count for less. */
const FEW_WORDS = 0.15

/** `trust` says how much of the query the best candidate matches by words. */
function featuresOf(one: Evidence, best: Best, trust: number, intent: Intent): FusionWeights {
  const { words } = one
  const wordsLead = ratio(words.score, best.words) * Math.min(1, trust / FEW_WORDS)
  // A tool that could not be embedded has the lexical score in place of its cosine (S18).
  const meaning = one.meaning === 0 ? wordsLead * best.meaning : one.meaning
  const nearWords = one.nearWords === 0 ? wordsLead * best.nearWords : one.nearWords
  const model = one.model === 0 ? wordsLead * best.model : one.model
  const meaningLead = ratio(meaning, best.meaning)
  return {
    wordsLead,
    meaning: Math.max(0, meaning),
    meaningLead,
    both: wordsLead * meaningLead,
    nameCoverage: words.nameCoverage,
    unsureMeaning: meaningLead * (1 - trust),
    serverCoverage: words.serverCoverage,
    queryCoverage: words.queryCoverage,
    nearWordsLead: ratio(nearWords, best.nearWords),
    action: isUnwanted(intent, actionOfTool(one.tool)) ? 0 : 1,
    model: Math.max(0, model),
    modelLead: ratio(model, best.model),
  }
}

function ratio(value: number, best: number): number {
  return best > 0 ? Math.max(0, value) / best : 0
}

/** The lowest cosine that counts as a match for a tool without any word of the query. Unrelated texts are above 0. */
const MIN_MEANING = 0.3

/**
 * A lower bound for tools that also have near words: "remember a fact" among nine tools of a server called memory.
 * Queries that no tool in such a list serves ("play some jazz") stay below 0.05.
 */
const MIN_MEANING_WITH_NEAR_WORDS = 0.1
const MIN_NEAR_WORDS = 0.2

function isMatch({ words, meaning, nearWords, model }: Evidence): boolean {
  if (words.score > 0 || Math.max(meaning, model) >= MIN_MEANING) return true
  return meaning >= MIN_MEANING_WITH_NEAR_WORDS && nearWords >= MIN_NEAR_WORDS
}
