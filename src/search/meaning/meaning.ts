// Embeds a text as the normalised sum of one vector per word piece. Pure; the table is passed in as bytes.
import type { Pause } from '../../core/index.ts'
import { runAtOnce, runInSlices, type Sliced } from '../slices.ts'
import { createPieceTable, type PieceTable, visitPieces } from './wordpiece.ts'

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
