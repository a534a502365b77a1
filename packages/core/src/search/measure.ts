// Computes the exact features of a candidate document for a query, the second stage of a lexical search.
import { IN_NAME, IN_SERVER, STRENGTH_STEPS } from './analyse.ts'
import type { Documents } from './documents.ts'
import type { QueryPlan } from './plan.ts'
import type { LexicalSettings } from './settings.ts'

/** How a document matches a query. Values are shares from 0 to 1 unless stated otherwise. */
export type Features = {
  /** The final score. */
  score: number
  /** BM25F: the sum over the query's words. */
  sum: number
  /** The BM25F sum of the sentence that matches best. */
  bestClause: number
  /** Share of the name's words that the query has. */
  nameCoverage: number
  /** Share of the query's words that the name or the server has. */
  queryInName: number
  /** Share of the server name's words that the query has. */
  serverCoverage: number
  /** Share of the query's words that the document has, weighted by rarity. */
  queryCoverage: number
  /** The number of the query's words that it has. */
  words: number
}

/** Buffers: which terms the query asks for, and what the current document contributes to each of its words. */
export type MeasureSpace = {
  /** For each term the index of its first slot, plus one; 0 for terms that the query does not ask for. */
  heads: Int32Array
  slots: Slot[]
  amounts: Float64Array
  inNameOrServer: Float64Array
  inName: Float64Array
  inServer: Uint8Array
  clauses: Float64Array
}

/** One way to match a word of the query; a term that matches several words has several slots, chained by `next`. */
type Slot = { readonly group: number; readonly gain: number; readonly share: number; readonly next: number }

/** Creates empty buffers. */
export function createMeasureSpace(): MeasureSpace {
  return {
    heads: new Int32Array(0),
    slots: [],
    amounts: new Float64Array(0),
    inNameOrServer: new Float64Array(0),
    inName: new Float64Array(0),
    inServer: new Uint8Array(0),
    clauses: new Float64Array(64),
  }
}

/** Returns features that are all 0. */
export function emptyFeatures(): Features {
  const score = 0
  return {
    score,
    sum: 0,
    bestClause: 0,
    nameCoverage: 0,
    queryInName: 0,
    serverCoverage: 0,
    queryCoverage: 0,
    words: 0,
  }
}

/** Marks the terms of a plan. Call `unmark` afterwards. */
export function mark({ groups }: QueryPlan, termCount: number, space: MeasureSpace): void {
  if (space.heads.length < termCount) space.heads = new Int32Array(Math.ceil(termCount * 1.2))
  if (space.amounts.length < groups.length) {
    const size = groups.length * 2
    space.amounts = new Float64Array(size)
    space.inNameOrServer = new Float64Array(size)
    space.inName = new Float64Array(size)
    space.inServer = new Uint8Array(size)
  }
  const { heads, slots } = space
  slots.length = 0
  for (let group = 0; group < groups.length; group++) {
    const { alternatives, weight } = groups[group]!
    for (const { term, gain, share } of alternatives) {
      slots.push({ group, gain, share: weight > 0 ? share : 0, next: heads[term]! })
      heads[term] = slots.length
    }
  }
}

/** Clears the marks of a plan. */
export function unmark({ groups }: QueryPlan, { heads }: MeasureSpace): void {
  for (const { alternatives } of groups) for (const { term } of alternatives) heads[term] = 0
}

/** Computes the features of a document for the marked plan. */
export function measureDocument(
  document: number,
  plan: QueryPlan,
  documents: Documents,
  settings: LexicalSettings,
  space: MeasureSpace,
  into: Features,
): void {
  read(document, documents, space)
  fold(plan, space, into)
  into.nameCoverage = Math.min(1, into.nameCoverage / (documents.nameSizes[document] || 1))
  into.serverCoverage = Math.min(1, into.serverCoverage / (documents.serverSizes[document] || 1))
  into.score = scoreOf(into, plan.clauses, settings)
}

function read(document: number, { terms, values, starts }: Documents, space: MeasureSpace): void {
  const { heads, slots, amounts, inNameOrServer, inName, inServer } = space
  const end = starts[document + 1]!
  for (let index = starts[document]!; index < end; index++) {
    let slot = heads[terms[index]!]!
    while (slot > 0) {
      const { group, gain, share, next } = slots[slot - 1]!
      const value = values[index]!
      const amount = (gain * (value >> 2)) / STRENGTH_STEPS
      if (amount > amounts[group]!) amounts[group] = amount
      if ((value & 3) !== 0) {
        if (share > inNameOrServer[group]!) inNameOrServer[group] = share
        if ((value & IN_NAME) !== 0 && share > inName[group]!) inName[group] = share
        if ((value & IN_SERVER) !== 0 && share === 1) inServer[group] = 1
      }
      slot = next
    }
  }
}

/** Sums up the words' values and resets them. Coverages of name and server are still counts. */
function fold(
  { groups, weight: all, rarity: allRarity, clauses: count }: QueryPlan,
  space: MeasureSpace,
  into: Features,
): void {
  const { amounts, inNameOrServer, inName, inServer, clauses } = space
  let sum = 0
  let named = 0
  let covered = 0
  into.nameCoverage = 0
  into.serverCoverage = 0
  into.words = 0
  for (let group = 0; group < groups.length; group++) {
    const amount = amounts[group]!
    if (amount === 0) continue
    const { weight, rarity, clause } = groups[group]!
    sum += amount
    clauses[clause]! += amount
    amounts[group] = 0
    if (weight === 0) continue
    named += inNameOrServer[group]! * weight
    covered += rarity
    into.nameCoverage += inName[group]!
    into.serverCoverage += inServer[group]!
    into.words++
    inNameOrServer[group] = 0
    inName[group] = 0
    inServer[group] = 0
  }
  into.sum = sum
  into.queryInName = all > 0 ? named / all : 0
  into.queryCoverage = allRarity > 0 ? covered / allRarity : 0
  into.bestClause = takeLargest(clauses, count)
}

function takeLargest(values: Float64Array, count: number): number {
  let largest = 0
  for (let index = 0; index < count; index++) {
    if (values[index]! > largest) largest = values[index]!
    values[index] = 0
  }
  return largest
}

/** Computes the final score from the features. */
function scoreOf(features: Features, clauses: number, settings: LexicalSettings): number {
  const share = clauses > 1 ? settings.bestClause : 0
  const sum = (1 - share) * features.sum + share * features.bestClause
  const name = settings.nameCoverage * power(features.nameCoverage, settings.nameCoveragePower)
  const query = settings.queryInName * power(features.queryInName, settings.queryInNamePower)
  const server = features.serverCoverage === 1 ? settings.serverNamed : 0
  return sum * (1 + name) * (1 + query) * (1 + server)
}

/** Returns the largest factor by which bonuses can multiply a sum. */
export function largestFactor(settings: LexicalSettings): number {
  return (1 + settings.nameCoverage) * (1 + settings.queryInName) * (1 + settings.serverNamed)
}

/** Raises to a power; fast for the exponents 1, 2 and 3. */
function power(value: number, exponent: number): number {
  if (exponent === 1 || value === 0) return value
  if (exponent === 2) return value * value
  return exponent === 3 ? value * value * value : value ** exponent
}
