// Exports of search/lexical for other folders.
export type { WordMatch } from './explain.ts'
export { buildLexicalIndex, createLexicalIndex, type LexicalHit, type LexicalIndex } from './lexical.ts'
export { LEXICAL, type LexicalSettings, PLAIN_BM25 } from './settings.ts'
