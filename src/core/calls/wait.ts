// Decides how long a search waits for servers that are still connecting (S8).
// Implements S8.

import { splitName } from '../../lib/index.ts'
import { isConnecting } from '../gate/index.ts'
import type { Timer } from '../options.ts'
import type { Host } from '../state.ts'
import { partitionTools } from '../tools/index.ts'
import type { PoolTool, ToolPartition } from '../types.ts'
import { byExactName, find, type QueryResult, selectedNames } from './query.ts'
import { fold, searchText, UNSPACED } from './search-text.ts'

/** A host whose tools may change while a search waits. */
export type LiveHost = { readonly host: Host; readonly changed: () => Promise<void> }

/**
 * Finds tools once enough servers are connected: at once if a tool's name answers the query, else when every server has
 * settled, at the latest after `pendingWaitMs`. A query that names a connecting server waits for that one.
 */
export async function findWhenReady(query: string, limit: number, live: LiveHost): Promise<QueryResult> {
  const { settings } = live.host
  const named = missingServers(live.host).filter((server) => namesServer(query, server))
  let timer: Timer | undefined
  let isOver = settings.timer === undefined
  try {
    while (true) {
      const change = live.changed()
      const { host } = live
      const isEnough = isOver ? () => true : enoughFor(query, named, host)
      if (isEnough) {
        const found = await find(query, limit, partitionOf(host), settings)
        if (isEnough(found)) return found
      }
      if (live.host.pool !== host.pool) continue
      timer ??= settings.timer!(settings.pendingWaitMs)
      isOver = await Promise.race([timer.over.then(() => true), change.then(() => false)])
    }
  } finally {
    timer?.cancel()
  }
}

/** Returns the tools that a search can find. */
export function partitionOf({ pool, servers, settings }: Host): ToolPartition {
  return partitionTools(pool, servers, settings.isHidden)
}

/** Returns the test for a result that ends the search now; undefined if no result can, so that none is computed. */
function enoughFor(
  query: string,
  named: readonly string[],
  host: Host,
): ((found: QueryResult) => boolean) | undefined {
  if (!isConnecting(host.servers)) return () => true
  const missing = missingServers(host)
  if (named.some((server) => missing.includes(server))) return undefined
  if (missing.length === 0 || isNamed(query, partitionOf(host))) return ({ tools }) => tools.length > 0
  return named.length > 0 ? ({ tools: [best] }) => named.includes(best?.server ?? '') : undefined
}

/** Returns servers that are still connecting and whose tools are unknown, also from an earlier run. */
function missingServers({ pool, servers }: Host): string[] {
  const known = new Set(pool.tools.map(({ server }) => server))
  return [...servers].flatMap(([name, { state }]) => (state === 'pending' && !known.has(name) ? [name] : []))
}

/** Whether the query contains the server's name as whole words: "GitHub issues" and `github__list` name `github`. */
function namesServer(query: string, server: string): boolean {
  const name = spaced(server)
  return name.trim() !== '' && spaced(query).includes(name)
}

function spaced(text: string): string {
  return ` ${fold(text)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .join(' ')} `
}

/** Whether a tool's name is the query, or contains every word of it. */
function isNamed(query: string, partition: ToolPartition): boolean {
  const selected = selectedNames(query)
  if (selected) return selected.every((name) => byExactName(name, partition) !== undefined)
  if (byExactName(query, partition)) return true
  const words = query
    .split(/\s+/u)
    .map((word) => word.replace(/^[+"'`(<[]+|["'`)>\],.;:!?]+$/g, ''))
    .filter((word) => word !== '')
  return words.length > 0 && partition.deferred.some((tool) => words.every((word) => hasInName(tool, word)))
}

function hasInName(tool: PoolTool, word: string): boolean {
  const { parts, full } = searchText(tool)
  const whole = full.split(/[\s_\-./]+/u)
  const hasPart = (part: string) =>
    parts.includes(part) || whole.includes(part) || (part.search(UNSPACED) >= 0 && full.includes(part))
  return [fold(word).split(/[_\-./]+/u), splitName(word).map(fold)].some((spelling) =>
    spelling.filter((part) => part !== '').every(hasPart),
  )
}
