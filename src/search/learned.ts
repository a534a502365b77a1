// Learns from use: a tool that was called after a search is found first when the same need comes up again.
// It learns only from calls, and with limits: at most two tools move to the front and none is dropped, so every other
// tool moves down by at most two; and what was learned about a tool is forgotten when its definition changes.
import type { Hit, Rank, Ranking, SearchUse } from '../core/calls/index.ts'
import type { PoolTool } from '../core/index.ts'
import { hash } from '../lib/index.ts'
import { LEXICAL } from './lexical/index.ts'
import { readQuery, stem } from './words/index.ts'

/** A `SearchUse` in the form in which it is saved: plain JSON, with the words instead of the query. */
export type SavedSearchUse = {
  /** The stems of the query's words, without the most common ones. */
  readonly words: readonly string[]
  /** The tool's server; empty for a tool of the host. */
  readonly server: string
  /** The tool's own name there. */
  readonly tool: string
  /** A hash of the tool's definition; a use no longer counts once it differs. */
  readonly definition: string
  /** 1; less if this search missed the tool and only the next one found it. */
  readonly weight: number
}

/** What was learned about a tool for one query. */
export type LearnedCredit = {
  /** The tool that `rank` would move to the front. */
  readonly tool: PoolTool
  /** How many earlier searches support it. */
  readonly uses: number
  /** The sum of these searches' weights, each times its similarity to the query. */
  readonly credit: number
}

/** A memory of searches that led to calls, and a ranker that uses it. */
export type LearnedSearch = {
  /** Learns from a search that led to a call: for the option `learn`. */
  readonly learn: (use: SearchUse) => void
  /** Wraps a ranker so that tools which were called after similar searches come first. */
  rank(rank: Rank): Rank
  /** Returns the tools that `rank` would move to the front, most credit first. */
  credits(tools: readonly PoolTool[], query: string): LearnedCredit[]
  /** Returns everything learned, oldest first, to save it and pass it to `createLearnedSearch` later. */
  uses(): readonly SavedSearchUse[]
}

/** Options of `createLearnedSearch`. */
export type LearnedSearchOptions = {
  /** What was learned before: the saved `uses()`. */
  readonly uses?: readonly SavedSearchUse[]
  /** Called for each new use, to save it. */
  readonly onUse?: (use: SavedSearchUse) => void
}

const MAX_USES = 1000
/** Most searches kept per tool, so that no tool displaces the others. */
const MAX_USES_OF_TOOL = 30
const MAX_WORDS = 12
/**
 * Searches count as similar if they share this much of their words; with less, siblings such as list and create are
 * confused.
 */
const MIN_SHARED = 0.85
/** Only the latest similar searches count, so that a new habit replaces an old one. */
const MAX_LIKE = 8
/** The weight of a search that missed the tool: the model may have meant something else. */
const MISS_WEIGHT = 0.5
const MIN_CREDIT = 1
const MAX_MOVED = 2

/**
 * Creates a memory of the searches that led to calls, and a ranker that uses it.
 *
 * @example
 * const learned = createLearnedSearch({ uses: saved, onUse: (use) => append(use) })
 * const shelf = createShelf({ tools, rank: learned.rank(rankers.hybrid), learn: learned.learn })
 */
