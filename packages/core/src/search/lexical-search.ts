// Searches a lexical index: plans which terms match each word of the query, gathers the strongest documents from their
// postings, and measures these exactly (BM25F, with bonuses for names). Also the two rankers by words: `lexical`,
// Toolshelf's own, and `bm25`, which behaves like the hosted search tool.
// Implements wire 18, 20.
import type { Rank } from '../query.ts'
import {
  buildLexicalIndex,
  countOf,
  IN_NAME,
  IN_SERVER,
  type LexicalIndex,
  NO_TERM,
  type Postings,
  STRENGTH_STEPS,
} from './lexical.ts'
import { createReading } from './reading.ts'
import { LEXICAL, type LexicalSettings, PLAIN_BM25 } from './settings.ts'
import { stem } from './stem.ts'
import { type Repair, repair, synonymsOf } from './synonyms.ts'
import { MAX_CLAUSES, type QueryWord, readQuery } from './words.ts'

/** A document, which is a tool's place in the list, and how it matches the query. */
export type LexicalHit = {
  readonly document: number
  readonly score: number
  /** Share of the name's words that the query has, 0 to 1. */
  readonly nameCoverage: number
  /** Share of the server name's words that the query has. */
  readonly serverCoverage: number
  /** Share of the query's words that the document has, weighted by rarity. */
  readonly queryCoverage: number
  /** The number of the query's words that it has. */
  readonly words: number
}

/** The result of a lexical search. */
export type LexicalHits = {
  /** Best first; among equals in the order of the tools. */
  readonly hits: readonly LexicalHit[]
  /** The words of the query, including those that no tool has. */
  readonly words: readonly WeightedWord[]
  /** What a tool with every word of the query at full strength would get, before bonuses. */
  readonly perfect: number
  /** Counts the tools that have any of the words. */
  matched(): number
}

/** A word of a query with its weight by rarity. */
export type WeightedWord = { readonly word: string; readonly weight: number }

/** Measures at least this many candidates, because the bonuses may reorder them. */
const MIN_CANDIDATES = 20

/** Tolerance: the scores of candidates have single precision, final ones double. */
const ROUNDING = 1 + 1e-4

/** Buffers for one search at a time; `scores`, `seen` and `slots` are all 0 between two. */
const space = {
  scores: new Float32Array(0),
  /** The documents that have a score. */
  touched: new Uint32Array(0),
  /** What the group being scanned has added to a document, valid for documents with its stamp. */
  added: new Float32Array(0),
  stamps: new Uint32Array(0),
  stamp: 0,
  /** Whether a document was counted as a match. */
  seen: new Uint8Array(0),
  /** The documents that `keepBest` found, and their scores. */
  bestDocuments: new Uint32Array(64),
  bestScores: new Float32Array(64),
  /** For each term the number of its first slot (see Slot); 0 for terms that the query does not ask for. */
  slots: new Int32Array(0),
  /** Of the document being measured, for each group: its amount; its shares in name or server, in the name, in the server. */
  matches: new Float64Array(64),
  clauses: new Float64Array(MAX_CLAUSES),
}

/** The document measured last. */
const measured = { document: 0, score: 0, nameCoverage: 0, serverCoverage: 0, queryCoverage: 0, words: 0 }

/**
 * Returns the best `limit` tools; after them the `others`, which were found by other means, in their order. Measures
 * candidates from the strongest down, until no other can reach the first `limit`.
 */
export function searchIndex(
  index: LexicalIndex,
  query: string,
  limit: number,
  others: Iterable<number> = [],
): LexicalHits {
  const { postings, settings, tools } = index
  const plan = planOf(query, index)
  makeRoom(tools.length, postings.strongest.length, plan.groups.length)
  const wanted = limit > 0 ? Math.min(tools.length, Math.max(MIN_CANDIDATES, limit * 2)) : 0
  const count = gather(plan, postings, wanted)
  const { bestDocuments, bestScores, slots } = space
  const chain = slotsOf(plan)
  const factor = (1 + settings.nameCoverage) * (1 + settings.queryInName) * (1 + settings.serverNamed)
  const hits: LexicalHit[] = []
  for (let at = 0; at < count; at++) {
    const isFull = hits.length === limit
    if (isFull && bestScores[at]! * factor * ROUNDING < hits[limit - 1]!.score) break
    measure(bestDocuments[at]!, plan, chain, index)
    let place = hits.length
    while (place > 0 && isBetter(measured, hits[place - 1]!)) place--
    if (place === limit) continue
    if (isFull) hits.pop()
    if (place === hits.length) hits.push({ ...measured })
    else hits.splice(place, 0, { ...measured })
  }
  const found = new Set<number>()
  for (const { document } of hits) found.add(document)
  for (const document of others) {
    if (found.has(document)) continue
    measure(document, plan, chain, index)
    hits.push({ ...measured })
  }
  for (const { alternatives } of plan.groups) for (const { term } of alternatives) slots[term] = 0
  return {
    hits,
    words: plan.words,
    perfect: plan.rarity,
    matched: () => countMatches(plan, postings, tools.length),
  }
}

