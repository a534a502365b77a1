// Parses JSON from bytes and keeps the source of large values and long numbers, so that they can be written unchanged.
import {
  endOfValue,
  isListAt,
  isObjectAt,
  isStringAt,
  largeValues,
  memberAt,
  nextItem,
  ScanError,
} from './scan.ts'
import { keepText, keepUnchanged } from './text.ts'

/** Values with fewer bytes are parsed in one piece. */
const LARGE = 4096

/** Base64 of at least this many bytes is decoded to a string only when it is read. */
const LAZY = 16_384

/** How many levels deep objects of a small value keep their own text. */
const EXACT_LEVELS = 8

/** Numbers with this many digits may lose precision in JavaScript. */
const LONG_NUMBER = /\d{16}/

/** Values that are read one by one. A body of millions of `{}` would take minutes; JSON.parse takes a second. */
const MAX_VALUES = 200_000

/** Parses the value between two offsets. Throws a SyntaxError, or a ScanError for what needs JSON.parse. */
export function readValue(bytes: Buffer, start: number, end: number): unknown {
  if (end - start < LARGE) return readSmall(bytes, start, end, EXACT_LEVELS)
  return readLarge(bytes, start, end, { ends: largeValues(bytes, start, end, LARGE), values: 0 })
}

/** Objects that contain long numbers keep their own text, so the digits survive changes elsewhere in the request. */
function readSmall(bytes: Buffer, start: number, end: number, levels: number): unknown {
  const text = bytes.toString('utf8', start, end)
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) return value
  const isExact = levels > 0 && LONG_NUMBER.test(text)
  const read = (from: number, to: number) => readSmall(bytes, from, to, levels - 1)
  const kept = isExact ? readContainer(bytes, start, (at) => endOfValue(bytes, at), read) : value
  keepText(kept, bytes.subarray(start, end))
  if (!isExact) keepItems(kept)
  return kept
}

/** Keeps the text of a message's blocks, because some messages are split and their blocks sent unchanged. */
function keepItems(value: object): void {
  for (const items of Object.values(value)) {
    if (!Array.isArray(items)) continue
    for (const item of items) if (typeof item === 'object' && item !== null) keepUnchanged(item)
  }
}

type LargeReading = {
  /** From the start of each large value to its end; all other values are small. */
  readonly ends: ReadonlyMap<number, number>
  /** Values read so far. */
  values: number
}

function readLarge(bytes: Buffer, start: number, end: number, reading: LargeReading): unknown {
  if (++reading.values > MAX_VALUES) throw new ScanError(`more than ${MAX_VALUES} values need JSON.parse`)
  if (end - start < LARGE) return readSmall(bytes, start, end, EXACT_LEVELS)
  if (!isObjectAt(bytes, start) && !isListAt(bytes, start))
    return JSON.parse(bytes.toString('utf8', start, end)) as unknown
  const endOf = (at: number) => reading.ends.get(at) ?? endOfValue(bytes, at)
  const value = readContainer(bytes, start, endOf, (from, to) => readLarge(bytes, from, to, reading))
  keepText(value, bytes.subarray(start, end))
  return value
}

type EndOf = (start: number) => number
type Read = (start: number, end: number) => unknown

function readContainer(bytes: Buffer, start: number, endOf: EndOf, read: Read): object {
  return isListAt(bytes, start) ? readList(bytes, start, endOf, read) : readObject(bytes, start, endOf, read)
}

function readList(bytes: Buffer, start: number, endOf: EndOf, read: Read): unknown[] {
  const items: unknown[] = []
  for (let at = nextItem(bytes, start + 1, true, ']'); at !== undefined; ) {
    const end = endOf(at)
    items.push(read(at, end))
    at = nextItem(bytes, end, false, ']')
  }
  return items
}

function readObject(bytes: Buffer, start: number, endOf: EndOf, read: Read): object {
  const fields: Record<string, unknown> = {}
  for (let at = nextItem(bytes, start + 1, true, '}'); at !== undefined; ) {
    const { key, value } = memberAt(bytes, at)
    if (key === '__proto__') throw new ScanError(`the key at ${at} needs JSON.parse`)
    const end = endOf(value)
    if (isLazy(bytes, key, value, end)) defineLazy(fields, key, bytes, value, end)
    else {
      // The last of several values of one key counts, also after one that is not read yet.
      if (key === 'data') delete fields[key]
      fields[key] = read(value, end)
    }
    at = nextItem(bytes, end, false, '}')
  }
  return fields
}

/** Whether a string is a long base64 image or document without escapes, which the gateway never reads. */
function isLazy(bytes: Buffer, key: string, start: number, end: number): boolean {
  if (key !== 'data' || end - start < LAZY || !isStringAt(bytes, start)) return false
  return !bytes.subarray(start, end).includes(BACKSLASH)
}

const BACKSLASH = 0x5c

function defineLazy(fields: object, key: string, bytes: Buffer, start: number, end: number): void {
  const get = () => JSON.parse(bytes.toString('utf8', start, end)) as unknown
  Object.defineProperty(fields, key, { get, enumerable: true, configurable: true })
}
