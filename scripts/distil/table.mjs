// Writes the table as packages/core/src/search/meaning.ts reads it: vocabulary, a scale per row, four bits a number.
import { writeFileSync } from 'node:fs'
import { chance } from './words.mjs'

const MAGIC = Buffer.from('TSM1')
const LEVELS = 7

/** The name of the last row, which no word has. It holds the mean vector of requests. */
export const REQUESTS = '[requests]'

/**
 * Rotates all rows in the same random way. Angles stay; but after it no dimension is larger than the others, so that
 * four bits with one scale a row lose little.
 */
export function rotateRows(rows, dimensions) {
  const random = chance(5)
  const signs = Float32Array.from({ length: dimensions }, () => (random() < 0.5 ? -1 : 1))
  for (let from = 0; from < rows.length; from += dimensions) {
    const row = rows.subarray(from, from + dimensions)
    for (let i = 0; i < dimensions; i++) row[i] *= signs[i]
    hadamard(row)
  }
}

/** The fast Walsh–Hadamard transform, orthonormal; the length is a power of two. */
function hadamard(row) {
  for (let width = 1; width < row.length; width *= 2) {
    for (let block = 0; block < row.length; block += 2 * width) {
      for (let i = block; i < block + width; i++) {
        const a = row[i]
        const b = row[i + width]
        row[i] = a + b
        row[i + width] = a - b
      }
    }
  }
  const factor = 1 / Math.sqrt(row.length)
  for (let i = 0; i < row.length; i++) row[i] *= factor
}

/** Rounds each row to −7…7 times a scale: the scale with the least squared error. Changes the rows to that. */
export function quantizeRows(rows, dimensions) {
  const codes = new Int8Array(rows.length)
  const scales = new Float32Array(rows.length / dimensions)
  for (let index = 0; index < scales.length; index++) {
    const row = rows.subarray(index * dimensions, (index + 1) * dimensions)
    scales[index] = bestScale(row)
    for (let i = 0; i < dimensions; i++) {
      const code = encode(row[i], scales[index])
      codes[index * dimensions + i] = code
      row[i] = code * scales[index]
    }
  }
  return { codes, scales }
}

function encode(value, scale) {
  return scale === 0 ? 0 : Math.max(-LEVELS, Math.min(LEVELS, Math.round(value / scale)))
}

function bestScale(row) {
  const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / LEVELS
  let best = largest
  let least = Number.POSITIVE_INFINITY
  for (let part = 0.4; part <= 1; part += 0.05) {
    const scale = largest * part
    let error = 0
    for (const value of row) error += (encode(value, scale) * scale - value) ** 2
    if (error < least) [least, best] = [error, scale]
  }
  return best
}

export function writeTable(path, tokens, { codes, scales }, dimensions) {
  const vocabulary = Buffer.from(tokens.map(({ token }) => token).join('\n'))
  const header = Buffer.alloc(16)
  MAGIC.copy(header)
  header.writeUInt32LE(dimensions, 4)
  header.writeUInt32LE(tokens.length, 8)
  header.writeUInt32LE(vocabulary.length, 12)
  const filler = Buffer.alloc((4 - (vocabulary.length % 4)) % 4, '\n')
  const packed = Buffer.alloc(codes.length / 2)
  for (let i = 0; i < packed.length; i++) packed[i] = (codes[2 * i] & 15) | ((codes[2 * i + 1] & 15) << 4)
  const floats = Buffer.from(scales.buffer, scales.byteOffset, scales.byteLength)
  const bytes = Buffer.concat([header, vocabulary, filler, floats, packed])
  writeFileSync(path, bytes)
  return bytes.length
}