function makeRoom(documents: number, terms: number, groups: number): void {
  if (space.scores.length < documents) {
    const length = Math.ceil(documents * 1.2)
    space.scores = new Float32Array(length)
    space.touched = new Uint32Array(length)
    space.added = new Float32Array(length)
    space.stamps = new Uint32Array(length)
    space.seen = new Uint8Array(length)
  }
  if (space.slots.length < terms) space.slots = new Int32Array(Math.ceil(terms * 1.2))
  if (space.matches.length < groups * 4) space.matches = new Float64Array(groups * 8)
  if (space.stamp < 0xfff00000) return
  space.stamps.fill(0)
  space.stamp = 0
}

function isBetter(one: LexicalHit, other: LexicalHit): boolean {
  return one.score > other.score || (one.score === other.score && one.document < other.document)
}

/** How an index term matches a word of the query. */
export type MatchKind = 'word' | 'synonym' | 'prefix' | 'typo' | 'part' | 'form'

/** An index term that matches a word of the query. */
export type Alternative = {
  readonly term: number
  readonly how: MatchKind
  /** Its weight relative to the word itself. */
  readonly share: number
  /** What a posting of full strength adds. */
  readonly gain: number
}

/** A word of the query. Only its best alternative counts. */
type Group = {
  readonly word: string
  /** The word's weight in the query; `rarity` is the same by rarity. A group for a word's exact form has none. */
  readonly weight: number
  readonly rarity: number
  readonly clause: number
  readonly alternatives: readonly Alternative[]
  /** The most it can add to any tool's score. */
  readonly bound: number
  /** The number of postings to read. */
  readonly length: number
}

/** The words of a query with the terms that match them. */
type QueryPlan = {
  readonly groups: readonly Group[]
  readonly words: readonly WeightedWord[]
  readonly clauses: number
  readonly weight: number
  readonly rarity: number
}

/** In longer queries, unknown words are names and values rather than typos. */
const MAX_WORDS_CORRECTED = 8

/** Plans a query against an index. */
export function planOf(query: string, index: LexicalIndex): QueryPlan {
  const { vocabulary, postings, settings } = index
  const groups: Group[] = []
  const words: WeightedWord[] = []
  let [weight, rarity, clauses] = [0, 0, 1]
  const read = splitUnknown(readQuery(query, settings.query), index)
  for (const one of read) {
    const { word, clause } = one
    const rare = one.weight * rarityOf(countOf(postings, vocabulary.termOf(word)), index)
    words.push({ word, weight: rare })
    weight += one.weight
    rarity += rare
    const alternatives = alternativesOf(one, rare, index, read.length <= MAX_WORDS_CORRECTED)
    if (alternatives.length === 0) continue
    clauses = Math.max(clauses, clause + 1)
    groups.push({ word, weight: one.weight, rarity: rare, clause, ...reachOf(alternatives, postings) })
    // A bonus for names that have the word in exactly the form of the query.
    const form = vocabulary.formOf(word)
    if (settings.sameForm === 0 || alternatives[0]?.how === 'form' || countOf(postings, form) === 0) continue
    const exact = [{ term: form, how: 'form', share: 1, gain: rare * settings.sameForm }] as const
    groups.push({ word, weight: 0, rarity: 0, clause, ...reachOf(exact, postings) })
  }
  return { groups, words, clauses, weight, rarity }
}

/** Replaces an identifier that no tool has as one word by its parts. */
function splitUnknown(words: readonly QueryWord[], { settings, knows }: LexicalIndex): readonly QueryWord[] {
  if (words.every(({ parts }) => parts.length === 0)) return words
  return words.flatMap((word) => {
    if (word.parts.length === 0 || knows(word.word)) return [word]
    return word.parts.map((part) => ({
      ...word,
      word: part,
      parts: [],
      weight: /^\d+$/.test(part) ? Math.min(word.weight, settings.query.number) : word.weight,
    }))
  })
}

