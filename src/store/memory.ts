// Keeps shared state in the memory of this process: the default of a gateway that runs alone, and what tests use.
import { addTo, checkAmount, checkKey, checkTtl, checkValue, compareKeys, DEFAULT_LISTED } from './limits.ts'
import type { MessageListener, StateStore, StoredEntry, StoredValue } from './types.ts'

/** Options of `createMemoryStore`. */
export type MemoryStoreOptions = {
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

type Value = StoredValue & { readonly expiresAt: number }

/** Milliseconds between two searches for expired values. */
const SWEEP_MS = 30_000

/**
 * Creates a store in memory, which ends with the process.
 *
 * @example
 * const store = createMemoryStore()
 * await store.set('session/1', '{}', { ttlMs: 60_000 })
 */
export function createMemoryStore({ now = Date.now }: MemoryStoreOptions = {}): StateStore {
  const values = new Map<string, Value>()
  const listeners = new Map<string, Set<MessageListener>>()
  let versions = 0

  function find(key: string): Value | undefined {
    const found = values.get(key)
    if (!found || found.expiresAt > now()) return found
    values.delete(key)
    return undefined
  }

  function write(key: string, value: string, expiresAt: number): string {
    const version = String(++versions)
    values.set(key, { value, version, expiresAt })
    return version
  }

  const sweeper = setInterval(() => {
    for (const key of values.keys()) find(key)
  }, SWEEP_MS)
  sweeper.unref()

  return {
    kind: 'memory',
    async get(key) {
      checkKey(key)
      const found = find(key)
      return found && { value: found.value, version: found.version }
    },
    async list(prefix, { limit = DEFAULT_LISTED, after = '' } = {}) {
      const isWanted = (key: string) =>
        key.startsWith(prefix) && (after === '' || compareKeys(key, after) > 0)
      const entries: StoredEntry[] = []
      for (const key of [...values.keys()].filter(isWanted).sort(compareKeys)) {
        if (entries.length >= limit) break
        const found = find(key)
        if (found) entries.push({ key, value: found.value, version: found.version })
      }
      return entries
    },
    async set(key, value, { ttlMs, ifVersion } = {}) {
      checkKey(key)
      checkValue(value)
      const expiresAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : now() + checkTtl(ttlMs)
      if (ifVersion !== undefined && (find(key)?.version ?? null) !== ifVersion) return undefined
      return write(key, value, expiresAt)
    },
    async touch(key, ttlMs) {
      checkKey(key)
      const expiresAt = now() + checkTtl(ttlMs)
      const found = find(key)
      if (found) values.set(key, { ...found, expiresAt })
      return found !== undefined
    },
    async delete(key, { ifVersion } = {}) {
      checkKey(key)
      const found = find(key)
      if (!found || (ifVersion !== undefined && found.version !== ifVersion)) return false
      return values.delete(key)
    },
    async add(key, amount, ttlMs) {
      checkKey(key)
      checkAmount(amount)
      const expiresAt = now() + checkTtl(ttlMs)
      const found = find(key)
      const sum = addTo(key, found?.value, amount)
      write(key, String(sum), found?.expiresAt ?? expiresAt)
      return sum
    },
    async publish(channel, message) {
      checkKey(channel)
      checkValue(message)
      for (const listener of listeners.get(channel) ?? []) queueMicrotask(() => listener(message))
    },
    async subscribe(channel, listener) {
      checkKey(channel)
      const own: MessageListener = (message) => listener(message)
      const all = listeners.get(channel) ?? new Set()
      listeners.set(channel, all.add(own))
      return async () => {
        all.delete(own)
        if (all.size === 0 && listeners.get(channel) === all) listeners.delete(channel)
      }
    },
    onGap: () => () => {},
    async ping() {},
    async close() {
      clearInterval(sweeper)
      values.clear()
      listeners.clear()
    },
  }
}
