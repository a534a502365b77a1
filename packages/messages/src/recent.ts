// Small least-recently-used caches, bounded by the number or by the size of what they hold.
import { setNewest } from '@toolshelf/core/internal'

/** Creates a cache of this many values. */
export function createRecent<Value>(maxValues: number) {
  const values = new Map<string, Value>()
  return {
    get(key: string) {
      const value = values.get(key)
      if (value === undefined) return undefined
      values.delete(key)
      values.set(key, value)
      return value
    },
    set(key: string, value: Value) {
      setNewest(values, key, value, maxValues)
    },
    delete: (key: string) => void values.delete(key),
  }
}

/** Limits in characters: in total, and for each value. */
const MAX_CHARACTERS = 64_000_000
const MAX_OF_ONE = 2_000_000

/** Creates a cache of this many characters. */
export function createSizedCache<Value>(maxCharacters = MAX_CHARACTERS) {
  const known = new Map<string, { readonly value: Value; readonly size: number }>()
  let total = 0
  const forget = (key: string) => {
    total -= known.get(key)?.size ?? 0
    known.delete(key)
  }
  return {
    isEmpty: () => known.size === 0,
    get(key: string) {
      const entry = known.get(key)
      if (!entry) return undefined
      known.delete(key)
      known.set(key, entry)
      return entry.value
    },
    /** Keeps a value of this size, unless it is too large by itself. */
    set(key: string, value: Value, valueSize: number) {
      const size = key.length + valueSize
      forget(key)
      if (size > Math.min(MAX_OF_ONE, maxCharacters)) return
      known.set(key, { value, size })
      total += size
      for (const oldest of known.keys()) {
        if (total <= maxCharacters) break
        forget(oldest)
      }
    },
  }
}
