// Where profiles, users and keys are kept: the interface that the file and the store implement.
import type { KeyRecord } from './keys.ts'
import type { UserRecord, UserRecords } from './records.ts'
import type { Profile } from './types.ts'

/** Profiles, users and keys, wherever they are kept. Methods reject with a `StoreError` while that cannot be reached. */
export type UserDirectory = {
  /** For messages: the file, or the kind of store. */
  readonly place: string
  /** Resolves when what was changed elsewhere is known here, as far as that needs a look. */
  sync(): Promise<void>
  /** Reads everything anew because the operator asks for it, whether it seems to have changed or not. */
  reload(): Promise<void>
  findKey(id: string): Promise<KeyRecord | undefined>
  findUser(id: string): Promise<UserRecord | undefined>
  /** Returns the same object while the profile does not change. */
  findProfile(name: string): Promise<Profile | undefined>
  /** The section `oauth`, as it is written; undefined if there is none. */
  findOAuth(): Promise<unknown>
  all(): Promise<UserRecords>
  /** When each key was last used, in ISO 8601, to within an hour. */
  lastUses(): Promise<ReadonlyMap<string, string>>
  /** Notes that a key is in use; never fails. */
  noteUse(keyId: string): void
  saveKey(id: string, record: KeyRecord): Promise<void>
  /** Returns false if there is no such key. */
  deleteKey(id: string): Promise<boolean>
  saveUser(id: string, record: UserRecord): Promise<void>
  /** Deletes a user and all of their keys; returns false if there is no such user. */
  deleteUser(id: string): Promise<boolean>
  saveProfile(profile: Profile): Promise<void>
  /** Saves the section `oauth`, as it is written in a file. */
  saveOAuth(section: unknown): Promise<void>
  /** Calls the listener at each change, and when changes may have been missed. Returns how to stop that. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** A set of listeners without arguments. */
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
