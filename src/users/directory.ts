// Defines the directory of profiles, users and keys: the interface that the file and the store implement.
import type { KeyRecord } from './keys.ts'
import type { UserFields, UserRecord, UserRecords } from './records.ts'
import type { Profile } from './types.ts'

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
