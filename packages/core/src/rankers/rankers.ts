// All rankers by name (S7), made from tables: those that the runtime has (tables.node.ts, tables.web.ts), or given ones. What
// makes them is apart, because its types would bring those of the whole search to users.
// Implements S7.
import type { Rank } from '../query.ts'
import type { PoolTool } from '../types.ts'
import { createEngine, engine } from './engine.ts'

/** The bytes of a table, or what loads them when a search first wants them. */
export type TableSource = Uint8Array | (() => Uint8Array | Promise<Uint8Array>)

/** What `createRankers` is given, all optional. */
export type Tables = {
  /** Vectors of word pieces, for `hybrid`: `meaning` of `@toolshelf/core/meaning`. Without it, searches go by words alone. */
  readonly meaning?: TableSource | undefined
  /** Words of other languages: `bridge` of `@toolshelf/core/bridge`. Without it, queries are not translated. */
  readonly bridge?: TableSource | undefined
  /**
   * A sentence encoder of your own, for `hybrid`: returns the cosine of each tool with a query, or undefined as long as it has
   * not read them all.
   */
  readonly model?:
    | ((tools: readonly PoolTool[], query: string) => Promise<Float32Array | undefined>)
    | undefined
}

/** The name of a ranker, as the option `rank` takes it. */
export type RankerName = 'hybrid' | 'lexical' | 'classic' | 'bm25' | 'regex'

/** The rankers by name. All but `classic`, whose points are specified (S6), rank deprecated tools behind others. */
export type Rankers = { readonly [Name in RankerName]: Rank }

/**
 * Makes the rankers from tables, for runtimes that have none of their own, such as browsers and Workers.
 *
 * @example
 * import { meaning } from '@toolshelf/core/meaning'
 * const shelf = createShelf({ tools, rank: createRankers({ meaning }).hybrid })
 */
export function createRankers(tables: Tables): Rankers {
  return createEngine(tables).rankers
}

/**
 * The rankers by name, with the tables that the runtime has. All but `classic`, whose points are specified (S6), rank
 * deprecated tools behind others.
 *
 * @example
 * const shelf = createShelf({ tools, rank: (tools, query, limit) => rankers.hybrid(tools, translated(query), limit) })
 */
export const rankers: Rankers = engine.rankers
