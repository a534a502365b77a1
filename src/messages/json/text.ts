// Remembers the JSON text that objects were parsed from and reuses it when writing: unchanged values go out byte for
// byte, including long numbers, without being serialised again.

/** The JSON source of each object. */
const texts = new WeakMap<object, Buffer>()

/** Cached JSON of objects that never change. */
const written = new WeakMap<object, Buffer>()

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

/** The bytes that an object was parsed from. */
export function sourceBytesOf(value: object): Buffer | undefined {
  return texts.get(value)
}

/** Parts of at least this many bytes are not copied. */
const LARGE = 65_536

/** Containers below this depth have no recorded text. */
const DEEPEST_TEXT = 8

/** Serialises a value to bytes, in one or more parts. */
export function jsonBytes(value: unknown): Buffer[] {
  const parts: (string | Buffer)[] = []
  let pending = ''
  const add = (part: string | Buffer): void => {
    if (typeof part === 'string') {
      pending += part
      return
    }
    if (pending !== '') parts.push(pending)
    pending = ''
    parts.push(part)
  }
  write(value, DEEPEST_TEXT, add)
  if (pending !== '') parts.push(pending)
  return joined(parts)
}

type Add = (part: string | Buffer) => unknown

function write(value: unknown, depth: number, add: Add): void {
  if (typeof value !== 'object' || value === null) add(JSON.stringify(value) ?? 'null')
  else if (depth === 0) add(texts.get(value) ?? JSON.stringify(value))
  else if (texts.has(value)) add(texts.get(value) as Buffer)
  else if (unchanging.has(value) || Object.isFrozen(value)) add(unchangedJson(value))
  else if (Array.isArray(value)) writeList(value, depth, add)
  else writeObject(value, depth, add)
}

function writeList(items: readonly unknown[], depth: number, add: Add): void {
  add('[')
  for (let index = 0; index < items.length; index++) {
    if (index > 0) add(',')
    write(items[index], depth - 1, add)
  }
  add(']')
}

function writeObject(fields: object, depth: number, add: Add): void {
  let before = '{'
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    add(`${before}${JSON.stringify(name)}:`)
    write(value, depth - 1, add)
    before = ','
  }
  add(before === '{' ? '{}' : '}')
}

/** Serialises an unchanging object once; tool definitions are the same frozen objects in every request. */
function unchangedJson(value: object): Buffer {
  let json = written.get(value)
  if (json === undefined) {
    const parts: (string | Buffer)[] = []
    const add: Add = (part) => parts.push(part)
    if (Array.isArray(value)) writeList(value, DEEPEST_TEXT, add)
    else writeObject(value, DEEPEST_TEXT, add)
    json = concatenated(parts)
    written.set(value, json)
  }
  return json
}

/** Joins small parts and leaves large ones alone. */
function joined(parts: readonly (string | Buffer)[]): Buffer[] {
  const result: Buffer[] = []
  let run: (string | Buffer)[] = []
  const flush = (): void => {
    if (run.length > 0) result.push(concatenated(run))
    run = []
  }
  for (const part of parts) {
    if (typeof part === 'string' || part.length < LARGE) {
      run.push(part)
      continue
    }
    flush()
    result.push(part)
  }
  flush()
  return result
}

/** Copies the parts into one buffer. */
function concatenated(parts: readonly (string | Buffer)[]): Buffer {
  const size = parts.reduce((sum, part) => sum + sizeOf(part), 0)
  const whole = Buffer.allocUnsafe(size)
  let at = 0
  for (const part of parts) {
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
function sizeOf(part: string | Buffer): number {
  if (typeof part !== 'string') return part.length
  return part === ',' ? 1 : Buffer.byteLength(part)
}
