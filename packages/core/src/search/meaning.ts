// Embeds text: cuts it into word pieces and averages their vectors, by a table that is part of the package.
import type { Pause } from '../options.ts'
import { runAtOnce, runInSlices, type Sliced } from './reading.ts'

/** The tokenizer's table: the characters of all tokens one after the other, and where each token starts. */
interface PieceTable {
  readonly characters: Uint8Array
  readonly starts: Uint32Array
  /** A hash table with open addressing: row + 1, or 0 for an empty slot. */
  readonly slots: Uint16Array
}

const MAX_WORD_LENGTH = 100
const WORD_SEED = 0x811c9dc5
const CONTINUATION_SEED = 0x1b873593
const CONTINUATION = 0x23

const SEPARATOR = 0
const FOREIGN = 1

/** Lower-case letter or digit for each ASCII character, `SEPARATOR` for the rest. */
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase()
  return /[a-z0-9]/.test(letter) ? letter.charCodeAt(0) : SEPARATOR
})

/** Tokens to read before work may be interrupted: a millisecond or two. */
const SLICE_TOKENS = 1000
const SLICE_BYTES = 20_000

/** Reads a table with one token per line, whose line number is its row; `##` begins a continuation. */
function* createPieceTable(text: Uint8Array): Sliced<PieceTable> {
  const starts = [0]
  for (let from = 0; from < text.length; from += SLICE_BYTES) {
    findStarts(text, from, Math.min(text.length, from + SLICE_BYTES), starts)
    yield
  }
  if (text[text.length - 1] !== 10) starts.push(text.length + 1)
  const vocabulary = {
    characters: text,
    starts: Uint32Array.from(starts),
    slots: new Uint16Array(1 << 17),
  }
  const rows = starts.length - 1
  for (let from = 0; from < rows; from += SLICE_TOKENS) {
    for (let row = from; row < Math.min(rows, from + SLICE_TOKENS); row++) place(vocabulary, row)
    yield
  }
  return vocabulary
}

function findStarts(text: Uint8Array, from: number, to: number, starts: number[]): void {
  for (let i = from; i < to; i++) if (text[i] === 10) starts.push(i + 1)
}

function place({ characters, starts, slots }: PieceTable, row: number): void {
  const continues = isContinuation(characters, starts[row]!)
  let hash = continues ? CONTINUATION_SEED : WORD_SEED
  for (let i = starts[row]! + (continues ? 2 : 0); i < starts[row + 1]! - 1; i++) {
    hash = step(hash, characters[i]!)
  }
  let slot = slotOf(hash, slots.length)
  while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1)
  slots[slot] = row + 1
}

function isContinuation(characters: Uint8Array, start: number): boolean {
  return characters[start] === CONTINUATION && characters[start + 1] === CONTINUATION
}

function step(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}

function slotOf(hash: number, size: number): number {
  return ((hash ^ (hash >>> 15)) >>> 0) & (size - 1)
}

const word = new Uint8Array(MAX_WORD_LENGTH)
const found = new Uint16Array(MAX_WORD_LENGTH)

/**
 * Calls `visit` with the row of each piece, in order, until about `limit` pieces were seen (a word is not cut). Words
 * with letters of other scripts have no pieces.
 */
function visitPieces(
  vocabulary: PieceTable,
  text: string,
  limit: number,
  visit: (row: number) => void,
): void {
  const plain = withoutAccents(text)
  let length = 0
  let isForeign = false
  let left = limit
  for (let i = 0; i <= plain.length && left > 0; i++) {
    const code = i < plain.length ? classOf(plain.charCodeAt(i)) : SEPARATOR
    if (code > FOREIGN) {
      if (length < MAX_WORD_LENGTH) word[length] = code
      length++
    } else if (code === FOREIGN) {
      isForeign = true
    } else {
      if (length > 0 && length <= MAX_WORD_LENGTH && !isForeign) left -= visitWord(vocabulary, length, visit)
      length = 0
      isForeign = false
    }
  }
}

function withoutAccents(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 127)
      return text
        .toLowerCase()
        .normalize('NFD')
        .replaceAll(/\p{Mn}/gu, '')
  }
  return text
}

/**
 * Classifies a character outside ASCII. Letters of other alphabets make a word foreign. Signs, emoji and scripts without
 * spaces (Han, kana) only separate words: Latin names between them count.
 */
function classOf(code: number): number {
  if (code < 128) return ASCII[code]!
  if (code < 0xc0 || code === 0xd7 || code === 0xf7) return SEPARATOR
  return code < 0x2000 || (code >= 0xa000 && code < 0xd800) ? FOREIGN : SEPARATOR
}

/** Visits the pieces of a word; returns how many there are. */
function visitWord(vocabulary: PieceTable, length: number, visit: (row: number) => void): number {
  let pieces = 0
  for (let from = 0; from < length; ) {
    const match = longestMatch(vocabulary, from, length)
    if (match === 0) return 0
    found[pieces++] = match - 1
    from += pieceLength(vocabulary, match - 1)
  }
  for (let i = 0; i < pieces; i++) visit(found[i]!)
  return pieces
}

