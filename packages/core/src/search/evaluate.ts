// Evaluates a ranker on queries with known answers: recall, nDCG and MRR, overall and by kind. Pure and deterministic.
//
// Gains are 0 or 1. A query with n golds can be answered by n tools: golds and, in place of golds that were not found,
// acceptable ones. Going down the list, every gold or acceptable tool counts until n of them have counted.

import { serverOf } from '../pool.ts'
import type { Hit, Rank } from '../query.ts'
import type { PoolTool, Tool } from '../types.ts'
import { SearchInputError } from './lexical-search.ts'

/** A query with its expected tools. */
export type EvaluationQuery = {
  /** Names the query in errors, such as by its file and line. */
  readonly id?: string
  readonly query: string
  /** Names of the tools that should be found. */
  readonly gold: readonly string[]
  /** Names that count in place of a gold that was not found. */
  readonly acceptable?: readonly string[]
  readonly kind?: string
  /** Only this server's tools are candidates. */
  readonly scope?: string
}

/** Means over queries, from 0 to 1. */
export type Quality = {
  readonly n: number
  readonly r1: number
  readonly r3: number
  readonly r5: number
  readonly r10: number
  readonly ndcg10: number
  readonly mrr10: number
  readonly all5: number
}

/** The name of a metric. */
export type Metric = Exclude<keyof Quality, 'n'>

/** The metrics of all queries, by kind and per query. */
export type Evaluation = Quality & {
  readonly kinds: Readonly<Record<string, Quality>>
  /** The metrics of each query, in the order of the queries, for confidence intervals and comparisons. */
  readonly perQuery: readonly Omit<Quality, 'n'>[]
}

/** The metrics in the order in which reports show them. */
export const METRICS: readonly Metric[] = ['r1', 'r3', 'r5', 'r10', 'ndcg10', 'mrr10', 'all5']

/** Options of `evaluate`. */
type EvaluateOptions = {
  /** Called after each query. */
  readonly progress?: (done: number, all: number) => void
}

const DEPTH = 10

/** Ranks every query and returns the metrics. Throws if a gold is not among the tools. */
export async function evaluate(
  rank: Rank,
  tools: readonly PoolTool[],
  queries: readonly EvaluationQuery[],
  options: EvaluateOptions = {},
): Promise<Evaluation> {
  const named = byName(tools)
  const scopes = new Map<string, readonly PoolTool[]>()
  const perQuery: Omit<Quality, 'n'>[] = []
  for (const query of queries) {
    const pool = candidates(query.scope, tools, scopes)
    const inPool = query.scope === undefined ? named : byName(pool)
    const gold = resolve(query.gold, inPool, query, true)
    const acceptable = resolve(query.acceptable ?? [], inPool, query, false)
    const hits = await hitsOf(rank, pool, query.query)
    perQuery.push(
      measureRanking(
        hits.map(({ tool }) => tool),
        gold,
        acceptable,
      ),
    )
    options.progress?.(perQuery.length, queries.length)
  }
  return { ...meanOf(perQuery), kinds: byKind(queries, perQuery), perQuery }
}

/** Ranks one query; one that a hosted search tool would refuse finds nothing. */
async function hitsOf(rank: Rank, tools: readonly PoolTool[], query: string): Promise<readonly Hit[]> {
  try {
    return (await rank(tools, query, DEPTH)).hits
  } catch (error) {
    if (error instanceof SearchInputError) return []
    throw error
  }
}

/** Computes the metrics of one ranking. */
export function measureRanking<Item>(
  ranking: readonly Item[],
  gold: ReadonlySet<Item>,
  acceptable: ReadonlySet<Item>,
): Omit<Quality, 'n'> {
  const counted: number[] = []
  for (let place = 0; place < Math.min(DEPTH, ranking.length); place++) {
    const item = ranking[place]!
    if (counted.length < gold.size && (gold.has(item) || acceptable.has(item))) counted.push(place)
  }
  const recall = (depth: number) => counted.filter((place) => place < depth).length / gold.size
  let [gain, ideal] = [0, 0]
  for (const place of counted) gain += 1 / Math.log2(place + 2)
  for (let place = 0; place < Math.min(DEPTH, gold.size); place++) ideal += 1 / Math.log2(place + 2)
  return {
    r1: recall(1),
    r3: recall(3),
    r5: recall(5),
    r10: recall(10),
    ndcg10: gain / ideal,
    mrr10: counted.length > 0 ? 1 / (counted[0]! + 1) : 0,
    all5: recall(5) === 1 ? 1 : 0,
  }
}

