// The whole extension point of search: a ranker is one function.
import type { PoolTool } from '../types.ts'

export type Hit = { readonly tool: PoolTool; readonly score: number }

export type Ranking = {
  /** Best first, at most as many as asked for. */
  readonly hits: readonly Hit[]
  /** How many tools matched in all. */
  readonly matched: number
  /** How many tools could not be ranked because they were not read yet; none if left out. */
  readonly unread?: number
}

/** Ranks tools for the words of a query. The same tools and query give the same ranking; ties keep the tools' order. */
export type Rank = (tools: readonly PoolTool[], query: string, limit: number) => Ranking | Promise<Ranking>
