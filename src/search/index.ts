// Exports of search for other folders.
export { type Action, actionOfTool, actionOfVerb } from './actions.ts'
export { type Bridge, createBridge } from './bridge.ts'
export { behindSuccessors } from './deprecated.ts'
export {
  catalogueEntries,
  type Evaluation,
  type EvaluationQuery,
  evaluate,
  interval,
  METRICS,
  type Metric,
  meanOf,
  measureRanking,
  type Quality,
} from './evaluate.ts'
export type { LexicalExplanation, WordMatch } from './explain.ts'
export { searchFields } from './fields.ts'
export { FILLER_WORDS, STOP_WORDS } from './filler.ts'
export { createHybrid, explainFusion, type HybridParts, type ScorePart } from './hybrid.ts'
export { SearchInputError } from './input-error.ts'
export { type Intent, readIntent } from './intent.ts'
export { createDense, type Dense } from './kernel.ts'
export {
  createLearnedSearch,
  type LearnedCredit,
  type LearnedSearch,
  type LearnedSearchOptions,
  type LearnedUse,
} from './learned.ts'
export { createLexicalIndex, type LexicalIndex } from './lexical.ts'
export { createMeaning, type Meaning, readMeaning } from './meaning.ts'
export { bm25, createLexicalRank, lexical } from './rankers.ts'
export type { Breaks } from './reading.ts'
export { createRelatedSearch, type RelatedEntry } from './related.ts'
export { LEXICAL, PLAIN_BM25 } from './settings.ts'
export { createTranslate, type Translate, type TranslatedWord, type Translation } from './translate.ts'
export { createVectors, type Vectors } from './vectors.ts'
export { splitWords } from './words.ts'
