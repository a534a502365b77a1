// Parses JSON from bytes and keeps the source of large values and long numbers, so that they can be written unchanged.
import { endOfJsonString, MAX_JSON_DEPTH } from '@toolshelf/core/internal/node'
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

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a]
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Thrown if the structure is not JSON, or not what the caller expects. Callers fall back to JSON.parse on the whole text. */
export class ScanError extends SyntaxError {}

/** Thrown if values are nested more than MAX_JSON_DEPTH levels deep. */
export class DepthError extends ScanError {}

/** Returns the first offset from `at` on that is not white space. */
export function skipSpace(bytes: Buffer, at: number): number {
  let next = at
  for (let byte = bytes[next]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; ) {
    byte = bytes[++next]
  }
  return next
}

/** Returns the offset after the value that starts at `start`. */
export function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return endOfString(bytes, start)
  if (first === LIST || first === OBJECT) return endOfContainer(bytes, start)
  let end = start
  while (end < bytes.length && !isDelimiter(bytes[end])) end++
  if (end === start) throw new ScanError(`no value at ${start}`)
  return end
}

/** The offset after the closing quote of the string that starts at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  const end = endOfJsonString(bytes, start)
  if (end > bytes.length) throw new ScanError(`the string at ${start} has no end`)
  return end
}

function endOfContainer(bytes: Buffer, start: number): number {
  let level = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at) - 1
    else if (byte === LIST || byte === OBJECT) {
      if (++level > MAX_JSON_DEPTH) throw new DepthError(`nested too deeply at ${at}`)
    } else if (byte === LIST_END || byte === OBJECT_END) {
      if (--level === 0) return at + 1
    }
  }
  throw new ScanError(`the value at ${start} has no end`)
}

/** Maps start to end for all values of at least `size` bytes inside a container, in one pass. */
function largeValues(bytes: Buffer, start: number, end: number, size: number): Map<number, number> {
  const ends = new Map<number, number>()
  const open: number[] = []
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    const from = byte === LIST_END || byte === OBJECT_END ? open.pop() : at
    if (byte === QUOTE) at = endOfString(bytes, at) - 1
    else if (byte === LIST || byte === OBJECT) open.push(at)
    if (from !== undefined && at + 1 - from >= size) ends.set(from, at + 1)
  }
  return ends
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === COMMA || byte === LIST_END || byte === OBJECT_END || (byte !== undefined && byte <= 0x20)
}

/** Returns whether an object starts here. */
export function isObjectAt(bytes: Buffer, at: number): boolean {
  return bytes[at] === OBJECT
}

/** Returns whether a list starts here. */
export function isListAt(bytes: Buffer, at: number): boolean {
  return bytes[at] === LIST
}

/** Returns whether a string starts here. */
function isStringAt(bytes: Buffer, at: number): boolean {
  return bytes[at] === QUOTE
}

/**
 * Returns the offset of the next item of a list or object; undefined after the last one. `at` is the offset after the opening
 * bracket or after an item.
 */
export function nextItem(bytes: Buffer, at: number, isFirst: boolean, close: ']' | '}'): number | undefined {
  const next = skipSpace(bytes, at)
  const byte = bytes[next]
  if (byte === (close === ']' ? LIST_END : OBJECT_END)) return undefined
  if (isFirst) return next
  if (byte !== COMMA) throw new ScanError(`no comma at ${next}`)
  const start = skipSpace(bytes, next + 1)
  if (bytes[start] === LIST_END || bytes[start] === OBJECT_END) throw new ScanError(`no value at ${start}`)
  return start
}

/** Reads an object member: its key and the offset of its value. */
export function memberAt(bytes: Buffer, at: number): { key: string; value: number } {
  if (bytes[at] !== QUOTE) throw new ScanError(`no key at ${at}`)
  const end = endOfString(bytes, at)
  const key = JSON.parse(bytes.toString('utf8', at, end)) as string
  const colon = skipSpace(bytes, end)
  if (bytes[colon] !== COLON) throw new ScanError(`no colon at ${colon}`)
  return { key, value: skipSpace(bytes, colon + 1) }
}
