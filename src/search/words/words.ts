// Splits text into words. Unifies case, accents and width, cuts identifiers into their parts, and turns scripts without
// spaces into pairs of characters.
// Implements S14.

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
