// Exports of search/languages for other folders.
export {
  BRIDGE_HEADER,
  BRIDGE_MAGIC,
  type Bridge,
  createBridge,
  createTranslate,
  DIRECTORY_ENTRY,
  foreignWords,
  isMostlyLatin,
  mergeRankings,
  nearestWord,
  otherForm,
  type QueryRanking,
  type Translate,
  type TranslatedWord,
  type Translation,
} from './translate.ts'
