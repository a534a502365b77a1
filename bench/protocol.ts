// Evaluates rankers, ours and other libraries', on the same tools and the same queries, in the same run.
import { rankers as named, type Rank } from '../packages/core/src/index.ts'
import { whenIndexed } from '../packages/core/src/rankers/engine.ts'
import { type Evaluation, evaluate, interval, type Metric } from '../packages/core/src/search/evaluate.ts'
import { peers } from './peers.ts'
import type { QuerySet } from './sets.ts'

export type Contender = { readonly name: string; readonly rank: Rank; readonly isOurs: boolean }

/** Longest query that the hosted BM25 tool takes; what is longer is cut rather than refused. */
const MAX_BM25_QUERY_LENGTH = 500

/** Our rankers, then the hosted tools' and the classic scorer as we implement them, then other libraries. */
export function contenders(): Contender[] {
  const ours = {
    hybrid: whenIndexed(named.hybrid),
    lexical: named.lexical,
  }
  const others: Record<string, Rank> = {
    classic: named.classic,
    bm25: (tools, query, limit) => named.bm25(tools, query.slice(0, MAX_BM25_QUERY_LENGTH), limit),
    regex: named.regex,
    ...peers,
  }
  return [
    ...Object.entries(ours).map(([name, rank]) => ({ name, rank, isOurs: true })),
    ...Object.entries(others).map(([name, rank]) => ({ name, rank, isOurs: false })),
  ]
}

/** Evaluates one ranker on a set, with the queries as they are or cut to a few words. */
export function measureOn({ name, rank }: Contender, set: QuerySet, isShort: boolean): Promise<Evaluation> {
  if (name === 'regex') return evaluate(rank, set.tools, set.short.map(asPattern))
  return evaluate(rank, set.tools, isShort ? set.short : set.queries)
}

/** A sentence matches nothing as a pattern. A model would type some of its words as alternatives. */
function asPattern<Query extends { readonly query: string }>(short: Query): Query {
  const words = short.query.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return {
    ...short,
    query: words
      .join('|')
      .slice(0, 200)
      .replace(/\|?\\*$/, ''),
  }
}

/** A mean and its 95 % bootstrap interval, from 0 to 1. */
export type Figure = { readonly mean: number; readonly low: number; readonly high: number }

export function figureOf(evaluation: Evaluation, metric: Metric): Figure {
  const [low, high] = interval(evaluation.perQuery.map((query) => query[metric]))
  return { mean: evaluation[metric], low, high }
}
