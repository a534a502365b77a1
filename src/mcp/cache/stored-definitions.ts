// Keeps definitions of servers in a store that replicas share, so that a new replica knows them at once.
import { randomBytes } from 'node:crypto'
import { errorMessage } from '../../lib/index.ts'
import type { StateStore } from '../../store/index.ts'
import { type DefinitionCache, entryNameOf, parseEntry, printEntry } from './definition-cache.ts'

/** A server that nobody used for so long is forgotten. */
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

  /** One random key for all replicas: whoever creates it first wins. */
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
        // Missing, broken or out of reach: the server will be asked instead.
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