/** Returns the terms that match a word: itself and its synonyms, else its exact form, else what it may have meant. */
function alternativesOf(
  { word, weight }: QueryWord,
  rarity: number,
  index: LexicalIndex,
  mayCorrect: boolean,
): readonly Alternative[] {
  const { vocabulary, settings } = index
  const found: Alternative[] = []
  const own = vocabulary.termOf(word)
  const target = { weight, rarity, found, index }
  addTerm(target, own, 'word', 1)
  if (settings.synonym > 0)
    for (const near of synonymsOf(own === NO_TERM ? stem(word) : vocabulary.textOf(own)))
      addTerm(target, vocabulary.ofStem(near), 'synonym', settings.synonym)
  if (found.length === 0) addTerm(target, vocabulary.formOf(word), 'form', 1)
  if (settings.repair > 0 && found.length === 0)
    for (const { word: other, how, share } of repairsOf(word, index, mayCorrect)) {
      const term = how === 'part' ? vocabulary.termOf(other) : vocabulary.ofStem(other)
      addTerm(target, term, how, settings.repair * share)
    }
  return found
}

/** Adds a term that matches a word, and counts no more than the rarer of the two allows. */
function addTerm(
  {
    weight,
    rarity,
    found,
    index,
  }: {
    readonly weight: number
    readonly rarity: number
    readonly found: Alternative[]
    readonly index: LexicalIndex
  },
  term: number,
  how: MatchKind,
  share: number,
): void {
  const count = countOf(index.postings, term)
  if (count === 0) return
  for (const one of found) if (one.term === term) return
  found.push({ term, how, share, gain: share * Math.min(weight * rarityOf(count, index), rarity) })
}

function repairsOf(
  word: string,
  { vocabulary, postings, knows }: LexicalIndex,
  mayCorrect: boolean,
): Repair[] {
  const stems = vocabulary
    .startingWith(word[0]!)
    .filter((one) => countOf(postings, vocabulary.ofStem(one)) > 0)
  return repair(word, stems, knows, mayCorrect)
}

function reachOf(alternatives: readonly Alternative[], postings: Postings) {
  let [bound, length] = [0, 0]
  for (const { term, gain } of alternatives) {
    bound = Math.max(bound, (gain * (postings.strongest[term]! >> 2)) / STRENGTH_STEPS)
    length += countOf(postings, term)
  }
  return { alternatives, bound, length }
}

function rarityOf(count: number, { tools, settings }: LexicalIndex): number {
  return Math.log(1 + (tools.length - count + 0.5) / (count + settings.rarityFloor))
}

const SLACK = 1e-3

/**
 * Finds the `max` strongest documents, as `keepBest` does. Scans the postings term by term, rarest first; once the
 * remaining terms cannot lift a new document among the best, it updates only documents already found.
 */
function gather(plan: QueryPlan, postings: Postings, max: number): number {
  const { scores, touched } = space
  const groups = [...plan.groups].sort((a, b) => b.bound - a.bound)
  let remaining = groups.reduce((sum, { bound }) => sum + bound, 0)
  let found = 0
  let isClosed = false
  for (const group of groups) {
    if (max > 0 && found >= max && group.length > found) {
      keepBest(scores, max, found, touched)
      const min = space.bestScores[max - 1]!
      if (remaining + SLACK < min) isClosed = true
      if (isClosed) found = dropHopeless(found, min - remaining - SLACK)
    }
    if (isClosed && group.length > found * 16) probe(group, postings, found)
    else found = scan(group, postings, found, isClosed)
    remaining -= group.bound
  }
  const count = keepBest(scores, max, found, touched)
  for (let at = 0; at < found; at++) scores[touched[at]!] = 0
  return count
}