export function createLearnedSearch({ uses = [], onUse }: LearnedSearchOptions = {}): LearnedSearch {
  let known = bounded(uses)

  function credits(tools: readonly PoolTool[], query: string): LearnedCredit[] {
    const words = new Set(wordsOf(query))
    const like: { readonly use: SavedSearchUse; readonly shared: number }[] = []
    for (let place = known.length - 1; place >= 0 && like.length < MAX_LIKE; place--) {
      const use = known[place]!
      const shared = sharedPart(words, use.words)
      if (shared >= MIN_SHARED) like.push({ use, shared })
    }
    if (like.length === 0) return []
    const found = toolsByKey(tools)
    const sums = new Map<PoolTool, { uses: number; credit: number }>()
    for (const { use, shared } of like) {
      const tool = found.get(keyOf(use))
      if (!tool || definitionOf(tool) !== use.definition) continue
      const sum = sums.get(tool) ?? { uses: 0, credit: 0 }
      sums.set(tool, { uses: sum.uses + 1, credit: sum.credit + use.weight * shared })
    }
    return [...sums]
      .map(([tool, sum]) => ({ tool, ...sum }))
      .filter(({ credit }) => credit >= MIN_CREDIT)
      .sort((a, b) => b.credit - a.credit)
      .slice(0, MAX_MOVED)
  }

  return {
    learn({ query, tool, isFound }) {
      const words = wordsOf(query)
      if (words.length === 0) return
      const use = { words, ...identityOf(tool), weight: isFound ? 1 : MISS_WEIGHT }
      known = bounded([...known, use])
      onUse?.(use)
    },
    rank: (rank) => (tools, query, limit) => {
      const ranking = rank(tools, query, limit)
      const moved = credits(tools, query).map(({ tool }) => tool)
      if (moved.length === 0) return ranking
      return ranking instanceof Promise
        ? ranking.then((found) => withFirst(moved, found, limit))
        : withFirst(moved, ranking, limit)
    },
    credits,
    uses: () => known,
  }
}

function withFirst(moved: readonly PoolTool[], ranking: Ranking, limit: number): Ranking {
  const { hits, matched } = ranking
  const score = hits[0]?.score ?? 1
  const first: Hit[] = moved.map((tool) => ({ tool, score }))
  const rest = hits.filter(({ tool }) => !moved.includes(tool))
  const all = [...first, ...rest]
  return { ...ranking, hits: all.slice(0, limit), matched: Math.max(matched, all.length) }
}

/** Keeps the newest uses, and at most a share of them for each tool. */
function bounded(uses: readonly SavedSearchUse[]): SavedSearchUse[] {
  const perTool = new Map<string, number>()
  const kept: SavedSearchUse[] = []
  for (let place = uses.length - 1; place >= 0 && kept.length < MAX_USES; place--) {
    const use = uses[place]!
    const count = (perTool.get(keyOf(use)) ?? 0) + 1
    perTool.set(keyOf(use), count)
    if (count <= MAX_USES_OF_TOOL) kept.push(use)
  }
  return kept.reverse()
}

function wordsOf(query: string): string[] {
  const stems = readQuery(query, LEXICAL.query).map(({ word }) => stem(word))
  return [...new Set(stems)].slice(0, MAX_WORDS)
}

/** Computes Dice's coefficient of two sets of words. */
function sharedPart(words: ReadonlySet<string>, others: readonly string[]): number {
  const shared = others.filter((word) => words.has(word)).length
  return (2 * shared) / (words.size + others.length || 1)
}

function identityOf(tool: PoolTool): Omit<SavedSearchUse, 'words' | 'weight'> {
  return { server: tool.server ?? '', tool: tool.original, definition: definitionOf(tool) }
}

/** Hashes a tool's definition without its name, which differs between hosts. */
function definitionOf({ tool: { description, input_schema: schema, inputSchema } }: PoolTool): string {
  return hash(JSON.stringify([description, schema ?? inputSchema]))
}

function keyOf({ server, tool }: Pick<SavedSearchUse, 'server' | 'tool'>): string {
  return `${server}\n${tool}`
}

const keyed = new WeakMap<readonly PoolTool[], ReadonlyMap<string, PoolTool>>()

function toolsByKey(tools: readonly PoolTool[]): ReadonlyMap<string, PoolTool> {
  let found = keyed.get(tools)
  if (!found) {
    found = new Map(tools.map((tool) => [keyOf({ server: tool.server ?? '', tool: tool.original }), tool]))
    keyed.set(tools, found)
  }
  return found
}
