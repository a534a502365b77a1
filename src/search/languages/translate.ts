// Translates a query into English, word by word, with the language table. The result is not a sentence, but the words to
// search for.
// Implements S14.

import { deniedDeletion } from '../intent/index.ts'
import { STOP_WORDS } from '../words/index.ts'
import { type Bridge, type Lexicon, otherForm } from './bridge.ts'
import { detectLanguage, mayBeForeign } from './detect.ts'
import { type ForeignWord, foreignWords } from './foreign-words.ts'

/** A word of a query and its translation. */
export type TranslatedWord = {
  /** The word in lower case and without accents. */
  readonly from: string
  /** The words to search for instead; empty for function words and unknown words. */
  readonly to: readonly string[]
}

/** A translated query. */
export type Translation = {
  readonly language: string
  readonly words: readonly TranslatedWord[]
  /** The English words as one text. */
  readonly text: string
  /** The query in its own language, without function words if the language separates words by spaces. */
  readonly own: string
  /** The share of those words that some tool has; 1 for languages that do not separate words. */
  readonly known: number
}

/**
 * Translates a query; returns undefined if it is English, or in a language without a table. `isKnown` returns whether
 * some tool has the word.
 */
export type Translate = (query: string, isKnown: (word: string) => boolean) => Translation | undefined

/** Creates a translator. It calls `bridge` when the first query needs it; without a table it translates nothing. */
export function createTranslate(bridge: () => Bridge | undefined): Translate {
  return (query, isKnown) => {
    const words = foreignWords(query)
    if (!mayBeForeign(words, isKnown)) return undefined
    const table = bridge()
    const language = table && detectLanguage(query, words, table, isKnown)
    const lexicon = language === undefined ? undefined : table?.lexicon(language)
    if (!table || !lexicon) return undefined
    const translateAll = (words: readonly ForeignWord[]) =>
      words.flatMap((word) => translateWord(word, lexicon, table, isKnown))
    const englishOf = (words: readonly ForeignWord[]) => translateAll(words).flatMap(({ to }) => to)
    const translated = translateAll(words)
    const text =
      deniedDeletion(query, (clause) => englishOf(foreignWords(clause))) ??
      [...new Set(translated.flatMap(({ to }) => to))].join(' ')
    if (text === '') return undefined
    return {
      language: lexicon.language,
      words: translated,
      text,
      ...ownWords(query, words, lexicon, isKnown),
    }
  }
}

function ownWords(
  query: string,
  words: readonly ForeignWord[],
  lexicon: Lexicon,
  isKnown: (word: string) => boolean,
): Pick<Translation, 'own' | 'known'> {
  if (words.some(({ script }) => script === 'kana' || script === 'han' || script === 'hangul'))
    return { own: query, known: 1 }
  const telling = words.filter(({ word, isName }) => isName || lexicon.translate(word)?.length !== 0)
  const known = telling.filter(({ word }) => isKnown(word)).length
  return { own: telling.map(({ word }) => word).join(' '), known: known / (telling.length || 1) }
}

function translateWord(
  { word, script, isName }: ForeignWord,
  lexicon: Lexicon,
  { english }: Bridge,
  isKnown: (word: string) => boolean,
): TranslatedWord[] {
  if (isName) return [{ from: word, to: [word] }]
  if (script === 'kana' || script === 'han') return longestMatches(word, lexicon)
  const exact = lexicon.translate(word)
  if (exact) return [{ from: word, to: exact }]
  if (script === 'latin' && (isKnown(word) || english.frequency(word) !== undefined))
    return [{ from: word, to: STOP_WORDS.has(word) ? [] : [word] }]
  return [{ from: word, to: compound(word, lexicon) ?? inflected(word, lexicon) ?? [] }]
}

/** Segments a run of a script without spaces: at each character, the longest word in the lexicon. */
function longestMatches(run: string, lexicon: Lexicon): TranslatedWord[] {
  const found: TranslatedWord[] = []
  for (let from = 0; from < run.length; ) {
    let to = Math.min(run.length, from + MAX_UNSPACED_LENGTH)
    while (to > from && lexicon.frequency(run.slice(from, to)) === undefined) to--
    if (to > from) found.push({ from: run.slice(from, to), to: lexicon.translate(run.slice(from, to)) ?? [] })
    from = Math.max(to, from + 1)
  }
  return found
}

const MAX_UNSPACED_LENGTH = 12
const MIN_PART_LENGTH = 4
const MAX_WORD_LENGTH = 60

/**
 * Splits a compound such as "Zahnarzttermin" into two known words, the first as long as possible, with an optional
 * linking sound between them.
 */
function compound(word: string, lexicon: Lexicon): readonly string[] | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined
  for (let end = word.length - MIN_PART_LENGTH; end >= MIN_PART_LENGTH; end--) {
    const head = lexicon.translate(word.slice(0, end))
    if (!head || head.length === 0) continue
    for (const link of LINKS) {
      if (!word.startsWith(link, end)) continue
      const rest = word.slice(end + link.length)
      if (rest.length < MIN_PART_LENGTH) continue
      const tail = lexicon.translate(rest) ?? inflected(rest, lexicon)
      if (tail && tail.length > 0) return [...head.slice(0, 1), ...tail.slice(0, 1)]
    }
  }
  return undefined
}

function inflected(word: string, lexicon: Lexicon): readonly string[] | undefined {
  const form = otherForm(word, lexicon)
  return form === undefined ? undefined : lexicon.translate(form)
}

const LINKS = ['', 's', 'n', 'en', 'es', 'e']
