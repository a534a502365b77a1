// Stores profiles, users and keys in the store that replicas share, and notifies the other replicas of each change.
import { dropOldest } from '../lib/index.ts'
import { entriesIn, type StateStore } from '../store/index.ts'
import { createChangeListeners, type UserDirectory } from './directory.ts'
import type { KeyRecord } from './keys.ts'
import {
  changedUser,
  profileJson,
  readKey,
  readProfile,
  readUser,
  type UserRecords,
  UsersError,
  withSubject,
} from './records.ts'
import type { Profile } from './types.ts'

/** The channel on which changes are published. */
const CHANNEL = 'users'
const KEYS = 'key/'
const USERS = 'user/'
const PROFILES = 'profile/'
const USES = 'key-use/'
/** How often to change a record that others change meanwhile. */
const MAX_TRIES = 10
/** The section `oauth` of a users file. */
const OAUTH = 'oauth'
/** Milliseconds between two records that a key was used. */
const USE_GAP_MS = 3_600_000
/** Keys whose last recorded use is remembered; beyond this number the oldest are forgotten, and recorded again. */
const MAX_NOTED = 10_000

/** Options of `openUserStore`. */
export type UserStoreOptions = {
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
  const access = createRecordAccess(store)
  const { save, find, list } = access
  const profiles = new Map<string, { readonly json: string; readonly profile: Profile }>()

  const findOAuth = () => find(OAUTH, '', (_, section) => section)

  async function deleteKey(id: string): Promise<boolean> {
    const isDeleted = await store.delete(KEYS + id)
    await store.publish(CHANNEL, KEYS + id)
    await store.delete(USES + id)
    return isDeleted
  }

  const directory: UserDirectory = {
    place: `the ${store.kind} store`,
    sync: async () => {},
    reload: async () => changes.emit(),
    findKey: (id) => find(KEYS, id, readKey),
    findUser: (id) => find(USERS, id, readUser),
    async findProfile(name) {
      const found = await store.get(PROFILES + name)
      if (!found) return undefined
      const known = profiles.get(name)
      if (known?.json === found.value) return known.profile
      const profile = readProfile(name, parse(PROFILES + name, found.value))
      profiles.set(name, { json: found.value, profile })
      return profile
    },
    findOAuth,
    async all(): Promise<UserRecords> {
      const oauth = await findOAuth()
      return {
        profiles: await list(PROFILES, readProfile),
        users: await directory.users(),
        keys: await list(KEYS, readKey),
        ...(oauth === undefined ? {} : { oauth }),
      }
    },
    lastUses: () => list(USES, (_, value) => String(value)),
    noteUse(keyId) {
      if (now() - (noted.get(keyId) ?? Number.NEGATIVE_INFINITY) < USE_GAP_MS) return
      noted.delete(keyId)
      noted.set(keyId, now())
      dropOldest(noted, MAX_NOTED)
      // Losing one record of a use does no harm.
      void store.set(USES + keyId, JSON.stringify(new Date(now()).toISOString())).catch(() => {})
    },
    async saveKey(id, record: KeyRecord) {
      const owner = await find(USERS, record.user, readUser)
      if (!owner) throw new UsersError(`there is no user "${record.user}" to have a key`)
      await save(KEYS + id, { uid: owner.uid, ...record })
    },
    deleteKey,
    ...userAccess(access),
    async deleteUser(id) {
      const isDeleted = await store.delete(USERS + id)
      await store.publish(CHANNEL, USERS + id)
      const keys = await list(KEYS, readKey)
      for (const [keyId, { user }] of keys) if (user === id) await deleteKey(keyId)
      return isDeleted
    },
    saveProfile: (profile) => save(PROFILES + profile.name, profileJson(profile)),
    saveOAuth: (section) => save(OAUTH, section),
    onChange: changes.add,
    async close() {
      for (const stop of stops) await stop()
    },
  }
  return directory
}

/** The part of the directory that changes users. */
function userAccess({
  change,
  list,
}: RecordAccess): Pick<UserDirectory, 'users' | 'saveUser' | 'keepSubject'> {
  return {
    users: () => list(USERS, readUser),
    saveUser: async (id, fields) =>
      void (await change(USERS, id, readUser, (user) => changedUser(user, fields))),
    async keepSubject(id, subject) {
      const kept = await change(USERS, id, readUser, (user) => withSubject(user, subject))
      return kept?.token?.subject
    },
  }
}

type RecordAccess = ReturnType<typeof createRecordAccess>

/** Reads and writes records as JSON, and notifies the replicas of each change. */
function createRecordAccess(store: StateStore) {
  return {
    async save(key: string, value: unknown): Promise<void> {
      await store.set(key, JSON.stringify(value))
      await store.publish(CHANNEL, key)
    },
    /** Changes a record, unless `next` returns undefined; returns it as it is then. */
    async change<Value>(
      prefix: string,
      name: string,
      read: Read<Value>,
      next: (before: Value | undefined) => Value | undefined,
    ): Promise<Value | undefined> {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const found = await store.get(prefix + name)
        const before = found && read(name, parse(prefix + name, found.value))
        const after = next(before)
        if (!after) return before
        const isWritten = await store.set(prefix + name, JSON.stringify(after), {
          ifVersion: found?.version ?? null,
        })
        if (isWritten === undefined) continue
        await store.publish(CHANNEL, prefix + name)
        return after
      }
      throw new UsersError(`"${prefix}${name}" is being changed by others; try again`)
    },
    async find<Value>(prefix: string, name: string, read: Read<Value>): Promise<Value | undefined> {
      const found = await store.get(prefix + name)
      return found && read(name, parse(prefix + name, found.value))
    },
    async list<Value>(prefix: string, read: Read<Value>): Promise<Map<string, Value>> {
      const values = new Map<string, Value>()
      for await (const { key, value } of entriesIn(store, prefix)) {
        const name = key.slice(prefix.length)
        values.set(name, read(name, parse(key, value)))
      }
      return values
    },
  }
}

type Read<Value> = (name: string, value: unknown) => Value

function parse(key: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsersError(
      `the value of "${key}" in the store is not JSON; write it again with "toolshelf users import"`,
    )
  }
}
