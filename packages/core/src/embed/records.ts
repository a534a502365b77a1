// Quantises vectors to signed bytes and stores them as file records: mark, key, scale, codes, checksum. The checksum
// lets a reader skip damaged data and find the next intact record.
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/** A quantised vector, `scale` × `codes`, scaled so that its largest component is ±127. */
export interface Vector {
  readonly codes: Int8Array
  readonly scale: number
}

/** Returns the key of a text: the first 16 bytes of its SHA-256, one character per byte. */
export function keyOf(text: string): string {
  return createHash('sha256').update(text).digest().toString('latin1', 0, KEY_BYTES)
}

/** Quantises a vector; returns undefined if a component is missing or not finite, or all are zero. */
export function quantize(vector: ArrayLike<number>, dimensions: number): Vector | undefined {
  if (vector.length !== dimensions) return undefined
  let largest = 0
  for (let i = 0; i < dimensions; i++) {
    const size = Math.abs(vector[i]!)
    if (!Number.isFinite(size)) return undefined
    if (size > largest) largest = size
  }
  const scale = Math.fround(largest / MAX_CODE)
  if (scale === 0) return undefined
  const codes = new Int8Array(dimensions)
  for (let i = 0; i < dimensions; i++) codes[i] = Math.round((vector[i]! / largest) * MAX_CODE)
  return { codes, scale }
}

/** Converts back to floats, each within half a step of the original. */
export function floatsOf({ codes, scale }: Vector): Float32Array {
  return Float32Array.from(codes, (code) => code * scale)
}

const MAX_CODE = 127
const MARK = Buffer.from('TSv1')
const KEY_BYTES = 16
const KEY_AT = MARK.length
const SCALE_AT = KEY_AT + KEY_BYTES
const CODES_AT = SCALE_AT + 4
const CHECKSUM_BYTES = 4
/** Bytes of a file that are read and checked before yielding to the event loop. */
const CHUNK = 1 << 18

/** Returns the bytes of a record. */
export function recordSize(dimensions: number): number {
  return CODES_AT + dimensions + CHECKSUM_BYTES
}

/** Encodes a vector as a record. */
export function encode(key: string, { codes, scale }: Vector): Buffer {
  const record = Buffer.alloc(recordSize(codes.length))
  MARK.copy(record)
  record.write(key, KEY_AT, 'latin1')
  record.writeFloatLE(scale, SCALE_AT)
  record.set(new Uint8Array(codes.buffer, codes.byteOffset, codes.length), CODES_AT)
  const end = CODES_AT + codes.length
  record.writeUInt32LE(crc32(record.subarray(0, end)), end)
  return record
}

/** Decodes the vector of a record. */
export function decode(record: Buffer): Vector {
  const length = record.length - CODES_AT - CHECKSUM_BYTES
  return {
    codes: new Int8Array(record.buffer, record.byteOffset + CODES_AT, length),
    scale: record.readFloatLE(SCALE_AT),
  }
}

/** Returns the key of a record. */
export function keyIn(record: Buffer): string {
  return record.toString('latin1', KEY_AT, SCALE_AT)
}

/** Yields the intact records of a file from an offset on, one list per chunk; skips damaged data. */
export async function* recordsIn(file: FileHandle, size: number, from = 0): AsyncGenerator<Buffer[]> {
  let rest: Buffer = Buffer.alloc(0)
  let at = from
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK)
    const { bytesRead } = await file.read(chunk, 0, CHUNK, at)
    if (bytesRead === 0) return
    at += bytesRead
    const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
    const { records, end } = scan(bytes, size)
    rest = bytes.subarray(end)
    yield records
  }
}

/** Returns the intact records in the bytes, and the offset of a possibly incomplete one at the end. */
function scan(bytes: Buffer, size: number): { records: Buffer[]; end: number } {
  const records: Buffer[] = []
  let at = 0
  while (at + size <= bytes.length) {
    const record = bytes.subarray(at, at + size)
    if (isWhole(record)) {
      records.push(record)
      at += size
    } else {
      const next = bytes.indexOf(MARK, at + 1)
      at = next < 0 ? bytes.length - MARK.length + 1 : next
    }
  }
  return { records, end: at }
}

function isWhole(record: Buffer): boolean {
  const end = record.length - CHECKSUM_BYTES
  return (
    MARK.equals(record.subarray(0, KEY_AT)) && record.readUInt32LE(end) === crc32(record.subarray(0, end))
  )
}
