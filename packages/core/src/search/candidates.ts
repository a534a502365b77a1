// Gathers the candidates of a query, by words, by meaning and by the encoder, with the evidence for each.

import { actionOfTool } from './actions.ts'
import type { Evidence, Scale } from './fusion.ts'
import { actionFit, type Intent } from './intent.ts'
import type { LexicalIndex } from './lexical.ts'
import type { Vectors } from './meaning.ts'

/** Candidates to take from each side. */
export const CANDIDATES = 30

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
  maxCandidates: number,
): Candidates {
  const meaning = vectors?.scores(index.tools, intent.text)
  const found = index.search(intent.words, maxCandidates)
  const places = new Set(found.hits.map(({ document }) => document))
  for (const scores of [meaning, model])
    if (scores) for (const place of bestPlaces(scores, maxCandidates)) places.add(place)
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

/** Returns the indexes of the highest positive scores, best first; among equals the lower index. */
function bestPlaces(scores: Float32Array, maxCandidates: number): Uint32Array {
  const places = new Uint32Array(maxCandidates)
  const best = new Float32Array(maxCandidates)
  let [count, min] = [0, 0]
  for (let place = 0; place < scores.length; place++) {
    const score = scores[place]!
    if (score <= min) continue
    let at = count < maxCandidates ? count++ : maxCandidates - 1
    for (; at > 0 && best[at - 1]! < score; at--) {
      best[at] = best[at - 1]!
      places[at] = places[at - 1]!
    }
    best[at] = score
    places[at] = place
    if (count === maxCandidates) min = best[maxCandidates - 1]!
  }
  return places.subarray(0, count)
}
