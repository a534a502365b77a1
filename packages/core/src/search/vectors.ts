// Ranks by meaning: the vectors of tools and of queries, how near single words are, and the matrix that compares them, in
// WebAssembly, or plainly where there is none.
// Implements S18.
import { splitName } from '../names.ts'
import type { PoolTool } from '../types.ts'
import type { WeightedWord } from './lexical-search.ts'
import type { Meaning } from './meaning.ts'
import { createToolSlices, runAtOnce, type Sliced } from './reading.ts'
import { STOP_WORDS, searchFields, splitWords } from './words.ts'

/** Weights of the fields, in the order of FIELDS; enum values say little. */
const WEIGHTS = [0.6, 0.5, 0.7, 1, 0.3, 0.5, 0] as const
const MAX_PIECES = [16, 16, 32, 48, 48, 100, 0] as const

const MAX_CLAUSES = 6

/** Fields that hold identifiers rather than sentences. */
const IDENTIFIERS = [true, true, false, false, true, false, true] as const

/** Vectors of tools, and their similarity to queries. */
export type Vectors = {
  /** Computes the vectors of all tools; without it, `scores` computes them itself in one go. */
  prepare(tools: readonly PoolTool[]): Sliced<void>
  /**
   * Returns the cosines of a query with all tools, in their order; 0 for a tool that the table cannot read. Valid until the
   * next call for the same tools.
   */
  scores(tools: readonly PoolTool[], query: string): Float32Array
  /** Returns how near the nearest words of each tool are to the query's words, from 0 to 1. */
  nearWords(tools: readonly PoolTool[], words: readonly WeightedWord[]): Float32Array
}

/** The vectors of a list of tools, with the lengths that centring gives them, their mean, and a buffer for scores. */
type Rows = {
  readonly dense: Dense
  readonly mean: Float32Array
  readonly scores: Float32Array
}

/** A much shorter list has no meaningful mean. */
const USUAL_LIST = 20

/** The share of the tools' mean, and of the requests', to subtract from a query. */
const MEAN_OF_QUERY = 0.5

/** Creates the vectors of tools with a table of meanings. */
export function createVectors(meaning: Meaning): Vectors {
  const vectors = new WeakMap<PoolTool, Float32Array>()
  const known = new WeakMap<readonly PoolTool[], Rows>()
  const vectorOf = (tool: PoolTool) => {
    let vector = vectors.get(tool)
    if (!vector) {
      vector = toolVector(tool, meaning)
      vectors.set(tool, vector)
    }
    return vector
  }
  function* rowsOf(tools: readonly PoolTool[]): Sliced<Rows> {
    let rows = known.get(tools)
    if (rows) return rows
    const dense = createDense(meaning.dimensions)
    const sum = new Float64Array(meaning.dimensions)
    const isSliceOver = createToolSlices()
    for (const tool of tools) {
      const vector = vectorOf(tool)
      dense.add(vector)
      for (let i = 0; i < sum.length; i++) sum[i]! += vector[i]!
      if (isSliceOver(tool)) yield
    }
    rows = centred(
      dense,
      Float32Array.from(sum, (value) => value / (tools.length + USUAL_LIST)),
      tools,
      vectorOf,
    )
    known.set(tools, rows)
    return rows
  }
  return {
    *prepare(tools) {
      yield* rowsOf(tools)
    },
    scores(tools, query) {
      return bestOfClauses(
        runAtOnce(rowsOf(tools)),
        clausesOf(query).map((clause) => meaning.embed(clause)),
        meaning.requests,
      )
    },
    nearWords: createNearWords(meaning),
  }
}

/** Centres the rows without changing them, since |tool − mean|² = 1 − 2 tool·mean + |mean|². */
function centred(
  dense: Dense,
  mean: Float32Array,
  tools: readonly PoolTool[],
  vectorOf: (tool: PoolTool) => Float32Array,
): Rows {
  const square = dot(mean, mean)
  dense.stretch(
    Float32Array.from(tools, (tool) => {
      const vector = vectorOf(tool)
      if (vector.every((value) => value === 0)) return 0
      return 1 / Math.sqrt(Math.max(1e-6, 1 - 2 * dot(vector, mean) + square))
    }),
  )
  return { dense, mean, scores: new Float32Array(tools.length) }
}

