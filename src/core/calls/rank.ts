// Defines the type of a ranker, the extension point of search: one function.
// Implements S7.
import type { PoolTool } from '../types.ts'

/** A tool that matches a query; the higher the score, the better. */
export type Hit = { readonly tool: PoolTool; readonly score: number }

/** What a ranker returns. */
export type Ranking = {
  /** Best first, at most as many as asked for. */
  readonly hits: readonly Hit[]
  /** How many tools matched in total. */
  readonly matched: number
  /** How many tools could not be ranked because they are not indexed yet. Default: 0. */
  readonly unread?: number
  /** The ranker's name, for events. */
  readonly ranker?: string
}

/**
 * A ranker: orders tools by how well they fit a query. The same tools and query must give the same ranking; ties keep the
 * tools' order.
 *
 * @example
 * const byName: Rank = (tools, query, limit) => {
 *   const hits = tools.filter(({ name }) => name.includes(query)).map((tool) => ({ tool, score: 1 }))
 *   return { hits: hits.slice(0, limit), matched: hits.length }
 * }
 */
export type Rank = (tools: readonly PoolTool[], query: string, limit: number) => Ranking | Promise<Ranking>
