// Splits a query into words for translation, with their scripts, and marks those that are names or values.
import { unaccent } from '../words/index.ts'

/** How words of a script are translated: Latin words may be English; scripts without spaces need segmentation. */
export type WritingSystem =
  | 'latin'
  | 'cyrillic'
  | 'greek'
  | 'arabic'
  | 'hebrew'
  | 'hangul'
  | 'kana'
  | 'han'
  | 'other'

/** A word of a query that may be in another language. */
export type ForeignWord = {
  /** Lower case, without accents. */
  readonly word: string
  readonly script: WritingSystem
  /** Has digits or capitals inside, so it is a product name, an identifier or a value, and is never translated. */
  readonly isName: boolean
  /** Starts with a capital inside the query: a name, or a noun in languages that capitalise nouns. */
  readonly isCapital: boolean
}

const MAX_CHARACTERS = 2000
const MAX_WORDS = 200

/** Runs of a script without spaces, in which kana and Han may be mixed, or words of letters and digits. */
const RUNS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+|[\p{L}\p{N}\p{M}]+/gu
const UNSPACED_START = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]/u
const MIXED = /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+)/u

/** Returns the words of the query's beginning, in order. */
export function foreignWords(text: string): ForeignWord[] {
  const words: ForeignWord[] = []
  for (const [run] of unaccent(text.slice(0, MAX_CHARACTERS)).matchAll(RUNS)) {
    for (const piece of UNSPACED_START.test(run) ? [run] : run.split(MIXED)) {
      if (piece === '') continue
      const isCapital = words.length > 0 && CAPITAL.test(piece)
      words.push({ word: piece.toLowerCase(), script: scriptOf(piece), isName: NAME.test(piece), isCapital })
      if (words.length === MAX_WORDS) return words
    }
  }
  return words
}

const CAPITAL = /^\p{Lu}/u
const NAME = /\p{Ll}\p{Lu}|\p{Lu}{2}|\d/u

const SCRIPTS: readonly (readonly [WritingSystem, RegExp])[] = [
  ['latin', /\p{Script=Latin}/u],
  ['kana', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['han', /\p{Script=Han}/u],
  ['hangul', /\p{Script=Hangul}/u],
  ['cyrillic', /\p{Script=Cyrillic}/u],
  ['arabic', /\p{Script=Arabic}/u],
  ['greek', /\p{Script=Greek}/u],
  ['hebrew', /\p{Script=Hebrew}/u],
]

function scriptOf(word: string): WritingSystem {
  return SCRIPTS.find(([, pattern]) => pattern.test(word))?.[0] ?? 'other'
}
