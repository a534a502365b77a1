// Stores definitions of servers in a store that replicas share, so that a new replica knows them at once.
import { randomBytes } from 'node:crypto'
import { errorMessage } from '../../lib/index.ts'
import type { StateStore } from '../../store/index.ts'
import { type DefinitionCache, entryNameOf, parseEntry, printEntry } from './definition-cache.ts'

/** Milliseconds after which a server that nobody uses is forgotten. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000
const KEY_BYTES = 32
const KEY = 'definitions-key'

/** Opens the cache in a store; like the one on disk it never rejects. */
export function openStoredDefinitions(
  store: StateStore,
  notify: (message: string) => void,
  now: () => number = Date.now,
): DefinitionCache {
  let key: Buffer | undefined

  /** Returns the random key of all replicas, which the first one creates. */
  async function keyFor(): Promise<Buffer> {
    if (key) return key
    const made = randomBytes(KEY_BYTES).toString('base64')
    const isMine = (await store.set(KEY, made, { ifVersion: null })) !== undefined
    key = Buffer.from(isMine ? made : ((await store.get(KEY))?.value ?? made), 'base64')
    return key
  }

  return {
    async read(config) {
      try {
        const found = await store.get(`definitions/${entryNameOf(config, await keyFor())}`)
        return found && parseEntry(found.value, now())
      } catch {
        // Missing, broken or unreachable: the server lists its definitions instead.
        return undefined
      }
    },
    async write(config, server) {
      try {
        const name = entryNameOf(config, await keyFor())
        await store.set(`definitions/${name}`, printEntry(server, now()), { ttlMs: MAX_AGE_MS })
      } catch (error) {
        notify(`cannot store definitions for the next start: ${errorMessage(error)}`)
      }
    },
  }
}