/** Returns the 95 % confidence interval of a metric's mean, by a bootstrap with a fixed seed. */
export function interval(values: readonly number[], rounds = 1000): readonly [low: number, high: number] {
  if (values.length === 0) return [0, 0]
  const means: number[] = []
  let state = 0x9e3779b9
  for (let round = 0; round < rounds; round++) {
    let sum = 0
    for (let index = 0; index < values.length; index++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      sum += values[(state >>> 0) % values.length]!
    }
    means.push(sum / values.length)
  }
  means.sort((a, b) => a - b)
  return [means[Math.floor(rounds * 0.025)]!, means[Math.min(rounds - 1, Math.floor(rounds * 0.975))]!]
}

/** Converts tools to pool entries under their own names, without renaming or refusing any. */
export function poolTools(tools: readonly Tool[]): PoolTool[] {
  return tools.map((tool) => {
    const schema = tool.input_schema ?? tool.inputSchema
    const definition = { name: tool.name, description: tool.description, input_schema: schema }
    const hint = typeof tool.searchHint === 'string' ? tool.searchHint : ''
    const server = serverOf(tool)
    return { name: tool.name, tool, server, original: tool.name, hint, definition, json: '' }
  })
}

function byName(tools: readonly PoolTool[]): Map<string, PoolTool> {
  const named = new Map<string, PoolTool>()
  for (const tool of tools) if (!named.has(tool.name)) named.set(tool.name, tool)
  for (const tool of tools) if (!named.has(tool.original)) named.set(tool.original, tool)
  return named
}

function resolve(
  names: readonly string[],
  named: ReadonlyMap<string, PoolTool>,
  query: EvaluationQuery,
  isGold: boolean,
): Set<PoolTool> {
  const tools = new Set<PoolTool>()
  for (const name of names) {
    const tool = named.get(name)
    if (tool) tools.add(tool)
    else if (isGold)
      throw new Error(
        `${query.id ?? `"${query.query}"`}: the query has the gold "${name}", which is not in the catalogue${query.scope === undefined ? '' : ` under the server "${query.scope}"`}. Correct or remove it.`,
      )
  }
  return tools
}

/** Returns the tools that a query searches. The same scope returns the same list, so that rankers can cache by it. */
function candidates(
  scope: string | undefined,
  tools: readonly PoolTool[],
  scopes: Map<string, readonly PoolTool[]>,
): readonly PoolTool[] {
  if (scope === undefined) return tools
  const known = scopes.get(scope)
  if (known) return known
  const own = tools.filter(({ server }) => server === scope)
  scopes.set(scope, own)
  return own
}

/** Averages the metrics of several queries. */
export function meanOf(perQuery: readonly Omit<Quality, 'n'>[]): Quality {
  const n = perQuery.length
  const mean = (metric: Metric) => (n === 0 ? 0 : perQuery.reduce((sum, one) => sum + one[metric], 0) / n)
  const [r1, r3, r5, r10] = [mean('r1'), mean('r3'), mean('r5'), mean('r10')]
  return { n, r1, r3, r5, r10, ndcg10: mean('ndcg10'), mrr10: mean('mrr10'), all5: mean('all5') }
}

function byKind(
  queries: readonly EvaluationQuery[],
  perQuery: readonly Omit<Quality, 'n'>[],
): Record<string, Quality> {
  const kinds = new Map<string, Omit<Quality, 'n'>[]>()
  queries.forEach(({ kind }, index) => {
    if (kind === undefined) return
    const list = kinds.get(kind) ?? []
    list.push(perQuery[index]!)
    kinds.set(kind, list)
  })
  return Object.fromEntries([...kinds].map(([kind, list]) => [kind, meanOf(list)]))
}
