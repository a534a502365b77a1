// Finds where JSON values start and end in bytes, without parsing them. Checks structure only: a caller that needs a
// value runs JSON.parse on its bytes, which rejects invalid content.
import { endOfJsonString, MAX_JSON_DEPTH } from '@toolshelf/core/internal/node'

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
export function largeValues(bytes: Buffer, start: number, end: number, size: number): Map<number, number> {
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
export function isStringAt(bytes: Buffer, at: number): boolean {
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
