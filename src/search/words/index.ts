// Exports of search/words for other folders.
export {
  createVocabulary,
  FIELDS,
  type Field,
  NO_TERM,
  ownName,
  type PerField,
  type QueryWeights,
  type QueryWord,
  type Repair,
  readQuery,
  repair,
  searchFields,
  type Vocabulary,
} from './query-words.ts'
export {
  type Emit,
  eachWord,
  FILLER_WORDS,
  STOP_WORDS,
  splitWords,
  stem,
  synonymsOf,
  unaccent,
  withoutHidden,
} from './words.ts'
