// The directory of profiles, users and keys: one over `users.json`, or over the store that replicas share.
import { unwatchFile, watchFile } from 'node:fs'
import { stat } from 'node:fs/promises'
import {
  bindMethods,
  entriesIn,
  errorMessage,
  type Fields,
  fieldsOf,
  type Profile,
  type StateStore,
  setNewest,
} from '@toolshelf/core/internal'
import { type FileRights, JsonFile, readBoundedFile } from '@toolshelf/core/internal/node'
import {
  changedUser,
  type KeyRecord,
  profileJson,
  readKey,
  readProfile,
  readUser,
  readUserRecords,
  type UserFields,
  type UserRecord,
  type UserRecords,
  UsersError,
  withSubject,
  withUids,
} from './records.ts'

/** The parts of a users file; `oauth` is one value, without a name. */
type RecordPart = 'profiles' | 'users' | 'keys' | 'oauth'

/** Where the records of a directory are kept, as JSON values by part and name. */
type RecordPlace = {
  /** Where they are stored, for messages: the file, or the kind of store. */
  readonly place: string
  /** Resolves when changes made elsewhere are visible here. */
  sync(): Promise<void>
  /** Reads everything again, even if nothing seems to have changed. */
  reload(): Promise<void>
  /** Returns when each key was last used, in ISO 8601, accurate to an hour. */
  lastUses(): Promise<ReadonlyMap<string, string>>
  /** Records that a key was used; never fails. */
  noteUse(keyId: string): void
  /** Calls the listener at each change, and when changes may have been missed, until the returned function is called. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
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

/** Profiles, users and keys, wherever they are stored. Methods reject with a `StoreError` while that cannot be reached. */
export type UserDirectory = ReturnType<typeof createDirectory>

function createDirectory(place: RecordPlace) {
  const profiles = new Map<string, { readonly json: string; readonly profile: Profile }>()
  async function find<Value>(part: RecordPart, name: string, read: (name: string, value: unknown) => Value) {
    const value = await place.get(part, name)
    return value === undefined ? undefined : read(name, value)
  }
  const all = async <Value>(part: RecordPart, read: (name: string, value: unknown) => Value) =>
    new Map([...(await place.list(part))].map(([name, value]) => [name, read(name, value)] as const))
  const remove = (part: RecordPart, name: string) =>
    place.change(part, name, (before) => (before === undefined ? undefined : null))
  const changeUser = (id: string, next: (user: UserRecord | undefined) => UserRecord | undefined) =>
    place.change('users', id, (before) => next(before === undefined ? undefined : readUser(id, before)))
  const findUser = (id: string) => find('users', id, readUser)

  return {
    ...place,
    findUser,
    findKey: (id: string) => find('keys', id, readKey),
    /** Finds a profile; returns the same object while it does not change. */
    findProfile: (name: string) =>
      find('profiles', name, (_, value) => {
        // What is derived from a profile is found by the object: it stays the same while the profile does.
        const json = JSON.stringify(value)
        const known = profiles.get(name)
        if (known?.json === json) return known.profile
        const profile = readProfile(name, value)
        profiles.set(name, { json, profile })
        return profile
      }),
    /** Returns the section `oauth` as written; undefined if there is none. */
    findOAuth: () => place.get('oauth', ''),
    users: () => all('users', readUser),
    async all(): Promise<UserRecords> {
      const oauth = await place.get('oauth', '')
      return {
        profiles: await all('profiles', readProfile),
        users: await all('users', readUser),
        keys: await all('keys', readKey),
        ...(oauth === undefined ? {} : { oauth }),
      }
    },
    async saveKey(id: string, record: KeyRecord) {
      const owner = await findUser(record.user)
      if (!owner) throw new UsersError(`there is no user "${record.user}" to have a key; create them first`)
      await place.change('keys', id, () => ({ uid: owner.uid, ...record }))
    },
    /** Deletes a key; returns false if there is none with this id. */
    deleteKey: (id: string) => remove('keys', id),
    /** Changes a user; creates one who is new. */
    saveUser: (id: string, fields: UserFields) => changeUser(id, (user) => changedUser(user, fields)),
    /** Keeps the subject of a user's tokens unless there is one; returns the one that is kept. */
    async keepSubject(id: string, subject: string) {
      await changeUser(id, (user) => withSubject(user, subject))
      return (await findUser(id))?.token?.subject
    },
    /** Deletes a user and all of their keys; returns false if there is no such user. */
    async deleteUser(id: string) {
      for (const [key, { user }] of await all('keys', readKey)) if (user === id) await remove('keys', key)
      return remove('users', id)
    },
    saveProfile: (profile: Profile) => place.change('profiles', profile.name, () => profileJson(profile)),
    /** Saves the section `oauth` in the form that a file has. */
    saveOAuth: (section: unknown) => place.change('oauth', '', () => section),
  }
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

type UserFileOptions = {
  /** Called with the problem of a file that cannot be used; the last good content stays in use. */
  readonly notify?: (message: string) => void
  /** Starts with an empty file if there is none, for commands that write it. Default: false. */
  readonly mayCreate?: boolean
}

const MAX_BYTES = 20_000_000
/** Milliseconds between two checks of the file, for sessions that stay open. Each request checks it, too. */
const WATCH_MS = 500
/** Milliseconds between two writes of the keys' last uses. */
const USES_MS = 60_000

/**
 * Opens `users.json`. Rejects with a `UsersError` if it cannot be read or is invalid.
 *
 * @example
 * const directory = await openUserFile('users.json')
 */
export async function openUserFile(path: string, options: UserFileOptions = {}): Promise<UserDirectory> {
  const file = new UserFile(path, options)
  await file.open()
  return createDirectory(bindMethods(file))
}

/**
 * Reads a users file once, without changing it.
 * @param known - Users whose `uid` those have who have none in the file.
 */
export async function readUserFile(
  path: string,
  known: ReadonlyMap<string, UserRecord>,
): Promise<UserRecords> {
  try {
    const file = parseFile((await readBoundedFile(path, MAX_BYTES)).toString('utf8')) as Fields
    return readUserRecords(withUids(file, known))
  } catch (error) {
    throw unusable(path, error, (error as NodeJS.ErrnoException).code === 'ENOENT')
  }
}

/** The content of the file as it was with this stamp; every user has a `uid`. */
type Loaded = { readonly stamp: string; readonly file: Fields }

class UserFile implements RecordPlace {
  readonly place: string
  readonly #file: JsonFile
  readonly #usesFile: JsonFile
  readonly #options: UserFileOptions
  readonly #changes = createChangeListeners()
  readonly #uses = new Map<string, string>()
  #loaded: Loaded = { stamp: '', file: {} }
  /** The check in progress, which requests share. */
  #looking: Promise<void> | undefined
  #flushing: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setInterval> | undefined
  #watcher = () => {}

  constructor(path: string, options: UserFileOptions) {
    this.place = path
    this.#file = new JsonFile(path)
    this.#usesFile = new JsonFile(`${path}.last-used`)
    this.#options = options
  }

  async open(): Promise<void> {
    try {
      this.#loaded = await this.#read(await stampOf(this.place))
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!(isMissing && this.#options.mayCreate)) throw unusable(this.place, error, isMissing)
    }
    this.#watcher = () => void this.sync()
    watchFile(this.place, { interval: WATCH_MS, persistent: false }, this.#watcher)
    this.#timer = setInterval(() => this.#flushUses(), USES_MS)
    this.#timer.unref()
  }

  sync(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async reload(): Promise<void> {
    // A check in progress may have begun before the operator asked for a reload.
    await this.#looking
    this.#loaded = { ...this.#loaded, stamp: '' }
    await this.sync()
  }

  onChange = this.#changes.add

  async get(part: RecordPart, name: string): Promise<unknown> {
    return entryIn(this.#loaded.file, part, name)
  }

  async list(part: RecordPart): Promise<ReadonlyMap<string, unknown>> {
    return new Map(Object.entries(fieldsOf(this.#loaded.file[part])))
  }

  async change(part: RecordPart, name: string, next: (before: unknown) => unknown): Promise<boolean> {
    const { isChanged } = await this.#write((file) => {
      const after = next(entryIn(file, part, name))
      return after === undefined ? undefined : withEntry(file, part, name, after)
    }).catch((error: unknown) => {
      throw unusable(this.place, error)
    })
    await this.sync()
    return isChanged
  }

  async lastUses(): Promise<ReadonlyMap<string, string>> {
    return new Map([...(await readUses(this.#usesFile)), ...this.#uses])
  }

  noteUse(keyId: string): void {
    this.#uses.set(keyId, new Date().toISOString())
  }

  async close(): Promise<void> {
    unwatchFile(this.place, this.#watcher)
    clearInterval(this.#timer)
    this.#flushUses()
    await this.#flushing
  }

  /** Rereads the file if it has changed; if it cannot be used, reports that and keeps the last good content. */
  async #look(): Promise<void> {
    const stamp = await stampOf(this.place).catch((error: Error) => `unreadable: ${error.message}`)
    if (stamp === this.#loaded.stamp) return
    try {
      this.#loaded = await this.#read(stamp)
    } catch (error) {
      this.#loaded = { ...this.#loaded, stamp }
      const message = unusable(this.place, error).message
      this.#options.notify?.(`${message}; its last good content stays in use`)
      return
    }
    this.#changes.emit()
  }

  /** Reads the file, which has this stamp; writes a `uid` for users who were added by hand. */
  async #read(stamp: string): Promise<Loaded> {
    const file = parseFile((await readBoundedFile(this.place, MAX_BYTES)).toString('utf8')) as Fields
    const filled = withUids(file)
    readUserRecords(filled)
    if (filled === file) return { stamp, file }
    try {
      return await this.#write((now) => now)
    } catch (error) {
      if (error instanceof UsersError) throw error
      const remedy = 'run "toolshelf users" where it can be, or write 32 random hexadecimal digits for each'
      throw new UsersError(
        `users without "uid", and the file cannot be changed: ${errorMessage(error)}; ${remedy}`,
      )
    }
  }

  /**
   * Changes the file under its lock. Every user has a `uid` then.
   *
   * @param change - Returns the file's new content; undefined leaves it as it is.
   */
  #write(change: (file: Fields) => Fields | undefined): Promise<Loaded & { readonly isChanged: boolean }> {
    return this.#file.alone(async () => {
      const file = parseFile((await this.#file.read()) ?? '{}') as Fields
      const filled = withUids(file)
      const changed = change(filled)
      const next = changed ?? filled
      readUserRecords(next)
      if (next === file) return { stamp: '', file, isChanged: false }
      const rights = await rightsOf(this.place)
      await this.#file.write(`${JSON.stringify(next, null, 2)}\n`, rights)
      return { stamp: await stampOf(this.place), file: next, isChanged: changed !== undefined }
    })
  }

  /** Writes the keys' last uses to a separate file, so that an editor that has `users.json` open sees no change. */
  #flushUses(): void {
    if (this.#uses.size === 0) return
    const noted = new Map(this.#uses)
    this.#uses.clear()
    const write = () =>
      this.#usesFile.alone(async () => {
        const keys = fieldsOf(this.#loaded.file.keys)
        const uses = new Map([...(await readUses(this.#usesFile)), ...noted])
        const known = [...uses].filter(([id]) => Object.hasOwn(keys, id))
        await this.#usesFile.write(`${JSON.stringify(Object.fromEntries(known))}\n`)
      })
    // In a read-only folder, last uses are not saved.
    this.#flushing = this.#flushing.then(write).catch(() => {})
  }
}

function entryIn(file: Fields, part: RecordPart, name: string): unknown {
  const entries = fieldsOf(file[part])
  return part === 'oauth' ? file.oauth : Object.hasOwn(entries, name) ? entries[name] : undefined
}

/** Returns the file with a changed value; null deletes it. */
function withEntry(file: Fields, part: RecordPart, name: string, value: unknown): Fields {
  if (part === 'oauth') return { ...file, oauth: value }
  const { [name]: _, ...others } = fieldsOf(file[part])
  return { ...file, [part]: value === null ? others : { ...others, [name]: value } }
}

async function stampOf(path: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
  return [ino, size, mtimeNs, ctimeNs].join()
}

async function rightsOf(path: string): Promise<FileRights | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found && { mode: found.mode & 0o777, uid: found.uid, gid: found.gid }
}

async function readUses(file: JsonFile): Promise<Map<string, string>> {
  try {
    const uses = Object.entries(fieldsOf(parseFile((await file.read()) ?? '{}')))
    return new Map(uses.filter((use): use is [string, string] => typeof use[1] === 'string'))
  } catch {
    return new Map()
  }
}

function parseFile(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsersError(`is not JSON: ${errorMessage(error)}`)
  }
}

function unusable(path: string, error: unknown, isMissing = false): UsersError {
  const { code } = error as NodeJS.ErrnoException
  const reason = isMissing
    ? 'no such file'
    : code === 'ENOENT'
      ? 'the file or its folder is gone'
      : errorMessage(error)
  return new UsersError(`${path}: ${reason}`, { cause: error })
}

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
      setNewest(noted, keyId, now(), MAX_NOTED)
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
