// Reads words: of any text, of a tool's fields, and of a query. Unifies case, accents and width, cuts identifiers into their
// parts, and turns scripts without spaces into pairs of characters.
// Implements S14.
import type { PoolTool } from '../types.ts'

const LETTER_LOW = 1
const LETTER_UP = 2
const DIGIT = 3

const KINDS = new Uint8Array(128)
for (let code = 97; code <= 122; code++) KINDS[code] = LETTER_LOW
for (let code = 65; code <= 90; code++) KINDS[code] = LETTER_UP
for (let code = 48; code <= 57; code++) KINDS[code] = DIGIT

/** Scripts that separate words by no spaces, or attach endings to them. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/u

const RUNS = new RegExp(`(${UNSPACED.source})|[\\p{L}\\p{N}\\p{M}]+|\\p{Extended_Pictographic}`, 'gu')

/** Receives one word; `isJoined` marks a second spelling of parts just emitted ("git", "hub", then "github"). */
export type Emit = (word: string, isJoined: boolean) => void

/** Calls `emit` with every word of a text, in order. */
export function eachWord(text: string, emit: Emit): void {
  if (isAscii(text)) asciiWords(text, emit)
  else otherWords(text, emit)
}

/** Returns the words of a text. */
export function splitWords(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => words.push(word))
  return words
}

const HIDDEN = /(?:\p{Cf}|\p{Variation_Selector}|\u034f|\u115f|\u1160|\u3164|\uffa0)+/gu

/** Removes invisible characters: soft hyphens, zero-width spaces and joiners, direction marks. */
export function withoutHidden(text: string): string {
  return isAscii(text) ? text : text.replace(HIDDEN, '')
}

/** Unifies accents and width; keeps case, which shows where an identifier's parts begin. */
export function unaccent(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .normalize('NFC')
}

/** Returns whether a word is in a script without spaces. */
export function isUnspaced(word: string): boolean {
  return UNSPACED.test(word)
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) return false
  return true
}

function asciiWords(text: string, emit: Emit): void {
  let start = -1
  for (let index = 0; index <= text.length; index++) {
    const kind = index < text.length ? KINDS[text.charCodeAt(index)]! : 0
    if (kind !== 0) {
      if (start < 0) start = index
    } else if (start >= 0) {
      const isPossessive = index === start + 1 && text.charCodeAt(start - 1) === 39 && isEnding(text, start)
      if (!isPossessive) run(text, start, index, emit)
      start = -1
    }
  }
}

/** Returns whether a letter is the s, t, d or m after an apostrophe, which is not a word. */
function isEnding(text: string, index: number): boolean {
  return 'stdmSTDM'.includes(text[index]!)
}

/** Emits a run of letters and digits: whole if it has no boundaries inside, else its parts and the joined word. */
function run(text: string, start: number, end: number, emit: Emit): void {
  if (!hasEdge(text, start, end)) {
    emit(text.slice(start, end).toLowerCase(), false)
    return
  }
  const parts = asciiParts(text, start, end)
  for (const part of parts) emit(part, false)
  if (parts.length === 2 && end - start <= MAX_JOINED_LENGTH) {
    emit(parts[0]! + parts[1]!, true)
    return
  }
  for (let index = 1; index < parts.length; index++) {
    const [before, after] = [parts[index - 1]!, parts[index]!]
    if (isDigit(before) !== isDigit(after)) emit(before + after, true)
  }
}

const MAX_JOINED_LENGTH = 20

function isDigit(part: string): boolean {
  return KINDS[part.charCodeAt(0)] === DIGIT
}

/** Returns whether a run has a boundary: a capital or digit after a small letter, or the other way round. */
function hasEdge(text: string, start: number, end: number): boolean {
  const first = KINDS[text.charCodeAt(start)]!
  let previous = first
  for (let index = start + 1; index < end; index++) {
    const kind = KINDS[text.charCodeAt(index)]!
    if (kind !== previous && !(index === start + 1 && first === LETTER_UP && kind === LETTER_LOW)) return true
    previous = kind
  }
  return false
}

/**
 * Splits camelCase, HTTPServer and base64; keeps plurals of acronyms (URLs) and one leading letter (iPhone, OAuth)
 * whole.
 */
