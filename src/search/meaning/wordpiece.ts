// Splits text into BERT's uncased word pieces over Latin letters and digits: lower case, no accents, greedy longest
// match.
// Implements S18.
import type { Sliced } from '../slices.ts'

/** The tokenizer's table: the characters of all tokens one after the other, and where each token starts. */
export interface PieceTable {
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
export function* createPieceTable(text: Uint8Array): Sliced<PieceTable> {
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
export function visitPieces(
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
