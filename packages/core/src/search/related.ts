// Searches other items together with the tools, and returns those that rank among the best of both.
import type { FindRelated, RelatedItem } from '../answer.ts'
import type { Rank } from '../query.ts'
import type { PoolTool, Tool } from '../types.ts'
import { poolTools } from './evaluate.ts'
import { twinKey } from './reorder.ts'

/** An item that can be found, and the tool that represents it in the index. */
export type RelatedEntry = { readonly item: RelatedItem; readonly tool: Tool }

/** An entry is returned if it ranks among this many of the best … */
const MAX_COMPARED = 5
/** … and has at least this share of the best score. */
const MIN_SHARE = 0.6

/**
 * Finds entries that rank among the best tools. `entries` must return the same object for the same list, which is
 * indexed once.
 */
export function createRelatedSearch(entries: () => readonly RelatedEntry[], rank: Rank): FindRelated {
  const joins = new WeakMap<readonly PoolTool[], Joined>()
  return async (query, tools) => {
    const current = entries()
    if (current.length === 0) return []
    let joined = joins.get(tools)
    if (joined?.entries !== current) {
      joined = join(tools, current)
      joins.set(tools, joined)
    }
    const { all, items } = joined
    const { hits } = await rank(all, query, MAX_COMPARED)
    const min = (hits[0]?.score ?? 0) * MIN_SHARE
    return hits.flatMap(({ tool, score }) => (score >= min ? (items.get(tool) ?? []) : []))
  }
}

type Joined = {
  readonly entries: readonly RelatedEntry[]
  readonly all: readonly PoolTool[]
  readonly items: ReadonlyMap<PoolTool, RelatedItem>
}

/** Combines tools and entries, without entries that the shelf already has as tools. */
function join(tools: readonly PoolTool[], entries: readonly RelatedEntry[]): Joined {
  const known = new Set(tools.map(twinKey))
  const items = new Map<PoolTool, RelatedItem>()
  for (const [place, tool] of poolTools(entries.map(({ tool }) => tool)).entries())
    if (!known.has(twinKey(tool))) items.set(tool, entries[place]!.item)
  return { entries, all: [...tools, ...items.keys()], items }
}
