// Compares words one by one: how near the nearest word of a tool is to each word of a query. Finds "photo" in a tool
// about images even if the sentences as a whole are far apart.
import type { PoolTool } from '../../core/index.ts'
import { STOP_WORDS, searchFields, splitWords } from '../words/index.ts'
import { createDense } from './kernel.ts'
import type { Meaning } from './meaning.ts'

/** A word of a query and how much it counts. */
export type WeightedWord = { readonly word: string; readonly weight: number }

/** How many words of each field to compare, in the order of FIELDS. */
const MAX_WORDS = [16, 8, 16, 40, 30, 0, 0] as const
const MAX_TEXT_LENGTH = 1_000
const MAX_QUERY_WORDS = 16

/** Words whose vectors are cached; beyond this, the cache is cleared. */
const MAX_KNOWN = 40_000

/** Returns a function that gives each candidate a nearness from 0 to 1 to the query's words. */
export function createNearWords(
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
