// Implements the lexical index: BM25F over the words of tools, with bonuses for names. Immutable: an update creates a
// new index that copies unchanged documents, so a search never sees a partial change.
import type { PoolTool } from '../types.ts'
import { createAnalyser } from './analyse.ts'
import { addTool, copyDocuments, createDraft, type Documents, finish } from './documents.ts'
import { explainMatch, type WordMatch } from './explain.ts'
import { createSpace, gather, type Space } from './gather.ts'
import type { WeightedWord } from './meaning.ts'
import {
  createMeasureSpace,
  emptyFeatures,
  type Features,
  largestFactor,
  type MeasureSpace,
  mark,
  measureDocument,
  unmark,
} from './measure.ts'
import { planOf, type QueryPlan, type Source, weighedWords } from './plan.ts'
import { countOf, invert, type Postings } from './postings.ts'
import { createVocabulary, type Vocabulary } from './query-words.ts'
import { LEXICAL, type LexicalSettings } from './settings.ts'
import { createToolSlices, runAtOnce, type Sliced } from './slices.ts'

/** A tool that was found: its index in `tools`, and how it matches the query. */
export type LexicalHit = Readonly<Features> & { readonly document: number }

/** The result of a lexical search. */
export type LexicalHits = {
  /** Best first; among equals in the order of the tools. */
  readonly hits: readonly LexicalHit[]
  /** The sum that a tool with every word of the query at full strength would get. */
  readonly perfect: number
  /** Counts the tools that have any of the words. */
  matched(): number
}

/** An immutable index over a list of tools. */
export type LexicalIndex = {
  readonly tools: readonly PoolTool[]
  /** Returns the best `limit` tools. */
  search(query: string, limit: number): LexicalHits
  /** Scores these documents, in their order: for tools that were found by other means. */
  measure(query: string, documents: ArrayLike<number>): LexicalHits
  /** Returns whether any tool has the word, in this or another form. */
  knows(word: string): boolean
  /** Returns the words of a query with their weight by rarity, including those that no tool has. */
  weigh(query: string): readonly WeightedWord[]
  /** Explains a tool's score by the words and fields that matched, before the bonuses for names; no words for a stranger. */
  explain(tool: PoolTool, query: string): readonly WordMatch[]
  /** Returns an index of these tools; analyses only new ones. */
  update(tools: readonly PoolTool[]): LexicalIndex
  /** Like `update`, as work that may be interrupted. */
  updating(tools: readonly PoolTool[]): Sliced<LexicalIndex>
  /** Bytes of its arrays. */
  readonly bytes: number
}

/** The plan of a longer query is not cached, so that no index holds on to megabytes of text. */
const MAX_KEPT_LENGTH = 2_000

/** Measures at least this many candidates, because the bonuses may reorder them. */
const MIN_CANDIDATES = 20

/** Creates the index of a list of tools. */
export function createLexicalIndex(
  tools: readonly PoolTool[],
  settings: LexicalSettings = LEXICAL,
): LexicalIndex {
  return runAtOnce(buildLexicalIndex(tools, settings))
}

/** Like `createLexicalIndex`, as work that may be interrupted. */
export function buildLexicalIndex(
  tools: readonly PoolTool[],
  settings: LexicalSettings,
): Sliced<LexicalIndex> {
  const space = { ...createSpace(), ...createMeasureSpace() }
  return indexOf(tools, { vocabulary: createVocabulary(), settings, space }, undefined)
}

/** What an index shares with those updated from it. */
type Family = {
  readonly vocabulary: Vocabulary
  readonly settings: LexicalSettings
  readonly space: Space & MeasureSpace
}

type Before = { readonly documents: Documents; readonly places: ReadonlyMap<PoolTool, number> }

/** The finished parts of an index. */
type Parts = Source & { readonly documents: Documents; readonly space: Space & MeasureSpace }

function* indexOf(
  tools: readonly PoolTool[],
  family: Family,
  before: Before | undefined,
): Sliced<LexicalIndex> {
  const { vocabulary, settings, space } = family
  const documents = yield* writeAll(tools, family, before)
  const postings = invert(documents, vocabulary.size)
  const parts: Parts = { count: tools.length, vocabulary, postings, settings, documents, space }
  let places: Map<PoolTool, number> | undefined
  const placesOf = () => {
    places ??= new Map(tools.map((tool, place) => [tool, place]))
    return places
  }
  let latest: { readonly query: string; readonly plan: QueryPlan } | undefined
  /** Caches the last plan, because a query is often searched and then measured. */
  const planFor = (query: string) => {
    if (query.length > MAX_KEPT_LENGTH) return planOf(query, parts)
    if (latest?.query !== query) latest = { query, plan: planOf(query, parts) }
    return latest.plan
  }
  return {
    tools,
    search: (query, limit) => searchIn(parts, planFor(query), Math.max(0, limit)),
    measure: (query, chosen) => measureIn(parts, planFor(query), chosen),
    knows: (word) => countOf(postings, vocabulary.termOf(word)) > 0,
    weigh: (query) => weighedWords(query, parts),
    explain: (tool, query) => (placesOf().has(tool) ? explainMatch(tool, planFor(query), family) : []),
    update: (next) => runAtOnce(updating(next)),
    updating,
    bytes: bytesOf(documents) + bytesOf(postings),
  }

  function updating(next: readonly PoolTool[]): Sliced<LexicalIndex> {
    const isWorn = vocabulary.size > 100_000 && vocabulary.size > postings.documents.length
    if (isWorn) return buildLexicalIndex(next, settings)
    return indexOf(next, family, { documents, places: placesOf() })
  }
}

