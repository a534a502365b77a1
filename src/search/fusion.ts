// Words and meaning as one score: a linear model of a few weights, learned by `scripts/train-fusion.ts` on development
// queries, checked by leaving whole sets out, and written here by hand so that anyone can read it.
// Implements S18.
import type { LexicalHit } from './lexical.ts'

/** The scores of one candidate. */
export type Evidence = {
  readonly words: Pick<LexicalHit, 'score' | 'nameCoverage' | 'serverCoverage' | 'queryCoverage'>
  /** The cosine of the static table; 0 where it knows no word of the tool. */
  readonly meaning: number
  /** How near the tool's words are to the query's, one by one; 0 where none is known. */
  readonly nearWords: number
  /** Whether the tool does what the query wants done: 1 it does, −1 it does something else, 0 nobody knows. */
  readonly action: number
  /** The cosine of the real model, where it is at hand; 0 where it cannot read the tool. */
  readonly model: number
}

/** The best scores among all candidates of a query, for normalising. */
export type Scale = {
  /** The lexical score for having every word of the query at full strength. */
  readonly perfect: number
  readonly bestWords: number
  readonly bestMeaning: number
  readonly bestNearWords: number
  readonly bestModel: number
}

/** One number a feature; each is between 0 and about 1. */
export type FusionWeights = {
  /** The lexical score against the best candidate's. */
  readonly wordsLead: number
  readonly meaning: number
  readonly meaningLead: number
  /** Words and meaning agree. */
  readonly both: number
  readonly nameCoverage: number
  /** The meaning against the best candidate's, as far as no candidate has the query's words. */
  readonly unsureMeaning: number
  readonly serverCoverage: number
  readonly queryCoverage: number
  /** The nearness of single words against the best candidate's. */
  readonly nearWordsLead: number
  /** 1 unless the tool does something else than the query wants. */
  readonly action: number
  readonly model: number
  readonly modelLead: number
}

export const FUSION_FEATURES = [
  ...(['wordsLead', 'meaning', 'meaningLead', 'both', 'nameCoverage', 'unsureMeaning'] as const),
  ...(['serverCoverage', 'queryCoverage', 'nearWordsLead', 'action', 'model', 'modelLead'] as const),
]

export type FusionFeatures = { readonly [Feature in keyof FusionWeights]: number }

/** When the best candidate has less than this of the query, its words are chance hits and count for less. */
const FEW_WORDS = 0.15

export function fusionFeatures({ words, action, ...cosines }: Evidence, scale: Scale): FusionFeatures {
  const trust = Math.min(1, ratio(scale.bestWords, scale.perfect))
  const wordsLead = ratio(words.score, scale.bestWords) * Math.min(1, trust / FEW_WORDS)
  // Of a tool that a part cannot read, it thinks what the words say (S18).
  const meaning = cosines.meaning === 0 ? wordsLead * scale.bestMeaning : cosines.meaning
  const model = cosines.model === 0 ? wordsLead * scale.bestModel : cosines.model
  const nearWords = cosines.nearWords === 0 ? wordsLead * scale.bestNearWords : cosines.nearWords
  const meaningLead = ratio(meaning, scale.bestMeaning)
  return {
    wordsLead,
    meaning: Math.max(0, meaning),
    meaningLead,
    both: wordsLead * meaningLead,
    nameCoverage: words.nameCoverage,
    unsureMeaning: meaningLead * (1 - trust),
    serverCoverage: words.serverCoverage,
    queryCoverage: words.queryCoverage,
    nearWordsLead: ratio(nearWords, scale.bestNearWords),
    action: action < 0 ? 0 : 1,
    model: Math.max(0, model),
    modelLead: ratio(model, scale.bestModel),
  }
}

export function fuse(features: FusionFeatures, weights: FusionWeights): number {
  let score = 0
  for (const feature of FUSION_FEATURES) score += weights[feature] * features[feature]
  return score
}

function ratio(value: number, best: number): number {
  return best > 0 ? Math.max(0, value) / best : 0
}
