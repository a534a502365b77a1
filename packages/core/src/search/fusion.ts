// Combines scores by words and by meaning into one: a linear model with a few weights, learned by
// `scripts/train-fusion.ts` on development queries, validated by leaving out whole sets, and copied here so that they
// can be read.
// Implements S18.
import type { LexicalHit } from './lexical.ts'

/** The scores of one candidate. */
export type Evidence = {
  readonly words: Pick<LexicalHit, 'score' | 'nameCoverage' | 'serverCoverage' | 'queryCoverage'>
  /** The cosine by the static table; 0 if it knows no word of the tool. */
  readonly meaning: number
  /** How near the tool's words are to the query's, word by word; 0 if none is known. */
  readonly nearWords: number
  /** Whether the tool does what the query asks for: 1 if it does, −1 if it does something else, 0 if unknown. */
  readonly action: number
  /** The cosine by the sentence encoder, if available; 0 if it cannot read the tool. */
  readonly model: number
}

/** The best scores among all candidates of a query, for normalising. */
export type Scale = {
  /** The lexical score of a tool with every word of the query at full strength. */
  readonly perfect: number
  readonly bestWords: number
  readonly bestMeaning: number
  readonly bestNearWords: number
  readonly bestModel: number
}

/** One weight per feature. Features are between 0 and about 1. */
export type FusionWeights = {
  /** The lexical score relative to the best candidate's. */
  readonly wordsLead: number
  readonly meaning: number
  readonly meaningLead: number
  /** Words and meaning agree. */
  readonly both: number
  readonly nameCoverage: number
  /** The meaning relative to the best candidate's; counts the more, the fewer words of the query any candidate has. */
  readonly unsureMeaning: number
  readonly serverCoverage: number
  readonly queryCoverage: number
  /** The nearness of single words relative to the best candidate's. */
  readonly nearWordsLead: number
  /** 1 unless the tool does something else than the query asks for. */
  readonly action: number
  readonly model: number
  readonly modelLead: number
}

/** The names of all features. */
export const FUSION_FEATURES = [
  ...(['wordsLead', 'meaning', 'meaningLead', 'both', 'nameCoverage', 'unsureMeaning'] as const),
  ...(['serverCoverage', 'queryCoverage', 'nearWordsLead', 'action', 'model', 'modelLead'] as const),
]

/** The value of each feature for one candidate. */
type FusionFeatures = { readonly [Feature in keyof FusionWeights]: number }

/** If the best candidate matches less than this share of the query, its words match by chance and count for less. */
const FEW_WORDS = 0.15

/** Computes the features of a candidate. */
export function fusionFeatures({ words, action, ...cosines }: Evidence, scale: Scale): FusionFeatures {
  const trust = Math.min(1, ratio(scale.bestWords, scale.perfect))
  const wordsLead = ratio(words.score, scale.bestWords) * Math.min(1, trust / FEW_WORDS)
  const meaning = scoreOrWords(cosines.meaning, wordsLead, scale.bestMeaning)
  const model = scoreOrWords(cosines.model, wordsLead, scale.bestModel)
  const nearWords = scoreOrWords(cosines.nearWords, wordsLead, scale.bestNearWords)
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

/** Returns a part's score; for a tool that it could not embed (0), the lexical score in its place (S18). */
function scoreOrWords(score: number, wordsLead: number, best: number): number {
  return score === 0 ? wordsLead * best : score
}

/** Returns the weighted sum of the features. */
export function fuse(features: FusionFeatures, weights: FusionWeights): number {
  let score = 0
  for (const feature of FUSION_FEATURES) score += weights[feature] * features[feature]
  return score
}

function ratio(value: number, best: number): number {
  return best > 0 ? Math.max(0, value) / best : 0
}
