// Searches other things together with the tools: what ranks among the best of both is worth naming.
import type { FindRelated, Rank, RelatedItem } from '../core/calls/index.ts'
import type { PoolTool, Tool } from '../core/index.ts'
import { catalogueEntries } from './evaluate.ts'
import { ownName } from './fields.ts'

/** Something that can be found, and the tool that stands for it in the index. */
export type RelatedEntry = { readonly item: RelatedItem; readonly tool: Tool }

/** An entry is named that is among so many of the best. */
const MAX_COMPARED = 5
/** … with at least this part of the best score. */
const LEAST_PART = 0.6

/** Finds entries that rank among the best tools. The same list of entries must be the same object: it is indexed once. */
export function createRelatedSearch(entries: () => readonly RelatedEntry[], rank: Rank): FindRelated {
  const joins = new WeakMap<readonly PoolTool[], Joined>()
  return async (query, tools) => {
    const given = entries()
    if (given.length === 0) return []
    let joined = joins.get(tools)
    if (joined?.entries !== given) {
      joined = join(tools, given)
      joins.set(tools, joined)
    }
    const { all, items } = joined
    const { hits } = await rank(all, query, MAX_COMPARED)
    const least = (hits[0]?.score ?? 0) * LEAST_PART
    return hits.flatMap(({ tool, score }) => (score >= least ? (items.get(tool) ?? []) : []))
  }
}

type Joined = {
  readonly entries: readonly RelatedEntry[]
  readonly all: readonly PoolTool[]
  readonly items: ReadonlyMap<PoolTool, RelatedItem>
}

/** What the shelf has already is left out. */
function join(tools: readonly PoolTool[], entries: readonly RelatedEntry[]): Joined {
  const known = new Set(tools.map(keyOf))
  const items = new Map<PoolTool, RelatedItem>()
  for (const [place, tool] of catalogueEntries(entries.map(({ tool }) => tool)).entries())
    if (!known.has(keyOf(tool))) items.set(tool, entries[place]!.item)
  return { entries, all: [...tools, ...items.keys()], items }
}

function keyOf(tool: PoolTool): string {
  return `${ownName(tool)}\n${tool.tool.description ?? ''}`
}
