// Exports of search/words for other folders.
export { FIELDS, type Field, ownName, type PerField, searchFields } from './fields.ts'
export { FILLER_WORDS, STOP_WORDS } from './filler.ts'
export { type QueryWeights, type QueryWord, readQuery } from './query-words.ts'
export { type Repair, repair } from './repair.ts'
export { stem } from './stem.ts'
export { synonymsOf } from './synonyms.ts'
export { createVocabulary, NO_TERM, type Vocabulary } from './vocabulary.ts'
export { type Emit, eachWord, splitWords, unaccent, withoutHidden } from './words.ts'
