// Ranks deprecated tools behind their successors; keeps the order of all others.

import { oncePer } from '../lib/objects.ts'
import { splitName } from '../names.ts'
import type { Hit, Rank, Ranking } from '../query.ts'
import type { PoolTool } from '../types.ts'

/** How far down a successor is searched for, even if fewer tools were asked for. */
const MAX_SEARCHED = 20

/** Wraps a ranker so that each deprecated tool comes after the tools of its server that replace it. */
export function demoteDeprecated(rank: Rank): Rank {
  return (tools, query, limit) => {
    const ranking = rank(tools, query, limit)
    return ranking instanceof Promise
      ? ranking.then((found) => reorder(found, rank, tools, query, limit))
      : reorder(ranking, rank, tools, query, limit)
  }
}

function reorder(
  ranking: Ranking,
  rank: Rank,
  tools: readonly PoolTool[],
  query: string,
  limit: number,
): Ranking | Promise<Ranking> {
  if (!ranking.hits.some(({ tool }) => isDeprecated(tool))) return ranking
  // The successor may be below the limit.
  const wider = limit < MAX_SEARCHED ? rank(tools, query, MAX_SEARCHED) : ranking
  return wider instanceof Promise
    ? wider.then((found) => demoteAndLimit(found, limit))
    : demoteAndLimit(wider, limit)
}

function demoteAndLimit(ranking: Ranking, limit: number): Ranking {
  const hits = moved(ranking.hits).slice(0, limit)
  return {
    hits,
    unread: ranking.unread ?? 0,
    get matched() {
      return ranking.matched
    },
  }
}

/** Moves each deprecated tool after the last of its successors, and lowers its score to theirs if necessary. */
function moved(hits: readonly Hit[]): Hit[] {
  const all = [...hits]
  for (const hit of hits) {
    if (!isDeprecated(hit.tool)) continue
    const successors = successorsOf(hit.tool, hits)
    const from = all.indexOf(hit)
    const last = all.findLastIndex(({ tool }) => successors.includes(tool))
    if (last < from) continue
    all.splice(from, 1)
    all.splice(last, 0, { ...hit, score: Math.min(all[last - 1]!.score, hit.score) })
  }
  return all
}

/** Finds tools of the same server that the description names, or else whose names contain all words of its name. */
function successorsOf(deprecated: PoolTool, hits: readonly Hit[]): PoolTool[] {
  const { server, tool } = deprecated
  const siblings = hits.map((hit) => hit.tool).filter((one) => one.server === server && !isDeprecated(one))
  const mentioned = new Set(startOf(tool.description).match(/[\p{L}\p{N}_.-]*[\p{L}\p{N}_]/gu))
  const named = siblings.filter((one) => mentioned.has(bareName(one)))
  if (named.length > 0) return named
  const words = wordsOf(deprecated)
  if (words.length < 2) return []
  return siblings.filter((one) => {
    const parts = splitName(bareName(one))
    return words.every((word) => parts.includes(word))
  })
}

/** Returns the tool's own name, even if it was registered under its full one. */
function bareName({ original }: PoolTool): string {
  return original.replace(/^mcp__.+?__/i, '')
}

function wordsOf(entry: PoolTool): string[] {
  return splitName(bareName(entry)).filter((word) => word !== 'deprecated')
}

/**
 * Returns whether a tool is marked as deprecated: in its name, at the start of its description, in `annotations` or
 * `_meta`.
 */
const isDeprecated = oncePer((entry: PoolTool): boolean => {
  const { annotations, _meta, description } = entry.tool
  if (isNamedSo(entry) || isMarked(annotations) || isMarked(_meta)) return true
  return MARKS.some((mark) => mark.test(startOf(description)))
})

/** Returns true for `list_files_deprecated`, but not for `npmDeprecated`, which may be about deprecated packages. */
function isNamedSo(entry: PoolTool): boolean {
  return splitName(bareName(entry)).includes('deprecated') && wordsOf(entry).length > 1
}

/** Looks for `deprecated`, or a vendor's `example.org/deprecated`, that is true or a text with the reason. */
function isMarked(fields: unknown): boolean {
  if (typeof fields !== 'object' || fields === null) return false
  return Object.entries(fields).some(
    ([key, value]) =>
      /^(?:.*\/)?deprecated$/i.test(key) && (value === true || (typeof value === 'string' && value !== '')),
  )
}

const MARKS = [
  /^[^\p{L}\p{N}]*(?:th(?:is|e) (?:[\p{L}\p{N}_-]+ ){0,3}(?:is|has been|was) (?:now )?)?deprecated(?![\p{L}\p{N}])/iu,
  /[.!?\n][^\p{L}\p{N}]*(?:this \p{L}+ (?:is|has been) (?:now )?)?deprecated\s*[:：.!—–-]/iu,
  /^[^\p{L}\p{N}]*(?:已?废弃|已?弃用|非推奨|사용 중단|устарел|obsolet[oa]|obsolète|veraltet|verouderd)/iu,
]

/** Only the beginning of a description is about the tool as a whole. */
const MAX_START_LENGTH = 400

function startOf(description: unknown): string {
  return typeof description === 'string' ? description.slice(0, MAX_START_LENGTH) : ''
}
