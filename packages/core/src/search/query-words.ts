// Splits a query into the words to search for, each with a weight. Drops filler and gives values little weight, because
// no tool is named after the recipient of an email. Keeps sentences apart, because each may ask for another tool.

import { editDistance } from '../names.ts'
import type { PoolTool } from '../types.ts'
import { eachWord, FILLER_WORDS, isUnspaced, STOP_WORDS, stem } from './words.ts'

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

/** A stem to search for in place of an unknown word. */
export type Repair = {
  readonly word: string
  readonly how: 'prefix' | 'typo' | 'part'
  readonly share: number
}

const MIN_PREFIX_LENGTH = 3
const MIN_TYPO_LENGTH = 4
const MAX_WORD_LENGTH = 40
const MAX_REPAIRS = 8

/** Returns stems near an unknown word: completions, else the two words it consists of, else corrections. */
export function repair(
  word: string,
  stems: readonly string[],
  isKnown: (word: string) => boolean,
  mayCorrect: boolean,
): Repair[] {
  if (word.length > MAX_WORD_LENGTH || !/^\p{L}+$/u.test(word)) return []
  const longer = completions(word, stems)
  if (longer.length > 0) return longer
  const halves = split(word, isKnown)
  return halves.length > 0 || !mayCorrect ? halves : corrections(word, stems)
}

function completions(word: string, stems: readonly string[]): Repair[] {
  if (word.length < MIN_PREFIX_LENGTH) return []
  const found = stems.filter((other) => other.startsWith(word) && other !== word)
  return nearestFirst(found).map((other) => ({ word: other, how: 'prefix', share: 1 }))
}

function corrections(word: string, stems: readonly string[]): Repair[] {
  if (word.length < MIN_TYPO_LENGTH) return []
  const maxDistance = word.length < 8 ? 1 : 2
  const stemmed = stem(word)
  let nearest = maxDistance
  let found: string[] = []
  for (const other of stems) {
    if (Math.abs(other.length - word.length) > nearest || other.length < MIN_TYPO_LENGTH) continue
    const distance = Math.min(editDistance(word, other, nearest), editDistance(stemmed, other, nearest))
    if (distance > nearest) continue
    if (distance < nearest) found = []
    nearest = distance
    found.push(other)
  }
  return nearestFirst(found).map((other) => ({ word: other, how: 'typo', share: 1 / nearest }))
}

function split(word: string, isKnown: (word: string) => boolean): Repair[] {
  for (let end = word.length - 3; end >= 3; end--) {
    const [head, tail] = [word.slice(0, end), word.slice(end)]
    if (isKnown(head) && isKnown(tail))
      return [head, tail].map((part) => ({ word: part, how: 'part', share: 1 }))
  }
  return []
}

/** Sorts short words first, then alphabetically, so that the order of tools does not matter. */
function nearestFirst(words: string[]): string[] {
  return words.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, MAX_REPAIRS)
}

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

/** The searchable fields of a tool; arrays with one entry per field follow this order. */
export const FIELDS = [
  'name',
  'server',
  'hint',
  'description',
  'argument names',
  'argument descriptions',
  'enum values',
] as const

/** The name of a searchable field. */
export type Field = (typeof FIELDS)[number]

/** One number per field, in the order of FIELDS. */
export type PerField = readonly [number, number, number, number, number, number, number]

const MAX_DEPTH = 6
const MAX_TEXTS = 400
const MAX_SCHEMAS = 2_000
const MAX_TEXT_LENGTH = 20_000
const MAX_NAME_LENGTH = 200

/** Returns the texts of a tool, one list per field in the order of FIELDS. */
export function searchFields(entry: PoolTool): string[][] {
  const server = (entry.server ?? '').slice(0, MAX_NAME_LENGTH)
  const texts: string[][] = [
    [ownName(entry).slice(0, MAX_NAME_LENGTH)],
    [server],
    [indexedText(entry.hint)],
    [indexedText(entry.tool.description)],
  ]
  const [names, descriptions, values] = [[] as string[], [] as string[], [] as string[]]
  const schema = entry.tool.input_schema ?? entry.tool.inputSchema
  readSchema(schema, { names, descriptions, values, seen: new Set() }, 0)
  texts.push(names, descriptions, values)
  return texts
}

/**
 * Returns a tool's name without its server's: both `mcp__slack__send` and `Slack_Send` of the server slack become
 * `send`.
 */
export function ownName({ original, server }: PoolTool): string {
  const name = original.replace(/^mcp__/i, '')
  if (server === undefined) return name
  const end = endOfPrefix(name, server)
  return end > 0 && end < name.length ? name.slice(end) : name
}

/**
 * Returns where the server's name ends at the start of a tool's name, comparing only letters and digits; 0 if it is not
 * there.
 */
function endOfPrefix(name: string, server: string): number {
  const have = name.toLowerCase()
  const wanted = server.toLowerCase()
  let at = 0
  let from = 0
  while (from < wanted.length) {
    if (isSeparator(wanted.charCodeAt(from))) from++
    else if (at < have.length && isSeparator(have.charCodeAt(at))) at++
    else if (have[at++] !== wanted[from++]) return 0
  }
  const isEdge = at < have.length && (isSeparator(have.charCodeAt(at)) || name[at] !== have[at])
  return isEdge ? at : 0
}

/** Returns whether an ASCII character is neither a letter nor a digit. */
function isSeparator(code: number): boolean {
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
  return code < 128 && !isLetter && !(code >= 48 && code <= 57)
}

function indexedText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH) : ''
}

type Arguments = {
  readonly names: string[]
  readonly descriptions: string[]
  readonly values: string[]
  /** Schemas already visited: a schema may contain itself, or be shared. */
  readonly seen: Set<unknown>
}

/** Collects the arguments at every depth, up to a limit. */
function readSchema(schema: unknown, into: Arguments, depth: number): void {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return
  if (into.seen.has(schema) || into.seen.size > MAX_SCHEMAS || into.names.length > MAX_TEXTS) return
  into.seen.add(schema)
  const { properties, items, anyOf, oneOf, allOf } = schema as Record<string, unknown>
  if (typeof properties === 'object' && properties !== null) {
    for (const name of Object.keys(properties)) {
      const value = (properties as Record<string, unknown>)[name]
      into.names.push(name.slice(0, MAX_NAME_LENGTH))
      readArgument(value, into)
      readSchema(value, into, depth + 1)
    }
  }
  if (items !== undefined) {
    readArgument(items, into)
    readSchema(items, into, depth + 1)
  }
  for (const list of [anyOf, oneOf, allOf])
    if (Array.isArray(list)) for (const one of list) readSchema(one, into, depth + 1)
}

function readArgument(value: unknown, { descriptions, values }: Arguments): void {
  if (typeof value !== 'object' || value === null) return
  const { description, enum: choices } = value as { description?: unknown; enum?: unknown }
  if (typeof description === 'string') descriptions.push(indexedText(description))
  if (!Array.isArray(choices)) return
  for (const choice of choices.slice(0, MAX_TEXTS))
    if (typeof choice === 'string') values.push(choice.slice(0, MAX_NAME_LENGTH))
}
