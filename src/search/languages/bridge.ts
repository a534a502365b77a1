// Reads the language table: one lexicon per language, which maps words to English words. Pure; the table is passed in as
// bytes. `scripts/bridge` learns and writes it.

/** The words of one language, with their frequencies and English translations. */
export type Lexicon = {
  readonly language: string
  /** Returns how often a word occurs, as a power of two; undefined for an unknown word. */
  frequency(word: string): number | undefined
  /** The sum of all words' counts. */
  readonly total: number
  /** Returns English translations, most likely first; empty for a function word, undefined for an unknown word. */
  translate(word: string): readonly string[] | undefined
  /** Returns the word with the longest common prefix, of at least `min` characters; undefined if there is none. */
  nearest(word: string, min: number): string | undefined
}

/** The lexicons of a table; each is decoded on first use. */
export type Bridge = {
  readonly languages: readonly string[]
  readonly english: Lexicon
  lexicon(language: string): Lexicon | undefined
}

/** `TSB1`, little-endian. */
export const BRIDGE_MAGIC = 0x31425354
/** Bytes of the header: magic and number of lexicons. */
export const BRIDGE_HEADER = 8
/** Bytes of a directory entry: language code, number of words, offset and length of its block. */
export const DIRECTORY_ENTRY = 20
const CODE_BYTES = 8

/**
 * Finds another form of an unknown word: the known word with the longest common prefix, if that is most of both words.
 */
export function otherForm(word: string, { nearest }: Pick<Lexicon, 'nearest'>): string | undefined {
  const { min, part } = HANGUL.test(word) ? SYLLABLES : LETTERS
  const form = nearest(word, Math.max(min, Math.ceil(word.length * part)))
  return form !== undefined && form.length * part <= word.length ? form : undefined
}

const HANGUL = /\p{Script=Hangul}/u

/** Characters, and share of the word, that two forms must have in common. Korean endings are long. */
const LETTERS = { min: 4, part: 0.6 }
const SYLLABLES = { min: 2, part: 0.45 }

type Block = { readonly words: number; readonly bytes: Uint8Array }

/**
 * Reads a table: header, directory, then a block per lexicon, English first. A block consists of columns: length of the
 * prefix shared with the previous word, length of the rest, frequency, number of targets (one byte per word each), the low
 * and high bytes of the targets, and the rests of the words as UTF-8. Targets are indexes of English words.
 */
export function createBridge(bytes: Uint8Array): Bridge {
  const blocks = readDirectory(bytes)
  const english = blocks.get('en')
  if (!english) throw new Error('The language table has no English words.')
  const englishWords = decodeWords(english)
  const lexicons = new Map<string, Lexicon>([['en', lexiconOf('en', english, englishWords, [])]])
  return {
    languages: [...blocks.keys()].filter((language) => language !== 'en'),
    english: lexicons.get('en')!,
    lexicon(language) {
      const block = blocks.get(language)
      if (!lexicons.has(language) && block)
        lexicons.set(language, lexiconOf(language, block, decodeWords(block), englishWords))
      return lexicons.get(language)
    },
  }
}

function readDirectory(bytes: Uint8Array): Map<string, Block> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.byteLength < BRIDGE_HEADER || view.getUint32(0, true) !== BRIDGE_MAGIC)
    throw new Error('The file is not a language table.')
  const count = view.getUint32(4, true)
  if (BRIDGE_HEADER + count * DIRECTORY_ENTRY > bytes.byteLength)
    throw new Error('The language table is truncated.')
  const blocks = new Map<string, Block>()
  for (let index = 0; index < count; index++) {
    const at = BRIDGE_HEADER + index * DIRECTORY_ENTRY
    const code = new TextDecoder().decode(bytes.subarray(at, at + CODE_BYTES)).replace(/\0+$/, '')
    const words = view.getUint32(at + 8, true)
    const start = view.getUint32(at + 12, true)
    const length = view.getUint32(at + 16, true)
    if (start + length > bytes.byteLength || words * 4 > length)
      throw new Error('The language table is truncated.')
    blocks.set(code, checked({ words, bytes: bytes.subarray(start, start + length) }))
  }
  return blocks
}

/** Checks that the columns fill the block, so that decoding it later cannot fail. */
function checked(block: Block): Block {
  const { words, bytes } = block
  const rests = sum(bytes, words, 2 * words)
  const targets = sum(bytes, 3 * words, 4 * words)
  if (bytes.length !== 4 * words + 2 * targets + rests) throw new Error('The language table is damaged.')
  return block
}

/** The words of a block, in its order. */
function decodeWords({ words: count, bytes }: Block): string[] {
  const targets = sum(bytes, 3 * count, 4 * count)
  const decoder = new TextDecoder()
  const current = new Uint8Array(512)
  const words: string[] = []
  let at = 4 * count + 2 * targets
  for (let index = 0; index < count; index++) {
    const [shared, length] = [bytes[index]!, bytes[count + index]!]
    current.set(bytes.subarray(at, at + length), shared)
    at += length
    words.push(decoder.decode(current.subarray(0, shared + length)))
  }
  return words
}

function sum(bytes: Uint8Array, from: number, to: number): number {
  let total = 0
  for (let at = from; at < to; at++) total += bytes[at]!
  return total
}

function lexiconOf(
  language: string,
  { words: count, bytes }: Block,
  words: readonly string[],
  english: readonly string[],
): Lexicon {
  const places = new Map(words.map((word, place) => [word, place]))
  const starts = new Uint32Array(count + 1)
  let total = 0
  for (let index = 0; index < count; index++) {
    starts[index + 1] = starts[index]! + bytes[3 * count + index]!
    total += 2 ** bytes[2 * count + index]!
  }
  const lows = 4 * count
  const highs = lows + starts[count]!
  return {
    language,
    total,
    frequency(word) {
      const place = places.get(word)
      return place === undefined ? undefined : bytes[2 * count + place]
    },
    translate(word) {
      const place = places.get(word)
      if (place === undefined) return undefined
      const found: string[] = []
      for (let at = starts[place]!; at < starts[place + 1]!; at++) {
        const target = english[bytes[lows + at]! | (bytes[highs + at]! << 8)]
        if (target !== undefined) found.push(target)
      }
      return found
    },
    nearest: (word, min) => nearestWord(words, word, min),
  }
}

/** Finds the nearest word by prefix. Words are sorted, so those with a common prefix are next to where the word would be. */
export function nearestWord(words: readonly string[], word: string, min: number): string | undefined {
  let best: string | undefined
  let max = Number.NEGATIVE_INFINITY
  const visit = (place: number) => {
    const other = words[place]!
    const shared = sharedLength(word, other)
    if (shared < min) return false
    const closeness = shared - (other.length - shared) * REST
    if (closeness > max) [max, best] = [closeness, other]
    return true
  }
  const middle = placeFor(words, word)
  for (let place = middle; place < Math.min(words.length, middle + REACH); place++) if (!visit(place)) break
  for (let place = middle - 1; place >= Math.max(0, middle - REACH); place--) if (!visit(place)) break
  return best
}

function placeFor(words: readonly string[], word: string): number {
  let [low, high] = [0, words.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (words[middle]! < word) low = middle + 1
    else high = middle
  }
  return low
}

/** How many words on either side are compared. */
const REACH = 64
/** The penalty per extra character of the other word: prefers words whose endings are shorter. */
const REST = 0.5

function sharedLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