/** Adds a group to every document that has any of its terms, with the best of them; if closed, only to those found. */
function scan(
  { alternatives }: Group,
  { documents, values, starts }: Postings,
  found: number,
  isClosed: boolean,
): number {
  const { scores, touched, added, stamps } = space
  const stamp = ++space.stamp
  const isOnly = alternatives.length === 1
  let size = found
  for (const { term, gain } of alternatives) {
    const factor = gain / STRENGTH_STEPS
    const end = starts[term + 1]!
    for (let index = starts[term]!; index < end; index++) {
      const document = documents[index]!
      const score = scores[document]!
      if (score === 0) {
        if (isClosed) continue
        touched[size++] = document
      }
      const value = factor * (values[index]! >> 2)
      if (isOnly) {
        scores[document] = score + value
        continue
      }
      const had = stamps[document] === stamp ? added[document]! : 0
      if (value <= had) continue
      scores[document] = score + value - had
      stamps[document] = stamp
      added[document] = value
    }
  }
  return size
}

/** Like a closed `scan`, by looking up each document found: for long lists and few documents. */
function probe({ alternatives }: Group, postings: Postings, found: number): void {
  const { scores, touched } = space
  for (let at = 0; at < found; at++) {
    const document = touched[at]!
    let max = 0
    for (const { term, gain } of alternatives) {
      const index = placeOf(document, postings, term)
      if (index >= 0) max = Math.max(max, (gain * (postings.values[index]! >> 2)) / STRENGTH_STEPS)
    }
    scores[document]! += max
  }
}

function placeOf(document: number, { documents, starts }: Postings, term: number): number {
  const end = starts[term + 1]!
  let [low, high] = [starts[term]!, end]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (documents[middle]! < document) low = middle + 1
    else high = middle
  }
  return low < end && documents[low] === document ? low : -1
}

/** Keeps the documents that can still reach the top results. */
function dropHopeless(found: number, min: number): number {
  const { scores, touched } = space
  let kept = 0
  for (let at = 0; at < found; at++) {
    const document = touched[at]!
    if (scores[document]! >= min) touched[kept++] = document
    else scores[document] = 0
  }
  return kept
}

/**
 * Finds the `max` documents with the highest scores above 0, of all or `among` some, best first; among equals the earlier
 * ones. Returns how many there are.
 */
function keepBest(scores: Float32Array, max: number, length: number, among?: Uint32Array): number {
  if (space.bestScores.length < max) {
    space.bestDocuments = new Uint32Array(max)
    space.bestScores = new Float32Array(max)
  }
  const { bestDocuments: documents, bestScores: best } = space
  let [count, min] = [0, 0]
  for (let index = 0; index < length; index++) {
    const document = among === undefined ? index : among[index]!
    const score = scores[document]!
    if (score < min || !(score > 0)) continue
    if (count === max && (max === 0 || (score === min && document > documents[max - 1]!))) continue
    let at = count < max ? count++ : max - 1
    for (; at > 0; at--) {
      const other = best[at - 1]!
      if (other > score || (other === score && documents[at - 1]! < document)) break
      best[at] = other
      documents[at] = documents[at - 1]!
    }
    best[at] = score
    documents[at] = document
    if (count === max) min = best[max - 1]!
  }
  return count
}

/** Returns the documents with the highest scores above 0, best first. */
export function bestOf(scores: Float32Array, max: number): readonly number[] {
  const count = keepBest(scores, max, scores.length)
  return Array.from(space.bestDocuments.subarray(0, count))
}

function countMatches({ groups }: QueryPlan, { documents, starts }: Postings, count: number): number {
  const { seen } = space
  let matched = 0
  for (const { alternatives } of groups) {
    for (const { term } of alternatives) {
      const end = starts[term + 1]!
      for (let index = starts[term]!; index < end; index++) {
        const document = documents[index]!
        matched += 1 - seen[document]!
        seen[document] = 1
      }
    }
  }
  seen.fill(0, 0, count)
  return matched
}

/** One way to match a word of the query; a term that matches several words has several slots, chained by `next`. */
type Slot = { readonly group: number; readonly gain: number; readonly share: number; readonly next: number }

/** Returns the slots of a plan, and fills `slots`, which the caller clears. */
function slotsOf({ groups }: QueryPlan): readonly Slot[] {
  const { slots } = space
  const chain: Slot[] = []
  for (let group = 0; group < groups.length; group++) {
    const { alternatives, weight } = groups[group]!
    for (const { term, gain, share } of alternatives) {
      chain.push({ group: group * 4, gain, share: weight > 0 ? share : 0, next: slots[term]! })
      slots[term] = chain.length
    }
  }
  return chain
}