function asciiParts(text: string, start: number, end: number): string[] {
  const lower = text.slice(start, end).toLowerCase()
  const parts: string[] = []
  let from = start
  for (let index = start + 1; index < end; index++) {
    if (!isEdge(text, index, end)) continue
    const isLeading = index === start + 1 && KINDS[text.charCodeAt(start)] !== DIGIT
    if (isLeading && KINDS[text.charCodeAt(index)] !== DIGIT) continue
    parts.push(lower.slice(from - start, index - start))
    from = index
  }
  parts.push(lower.slice(from - start))
  return parts
}

function isEdge(text: string, index: number, end: number): boolean {
  const before = KINDS[text.charCodeAt(index - 1)]!
  const here = KINDS[text.charCodeAt(index)]!
  if (before === DIGIT || here === DIGIT) return before !== here
  if (before === LETTER_LOW) return here === LETTER_UP
  if (here === LETTER_LOW || index + 1 >= end) return false
  const isPlural = index + 2 === end && text.charCodeAt(index + 1) === 115
  return KINDS[text.charCodeAt(index + 1)] === LETTER_LOW && !isPlural
}

/** Like `asciiParts`, for other scripts with capitals. */
function partsOf(run: string): string[] {
  return run
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{L})(\d)/gu, '$1 $2')
    .replace(/(\d)(\p{L})/gu, '$1 $2')
    .split(' ')
}

function otherWords(text: string, emit: Emit): void {
  for (const match of unaccent(withoutHidden(text)).matchAll(RUNS)) {
    if (match[1] !== undefined) pairs(match[1], emit)
    else for (const piece of match[0].split(UNSPACED_EDGE)) mixed(piece, emit)
  }
}

const UNSPACED_EDGE = new RegExp(`(${UNSPACED.source})`, 'u')

function mixed(piece: string, emit: Emit): void {
  if (piece === '') return
  if (UNSPACED.test(piece)) pairs(piece, emit)
  else if (isAscii(piece)) asciiWords(piece, emit)
  else for (const part of partsOf(piece)) emit(part.toLowerCase(), false)
}

/** Emits pairs of characters; single ones as a second spelling, so that a query of one character finds them. */
function pairs(run: string, emit: Emit): void {
  const characters = [...run]
  if (characters.length <= 2) emit(run, false)
  else
    for (let index = 1; index < characters.length; index++)
      emit(characters[index - 1]! + characters[index]!, false)
  if (characters.length > 1) for (const character of characters) emit(character, true)
}

const split = (text: string): string[] => text.trim().split(/\s+/)

/** Function words: never indexed, never searched. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  split(`
    a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its
    they them their theirs who whom whose which what when where why how is are was were be been being am do does did
    doing have has had having can could will would shall should may might must cannot of to in on at by for from with
    about as into onto through during before after between out off over under again then than there here so such too
    very and or but nor if because while until upon per via within without against toward towards along across among
    any all both each every few more most other others another some no not only own same just also even ever yet
    im ive id ill youre youve hes shes theyre weve were thats whats heres theres lets dont doesnt didnt cant couldnt
    wont wouldnt shouldnt isnt arent wasnt werent havent hasnt hadnt don doesn didn couldn wouldn shouldn isn aren
    wasn weren haven hasn hadn ll ve re etc eg ie
  `),
)

/** Words that people and models put around what they want. Indexed, but searched only if a query has no other words. */
export const FILLER_WORDS: ReadonlySet<string> = new Set(
  split(`
    please kindly want wants wanted wish need needs needed like likes help helps helping assist assistance hi hello hey
    thanks thank appreciate able let know tell give gives giving wondering wonder trying try tries looking seeking
    interested going gonna wanna gotta ok okay sure actually really maybe perhaps possible possibly probably currently
    quickly easily simply something anything everything someone anyone somebody anybody thing things stuff way ways
    kind lot lots bit regarding concerning related specific specifically certain particular given following ensure
    finally lastly firstly secondly thirdly additionally furthermore moreover afterwards afterward next now today
    ask asking question questions planning plan plans decided hoping hope think thinking guess love enjoy
    mention mentioned called named titled various several many much different useful available required necessary
    good great nice best better suitable appropriate relevant well quick easy new
    use used using uses make makes making take takes taking go goes come comes say says said see seen
    tool tools function functions service capability
  `),
)

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

/** Sentences of a query that count. */
export const MAX_CLAUSES = 32
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
