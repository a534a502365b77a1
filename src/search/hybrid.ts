// Implements the default ranker: gathers candidates by words and by meaning, and scores them together (fusion.ts).
// Implements S7.
import type { Hit, Rank } from '../core/calls/index.ts'
import type { PoolTool } from '../core/index.ts'
import {
  type Evidence,
  FUSION_FEATURES,
  type FusionWeights,
  fuse,
  fusionFeatures,
  type Scale,
} from './fusion.ts'
import {
  actionFit,
  actionOfTool,
  type Intent,
  isDestructive,
  nameMention,
  readIntent,
} from './intent/index.ts'
import type { Translate } from './languages/index.ts'
import { isMostlyLatin, mergeRankings, type QueryRanking } from './languages/index.ts'
import type { LexicalIndex } from './lexical/index.ts'
import type { Vectors } from './meaning/index.ts'
import { type Breaks, createReading } from './reading.ts'
import { WITH_MODEL, WITHOUT_MODEL } from './weights.ts'
import { ownName, splitWords, stem, withoutHidden } from './words/index.ts'

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

const MAX_TWINS = 3

/** Candidates to take from each side. */
const CANDIDATES = 30

/** The lowest cosine that counts as a match for a tool without any word of the query. Unrelated texts are above 0. */
const LEAST_MEANING = 0.3

/**
 * A lower bound for tools that also have near words: "remember a fact" among nine tools of a server called memory.
 * Queries that no tool in such a list serves ("play some jazz") stay below 0.05.
 */
const LEAST_WITH_NEAR_WORDS = 0.1
const LEAST_NEAR_WORDS = 0.2

/** Creates the hybrid ranker. */
export function createHybrid({ vectors, model, breaks, translate }: HybridParts): Rank {
  const reading = createReading(vectors, breaks)
  const rankEnglish = async (index: LexicalIndex, query: string, most: number): Promise<QueryRanking> => {
    const { tools } = index
    const intent = readIntent(query)
    const modelScores = await model?.(tools, intent.text)
    const candidates = gatherCandidates(index, intent, vectors, modelScores, most)
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
    const most = Math.max(CANDIDATES, limit)
    const translation = translate?.(query, index.knows)
    const own =
      translation || !isMostlyLatin(query)
        ? rankByWords(index, translation?.own ?? query, most)
        : await rankEnglish(index, query, most)
    const found = translation
      ? mergeRankings(own, await rankEnglish(index, translation.text, most), translation.known)
      : own
    const hits = varied(found.hits, limit)
    return { hits: hits.slice(0, limit), matched: Math.max(found.hits.length, found.matched()), unread }
  }
}

