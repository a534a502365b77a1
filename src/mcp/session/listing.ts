// Reads a server's list page by page, with limits on pages, size and time.
// Implements H4.

import type { Fields } from '../../lib/index.ts'
import { createYieldBySize, seconds, withTimeout } from '../../node/index.ts'
import { isSilence } from './silence.ts'

/** The entries of a list. */
export type Listed = {
  readonly entries: readonly unknown[]
  /** Whether the list was truncated. */
  readonly isCut: boolean
  /** How long the list stays fresh: the shortest time of its pages; undefined if any page gives none. */
  readonly ttlMs: number | undefined
}

const MAX_PAGES = 1000
const MAX_ENTRIES = 50_000
/** Most characters of JSON, because entries are parsed, compared and indexed. */
const MAX_CHARACTERS = 16_000_000

/** Reads all pages of a list. `ask` requests one page; `field` holds its entries; `timeout` covers all pages. */
export async function listPages(
  ask: (params: Fields | undefined) => Promise<Fields>,
  field: string,
  timeoutMs: number,
): Promise<Listed> {
  const entries: unknown[] = []
  const seen = new Set<unknown>()
  let cursor: unknown
  let size = 0
  let isLate = false
  let ttlMs: number | undefined
  const hasRoom = () => !isLate && entries.length < MAX_ENTRIES && size < MAX_CHARACTERS
  const yieldBySize = createYieldBySize()
  /** Adds the entries of a page; returns false if there is no room for all of them. */
  const take = async (found: readonly unknown[]) => {
    for (const entry of found) {
      const length = lengthOf(entry)
      await yieldBySize(length)
      size += length
      if (entries.length >= MAX_ENTRIES || size > MAX_CHARACTERS) return false
      entries.push(entry)
    }
    return true
  }
  const walk = async () => {
    for (let page = 0; page < MAX_PAGES && hasRoom(); page++) {
      const result = await ask(cursor === undefined ? undefined : { cursor })
      const found = result?.[field]
      if (!Array.isArray(found)) throw new Error(`its answer has no list "${field}"`)
      if (!(await take(found))) return true
      ttlMs = page === 0 ? ttlOf(result) : shorter(ttlMs, ttlOf(result))
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || seen.has(cursor)) return false
      seen.add(cursor)
      size += cursor.length
    }
    return true
  }
  const late = `it did not list its ${field} within ${seconds(timeoutMs)}`
  const isCut = await withTimeout(walk(), timeoutMs, late).catch((error: Error) => {
    isLate = true
    throw isSilence(error) ? new Error(late, { cause: error }) : error
  })
  return { entries, isCut, ttlMs }
}

function ttlOf({ ttlMs }: Fields): number | undefined {
  return typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : undefined
}

function shorter(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.min(one, other)
}

/** Characters of an entry's JSON. One that cannot be serialised counts as an eighth of the limit; it is dropped later. */
function lengthOf(entry: unknown): number {
  try {
    return JSON.stringify(entry)?.length ?? 0
  } catch {
    return MAX_CHARACTERS / 8
  }
}
