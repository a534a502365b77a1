// Parses JSON values from bytes and keeps the text of what is large or exact, so that it can be written back unchanged.
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

/** Values of fewer bytes are parsed as a whole. */
const LARGE = 4096

/** Base64 from so many bytes on becomes a string only if somebody reads it. */
const LAZY = 16_384

/** Levels of a small value in which objects keep their own text. */
const EXACT_LEVELS = 8

/** Digits that a number of JavaScript may not hold exactly. */
const LONG_NUMBER = /\d{16}/

/** Parses the value between two offsets. Throws what JSON.parse throws, or a ScanError. */
export function readValue(bytes: Buffer, start: number, end: number): unknown {
  if (end - start < LARGE) return readSmall(bytes, start, end, EXACT_LEVELS)
  return readLarge(bytes, start, end, largeValues(bytes, start, end, LARGE))
}

/** Numbers that JavaScript cannot hold survive changes around them, because each object near them keeps its own text. */
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

/** The blocks of a message: some messages are divided, and their blocks go on as they are. */
function keepItems(value: object): void {
  for (const items of Object.values(value)) {
    if (!Array.isArray(items)) continue
    for (const item of items) if (typeof item === 'object' && item !== null) keepUnchanged(item)
  }
}

/** `ends` holds where large values end: everything else is small and quickly looked at. */
function readLarge(bytes: Buffer, start: number, end: number, ends: ReadonlyMap<number, number>): unknown {
  if (end - start < LARGE) return readSmall(bytes, start, end, EXACT_LEVELS)
  if (!isObjectAt(bytes, start) && !isListAt(bytes, start))
    return JSON.parse(bytes.toString('utf8', start, end)) as unknown
  const endOf = (at: number) => ends.get(at) ?? endOfValue(bytes, at)
  const value = readContainer(bytes, start, endOf, (from, to) => readLarge(bytes, from, to, ends))
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
    else fields[key] = read(value, end)
    at = nextItem(bytes, end, false, '}')
  }
  return fields
}

/** Images and documents in base64: long, without escapes, and of no interest here. */
function isLazy(bytes: Buffer, key: string, start: number, end: number): boolean {
  if (key !== 'data' || end - start < LAZY || !isStringAt(bytes, start)) return false
  return !bytes.subarray(start, end).includes(BACKSLASH)
}

const BACKSLASH = 0x5c

function defineLazy(fields: object, key: string, bytes: Buffer, start: number, end: number): void {
  const get = () => JSON.parse(bytes.toString('utf8', start, end)) as unknown
  Object.defineProperty(fields, key, { get, enumerable: true, configurable: true })
}
