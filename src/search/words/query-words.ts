// Splits a query into the words to search for, each with a weight. Drops filler and gives values little weight, because
// no tool is named after the recipient of an email. Keeps sentences apart, because each may ask for another tool.
import { FILLER_WORDS, STOP_WORDS } from './filler.ts'
import { eachWord, isUnspaced } from './words.ts'

/** A word of a query, with its weight. */
export type QueryWord = {
  readonly word: string
  readonly weight: number
  /** The index of its sentence. A word in several sentences counts for the first. */
  readonly clause: number
  /** The parts of an identifier such as "GitHub", used if no tool has it as one word. */
  readonly parts: readonly string[]
}

/** Weights of special kinds of words. */
export type QueryWeights = {
  /** Politeness and other filler. */
  readonly filler: number
  /** Quoted text, addresses, paths. */
  readonly value: number
  readonly number: number
}

const MAX_CLAUSES = 32
const MAX_WORDS = 200

const VALUE = new RegExp(
  [
    '(["“”])(?:(?!\\1)[^\\n]){1,200}?["“”]',
    "(?<![\\p{L}\\p{N}])['‘][^'‘’\\n]{1,200}?['’](?![\\p{L}\\p{N}])",
    '`[^`]{1,200}`',
    '[\\w.+-]{1,64}@[\\w-]{1,64}\\.[\\w.]{1,64}',
    'https?:\\/\\/\\S+',
    '(?<!\\S)\\/[\\w./-]+',
  ].join('|'),
  'gu',
)
const MAY_HOLD_VALUE = /["“”'‘`@/]/
const CLAUSE_END =
  /(?<=[.?!;\n。？！；])\s*(?=\S)|,?\s+(?:and then|then|and also|after that|finally|next)\s+/iu
const MAY_END = /[.?!;\n。？！；]|\s(?:then|also|after|finally|next)\s/i

/** Returns the words of a query in order, each once; a query of nothing but filler keeps it. */
export function readQuery(query: string, weights: QueryWeights): QueryWord[] {
  const text = unquote(query)
  const found = new Map<string, Mutable>()
  let clause = 0
  for (const { piece, isValue } of pieces(text)) {
    const clauses = isValue || !MAY_END.test(piece) ? [piece] : piece.split(CLAUSE_END)
    clauses.forEach((one, index) => {
      if (index > 0 && clause < MAX_CLAUSES - 1) clause++
      collect(one, isValue ? weights.value : 1, clause, weights, found)
    })
  }
  const words = [...found.values()]
  const telling = words.filter(({ weight }) => weight > 0)
  if (telling.length > 0) return telling.slice(0, MAX_WORDS)
  return words.slice(0, MAX_WORDS).map((word) => ({ ...word, weight: 1 }))
}

type Mutable = { word: string; weight: number; clause: number; parts: string[] }

function collect(
  text: string,
  weight: number,
  clause: number,
  weights: QueryWeights,
  found: Map<string, Mutable>,
): void {
  let parts: string[] = []
  eachWord(text, (word, isJoined) => {
    if (!isJoined) {
      parts.push(word)
      add(found, word, weightOf(word, weight, weights), clause, [])
      return
    }
    if (isUnspaced(word)) return
    const own = partsWithin(word, parts)
    for (const part of own) if (found.get(part)?.clause === clause) found.delete(part)
    add(found, word, weight, clause, own)
    parts = []
  })
}

/** Returns the words just read that a joined word consists of. */
function partsWithin(joined: string, words: readonly string[]): string[] {
  let rest = joined
  const own: string[] = []
  for (let index = words.length - 1; index >= 0 && rest !== ''; index--) {
    const word = words[index]!
    if (!rest.endsWith(word)) break
    own.unshift(word)
    rest = rest.slice(0, rest.length - word.length)
  }
  return own
}

function weightOf(word: string, weight: number, weights: QueryWeights): number {
  if (STOP_WORDS.has(word)) return 0
  if (FILLER_WORDS.has(word)) return weight * weights.filler
  return /^\d+$/.test(word) ? Math.min(weight, weights.number) : weight
}

function add(
  found: Map<string, Mutable>,
  word: string,
  weight: number,
  clause: number,
  parts: string[],
): void {
  const known = found.get(word)
  if (!known) found.set(word, { word, weight, clause, parts })
  else if (weight > known.weight) known.weight = weight
}

/** Removes quotation marks around a whole query, which do not make it a value. */
function unquote(query: string): string {
  const text = query.trim()
  const isQuoted = text.length > 1 && /^["'“`]/.test(text) && /["'”`]$/.test(text)
  return isQuoted ? text.slice(1, -1) : text
}

type Piece = { readonly piece: string; readonly isValue: boolean }

function pieces(text: string): Piece[] {
  if (!MAY_HOLD_VALUE.test(text)) return [{ piece: text, isValue: false }]
  const found: Piece[] = []
  let start = 0
  for (const match of text.matchAll(VALUE)) {
    found.push({ piece: text.slice(start, match.index), isValue: false }, { piece: match[0], isValue: true })
    start = match.index + match[0].length
  }
  found.push({ piece: text.slice(start), isValue: false })
  return found
}