function* writeAll(
  tools: readonly PoolTool[],
  { vocabulary, settings }: Family,
  before: Before | undefined,
): Sliced<Documents> {
  const isSliceOver = createToolSlices()
  const expected = before ? before.documents.terms.length + 4096 : undefined
  const draft = createDraft(tools.length, expected)
  const analyser = createAnalyser(vocabulary, settings)
  for (let at = 0; at < tools.length; at++) {
    const first = before?.places.get(tools[at]!)
    if (!before || first === undefined) {
      addTool(draft, tools[at]!, analyser)
      if (isSliceOver(tools[at]!)) yield
      continue
    }
    let last = first
    while (at + 1 < tools.length && before.places.get(tools[at + 1]!) === last + 1) {
      last++
      at++
    }
    copyDocuments(draft, before.documents, first, last)
  }
  return finish(draft)
}

const features = emptyFeatures()

/** Measures candidates from the best down, until no other can reach the first `limit`. */
function searchIn(parts: Parts, plan: QueryPlan, limit: number): LexicalHits {
  const { count, documents, postings, settings, space } = parts
  const hits: LexicalHit[] = []
  if (plan.groups.length === 0 || limit === 0) return resultOf(hits, plan, parts)
  const wanted = Math.min(count, Math.max(MIN_CANDIDATES, limit * 2))
  const found = gather(plan, postings, count, wanted, space)
  const factor = largestFactor(settings)
  mark(plan, postings.strongest.length, space)
  for (let at = 0; at < found; at++) {
    if (hits.length === limit && space.heap[at]! * factor * ROUNDING < hits[limit - 1]!.score) break
    const document = space.heapDocuments[at]!
    measureDocument(document, plan, documents, settings, space, features)
    insert(hits, document, limit)
  }
  unmark(plan, space)
  return resultOf(hits, plan, parts)
}

/** Tolerance: candidates' scores have single precision, final ones double. */
const ROUNDING = 1 + 1e-4

function measureIn(parts: Parts, plan: QueryPlan, chosen: ArrayLike<number>): LexicalHits {
  const { documents, postings, settings, space } = parts
  const hits: LexicalHit[] = []
  mark(plan, postings.strongest.length, space)
  for (let at = 0; at < chosen.length; at++) {
    measureDocument(chosen[at]!, plan, documents, settings, space, features)
    hits.push(hitOf(chosen[at]!))
  }
  unmark(plan, space)
  return resultOf(hits, plan, parts)
}

function resultOf(hits: readonly LexicalHit[], plan: QueryPlan, { postings, count }: Parts): LexicalHits {
  return { hits, perfect: plan.rarity, matched: () => countMatches(plan, postings, count) }
}

/** Inserts the document just measured at its rank among the first `limit`. */
function insert(hits: LexicalHit[], document: number, limit: number): void {
  const { score } = features
  let [low, high] = [0, hits.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = hits[middle]!
    if (other.score > score || (other.score === score && other.document < document)) low = middle + 1
    else high = middle
  }
  if (low >= limit) return
  if (hits.length === limit) hits.pop()
  if (low === hits.length) hits.push(hitOf(document))
  else hits.splice(low, 0, hitOf(document))
}

function hitOf(document: number): LexicalHit {
  return {
    document,
    score: features.score,
    sum: features.sum,
    bestClause: features.bestClause,
    nameCoverage: features.nameCoverage,
    queryInName: features.queryInName,
    serverCoverage: features.serverCoverage,
    queryCoverage: features.queryCoverage,
    words: features.words,
  }
}

function countMatches({ groups }: QueryPlan, { documents, starts }: Postings, count: number): number {
  if (seen.length < count) seen = new Uint8Array(Math.ceil(count * 1.2))
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

/** Buffer of `countMatches`, all zeros between calls. */
let seen = new Uint8Array(0)

function bytesOf(arrays: object): number {
  return Object.values(arrays).reduce(
    (sum, value) => sum + (ArrayBuffer.isView(value) ? value.byteLength : 0),
    0,
  )
}
