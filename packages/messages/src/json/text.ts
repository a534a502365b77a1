// Remembers the JSON text that objects were parsed from and reuses it when writing: unchanged values go out byte for
// byte, including long numbers, without being serialised again.
import { wellFormedJson } from '@toolshelf/core/internal'

/** The JSON of objects that never change: what they were parsed from, or what was written once. */
const texts = new WeakMap<object, Buffer>()

/** Objects that never change and whose JSON may be cached. */
const unchanging = new WeakSet<object>()

/** Records that `value` was parsed from `bytes`. Neither may change afterwards. */
export function keepText(value: object, bytes: Buffer): void {
  texts.set(value, bytes)
}

/** Records that an object will not change, so that it is serialised only once. */
export function keepUnchanged(value: object): void {
  unchanging.add(value)
}

/** Parts of at least this many bytes are not copied. */
const LARGE = 65_536

/** Containers below this depth have no recorded text. */
const MAX_TEXT_DEPTH = 8

type Part = string | Buffer

type Allocate = (size: number) => Buffer

/** Serialises a value to bytes, in one or more parts; small parts are joined in buffers that `allocate` returns. */
export function jsonBytes(value: unknown, allocate: Allocate = Buffer.allocUnsafe): Buffer[] {
  const parts: Part[] = []
  write(value, MAX_TEXT_DEPTH, parts)
  return joined(parts, allocate)
}

function write(value: unknown, depth: number, parts: Part[]): void {
  if (typeof value !== 'object' || value === null) {
    parts.push(wellFormedJson(JSON.stringify(value) ?? 'null'))
    return
  }
  const text = texts.get(value)
  if (text) parts.push(text)
  else if (depth === 0) parts.push(wellFormedJson(JSON.stringify(value)))
  else if (unchanging.has(value) || Object.isFrozen(value)) parts.push(unchangedJson(value))
  else writeContainer(value, depth, parts)
}

function writeContainer(value: object, depth: number, parts: Part[]): void {
  if (Array.isArray(value)) writeList(value, depth, parts)
  else writeObject(value, depth, parts)
}

function writeList(items: readonly unknown[], depth: number, parts: Part[]): void {
  parts.push('[')
  for (let index = 0; index < items.length; index++) {
    if (index > 0) parts.push(',')
    write(items[index], depth - 1, parts)
  }
  parts.push(']')
}

function writeObject(fields: object, depth: number, parts: Part[]): void {
  let before = '{'
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    parts.push(`${before}${wellFormedJson(JSON.stringify(name))}:`)
    write(value, depth - 1, parts)
    before = ','
  }
  parts.push(before === '{' ? '{}' : '}')
}

/** Serialises an unchanging object once; tool definitions are the same frozen objects in every request. */
function unchangedJson(value: object): Buffer {
  const parts: Part[] = []
  writeContainer(value, MAX_TEXT_DEPTH, parts)
  const json = concatenated(parts, 0, parts.length, Buffer.allocUnsafe)
  texts.set(value, json)
  return json
}

/** Joins small parts and leaves large ones alone. */
function joined(parts: readonly Part[], allocate: Allocate): Buffer[] {
  const result: Buffer[] = []
  let from = 0
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part
    if (typeof part === 'string' || part.length < LARGE) continue
    if (from < index) result.push(concatenated(parts, from, index, allocate))
    result.push(part)
    from = index + 1
  }
  if (from < parts.length) result.push(concatenated(parts, from, parts.length, allocate))
  return result
}

/** Copies a range of parts into one buffer. */
function concatenated(parts: readonly Part[], from: number, to: number, allocate: Allocate): Buffer {
  let size = 0
  for (let index = from; index < to; index++) size += sizeOf(parts[index] as Part)
  const whole = allocate(size)
  let at = 0
  for (let index = from; index < to; index++) {
    const part = parts[index] as Part
    if (typeof part !== 'string') {
      whole.set(part, at)
      at += part.length
    } else if (part === ',') whole[at++] = COMMA
    else at += whole.write(part, at)
  }
  return whole
}

const COMMA = 0x2c

/** The size of a part in bytes. */
function sizeOf(part: Part): number {
  if (typeof part !== 'string') return part.length
  return part === ',' ? 1 : Buffer.byteLength(part)
}
