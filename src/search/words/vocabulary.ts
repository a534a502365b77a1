// Maps words to term numbers. Shared by an index and all indexes updated from it; it only grows.
import { STOP_WORDS } from './filler.ts'
import { stem } from './stem.ts'

/** Returned for a word without a term. */
export const NO_TERM = -1

/** The terms of all tools that an index, or one it was updated from, has seen. */
export type Vocabulary = {
  /** Returns the term of a tool's word, by its stem; creates it if it is new. Function words have none. */
  learn(word: string): number
  /** Returns the term of the exact form of a word, separate from its stem's. */
  learnForm(word: string): number
  /** Returns the term of a query's word, or `NO_TERM` if no tool ever had it. */
  termOf(word: string): number
  formOf(word: string): number
  ofStem(stemmed: string): number
  /** Returns every stem of any present or former tool that begins with this letter, for corrections. */
  startingWith(letter: string): readonly string[]
  textOf(term: number): string
  readonly size: number
}

/** Creates an empty vocabulary. */
export function createVocabulary(): Vocabulary {
  const words = new Map<string, number>()
  const stems = new Map<string, number>()
  const forms = new Map<string, number>()
  const texts: string[] = []
  const byLetter = new Map<string, string[]>()

  function enter(table: Map<string, number>, text: string): number {
    const known = table.get(text)
    if (known !== undefined) return known
    table.set(text, texts.length)
    return texts.push(text) - 1
  }

  function learnStem(stemmed: string): number {
    const isNew = !stems.has(stemmed)
    const term = enter(stems, stemmed)
    if (!isNew) return term
    const list = byLetter.get(stemmed[0]!)
    if (list) list.push(stemmed)
    else byLetter.set(stemmed[0]!, [stemmed])
    return term
  }

  function learn(word: string): number {
    const known = words.get(word)
    if (known !== undefined) return known
    const term = STOP_WORDS.has(word) ? NO_TERM : learnStem(stem(word))
    words.set(word, term)
    return term
  }

  return {
    learn,
    learnForm: (word) => enter(forms, word),
    termOf: (word) => words.get(word) ?? stems.get(stem(word)) ?? NO_TERM,
    formOf: (word) => forms.get(word) ?? NO_TERM,
    ofStem: (stemmed) => stems.get(stemmed) ?? NO_TERM,
    startingWith: (letter) => byLetter.get(letter) ?? [],
    textOf: (term) => texts[term] ?? '',
    get size() {
      return texts.length
    },
  }
}
