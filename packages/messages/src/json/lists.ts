// Caches parsed lists. A client sends the same tools with every request, and the same messages plus a few new ones:
// items with the same bytes are returned as the same objects, without scanning or parsing.
import { hash } from 'node:crypto'
import { endOfValue, isObjectAt, nextItem } from './read.ts'

/** A list item and its own copy of the bytes it was parsed from. */
export type ListItem = { readonly value: object; readonly bytes: Buffer }

type Entry = {
  readonly key: string
  readonly items: readonly ListItem[]
  /** All values; the same array object whenever the whole list is the same. */
  readonly values: readonly object[]
  readonly size: number
}

export type ListCache = ReturnType<typeof createListCache>

type ListCacheOptions = {
  readonly maxBytes: number
  /** Maximum item size in bytes: a larger item and everything after it in the list is not cached. */
  readonly maxItemBytes: number
  /** How many items at the end may differ for a new list to replace a cached one. */
  readonly replaced: number
}

/** Maximum cached lists that start with the same item. */
const MAX_ALIKE = 8

export function createListCache({ maxBytes, maxItemBytes, replaced }: ListCacheOptions) {
  /** Least recently used first. */
  const entries = new Set<Entry>()
  const alike = new Map<string, Entry[]>()
  let size = 0

  const remove = (entry: Entry): void => {
    if (!entries.delete(entry)) return
    size -= entry.size
    const others = (alike.get(entry.key) ?? []).filter((one) => one !== entry)
    if (others.length > 0) alike.set(entry.key, others)
    else alike.delete(entry.key)
  }

  return {
    maxItemBytes,
    /** Size of all cached lists in bytes. */
    get size() {
      return size
    },
    /** Looks up the list whose first item starts at `first`. */
    find(owner: string, bytes: Buffer, first: number) {
      if (!isObjectAt(bytes, first)) return undefined
      const firstItem = bytes.subarray(first, endOfValue(bytes, first))
      const candidates = firstItem.length > maxItemBytes ? undefined : alike.get(keyOf(owner, firstItem))
      if (!candidates) return undefined
      let best: Match = { entry: undefined, count: 0, end: first }
      for (const entry of candidates) {
        if (entry.items.length <= best.count) continue
        const match = matchOf(entry, bytes, first, best)
        if (match.count > best.count) best = match
      }
      const { entry, count, end } = best
      if (!entry) return undefined
      entries.delete(entry)
      entries.add(entry)
      // Where the cached start ends, and the cached list if all of it matches.
      const isWhole = count === entry.items.length && nextItem(bytes, end, false, ']') === undefined
      return { items: entry.items.slice(0, count), end, whole: isWhole ? entry.values : undefined }
    },
    /** Caches a list and returns the array that represents it from now on. */
    add(owner: string, items: readonly ListItem[]) {
      const values = Object.freeze(items.map(({ value }) => value))
      const first = items[0]
      if (!first) return values
      const key = keyOf(owner, first.bytes)
      const others = alike.get(key) ?? []
      for (const other of others) if (isContinued(other, items, replaced)) remove(other)
      const entry = { key, items, values, size: sizeOf(items) }
      const kept = (alike.get(key) ?? []).concat(entry)
      alike.set(key, kept)
      entries.add(entry)
      size += entry.size
      if (kept.length > MAX_ALIKE) remove(kept[0] as Entry)
      for (const oldest of entries) {
        if (size <= maxBytes) break
        remove(oldest)
      }
      return values
    },
  }
}

function keyOf(owner: string, bytes: Buffer): string {
  return owner + hash('sha256', bytes, 'base64')
}

/** How many items of an entry match the start of a list, and where they end in it. */
type Match = { readonly entry: Entry | undefined; readonly count: number; readonly end: number }

/** Skips the comparison of items that another entry shares and that already matched. */
function matchOf(entry: Entry, bytes: Buffer, first: number, other: Match): Match {
  const isAlike = other.entry?.items[other.count - 1] === entry.items[other.count - 1]
  let { count, end } = isAlike && other.entry ? other : { count: 0, end: first }
  let start = count === 0 ? first : nextItem(bytes, end, false, ']')
  for (; start !== undefined && count < entry.items.length; count++) {
    const { bytes: known } = entry.items[count] as ListItem
    if (!startsWith(bytes, start, known)) break
    end = start + known.length
    start = nextItem(bytes, end, false, ']')
  }
  return { entry, count, end }
}

function startsWith(bytes: Buffer, at: number, known: Buffer): boolean {
  const end = at + known.length
  return end <= bytes.length && bytes.compare(known, 0, known.length, at, end) === 0
}

/** Whether a list continues a cached conversation, perhaps with moved cache breakpoints; the old entry is then useless. */
function isContinued({ items: old }: Entry, items: readonly ListItem[], replaced: number): boolean {
  const min = old.length - replaced
  if (replaced === 0 || min < 1 || items.length < old.length) return false
  for (let index = 0; index < min; index++) if (old[index] !== items[index]) return false
  return true
}

/** Estimated memory of an entry: its bytes plus the parsed objects. */
function sizeOf(items: readonly ListItem[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes.length * 3 + 200, 0)
}
