// Stores shared state in the memory of this process: the default for a gateway that runs alone, and for tests.
import type { StateStore, StoredEntry, StoredValue } from '@toolshelf/core/internal'
import { createChannels } from './channels.ts'
import { addTo, DEFAULT_LISTED, withChecks } from './limits.ts'

type MemoryStoreOptions = {
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

type Value = StoredValue & { readonly expiresAt: number }

/** Milliseconds between two sweeps of expired values. */
const SWEEP_MS = 30_000

/**
 * Creates a store in memory, whose content is lost when the process ends.
 *
 * @example
 * const store = createMemoryStore()
 * await store.set('pins/github', '{}', { ttlMs: 60_000 })
 */
export function createMemoryStore({ now = Date.now }: MemoryStoreOptions = {}): StateStore {
  const values = new Map<string, Value>()
  const channels = createChannels({ join: async () => {}, leave: async () => {} })
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

  return withChecks({
    kind: 'memory',
    async get(key) {
      const found = find(key)
      return found && { value: found.value, version: found.version }
    },
    async list(prefix, { limit = DEFAULT_LISTED, after = '' } = {}) {
      const isWanted = (key: string) => key.startsWith(prefix) && key > after
      const entries: StoredEntry[] = []
      for (const key of [...values.keys()].filter(isWanted).sort()) {
        if (entries.length >= limit) break
        const found = find(key)
        if (found) entries.push({ key, value: found.value, version: found.version })
      }
      return entries
    },
    async set(key, value, { ttlMs, ifVersion } = {}) {
      const expiresAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : now() + ttlMs
      if (ifVersion !== undefined && (find(key)?.version ?? null) !== ifVersion) return undefined
      return write(key, value, expiresAt)
    },
    async delete(key, { ifVersion } = {}) {
      const found = find(key)
      if (!found || (ifVersion !== undefined && found.version !== ifVersion)) return false
      return values.delete(key)
    },
    async add(key, amount, ttlMs) {
      const expiresAt = now() + ttlMs
      const found = find(key)
      const sum = addTo(key, found?.value, amount)
      write(key, String(sum), found?.expiresAt ?? expiresAt)
      return sum
    },
    publish: async (channel, message) => channels.dispatch(channel, message),
    subscribe: channels.subscribe,
    onGap: channels.onGap,
    async ping() {},
    async close() {
      clearInterval(sweeper)
      values.clear()
      channels.clear()
    },
  })
}
