// Detects the language of a query by how common its words are in each language. Words that occur in tool definitions
// count as English, and in doubt a query is English.

import { FILLER_WORDS, STOP_WORDS } from '../words/index.ts'
import { type Bridge, type Lexicon, otherForm } from './bridge.ts'
import type { ForeignWord, WritingSystem } from './foreign-words.ts'

/** Log-probabilities of words, in bits. This one: an unknown word. */
const UNKNOWN = -22
const POOL_WORD = -15
const FUNCTION_WORD = -7
const FILLER_WORD = -10
/** Another form of a known word. */
const FORM = -19
/** Bonus for a letter that only few languages have. */
const OWN_LETTER = 6

/** How much better than English, in bits, another language must explain the words. */
const MARGIN = 6

/** Share of the letters that must be in another script for a query to count as being in another language. */
const MIN_FOREIGN_SHARE = 0.4

/** How many Latin letters a character of these scripts counts as. */
const DENSITY: Partial<Record<WritingSystem, number>> = { han: 3, kana: 2, hangul: 2 }

const BY_SCRIPT: Partial<Record<WritingSystem, readonly string[]>> = {
  cyrillic: ['ru', 'uk'],
  greek: ['el'],
  arabic: ['ar', 'fa'],
  hebrew: ['he'],
  hangul: ['ko'],
  kana: ['ja'],
  han: ['zh', 'ja'],
}

/** Letters that distinguish a language from its neighbours. Needed because words are compared without accents. */
const LETTERS: Readonly<Record<string, string>> = {
  ca: 'çŀ',
  cs: 'ěřůčšž',
  da: 'øæå',
  de: 'ßäöü',
  es: 'ñ¿¡',
  fa: 'پچژگ',
  fi: 'äö',
  fr: 'çœêèù',
  hu: 'őű',
  it: 'èìòù',
  no: 'øæå',
  pl: 'łąęśźżćń',
  pt: 'ãõç',
  ro: 'ășțâî',
  ru: 'ыэъё',
  sv: 'åäö',
  tr: 'şğıçöü',
  uk: 'іїєґ',
  vi: 'đơưạảấầậắằặẻẽếềểễệịọỏốồổộớờởợụủứừửữựỳỵỷ',
}

const MAX_CHARACTERS = 2000

/** Returns whether a query may be in another language than English, judged without any table. */
export function mayBeForeign(words: readonly ForeignWord[], isKnown: (word: string) => boolean): boolean {
  return words.some(
    ({ word, script, isName }) =>
      script !== 'other' && !isName && !STOP_WORDS.has(word) && !FILLER_WORDS.has(word) && !isKnown(word),
  )
}

/** Returns the code of the query's language; undefined for English and for languages without a table. */
export function detectLanguage(
  query: string,
  words: readonly ForeignWord[],
  bridge: Bridge,
  isKnown: (word: string) => boolean,
): string | undefined {
  const script = foreignScript(words)
  const letters = new Set(query.slice(0, MAX_CHARACTERS).toLowerCase())
  if (script) {
    const foreign = words.filter((word) => word.script !== 'latin')
    const score = (lexicon: Lexicon) => sumOf(foreign, ({ word }) => wordScore(word, lexicon))
    return mostLikely(BY_SCRIPT[script] ?? [], bridge, letters, score)?.language
  }
  const latin = words.filter(({ word, script: its, isName }) => its === 'latin' && !isName && word.length > 1)
  const scripted = new Set(Object.values(BY_SCRIPT).flat())
  const languages = bridge.languages.filter((language) => !scripted.has(language))
  const lead = (lexicon: Lexicon) => leadOf(latin, lexicon, bridge.english, isKnown)
  const best = mostLikely(languages, bridge, letters, lead)
  return best && best.score > MARGIN ? best.language : undefined
}

/**
 * Returns how much better than English a language explains the words. Skips capitalised words, which are names except in
 * languages that capitalise nouns.
 */
function leadOf(
  words: readonly ForeignWord[],
  lexicon: Lexicon,
  english: Lexicon,
  isKnown: (word: string) => boolean,
): number {
  const telling = lexicon.language === CAPITAL_NOUNS ? words : words.filter(({ isCapital }) => !isCapital)
  return sumOf(telling, ({ word }) => {
    const own = englishScore(word, english, isKnown)
    const score = wordScore(word, lexicon)
    const isBorrowed = lexicon.translate(word)?.[0] === word
    return isBorrowed ? Math.min(0, score - own) : score - own
  })
}

const CAPITAL_NOUNS = 'de'

function sumOf(words: readonly ForeignWord[], value: (word: ForeignWord) => number): number {
  return words.reduce((sum, word) => sum + value(word), 0)
}

/** Returns the non-Latin script that a good part of the query is written in. */
function foreignScript(words: readonly ForeignWord[]): WritingSystem | undefined {
  const letters = new Map<WritingSystem, number>()
  let all = 0
  for (const { word, script } of words) {
    if (script === 'other') continue
    const length = word.length * (DENSITY[script] ?? 1)
    letters.set(script, (letters.get(script) ?? 0) + length)
    all += length
  }
  const foreign = all - (letters.get('latin') ?? 0)
  if (foreign === 0 || foreign < MIN_FOREIGN_SHARE * all) return undefined
  if (letters.has('kana')) return 'kana'
  const [dominant] = [...letters].filter(([script]) => script !== 'latin').sort((a, b) => b[1] - a[1])
  return dominant?.[0]
}

function mostLikely(
  languages: readonly string[],
  bridge: Bridge,
  letters: ReadonlySet<string>,
  scoreOf: (lexicon: Lexicon) => number,
): { readonly language: string; readonly score: number } | undefined {
  let best: { language: string; score: number } | undefined
  for (const language of languages) {
    const lexicon = bridge.lexicon(language)
    if (!lexicon) continue
    const own = [...(LETTERS[language] ?? '')].filter((letter) => letters.has(letter)).length
    const score = scoreOf(lexicon) + own * OWN_LETTER
    if (!best || score > best.score) best = { language, score }
  }
  return best
}

function wordScore(word: string, lexicon: Lexicon): number {
  const frequency = lexicon.frequency(word)
  if (frequency !== undefined) return frequency - Math.log2(lexicon.total)
  return otherForm(word, lexicon) === undefined ? UNKNOWN : FORM
}

function englishScore(word: string, english: Lexicon, isKnown: (word: string) => boolean): number {
  const score = wordScore(word, english)
  if (STOP_WORDS.has(word)) return Math.max(score, FUNCTION_WORD)
  if (FILLER_WORDS.has(word)) return Math.max(score, FILLER_WORD)
  return isKnown(word) ? Math.max(score, POOL_WORD) : score
}
