// Exports of search/languages for other folders.
export {
  BRIDGE_HEADER,
  BRIDGE_MAGIC,
  type Bridge,
  createBridge,
  DIRECTORY_ENTRY,
  nearestWord,
  otherForm,
} from './bridge.ts'
export { foreignWords } from './foreign-words.ts'
export { createTranslate, type Translate, type TranslatedWord, type Translation } from './translate.ts'
export { isMostlyLatin, mergeRankings, type QueryRanking } from './two-languages.ts'
