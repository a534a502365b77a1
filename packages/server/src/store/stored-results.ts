// Stores long results in a store that replicas share, so that any replica can read the handle that another gave out.
// Limited per owner and in total; results expire.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ResultStore } from '@toolshelf/core'
import { type StateStore, StoreError } from '@toolshelf/core/internal'

type StoredResultOptions = {
  readonly store: StateStore
  /** Maximum bytes of all results; a result beyond it is refused and therefore sent whole. Default: 1 GB. */
  readonly bytes?: number
  /** Maximum bytes of the results of one owner; the oldest ones make room. Default: 16 MB. */
  readonly bytesPerOwner?: number
  /** Milliseconds after which a result is deleted; default: one day. */
  readonly maxAgeMs?: number
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

/** A result in its owner's index; `window` is the time window in which its bytes are counted. */
type Kept = { readonly id: string; readonly bytes: number; readonly window: number }

const TOTAL_BYTES = 1_000_000_000
const OWNER_BYTES = 16_000_000
const DAY_MS = 24 * 60 * 60 * 1000
/** Number of time windows per maximum age. The results of a window expire before its count does. */
const WINDOWS = 6
const MAX_KEPT = 1000
const ATTEMPTS = 50
const ID = /^[a-z0-9]{8,64}$/

/**
 * Creates a store of long results on top of a store that replicas share.
 *
 * @example
 * const results = createStoredResults({ store: await openStateStore('redis://127.0.0.1') })
 */
export function createStoredResults(options: StoredResultOptions): ResultStore {
  const { store, bytesPerOwner = OWNER_BYTES, maxAgeMs = DAY_MS, now = Date.now } = options
  const total = createTotal(options)
  const windowNow = () => Math.floor(now() / (maxAgeMs / WINDOWS))

  /** Changes an owner's index and returns the results that were removed from it. */
  async function change(owner: string, next: (kept: readonly Kept[]) => readonly Kept[]): Promise<Kept[]> {
    const key = indexKey(owner)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const found = await store.get(key)
      const before = readIndex(found?.value)
      const after = next(before)
      const isWritten = await store.set(key, JSON.stringify(after), {
        ttlMs: maxAgeMs,
        ifVersion: found?.version ?? null,
      })
      if (isWritten !== undefined) return before.filter((one) => !after.includes(one))
      await sleep(Math.random() * 20)
    }
    throw new StoreError('the index of results changes too fast; try again')
  }

  return {
    async put(owner, id, text) {
      if (!ID.test(id)) throw new Error('its id must be 8 to 64 lower-case letters and digits')
      const bytes = Buffer.byteLength(text)
      if (bytes > bytesPerOwner)
        throw new Error(`it has ${bytes} bytes, and one owner may store ${bytesPerOwner}`)
      const added: Kept = { id, bytes, window: windowNow() }
      await total.reserve(added)
      try {
        await store.set(resultKey(owner, id), text, { ttlMs: maxAgeMs })
        const gone = await change(owner, (kept) =>
          fitting([...kept.filter((one) => one.id !== id), added], bytesPerOwner),
        )
        for (const one of gone) {
          await total.release(one)
          if (one.id !== id) await store.delete(resultKey(owner, one.id))
        }
      } catch (error) {
        await total.release(added).catch(() => {})
        throw error
      }
    },
    async get(owner, id) {
      return ID.test(id) ? (await store.get(resultKey(owner, id)))?.value : undefined
    },
    async drop(owner) {
      const found = await store.get(indexKey(owner))
      if (!found) return
      for (const one of readIndex(found.value)) {
        await store.delete(resultKey(owner, one.id))
        await total.release(one)
      }
      await store.delete(indexKey(owner), { ifVersion: found.version })
    },
  }
}

/** Counts the bytes of all owners at all replicas, in time windows that expire as the results do. */
function createTotal({ store, bytes = TOTAL_BYTES, maxAgeMs = DAY_MS, now = Date.now }: StoredResultOptions) {
  const keyOf = (window: number) => `result-bytes/${maxAgeMs}/${window}`
  const ttlMs = maxAgeMs + (2 * maxAgeMs) / WINDOWS
  const add = ({ window }: Kept, amount: number) => store.add(keyOf(window), amount, ttlMs)
  return {
    /** Rejects if there is no room. */
    async reserve(kept: Kept): Promise<void> {
      const newest = await add(kept, kept.bytes)
      const older = Array.from({ length: WINDOWS }, (_, index) => store.get(keyOf(kept.window - 1 - index)))
      const sum = (await Promise.all(older)).reduce((all, found) => all + Number(found?.value ?? 0), newest)
      if (sum <= bytes) return
      await add(kept, -kept.bytes)
      throw new Error(`the store of results is full: ${bytes} bytes`)
    },
    async release(kept: Kept): Promise<void> {
      // The count of an old window has expired with its results.
      if (kept.window * (maxAgeMs / WINDOWS) + maxAgeMs > now()) await add(kept, -kept.bytes)
    },
  }
}

/** Returns the newest results that fit in the limit; the newest is last. */
function fitting(kept: readonly Kept[], limit: number): readonly Kept[] {
  let sum = 0
  const first = kept.findLastIndex((one) => {
    sum += one.bytes
    return sum > limit
  })
  return kept.slice(Math.max(first + 1, kept.length - MAX_KEPT))
}

function readIndex(text: string | undefined): readonly Kept[] {
  return text === undefined ? [] : (JSON.parse(text) as Kept[])
}

/** Hashes an owner, who may be long or secret. */
function ownerName(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 40)
}

function indexKey(owner: string): string {
  return `result-index/${ownerName(owner)}`
}

function resultKey(owner: string, id: string): string {
  return `result/${ownerName(owner)}/${id}`
}
