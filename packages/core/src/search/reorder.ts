// Reorders ranked tools by rules that no score expresses: named servers, lists and harmless tools first, few duplicates,
// deprecated tools behind their successors.
import { oncePer } from '../lib/objects.ts'
import { splitName } from '../names.ts'
import type { Hit, Rank, Ranking } from '../query.ts'
import type { PoolTool } from '../types.ts'
import type { Candidate } from './hybrid.ts'
import { actionOfTool, type Intent, isDestructive, nameMention } from './intent.ts'
import { stem } from './stem.ts'
import { ownName, splitWords } from './words.ts'

/**
 * Ranks the tools of a server first if a short query contains its whole name. In longer queries the name is often just a
 * word.
 */
export function namedFirst(hits: readonly Hit[], candidates: readonly Candidate[]): readonly Hit[] {
  const named = new Set<PoolTool>()
  for (const { tool, features } of candidates) if (features.serverCoverage >= 1) named.add(tool)
  if (named.size === 0) return hits
  return [...hits.filter(({ tool }) => named.has(tool)), ...hits.filter(({ tool }) => !named.has(tool))]
}

/** Tools below this share of the first one's score are not moved up, whatever they do. */
const FITTING = 0.6

/** Moves the first tool that is suitable and good enough to the top; keeps the order if there is none. */
function liftFirst(hits: readonly Hit[], isSuitable: (hit: Hit) => boolean): readonly Hit[] {
  const { score } = hits[0]!
  const at = hits.findIndex((hit) => hit.score >= FITTING * score && isSuitable(hit))
  return at < 0 ? hits : [{ ...hits[at]!, score }, ...hits.slice(0, at), ...hits.slice(at + 1)]
}

/** If the user only wants to read, or forbids an action, ranks a suitable reading tool above one that acts. */
export function harmlessFirst(hits: readonly Hit[], { wanted, forbidden }: Intent): readonly Hit[] {
  const onlyReads = wanted.size === 1 && wanted.has('read')
  const isUnwanted = ({ tool }: Hit) => {
    const action = actionOfTool(tool)
    if (action !== undefined && forbidden.has(action)) return true
    return onlyReads && (action === 'delete' || isDestructive(tool))
  }
  if (!hits[0] || !(onlyReads || forbidden.size > 0) || !isUnwanted(hits[0])) return hits
  return liftFirst(hits, (hit) => !isUnwanted(hit) && actionOfTool(hit.tool) === 'read')
}

/** For questions about what exists, ranks the tool that lists those things first. */
export function listingFirst(hits: readonly Hit[], { listed }: Intent): readonly Hit[] {
  if (!hits[0] || listed === undefined) return hits
  const things = splitWords(listed).map(stem)
  if (nameMention(hits[0].tool, things) !== 'names') return hits
  return liftFirst(hits, ({ tool }) => nameMention(tool, things) === 'lists all')
}

const MAX_TWINS = 3

/** Returns what a tool has in common with its duplicates on other servers. */
export function twinKey(tool: PoolTool): string {
  return `${ownName(tool)}\n${tool.tool.description ?? ''}`
}

/**
 * Limits duplicates of a tool on several servers: the first keeps its place and up to two others follow it. Only the
 * first `limit` results are sorted and complete.
 */
export function limitDuplicates(hits: readonly Hit[], limit: number): Hit[] {
  const seen = new Map<string, number>()
  const [kept, crowding]: [Hit[], Hit[]] = [[], []]
  for (const hit of hits) {
    if (kept.length >= limit) break
    const key = twinKey(hit.tool)
    const count = (seen.get(key) ?? 0) + 1
    seen.set(key, count)
    ;(count > MAX_TWINS ? crowding : kept).push(hit)
  }
  return [...kept, ...crowding]
}

/** How far down a successor is searched for, even if fewer tools were asked for. */
const MAX_SEARCHED = 20

/** Wraps a ranker so that each deprecated tool comes after the tools of its server that replace it. */
export function demoteDeprecated(rank: Rank): Rank {
  const demote = async (tools: readonly PoolTool[], query: string, limit: number, first: Ranking) => {
    if (!first.hits.some(({ tool }) => isDeprecated(tool))) return first
    // The successor may be below the limit.
    const wider = limit < MAX_SEARCHED ? await rank(tools, query, MAX_SEARCHED) : first
    return { ...wider, unread: wider.unread ?? 0, hits: demoted(wider.hits).slice(0, limit) }
  }
  return (tools, query, limit) => {
    const ranking = rank(tools, query, limit)
    if (ranking instanceof Promise) return ranking.then((found) => demote(tools, query, limit, found))
    return ranking.hits.some(({ tool }) => isDeprecated(tool))
      ? demote(tools, query, limit, ranking)
      : ranking
  }
}

/** Moves each deprecated tool after the last of its successors, and lowers its score to theirs if necessary. */
function demoted(hits: readonly Hit[]): Hit[] {
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
