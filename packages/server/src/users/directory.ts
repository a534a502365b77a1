// The directory of profiles, users and keys: what it knows and changes, over a file or a store of JSON values.

import type { Profile } from '@toolshelf/core/internal'
import type { KeyRecord } from './keys.ts'
import {
  changedUser,
  profileJson,
  readKey,
  readProfile,
  readUser,
  type UserFields,
  type UserRecord,
  type UserRecords,
  UsersError,
  withSubject,
} from './records.ts'

/**
 * Profiles, users and keys, wherever they are stored. Methods reject with a `StoreError` while that cannot be reached.
 */
export type UserDirectory = {
  /** Where they are stored, for messages: the file, or the kind of store. */
  readonly place: string
  /** Resolves when changes made elsewhere are visible here. */
  sync(): Promise<void>
  /** Reads everything again, even if nothing seems to have changed. */
  reload(): Promise<void>
  findKey(id: string): Promise<KeyRecord | undefined>
  findUser(id: string): Promise<UserRecord | undefined>
  /** Finds a profile; returns the same object while it does not change. */
  findProfile(name: string): Promise<Profile | undefined>
  /** Returns the section `oauth` as written; undefined if there is none. */
  findOAuth(): Promise<unknown>
  all(): Promise<UserRecords>
  /** Returns when each key was last used, in ISO 8601, accurate to an hour. */
  lastUses(): Promise<ReadonlyMap<string, string>>
  /** Records that a key was used; never fails. */
  noteUse(keyId: string): void
  saveKey(id: string, record: KeyRecord): Promise<void>
  /** Deletes a key; returns false if there is none with this id. */
  deleteKey(id: string): Promise<boolean>
  users(): Promise<ReadonlyMap<string, UserRecord>>
  /** Changes a user; creates one who is new. */
  saveUser(id: string, fields: UserFields): Promise<void>
  /** Keeps the subject of a user's tokens unless there is one; returns the one that is kept. */
  keepSubject(id: string, subject: string): Promise<string | undefined>
  /** Deletes a user and all of their keys; returns false if there is no such user. */
  deleteUser(id: string): Promise<boolean>
  saveProfile(profile: Profile): Promise<void>
  /** Saves the section `oauth` in the form that a file has. */
  saveOAuth(section: unknown): Promise<void>
  /** Calls the listener at each change, and when changes may have been missed, until the returned function is called. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** The parts of a users file; `oauth` is one value, without a name. */
export type RecordPart = 'profiles' | 'users' | 'keys' | 'oauth'

/** Where the records of a directory are kept, as JSON values by part and name. */
export type RecordPlace = Pick<
  UserDirectory,
  'place' | 'sync' | 'reload' | 'lastUses' | 'noteUse' | 'onChange' | 'close'
> & {
  /** Returns a value; undefined if there is none. */
  get(part: RecordPart, name: string): Promise<unknown>
  list(part: RecordPart): Promise<ReadonlyMap<string, unknown>>
  /**
   * Changes a value, one process at a time; returns false if it stays as it is.
   *
   * @param next - Returns the new value: null deletes it, undefined leaves it as it is.
   */
  change(part: RecordPart, name: string, next: (before: unknown) => unknown): Promise<boolean>
}

/** Creates the directory of a place. */
export function createDirectory(place: RecordPlace): UserDirectory {
  const profiles = new Map<string, { readonly json: string; readonly profile: Profile }>()
  const find = async <Value>(
    part: RecordPart,
    name: string,
    read: (name: string, value: unknown) => Value,
  ) => {
    const value = await place.get(part, name)
    return value === undefined ? undefined : read(name, value)
  }
  const all = async <Value>(part: RecordPart, read: (name: string, value: unknown) => Value) =>
    new Map([...(await place.list(part))].map(([name, value]) => [name, read(name, value)] as const))
  const remove = (part: RecordPart, name: string) =>
    place.change(part, name, (before) => (before === undefined ? undefined : null))
  const userIn = (id: string, value: unknown) => (value === undefined ? undefined : readUser(id, value))

  const directory: UserDirectory = {
    ...place,
    findKey: (id) => find('keys', id, readKey),
    findUser: (id) => find('users', id, readUser),
    findProfile: (name) =>
      find('profiles', name, (_, value) => {
        // What is derived from a profile is found by the object: it stays the same while the profile does.
        const json = JSON.stringify(value)
        const known = profiles.get(name)
        if (known?.json === json) return known.profile
        const profile = readProfile(name, value)
        profiles.set(name, { json, profile })
        return profile
      }),
    findOAuth: () => place.get('oauth', ''),
    users: () => all('users', readUser),
    async all(): Promise<UserRecords> {
      const oauth = await directory.findOAuth()
      return {
        profiles: await all('profiles', readProfile),
        users: await directory.users(),
        keys: await all('keys', readKey),
        ...(oauth === undefined ? {} : { oauth }),
      }
    },
    async saveKey(id, record) {
      const owner = await directory.findUser(record.user)
      if (!owner) throw new UsersError(`there is no user "${record.user}" to have a key; create them first`)
      await place.change('keys', id, () => ({ uid: owner.uid, ...record }))
    },
    deleteKey: (id) => remove('keys', id),
    async saveUser(id, fields) {
      await place.change('users', id, (before) => changedUser(userIn(id, before), fields))
    },
    async keepSubject(id, subject) {
      await place.change('users', id, (before) => withSubject(userIn(id, before), subject))
      return (await directory.findUser(id))?.token?.subject
    },
    async deleteUser(id) {
      for (const [key, { user }] of await all('keys', readKey)) if (user === id) await remove('keys', key)
      return remove('users', id)
    },
    async saveProfile(profile) {
      await place.change('profiles', profile.name, () => profileJson(profile))
    },
    async saveOAuth(section) {
      await place.change('oauth', '', () => section)
    },
  }
  return directory
}

/** Creates a set of listeners without arguments. */
export function createChangeListeners() {
  const listeners = new Set<() => void>()
  return {
    emit: () => {
      for (const listener of [...listeners]) listener()
    },
    add(listener: () => void): () => void {
      const own = () => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
}