/** Writes to `measured` how a document matches. */
function measure(document: number, plan: QueryPlan, chain: readonly Slot[], index: LexicalIndex): void {
  const { starts, terms, values } = index.documents
  const { slots, matches } = space
  const end = starts[document + 1]!
  for (let at = starts[document]!; at < end; at++) {
    let slot = slots[terms[at]!]!
    while (slot > 0) {
      const { group, gain, share, next } = chain[slot - 1]!
      const value = values[at]!
      const amount = (gain * (value >> 2)) / STRENGTH_STEPS
      if (amount > matches[group]!) matches[group] = amount
      if ((value & (IN_NAME | IN_SERVER)) !== 0) {
        if (share > matches[group + 1]!) matches[group + 1] = share
        if ((value & IN_NAME) !== 0 && share > matches[group + 2]!) matches[group + 2] = share
        if ((value & IN_SERVER) !== 0 && share === 1) matches[group + 3] = 1
      }
      slot = next
    }
  }
  sumUp(document, plan, index)
}

/** Sums up the matches, and resets them. */
function sumUp(
  document: number,
  { groups, weight, rarity, clauses: count }: QueryPlan,
  index: LexicalIndex,
): void {
  const { documents, settings } = index
  const { matches, clauses } = space
  let [sum, named, covered, inName, inServer, words] = [0, 0, 0, 0, 0, 0]
  for (let at = 0; at < groups.length; at++) {
    const amount = matches[at * 4]!
    if (amount === 0) continue
    const group = groups[at]!
    sum += amount
    clauses[group.clause]! += amount
    if (group.weight > 0) {
      named += matches[at * 4 + 1]! * group.weight
      inName += matches[at * 4 + 2]!
      inServer += matches[at * 4 + 3]!
      covered += group.rarity
      words++
    }
    matches[at * 4] = matches[at * 4 + 1] = matches[at * 4 + 2] = matches[at * 4 + 3] = 0
  }
  let bestClause = 0
  for (let clause = 0; clause < count; clause++) {
    if (clauses[clause]! > bestClause) bestClause = clauses[clause]!
    clauses[clause] = 0
  }
  const nameCoverage = Math.min(1, inName / (documents.nameSizes[document] || 1))
  const serverCoverage = Math.min(1, inServer / (documents.serverSizes[document] || 1))
  const queryInName = weight > 0 ? named / weight : 0
  const share = count > 1 ? settings.bestClause : 0
  measured.document = document
  measured.score =
    ((1 - share) * sum + share * bestClause) *
    (1 + settings.nameCoverage * (nameCoverage * nameCoverage)) *
    (1 + settings.queryInName * (queryInName * queryInName * queryInName)) *
    (1 + (serverCoverage === 1 ? settings.serverNamed : 0))
  measured.nameCoverage = nameCoverage
  measured.serverCoverage = serverCoverage
  measured.queryCoverage = rarity > 0 ? covered / rarity : 0
  measured.words = words
}

/** Creates a lexical ranker with these settings. */
export function createLexicalRank(settings: LexicalSettings = LEXICAL): Rank {
  const reading = createReading((tools, latest) => buildLexicalIndex(tools, settings, latest))
  return (tools, query, limit) => {
    const found = searchIndex(reading.now(tools), query, limit)
    return {
      hits: found.hits.map(({ document, score }) => ({ tool: tools[document]!, score })),
      get matched() {
        return found.matched()
      },
    }
  }
}

/** Ranks by fielded BM25F with cleaned queries, synonyms and bonuses for names. */
export const lexical: Rank = createLexicalRank()

const plain = createLexicalRank(PLAIN_BM25)

/** Longest query that the hosted BM25 tool accepts (wire 20). */
const MAX_BM25_QUERY_LENGTH = 500

/** Ranks by plain BM25 over name, description, argument names and argument descriptions (wire 18). */
export const bm25: Rank = (tools, query, limit) => {
  if (query.length > MAX_BM25_QUERY_LENGTH) {
    const message = `the query has ${query.length} characters; at most ${MAX_BM25_QUERY_LENGTH} are searched. Shorten it.`
    throw new SearchInputError(message)
  }
  return plain(tools, query, limit)
}

/**
 * A search input that a hosted search tool would refuse. A shelf falls back to its classic ranker; a gateway reports it
 * (wire 20).
 */
export class SearchInputError extends Error {
  readonly code = 'invalid_tool_input'

  constructor(message: string) {
    super(message)
    this.name = 'SearchInputError'
  }
}
