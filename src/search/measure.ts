// The second stage: computes the exact features of a candidate document for a query.
import { IN_NAME, IN_SERVER, STRENGTH_STEPS } from './analyse.ts'
import type { Documents } from './documents.ts'
import type { QueryPlan } from './plan.ts'
import type { LexicalSettings } from './settings.ts'

/** What a document and a query have in common. Parts of 1, where nothing else is said. */
export type Features = {
  /** The final score. */
  score: number
  /** BM25F: the sum over the query's words. */
  sum: number
  /** The same of the sentence that fits best. */
  bestClause: number
  /** How much of the name's words the query has. */
  nameCoverage: number
  /** How much of the query's words name and server have. */
  queryInName: number
  /** How much of the server's name the query has. */
  serverCoverage: number
  /** How much of the query's words the whole document has, by rarity. */
  queryCoverage: number
  /** How many words of the query it has. */
  words: number
}

/** Work space: which terms the query asks for, and what each word of it was given by the document being read. */
export type MeasureSpace = {
  /** For each term the first of its slots, plus one; 0 for terms that nobody asks for. */
  heads: Int32Array
  slots: Slot[]
  given: Float64Array
  inNameOrServer: Float64Array
  inName: Float64Array
  inServer: Uint8Array
  clauses: Float64Array
}

/** One way to answer a word of the query; a term that answers several words has several, chained by `next`. */
type Slot = { readonly group: number; readonly gain: number; readonly share: number; readonly next: number }

export function createMeasureSpace(): MeasureSpace {
  return {
    heads: new Int32Array(0),
    slots: [],
    given: new Float64Array(0),
    inNameOrServer: new Float64Array(0),
    inName: new Float64Array(0),
    inServer: new Uint8Array(0),
    clauses: new Float64Array(64),
  }
}

export function emptyFeatures(): Features {
  const score = 0
  return {
    ...{ score, sum: 0, bestClause: 0, nameCoverage: 0, queryInName: 0 },
    ...{ serverCoverage: 0, queryCoverage: 0, words: 0 },
  }
}

/** Marks the terms of a plan; `unmark` must follow. */
export function mark({ groups }: QueryPlan, termCount: number, space: MeasureSpace): void {
  if (space.heads.length < termCount) space.heads = new Int32Array(Math.ceil(termCount * 1.2))
  if (space.given.length < groups.length) {
    const size = groups.length * 2
    space.given = new Float64Array(size)
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

export function unmark({ groups }: QueryPlan, { heads }: MeasureSpace): void {
  for (const { alternatives } of groups) for (const { term } of alternatives) heads[term] = 0
}

/** Reads a document against the marked plan. */
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
  const { heads, slots, given, inNameOrServer, inName, inServer } = space
  const end = starts[document + 1]!
  for (let index = starts[document]!; index < end; index++) {
    let slot = heads[terms[index]!]!
    while (slot > 0) {
      const { group, gain, share, next } = slots[slot - 1]!
      const value = values[index]!
      const amount = (gain * (value >> 2)) / STRENGTH_STEPS
      if (amount > given[group]!) given[group] = amount
      if ((value & 3) !== 0) {
        if (share > inNameOrServer[group]!) inNameOrServer[group] = share
        if ((value & IN_NAME) !== 0 && share > inName[group]!) inName[group] = share
        if ((value & IN_SERVER) !== 0 && share === 1) inServer[group] = 1
      }
      slot = next
    }
  }
}

/** Sums up what the words were given, and clears it. Coverages of name and server are still counts. */
function fold(
  { groups, weight: all, rarity: allRarity, clauses: count }: QueryPlan,
  space: MeasureSpace,
  into: Features,
): void {
  const { given, inNameOrServer, inName, inServer, clauses } = space
  let sum = 0
  let named = 0
  let covered = 0
  into.nameCoverage = 0
  into.serverCoverage = 0
  into.words = 0
  for (let group = 0; group < groups.length; group++) {
    const amount = given[group]!
    if (amount === 0) continue
    const { weight, rarity, clause } = groups[group]!
    sum += amount
    clauses[clause]! += amount
    given[group] = 0
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

/** The whole formula. */
function scoreOf(features: Features, clauses: number, settings: LexicalSettings): number {
  const share = clauses > 1 ? settings.bestClause : 0
  const sum = (1 - share) * features.sum + share * features.bestClause
  const name = settings.nameCoverage * power(features.nameCoverage, settings.nameCoveragePower)
  const query = settings.queryInName * power(features.queryInName, settings.queryInNamePower)
  const server = features.serverCoverage === 1 ? settings.serverNamed : 0
  return sum * (1 + name) * (1 + query) * (1 + server)
}

/** The most that the bonuses can multiply a sum with. */
export function largestFactor(settings: LexicalSettings): number {
  return (1 + settings.nameCoverage) * (1 + settings.queryInName) * (1 + settings.serverNamed)
}

/** Powers of 1, 2 and 3 without the cost of a general one. */
export function power(value: number, exponent: number): number {
  if (exponent === 1 || value === 0) return value
  if (exponent === 2) return value * value
  return exponent === 3 ? value * value * value : value ** exponent
}