function dot(first: Float32Array, second: Float32Array): number {
  let sum = 0
  for (let i = 0; i < first.length; i++) sum += first[i]! * second[i]!
  return sum
}

/** Splits a long query, which may ask for several things, into clauses to embed besides the whole. */
function clausesOf(query: string): string[] {
  const clauses = query
    .split(/[.;!?\n]+|,? (?:and|then|und|et|y) /i)
    .filter((clause) => clause.split(/\s+/).length >= 4)
  return clauses.length > 1 ? [query, ...clauses.slice(0, MAX_CLAUSES)] : [query]
}

function bestOfClauses(rows: Rows, queries: readonly Float32Array[], requests: Float32Array): Float32Array {
  const [first, ...others] = queries.filter((query) => query.some((value) => value !== 0))
  const best = rows.scores
  if (!first) return best.fill(0)
  if (others.length === 0) return scoresOf(rows, first, requests)
  best.set(scoresOf(rows, first, requests))
  for (const other of others) {
    const scores = scoresOf(rows, other, requests)
    for (let row = 0; row < best.length; row++) if (scores[row]! > best[row]!) best[row] = scores[row]!
  }
  return best
}

/** Returns the cosines of one query with all rows. */
function scoresOf({ dense, mean }: Rows, query: Float32Array, requests: Float32Array): Float32Array {
  const rest = query.map((value, i) => value - MEAN_OF_QUERY * (mean[i]! + requests[i]!))
  const length = Math.sqrt(dot(rest, rest)) || 1
  const unit = rest.map((value) => value / length)
  return dense.scores(unit, dot(unit, mean))
}

function toolVector(tool: PoolTool, meaning: Meaning): Float32Array {
  const sum = new Float32Array(meaning.dimensions)
  for (const [field, texts] of searchFields(tool).entries()) {
    const weight = WEIGHTS[field] ?? 0
    if (weight === 0 || texts.length === 0) continue
    const text = texts.map((one) => (IDENTIFIERS[field] ? splitName(one).join(' ') : one)).join('. ')
    const part = meaning.embed(text, MAX_PIECES[field])
    for (let index = 0; index < sum.length; index++)
      sum[index] = (sum[index] ?? 0) + weight * (part[index] ?? 0)
  }
  const length = Math.hypot(...sum)
  return length > 0 ? sum.map((value) => value / length) : sum
}

/** How many words of each field to compare, in the order of FIELDS. */
const MAX_WORDS = [16, 8, 16, 40, 30, 0, 0] as const
const MAX_TEXT_LENGTH = 1_000
const MAX_QUERY_WORDS = 16

/** Words whose vectors are cached; beyond this, the cache is cleared. */
const MAX_KNOWN = 40_000

/** Returns a function that gives each candidate a nearness from 0 to 1 to the query's words. */
function createNearWords(
  meaning: Meaning,
): (tools: readonly PoolTool[], words: readonly WeightedWord[]) => Float32Array {
  let vocabulary = createVocabularyOfVectors(meaning)
  return (tools, words) => {
    const scores = new Float32Array(tools.length)
    const asked = tellingWords(words)
      .map(({ word, weight }) => ({ weight, vector: vocabulary.vectorOf(word) }))
      .filter(({ vector }) => vector.some((value) => value !== 0))
    if (asked.length === 0) return scores
    if (vocabulary.size() > MAX_KNOWN) vocabulary = createVocabularyOfVectors(meaning)
    const { rows, places, ends } = vocabulary.gather(tools)
    const total = asked.reduce((sum, { weight }) => sum + weight, 0)
    for (const { vector, weight } of asked) {
      const near = vocabulary.dense.scoresOf(rows, vector)
      let from = 0
      for (let index = 0; index < tools.length; index++) {
        const end = ends[index]!
        scores[index]! += (weight * nearest(near, places, from, end)) / total
        from = end
      }
    }
    return scores
  }
}

