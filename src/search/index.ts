// Exports of search for other folders.

export {
  type Evaluation,
  type EvaluationQuery,
  evaluate,
  interval,
  METRICS,
  type Metric,
  meanOf,
  measureRanking,
  poolTools,
  type Quality,
} from './evaluate.ts'
export { explainFusion, type ScorePart } from './explain-fusion.ts'
export { createHybrid, type HybridParts } from './hybrid.ts'
export { SearchInputError } from './input-error.ts'
export {
  type Action,
  actionOfTool,
  actionOfVerb,
  demoteDeprecated,
  type Intent,
  readIntent,
} from './intent/index.ts'
export {
  type Bridge,
  createBridge,
  createTranslate,
  isMostlyLatin,
  type Translate,
  type TranslatedWord,
  type Translation,
} from './languages/index.ts'
export type { WordMatch } from './lexical/index.ts'
export { createLexicalIndex, LEXICAL, type LexicalIndex, PLAIN_BM25 } from './lexical/index.ts'
export { bm25, createLexicalRank, lexical } from './lexical-rankers.ts'
export {
  createDense,
  createMeaning,
  createVectors,
  type Dense,
  type Meaning,
  readMeaning,
  type Vectors,
} from './meaning/index.ts'
export type { Breaks } from './reading.ts'
export { createRelatedSearch, type RelatedEntry } from './related.ts'
export { FILLER_WORDS, STOP_WORDS, searchFields, splitWords } from './words/index.ts'
