// Ranks by meaning: the vectors of tools and of queries, and how near single words are.
// Implements S18.
import { splitName } from '../names.ts'
import type { PoolTool } from '../types.ts'
import { createDense, type Dense } from './kernel.ts'
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