function nearest(near: Float32Array, places: Uint32Array, from: number, end: number): number {
  let best = 0
  for (let index = from; index < end; index++) {
    const score = near[places[index]!]!
    if (score > best) best = score
  }
  return Math.min(1, best)
}

/** Returns the heaviest words, in their order. */
function tellingWords(words: readonly WeightedWord[]): readonly WeightedWord[] {
  if (words.length <= MAX_QUERY_WORDS) return words
  const min = [...words].sort((a, b) => b.weight - a.weight)[MAX_QUERY_WORDS - 1]!.weight
  return words.filter(({ weight }) => weight >= min).slice(0, MAX_QUERY_WORDS)
}

/** Caches word vectors; computes them when a tool with the word first becomes a candidate. */
function createVocabularyOfVectors(meaning: Meaning) {
  const dense = createDense(meaning.dimensions)
  const rowOfWord = new Map<string, number>()
  const rowsOfTool = new WeakMap<PoolTool, Uint32Array>()
  const rowOf = (word: string) => {
    let row = rowOfWord.get(word)
    if (row === undefined) {
      row = dense.add(meaning.embed(word))
      rowOfWord.set(word, row)
    }
    return row
  }
  const rowsOf = (tool: PoolTool) => {
    let rows = rowsOfTool.get(tool)
    if (!rows) {
      const own: number[] = []
      for (const word of wordsOf(tool)) {
        const row = rowOf(word)
        if (!own.includes(row)) own.push(row)
      }
      rows = Uint32Array.from(own)
      rowsOfTool.set(tool, rows)
    }
    return rows
  }
  /** For each row its latest place, and the round in which it got it. */
  let placeOf = new Uint32Array(0)
  let rounds = new Uint32Array(0)
  let round = 0
  let distinct = new Uint32Array(0)
  let places = new Uint32Array(0)
  return {
    dense,
    size: () => rowOfWord.size,
    vectorOf: (word: string) => meaning.embed(word),
    /**
     * Returns the distinct rows of the tools' words, the place of each word among them, tool by tool, and the end of each
     * tool's places. Rows and places are valid until the next call.
     */
    gather(tools: readonly PoolTool[]): {
      readonly rows: Uint32Array
      readonly places: Uint32Array
      readonly ends: readonly number[]
    } {
      const found = tools.map(rowsOf)
      if (placeOf.length < dense.count) {
        placeOf = new Uint32Array(dense.count * 2)
        rounds = new Uint32Array(dense.count * 2)
        distinct = new Uint32Array(dense.count * 2)
      }
      const size = found.reduce((sum, { length }) => sum + length, 0)
      if (places.length < size) places = new Uint32Array(size * 2)
      round++
      let count = 0
      let end = 0
      const ends = found.map((own) => {
        for (let index = 0; index < own.length; index++) {
          const row = own[index]!
          if (rounds[row] !== round) {
            rounds[row] = round
            placeOf[row] = count
            distinct[count++] = row
          }
          places[end++] = placeOf[row]!
        }
        return end
      })
      return { rows: distinct.subarray(0, count), places, ends }
    },
  }
}

function wordsOf(tool: PoolTool): string[] {
  const words: string[] = []
  for (const [field, texts] of searchFields(tool).entries()) {
    const end = words.length + (MAX_WORDS[field] ?? 0)
    for (const text of texts) {
      if (words.length >= end) break
      for (const word of splitWords(text.slice(0, MAX_TEXT_LENGTH)))
        if (!STOP_WORDS.has(word)) words.push(word)
    }
    if (words.length > end) words.length = end
  }
  return words
}

/** Byte offsets in the memory for rows of `width` numbers. The query is at offset 0. */
interface Layout {
  readonly capacity: number
  readonly codes: number
  readonly gains: number
  readonly offsets: number
  readonly rows: number
  readonly scores: number
  readonly size: number
}

/** The kernel's two functions over one memory; `count` is a multiple of four. */
interface Memory {
  readonly buffer: ArrayBuffer
  scan(count: number, factor: number, shift: number): void
  scanRows(count: number, factor: number): void
}

