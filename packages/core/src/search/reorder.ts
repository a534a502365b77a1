// Reorders ranked tools by rules that no score expresses: named servers, lists and harmless tools first, few duplicates.
import type { Hit } from '../query.ts'
import type { PoolTool } from '../types.ts'
import { actionOfTool, isDestructive, nameMention } from './actions.ts'
import type { Candidates } from './candidates.ts'
import type { Intent } from './intent.ts'
import { ownName } from './query-words.ts'
import { splitWords, stem } from './words.ts'

/**
 * Ranks the tools of a server first if a short query contains its whole name. In longer queries the name is often just a
 * word.
 */
export function namedFirst(
  hits: readonly Hit[],
  { documents, evidence }: Candidates,
  tools: readonly PoolTool[],
): Hit[] {
  const named = new Set<PoolTool | undefined>()
  for (const [position, document] of documents.entries()) {
    if ((evidence[position]?.words.serverCoverage ?? 0) >= 1) named.add(tools[document])
  }
  return [...hits.filter(({ tool }) => named.has(tool)), ...hits.filter(({ tool }) => !named.has(tool))]
}

/** Tools below this share of the first one's score are not moved up, whatever they do. */
const FITTING = 0.6

/** If the user only wants to read, or forbids an action, ranks a suitable reading tool above one that acts. */
export function harmlessFirst(hits: readonly Hit[], { wanted, forbidden }: Intent): readonly Hit[] {
  const onlyReads = wanted.size === 1 && wanted.has('read')
  const isUnwanted = ({ tool }: Hit) => {
    const action = actionOfTool(tool)
    if (action !== undefined && forbidden.has(action)) return true
    return onlyReads && (action === 'delete' || isDestructive(tool))
  }
  const first = hits[0]
  if (!first || !(onlyReads || forbidden.size > 0) || !isUnwanted(first)) return hits
  const fitting = hits.findIndex(
    (hit) => hit.score >= FITTING * first.score && !isUnwanted(hit) && actionOfTool(hit.tool) === 'read',
  )
  if (fitting < 0) return hits
  return [{ ...hits[fitting]!, score: first.score }, ...hits.slice(0, fitting), ...hits.slice(fitting + 1)]
}

/** For questions about what exists, ranks the tool that lists those things first. */
export function listingFirst(hits: readonly Hit[], { listed }: Intent): readonly Hit[] {
  const first = hits[0]
  if (!first || listed === undefined) return hits
  const things = splitWords(listed).map(stem)
  if (nameMention(first.tool, things) !== 'names') return hits
  const at = hits.findIndex(
    ({ tool, score }) => score >= FITTING * first.score && nameMention(tool, things) === 'lists all',
  )
  if (at < 0) return hits
  return [{ ...hits[at]!, score: first.score }, ...hits.slice(0, at), ...hits.slice(at + 1)]
}

const MAX_TWINS = 3

/**
 * Limits duplicates of a tool on several servers: the first keeps its place and up to two others follow it. Only the
 * first `limit` results are sorted and complete.
 */
export function limitDuplicates(hits: readonly Hit[], limit: number): Hit[] {
  const seen = new Map<string, number>()
  const isCrowding = ({ tool }: Hit) => {
    const key = `${ownName(tool)}\n${tool.tool.description ?? ''}`
    seen.set(key, (seen.get(key) ?? 0) + 1)
    return (seen.get(key) ?? 0) > MAX_TWINS
  }
  const [kept, crowding]: [Hit[], Hit[]] = [[], []]
  for (const hit of hits) {
    if (kept.length >= limit) break
    ;(isCrowding(hit) ? crowding : kept).push(hit)
  }
  return [...kept, ...crowding]
}