/** Ranks by words alone, for text that the table of meanings cannot read. */
function rankByWords(index: LexicalIndex, query: string, most: number): QueryRanking {
  const { hits, matched } = index.search(query, most)
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

/** What one feature of the fusion added to a tool's score. */
export type ScorePart = {
  readonly name: keyof FusionWeights
  readonly value: number
  readonly amount: number
}

/** Explains the scores of tools without the encoder: each part that is not 0, largest first. */
export function explainFusion(
  index: LexicalIndex,
  vectors: Vectors | undefined,
  query: string,
  toolsToExplain: readonly PoolTool[],
): Map<PoolTool, ScorePart[]> {
  const { tools } = index
  const intent = readIntent(query)
  const { documents, evidence, scale } = gatherCandidates(index, intent, vectors, undefined, CANDIDATES)
  const wanted = new Set(toolsToExplain)
  const parts = new Map<PoolTool, ScorePart[]>()
  for (const [position, document] of documents.entries()) {
    const [tool, one] = [tools[document], evidence[position]]
    if (!tool || !one || !wanted.has(tool)) continue
    const features = fusionFeatures(one, scale)
    const all = FUSION_FEATURES.map((name) => ({
      name,
      value: features[name],
      amount: features[name] * WITHOUT_MODEL[name],
    }))
    parts.set(
      tool,
      all.filter(({ amount }) => amount > 0).sort((a, b) => b.amount - a.amount),
    )
  }
  return parts
}

/** The candidates of a query with their evidence. */
export type Candidates = {
  readonly documents: readonly number[]
  readonly evidence: readonly Evidence[]
  readonly scale: Scale
  /** Counts the tools that have a word of the query. */
  readonly matched: () => number
}

/** Finds the best tools by words, by meaning and by the encoder, with all evidence for each. */
export function gatherCandidates(
  index: LexicalIndex,
  intent: Intent,
  vectors: Vectors | undefined,
  model: Float32Array | undefined,
  most: number,
): Candidates {
  const meaning = vectors?.scores(index.tools, intent.text)
  const found = index.search(intent.words, most)
  const places = new Set(found.hits.map(({ document }) => document))
  for (const scores of [meaning, model])
    if (scores) for (const place of bestPlaces(scores, most)) places.add(place)
  const documents = [...places].sort((a, b) => a - b)
  const known = new Map(found.hits.map((hit) => [hit.document, hit]))
  const others = documents.filter((document) => !known.has(document))
  const measured = index.measure(intent.words, others)
  for (const hit of measured.hits) known.set(hit.document, hit)
  const tools = documents.map((document) => index.tools[document]!)
  const nearWords = vectors?.nearWords(tools, index.weigh(intent.words))
  const scale = { perfect: measured.perfect, bestWords: 0, bestMeaning: 0, bestNearWords: 0, bestModel: 0 }
  const evidence = documents.map((document, position): Evidence => {
    const one = {
      words: known.get(document) ?? NO_WORDS,
      meaning: meaning?.[document] ?? 0,
      nearWords: nearWords?.[position] ?? 0,
      action: actionFit(intent, actionOfTool(tools[position]!)),
      model: model?.[document] ?? 0,
    }
    scale.bestWords = Math.max(scale.bestWords, one.words.score)
    scale.bestMeaning = Math.max(scale.bestMeaning, one.meaning)
    scale.bestNearWords = Math.max(scale.bestNearWords, one.nearWords)
    scale.bestModel = Math.max(scale.bestModel, one.model)
    return one
  })
  return { documents, evidence, scale, matched: () => found.matched() }
}

const NO_WORDS = { score: 0, nameCoverage: 0, serverCoverage: 0, queryCoverage: 0 }

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

/**
 * Ranks the tools of a server first if a short query contains its whole name. In longer queries the name is often just a
 * word.
 */
function namedFirst(
  hits: readonly Hit[],
  { documents, evidence }: Candidates,
  tools: readonly PoolTool[],
): Hit[] {
  const named = new Set<PoolTool | undefined>()
  for (const [position, document] of documents.entries()) {
    if ((evidence[position]?.words.serverCoverage ?? 0) >= 1) named.add(tools[document])
  }
  return [...hits.filter(({ tool }) => named.has(tool)), ...hits.filter(({ tool }) => !named.has(tool))]
}

/** Tools below this share of the first one's score are not moved up, whatever they do. */
const FITTING = 0.6

/** If the user only wants to read, or forbids an action, ranks a suitable reading tool above one that acts. */
function harmlessFirst(hits: readonly Hit[], { wanted, forbidden }: Intent): readonly Hit[] {
  const onlyReads = wanted.size === 1 && wanted.has('read')
  const isUnwanted = ({ tool }: Hit) => {
    const action = actionOfTool(tool)
    if (action !== undefined && forbidden.has(action)) return true
    return onlyReads && (action === 'delete' || isDestructive(tool))
  }
  const first = hits[0]
  if (!first || !(onlyReads || forbidden.size > 0) || !isUnwanted(first)) return hits
  const fitting = hits.findIndex(
    (hit) => hit.score >= FITTING * first.score && !isUnwanted(hit) && actionOfTool(hit.tool) === 'read',
  )
  if (fitting < 0) return hits
  return [{ ...hits[fitting]!, score: first.score }, ...hits.slice(0, fitting), ...hits.slice(fitting + 1)]
}

/** For questions about what exists, ranks the tool that lists those things first. */
function listingFirst(hits: readonly Hit[], { listed }: Intent): readonly Hit[] {
  const first = hits[0]
  if (!first || listed === undefined) return hits
  const things = splitWords(listed).map(stem)
  if (nameMention(first.tool, things) !== 'names') return hits
  const at = hits.findIndex(
    ({ tool, score }) => score >= FITTING * first.score && nameMention(tool, things) === 'lists all',
  )
  if (at < 0) return hits
  return [{ ...hits[at]!, score: first.score }, ...hits.slice(0, at), ...hits.slice(at + 1)]
}

function isShort(query: string): boolean {
  return query.trim().split(/\s+/).length <= 3
}

/**
 * Limits duplicates of a tool on several servers: the first keeps its place and up to two others follow it. Only the
 * first `most` results are sorted and complete.
 */
function varied(hits: readonly Hit[], most: number): Hit[] {
  const seen = new Map<string, number>()
  const isCrowding = ({ tool }: Hit) => {
    const key = `${ownName(tool)}\n${tool.tool.description ?? ''}`
    seen.set(key, (seen.get(key) ?? 0) + 1)
    return (seen.get(key) ?? 0) > MAX_TWINS
  }
  const [kept, crowding]: [Hit[], Hit[]] = [[], []]
  for (const hit of hits) {
    if (kept.length >= most) break
    ;(isCrowding(hit) ? crowding : kept).push(hit)
  }
  return [...kept, ...crowding]
}

function isMatch({ words, meaning, nearWords, model }: Evidence): boolean {
  if (words.score > 0 || Math.max(meaning, model) >= LEAST_MEANING) return true
  return meaning >= LEAST_WITH_NEAR_WORDS && nearWords >= LEAST_NEAR_WORDS
}

/** Returns the indexes of the highest positive scores, best first; among equals the lower index. */
function bestPlaces(scores: Float32Array, most: number): Uint32Array {
  const places = new Uint32Array(most)
  const best = new Float32Array(most)
  let [count, least] = [0, 0]
  for (let place = 0; place < scores.length; place++) {
    const score = scores[place]!
    if (score <= least) continue
    let at = count < most ? count++ : most - 1
    for (; at > 0 && best[at - 1]! < score; at--) {
      best[at] = best[at - 1]!
      places[at] = places[at - 1]!
    }
    best[at] = score
    places[at] = place
    if (count === most) least = best[most - 1]!
  }
  return places.subarray(0, count)
}