/** The used part of the global `WebAssembly`, which the ES library's types do not declare. */
interface Assembly {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Memory: new (descriptor: { initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: Readonly<Record<'scan' | 'scanRows', (...numbers: number[]) => void>> }
}

interface Globals {
  readonly WebAssembly: Assembly
  readonly atob: (text: string) => string
}

/** The kernel as base64. Generated by scripts/distil/kernel.mjs, which is its readable source. */
export const KERNEL =
  'AGFzbQEAAAABGAJgCX9/f39/f31/fQBgCH9/f39/f31/AAIQAQRob3N0Bm1lbW9yeQIAAQMDAgABBxMCBHNjYW4AAAhzY2FuUm93cwABCpQJApkEAgZ/' +
  'B3sgBARAA0AgASELIAsgBWohDCAMIAVqIQ0gDSAFaiEOIAP9DAAAAAAAAAAAAAAAAAAAAAAhEv0MAAAAAAAAAAAAAAAAAAAAACET/QwAAAAAAAAAAAAA' +
  'AAAAAAAAIRT9DAAAAAAAAAAAAAAAAAAAAAAhFUEAIQkDQCAAIAlBAXRqIgr9AAAAIQ8gCv0AABAhECALIAlq/QAAACIRIBD9ugEgEUEI/YsBIA/9ugH9' +
  'rgEgEv2uASESIAwgCWr9AAAAIhEgEP26ASARQQj9iwEgD/26Af2uASAT/a4BIRMgDSAJav0AAAAiESAQ/boBIBFBCP2LASAP/boB/a4BIBT9rgEhFCAO' +
  'IAlq/QAAACIRIBD9ugEgEUEI/YsBIA/9ugH9rgEgFf2uASEVIAlBEGoiCSAFSQ0ACyASIBP9DQABAgMQERITBAUGBxQVFhcgEiAT/Q0ICQoLGBkaGwwN' +
  'Dg8cHR4f/a4BIQ8gFCAV/Q0AAQIDEBESEwQFBgcUFRYXIBQgFf0NCAkKCxgZGhsMDQ4PHB0eH/2uASEQIA8gEP0NAAECAwQFBgcQERITFBUWFyAPIBD9' +
  'DQgJCgsMDQ4PGBkaGxwdHh/9rgH9+gEgAv0AAAD95gEgBv0T/eYBIAf9AAAAIAj9E/3mAf3lAf0LAAAgDiAFaiEBIAJBEGohAiAHQRBqIQcgA0EQaiED' +
  'IARBBGsiBA0ACwsL9gQCBn8HeyAEBEADQCABIAcoAgAgBWxqIQogASAHKAIEIAVsaiELIAEgBygCCCAFbGohDCABIAcoAgwgBWxqIQ0gA/0MAAAAAAAA' +
  'AAAAAAAAAAAAACER/QwAAAAAAAAAAAAAAAAAAAAAIRL9DAAAAAAAAAAAAAAAAAAAAAAhE/0MAAAAAAAAAAAAAAAAAAAAACEUQQAhCANAIAAgCEEBdGoi' +
  'Cf0AAAAhDiAJ/QAAECEPIAogCGr9AAAAIhAgD/26ASAQQQj9iwEgDv26Af2uASAR/a4BIREgCyAIav0AAAAiECAP/boBIBBBCP2LASAO/boB/a4BIBL9' +
  'rgEhEiAMIAhq/QAAACIQIA/9ugEgEEEI/YsBIA79ugH9rgEgE/2uASETIA0gCGr9AAAAIhAgD/26ASAQQQj9iwEgDv26Af2uASAU/a4BIRQgCEEQaiII' +
  'IAVJDQALIBEgEv0NAAECAxAREhMEBQYHFBUWFyARIBL9DQgJCgsYGRobDA0ODxwdHh/9rgEhDiATIBT9DQABAgMQERITBAUGBxQVFhcgEyAU/Q0ICQoL' +
  'GBkaGwwNDg8cHR4f/a4BIQ8gDiAP/Q0AAQIDBAUGBxAREhMUFRYXIA4gD/0NCAkKCwwNDg8YGRobHB0eH/2uAf36Af0MAAAAAAAAAAAAAAAAAAAAACEQ' +
  'IAIgBygCAEECdGogEP1WAgAAIRAgAiAHKAIEQQJ0aiAQ/VYCAAEhECACIAcoAghBAnRqIBD9VgIAAiEQIAIgBygCDEECdGogEP1WAgADIRAgEP3mASAG' +
  '/RP95gH9CwAAIAdBEGohByADQRBqIQMgBEEEayIEDQALCws='

const PAGE = 65_536
const FIRST_CAPACITY = 64
const MAX_CODE = 127

/** A growing matrix of quantised vectors. */
type Dense = ReturnType<typeof createDense>

/** Creates an empty matrix; `plain` avoids WebAssembly. */
export function createDense(dimensions: number, { plain = false } = {}) {
  const width = Math.ceil(dimensions / 16) * 16
  const allocate = plain ? plainMemory : fastMemory
  let layout = layoutOf(FIRST_CAPACITY, width)
  let memory = allocate(layout, width)
  let count = 0

  const grow = (): void => {
    const next = layoutOf(layout.capacity * 2, width)
    const larger = allocate(next, width)
    const bytes = new Uint8Array(larger.buffer)
    bytes.set(new Uint8Array(memory.buffer, layout.codes, count * width), next.codes)
    bytes.set(new Uint8Array(memory.buffer, layout.gains, count * 4), next.gains)
    layout = next
    memory = larger
  }

  return {
    get count() {
      return count
    },
    /** Appends a vector; returns its row. */
    add(vector: Float32Array): number {
      if (count === layout.capacity) grow()
      const codes = new Int8Array(memory.buffer, layout.codes + count * width, width)
      new Float32Array(memory.buffer, layout.gains)[count] = pack(vector, codes)
      return count++
    },
    /** Sets a factor per row for `scores`. Call it once, after all rows are added. */
    stretch(factors: Float32Array): void {
      const gains = new Float32Array(memory.buffer, layout.gains, count)
      for (let row = 0; row < count; row++) gains[row]! *= factors[row]!
      new Float32Array(memory.buffer, layout.offsets, count).set(factors)
    },
    /**
     * Returns the dot products of all rows with the query, minus `shift`, times the rows' factors. Valid until the next
     * call.
     */
    scores(query: Float32Array, shift = 0): Float32Array {
      const factor = writeQuery(query, new Int16Array(memory.buffer, 0, width))
      memory.scan(inFours(count), factor, shift)
      return new Float32Array(memory.buffer, layout.scores, count)
    },
    /**
     * Returns the dot products of these rows with the query, without factors. Rows must be distinct. Valid until the next
     * call.
     */
    scoresOf(rows: Uint32Array, query: Float32Array): Float32Array {
      const factor = writeQuery(query, new Int16Array(memory.buffer, 0, width))
      const list = new Uint32Array(memory.buffer, layout.rows, inFours(rows.length))
      list.set(rows)
      list.fill(0, rows.length)
      memory.scanRows(list.length, factor)
      return new Float32Array(memory.buffer, layout.scores, rows.length)
    },
  }
}

const inFours = (count: number) => Math.ceil(count / 4) * 4

function layoutOf(capacity: number, width: number): Layout {
  const codes = width * 2
  const gains = codes + capacity * width
  const list = capacity * 4
  const [offsets, rows, scores] = [gains + list, gains + 2 * list, gains + 3 * list]
  return { capacity, codes, gains, offsets, rows, scores, size: scores + list }
}

/**
 * Rounds a row to signed bytes and returns the value of one step. The kernel reads two bytes as one 16-bit number, so
 * the first adds a fraction to the second: the second is rounded with that subtracted.
 */
function pack(vector: Float32Array, codes: Int8Array): number {
  const largest = largestOf(vector)
  const steps = largest > 0 ? MAX_CODE / largest : 0
  for (let i = 0; i < vector.length; i += 2) {
    const low = Math.round(vector[i]! * steps)
    codes[i] = low
    codes[i + 1] = Math.round((vector[i + 1] ?? 0) * steps - (low & 255) / 256)
  }
  return largest / MAX_CODE
}

/**
 * Writes the query in the kernel's format, as precisely as sums allow without overflow; returns the value of one step.
 */
function writeQuery(query: Float32Array, into: Int16Array): number {
  const finest = Math.floor(0xffff / into.length)
  const largest = largestOf(query)
  const steps = largest > 0 ? finest / largest : 0
  for (let i = 0; i < into.length; i++) into[placeInQuery(i)] = Math.round((query[i] ?? 0) * steps)
  return Math.fround(largest / finest / 256)
}

/** Maps an index to its position: in each group of sixteen, even indexes come first. */
const placeInQuery = (i: number) => (i & ~15) + ((i & 1) << 3) + ((i & 15) >> 1)

function largestOf(vector: Float32Array): number {
  let largest = 0
  for (let i = 0; i < vector.length; i++) {
    const size = Math.abs(vector[i]!)
    if (size > largest) largest = size
  }
  return largest
}

function plainMemory(layout: Layout, width: number): Memory {
  const buffer = new ArrayBuffer(layout.size)
  const query = new Int16Array(buffer, 0, width)
  const codes = new Int8Array(buffer, layout.codes, layout.capacity * width)
  const [gains, offsets, scores] = [layout.gains, layout.offsets, layout.scores].map(
    (from) => new Float32Array(buffer, from, layout.capacity),
  ) as [Float32Array, Float32Array, Float32Array]
  const rows = new Uint32Array(buffer, layout.rows, layout.capacity)
  const scoreOf = (row: number, factor: number) => {
    let sum = 0
    for (let i = 0; i < width; i += 2) {
      const [low, high] = [codes[row * width + i]!, codes[row * width + i + 1]!]
      sum += 256 * low * query[placeInQuery(i)]! + ((low & 255) + 256 * high) * query[placeInQuery(i + 1)]!
    }
    return Math.fround(Math.fround(Math.fround(sum) * gains[row]!) * factor)
  }
  return {
    buffer,
    scan(count, factor, shift) {
      for (let row = 0; row < count; row++)
        scores[row] = scoreOf(row, factor) - Math.fround(Math.fround(shift) * offsets[row]!)
    },
    scanRows(count, factor) {
      for (let place = 0; place < count; place++) scores[place] = scoreOf(rows[place]!, factor)
    },
  }
}

function fastMemory(layout: Layout, width: number): Memory {
  const kernel = compiled()
  if (kernel === undefined) return plainMemory(layout, width)
  try {
    const memory = new kernel.assembly.Memory({ initial: Math.ceil(layout.size / PAGE) })
    const { scan, scanRows } = new kernel.assembly.Instance(kernel.module, { host: { memory } }).exports
    const { codes, gains, offsets, rows, scores } = layout
    return {
      buffer: memory.buffer,
      scan: (count, factor, shift) => scan(0, codes, gains, scores, count, width, factor, offsets, shift),
      scanRows: (count, factor) => scanRows(0, codes, gains, scores, count, width, factor, rows),
    }
  } catch {
    return plainMemory(layout, width) // no address space is left for another memory
  }
}

let kernelOnce: { assembly: Assembly; module: object } | undefined | false

/** Returns the compiled kernel; undefined if WebAssembly or its SIMD is missing or forbidden. */
function compiled(): { assembly: Assembly; module: object } | undefined {
  if (kernelOnce === undefined) {
    try {
      const { WebAssembly: assembly, atob } = globalThis as unknown as Globals
      kernelOnce = { assembly, module: new assembly.Module(Uint8Array.from(atob(KERNEL), codeOf)) }
    } catch {
      kernelOnce = false
    }
  }
  return kernelOnce === false ? undefined : kernelOnce
}

function codeOf(character: string): number {
  return character.charCodeAt(0)
}