/** Returns row + 1 of the longest token at `from` in the word; 0 if there is none. */
function longestMatch(vocabulary: PieceTable, from: number, length: number): number {
  const { slots } = vocabulary
  let hash = from === 0 ? WORD_SEED : CONTINUATION_SEED
  let best = 0
  for (let to = from; to < length; to++) {
    hash = step(hash, word[to]!)
    for (let slot = slotOf(hash, slots.length); slots[slot] !== 0; slot = (slot + 1) & (slots.length - 1)) {
      if (!equals(vocabulary, slots[slot]! - 1, from, to + 1)) continue
      best = slots[slot]!
      break
    }
  }
  return best
}

function equals({ characters, starts }: PieceTable, row: number, from: number, to: number): boolean {
  let at = starts[row]!
  const continues = isContinuation(characters, at)
  if (continues !== from > 0) return false
  if (continues) at += 2
  if (starts[row + 1]! - 1 - at !== to - from) return false
  for (let i = from; i < to; i++) if (word[i] !== characters[at++]) return false
  return true
}

function pieceLength({ characters, starts }: PieceTable, row: number): number {
  return starts[row + 1]! - 1 - starts[row]! - (isContinuation(characters, starts[row]!) ? 2 : 0)
}

/** A table of word-piece vectors that embeds text. */
export interface Meaning {
  readonly dimensions: number
  /** The mean vector of requests, which carries no information about any one of them. Zeros if the table has none. */
  readonly requests: Float32Array
  /**
   * Returns a unit vector; all zeros if no word is known. Callers split names into words first. Reads only the first
   * `pieces` word pieces: a long description is no clearer than its first sentences.
   */
  embed(text: string, pieces?: number): Float32Array
}

interface Table {
  readonly vocabulary: PieceTable
  readonly dimensions: number
  readonly scales: Float32Array
  /** Two numbers per byte, the even one in the low half. */
  readonly codes: Int8Array
  /** Whether the last row is the mean vector of requests. */
  readonly hasRequests: boolean
}

/** `TSM1`, little-endian. */
const MAGIC = 0x314d5354
const HEADER = 16
const PIECES = 48
const SLICE_ROWS = 10_000

/** The name of the row with the mean vector of requests. */
const REQUESTS = '\n[requests]'

/**
 * Reads a table: magic, dimensions, rows and the vocabulary's length as 32-bit numbers; the vocabulary, one token per line,
 * padded to a multiple of four bytes; a scale per row (32-bit floats); the rows, four bits per number.
 */
export function createMeaning(bytes: Uint8Array): Meaning {
  return runAtOnce(meaningOf(bytes))
}

/** Like `createMeaning`, with pauses, because it takes tens of milliseconds. */
export function readMeaning(bytes: Uint8Array, pause: Pause): Promise<Meaning> {
  return runInSlices(meaningOf(bytes), pause)
}

function* meaningOf(bytes: Uint8Array): Sliced<Meaning> {
  const table = yield* readTable(bytes)
  const { vocabulary, dimensions } = table
  let sum = new Float32Array(dimensions)
  const add = (row: number) => addRow(table, row, sum)
  const requests = new Float32Array(dimensions)
  if (table.hasRequests) addRow(table, table.scales.length - 1, requests)
  return {
    dimensions,
    requests,
    embed(text, pieces = PIECES) {
      sum = new Float32Array(dimensions)
      visitPieces(vocabulary, text, pieces, add)
      return normalize(sum)
    },
  }
}

function* readTable(bytes: Uint8Array): Sliced<Table> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.byteLength < HEADER || view.getUint32(0, true) !== MAGIC)
    throw new Error('The file is not a table of meanings.')
  const dimensions = view.getUint32(4, true)
  const rows = view.getUint32(8, true)
  const length = view.getUint32(12, true)
  const scalesFrom = HEADER + Math.ceil(length / 4) * 4
  const codesFrom = scalesFrom + rows * 4
  if (bytes.byteLength !== codesFrom + (rows * dimensions) / 2)
    throw new Error('The table of meanings is truncated.')
  const scales = new Float32Array(rows)
  for (let row = 0; row < rows; row++) {
    scales[row] = view.getFloat32(scalesFrom + row * 4, true)
    if (row % SLICE_ROWS === 0) yield
  }
  return {
    vocabulary: yield* createPieceTable(bytes.subarray(HEADER, HEADER + length)),
    dimensions,
    scales,
    codes: new Int8Array(bytes.buffer, bytes.byteOffset + codesFrom, (rows * dimensions) / 2),
    hasRequests: endsWith(bytes.subarray(HEADER, HEADER + length), REQUESTS),
  }
}

function endsWith(bytes: Uint8Array, text: string): boolean {
  const end = bytes.subarray(Math.max(0, bytes.length - text.length))
  return String.fromCharCode(...end) === text
}

function addRow({ scales, codes, dimensions }: Table, row: number, sum: Float32Array): void {
  const scale = scales[row]!
  const half = dimensions / 2
  const from = row * half
  for (let i = 0; i < half; i++) {
    const pair = codes[from + i]!
    sum[2 * i]! += scale * ((pair << 28) >> 28)
    sum[2 * i + 1]! += scale * (pair >> 4)
  }
}

function normalize(vector: Float32Array): Float32Array {
  let squares = 0
  for (let i = 0; i < vector.length; i++) squares += vector[i]! * vector[i]!
  if (squares === 0) return vector
  const factor = 1 / Math.sqrt(squares)
  for (let i = 0; i < vector.length; i++) vector[i]! *= factor
  return vector
}
