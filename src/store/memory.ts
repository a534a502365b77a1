// Keeps shared state in the memory of this process: the default of a gateway that runs alone, and what tests use.
import type { MessageListener, StateStore, StoredEntry, StoredValue } from './types.ts'

/** Options of `createMemoryStore`. */
export type MemoryStoreOptions = {
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

type Value = StoredValue & { readonly expiresAt: number }

/** Milliseconds between two searches for expired values. */
const SWEEP_MS = 30_000
const MAX_LISTED = 1000

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
      const found = find(key)
      return found && { value: found.value, version: found.version }
    },
    async list(prefix, { limit = MAX_LISTED, after = '' } = {}) {
      const keys = [...values.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
      const entries: StoredEntry[] = []
      for (const key of keys) {
        const found = find(key)
        if (found) entries.push({ key, value: found.value, version: found.version })
        if (entries.length === limit) break
      }
      return entries
    },
    async set(key, value, { ttlMs, ifVersion } = {}) {
      if (ifVersion !== undefined && (find(key)?.version ?? null) !== ifVersion) return undefined
      return write(key, value, ttlMs === undefined ? Number.POSITIVE_INFINITY : now() + ttlMs)
    },
    async touch(key, ttlMs) {
      const found = find(key)
      if (found) values.set(key, { ...found, expiresAt: now() + ttlMs })
      return found !== undefined
    },
    async delete(key, { ifVersion } = {}) {
      const found = find(key)
      if (!found || (ifVersion !== undefined && found.version !== ifVersion)) return false
      return values.delete(key)
    },
    async add(key, amount, ttlMs) {
      const found = find(key)
      const sum = Number(found?.value ?? 0) + amount
      write(key, String(sum), found?.expiresAt ?? now() + ttlMs)
      return sum
    },
    async publish(channel, message) {
      for (const listener of listeners.get(channel) ?? []) queueMicrotask(() => listener(message))
    },
    async subscribe(channel, listener) {
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
