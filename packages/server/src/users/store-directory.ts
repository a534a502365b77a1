// Stores profiles, users and keys in the store that replicas share, and notifies the other replicas of each change.
import { dropOldest, entriesIn, type StateStore } from '@toolshelf/core/internal'
import { createChangeListeners, createDirectory, type RecordPart, type UserDirectory } from './directory.ts'
import { UsersError } from './records.ts'

/** The channel on which changes are published. */
const CHANNEL = 'users'
/** The beginning of the keys of each part. */
const PREFIXES: { readonly [part in RecordPart]: string } = {
  profiles: 'profile/',
  users: 'user/',
  keys: 'key/',
  oauth: 'oauth',
}
const USES = 'key-use/'
/** How often to change a record that others change meanwhile. */
const MAX_TRIES = 10
/** Milliseconds between two records that a key was used. */
const USE_GAP_MS = 3_600_000
/** Keys whose last recorded use is remembered; beyond this number the oldest are forgotten, and recorded again. */
const MAX_NOTED = 10_000

/** Options of `openUserStore`. */
type UserStoreOptions = {
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

/**
 * Opens the users of a store. Closing it does not close the store.
 *
 * @example
 * const directory = await openUserStore(store)
 */
export async function openUserStore(
  store: StateStore,
  { now = Date.now }: UserStoreOptions = {},
): Promise<UserDirectory> {
  const changes = createChangeListeners()
  const stops = [store.onGap(changes.emit), await store.subscribe(CHANNEL, changes.emit)]
  const noted = new Map<string, number>()

  async function list(prefix: string): Promise<Map<string, unknown>> {
    const values = new Map<string, unknown>()
    for await (const { key, value } of entriesIn(store, prefix))
      values.set(key.slice(prefix.length), parse(key, value))
    return values
  }

  return createDirectory({
    place: `the ${store.kind} store`,
    sync: async () => {},
    reload: async () => changes.emit(),
    async get(part, name) {
      const key = PREFIXES[part] + name
      const found = await store.get(key)
      return found && parse(key, found.value)
    },
    list: (part) => list(PREFIXES[part]),
    async change(part, name, next) {
      const key = PREFIXES[part] + name
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const found = await store.get(key)
        const after = next(found && parse(key, found.value))
        if (after === undefined) return false
        const isDone =
          after === null
            ? !found || (await store.delete(key, { ifVersion: found.version }))
            : await store.set(key, JSON.stringify(after), { ifVersion: found?.version ?? null })
        if (isDone === false || isDone === undefined) continue
        await store.publish(CHANNEL, key)
        if (part === 'keys' && after === null) await store.delete(USES + name)
        return true
      }
      throw new UsersError(`"${key}" is being changed by others; try again`)
    },
    lastUses: async () => new Map([...(await list(USES))].map(([id, time]) => [id, String(time)])),
    noteUse(keyId) {
      if (now() - (noted.get(keyId) ?? Number.NEGATIVE_INFINITY) < USE_GAP_MS) return
      noted.delete(keyId)
      noted.set(keyId, now())
      dropOldest(noted, MAX_NOTED)
      // Losing one record of a use does no harm.
      void store.set(USES + keyId, JSON.stringify(new Date(now()).toISOString())).catch(() => {})
    },
    onChange: changes.add,
    async close() {
      for (const stop of stops) await stop()
    },
  })
}

function parse(key: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsersError(
      `the value of "${key}" in the store is not JSON; write it again with "toolshelf users import"`,
    )
  }
}
