// Stores profiles, users and keys in `users.json`: rereads it whenever it changes, and writes it atomically under a
// lock.
import { randomBytes } from 'node:crypto'
import { unwatchFile, watchFile } from 'node:fs'
import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorMessage, type Fields, fieldsOf } from '../lib/index.ts'
import { lockFile, readBoundedFile } from '../node/index.ts'
import { createChangeListeners, type UserDirectory } from './directory.ts'
import type { KeyRecord } from './keys.ts'
import {
  changedUser,
  profileJson,
  readUser,
  readUserRecords,
  type UserFields,
  type UserRecord,
  type UserRecords,
  UsersError,
  withSubject,
  withUids,
} from './records.ts'
import type { Profile } from './types.ts'

/** Options of `openUserFile`. */
export type UserFileOptions = {
  /** Called with the problem of a file that cannot be used; the last good content stays in use. */
  readonly notify?: (message: string) => void
  /** Starts with an empty file if there is none, for commands that write it. Default: false. */
  readonly mayCreate?: boolean
}

const MAX_BYTES = 20_000_000
/** Milliseconds between two checks of the file, for sessions that stay open. Each request checks it, too. */
const WATCH_MS = 500
/** Milliseconds after which another process's lock counts as abandoned. */
const MAX_LOCK_MS = 10_000
/** Milliseconds between two writes of the keys' last uses. */
const USES_MS = 60_000

const EMPTY = readUserRecords({})

/**
 * Opens `users.json`. Rejects with a `UsersError` if it cannot be read or is invalid.
 *
 * @example
 * const directory = await openUserFile('users.json')
 */
export async function openUserFile(path: string, options: UserFileOptions = {}): Promise<UserDirectory> {
  const directory = new FileDirectory(path, options)
  await directory.open()
  return directory
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
    const file = parse((await readBoundedFile(path, MAX_BYTES)).toString('utf8')) as Fields
    return readUserRecords(withUids(file, known))
  } catch (error) {
    throw unusable(path, error, (error as NodeJS.ErrnoException).code === 'ENOENT')
  }
}

type Loaded = { readonly stamp: string; readonly records: UserRecords }

class FileDirectory implements UserDirectory {
  readonly place: string
  readonly #options: UserFileOptions
  readonly #changes = createChangeListeners()
  readonly #uses = new Map<string, string>()
  #loaded: Loaded = { stamp: '', records: EMPTY }
  /** The check in progress, which requests share. */
  #looking: Promise<void> | undefined
  #flushing: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setInterval> | undefined
  #watcher = () => {}

  constructor(path: string, options: UserFileOptions) {
    this.place = path
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

  findKey = async (id: string) => this.#loaded.records.keys.get(id)
  findUser = async (id: string) => this.#loaded.records.users.get(id)
  users = async () => this.#loaded.records.users
  findProfile = async (name: string) => this.#loaded.records.profiles.get(name)
  findOAuth = async () => this.#loaded.records.oauth
  all = async () => this.#loaded.records
  onChange = this.#changes.add

  async lastUses(): Promise<ReadonlyMap<string, string>> {
    return new Map([...(await readUses(this.#usesPath())), ...this.#uses])
  }

  noteUse(keyId: string): void {
    this.#uses.set(keyId, new Date().toISOString())
  }

  async saveKey(id: string, record: KeyRecord): Promise<void> {
    await this.#edit((file) => withEntry(file, 'keys', id, record))
  }

  deleteKey(id: string): Promise<boolean> {
    return this.#edit((file) =>
      Object.hasOwn(fieldsOf(file.keys), id) ? withEntry(file, 'keys', id, undefined) : undefined,
    )
  }

  async saveUser(id: string, fields: UserFields): Promise<void> {
    await this.#edit((file) => withEntry(file, 'users', id, changedUser(userIn(file, id), fields)))
  }

  async keepSubject(id: string, subject: string): Promise<string | undefined> {
    await this.#edit((file) => {
      const user = withSubject(userIn(file, id), subject)
      return user && withEntry(file, 'users', id, user)
    })
    return (await this.findUser(id))?.token?.subject
  }

  deleteUser(id: string): Promise<boolean> {
    return this.#edit((file) => {
      if (!Object.hasOwn(fieldsOf(file.users), id)) return undefined
      const others = Object.entries(fieldsOf(file.keys)).filter(([, key]) => fieldsOf(key).user !== id)
      return { ...withEntry(file, 'users', id, undefined), keys: Object.fromEntries(others) }
    })
  }

  async saveProfile(profile: Profile): Promise<void> {
    await this.#edit((file) => withEntry(file, 'profiles', profile.name, profileJson(profile)))
  }

  async saveOAuth(section: unknown): Promise<void> {
    await this.#edit((file) => ({ ...file, oauth: section }))
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
      const { records, ...read } = await this.#read(stamp)
      this.#loaded = { ...read, records: kept(this.#loaded.records, records) }
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
    const file = parse((await readBoundedFile(this.place, MAX_BYTES)).toString('utf8')) as Fields
    const filled = withUids(file)
    const records = readUserRecords(filled)
    if (filled === file) return { stamp, records }
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
   * Returns false if there was nothing to change.
   *
   * @param change - Returns the file's new content; undefined leaves it as it is.
   */
  async #edit(change: (file: Fields) => Fields | undefined): Promise<boolean> {
    const { isChanged } = await this.#write(change).catch((error: unknown) => {
      throw unusable(this.place, error)
    })
    await this.sync()
    return isChanged
  }

  /** Changes the file under its lock. Every user has a `uid` then. */
  async #write(
    change: (file: Fields) => Fields | undefined,
  ): Promise<Loaded & { readonly isChanged: boolean }> {
    const path = await realpath(this.place).catch(() => this.place)
    if (this.#options.mayCreate) await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const unlock = await lockFile(`${path}.lock`, MAX_LOCK_MS)
    try {
      const text = await readBoundedFile(path, MAX_BYTES).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '{}'
        throw error
      })
      const file = parse(text.toString()) as Fields
      const filled = withUids(file)
      const changed = change(filled)
      const next = withUids(changed ?? filled)
      const records = readUserRecords(next)
      if (next === file) return { stamp: '', records, isChanged: false }
      const { mode } = await stat(path).catch(() => ({ mode: 0o600 }))
      await writeWhole(path, `${JSON.stringify(next, null, 2)}\n`, mode & 0o777)
      return { stamp: await stampOf(path), records, isChanged: changed !== undefined }
    } finally {
      await unlock()
    }
  }

  #usesPath(): string {
    return `${this.place}.last-used`
  }

  /** Writes the keys' last uses to a separate file, so that an editor that has `users.json` open sees no change. */
  #flushUses(): void {
    if (this.#uses.size === 0) return
    const noted = new Map(this.#uses)
    this.#uses.clear()
    const write = async () => {
      const path = this.#usesPath()
      const unlock = await lockFile(`${path}.lock`, MAX_LOCK_MS)
      try {
        const { keys } = this.#loaded.records
        const uses = new Map([...(await readUses(path)), ...noted])
        const known = [...uses].filter(([id]) => keys.has(id))
        await writeWhole(path, `${JSON.stringify(Object.fromEntries(known))}\n`)
      } finally {
        await unlock()
      }
    }
    // In a read-only folder, last uses are not saved.
    this.#flushing = this.#flushing.then(write).catch(() => {})
  }
}

/** Keeps the objects of profiles that did not change, so that values derived from them can be reused. */
function kept(before: UserRecords, after: UserRecords): UserRecords {
  const profiles = [...after.profiles].map(([name, profile]): [string, Profile] => {
    const known = before.profiles.get(name)
    return [name, known && JSON.stringify(known) === JSON.stringify(profile) ? known : profile]
  })
  return { ...after, profiles: new Map(profiles) }
}

function userIn(file: Fields, id: string): UserRecord | undefined {
  const users = fieldsOf(file.users)
  return Object.hasOwn(users, id) ? readUser(id, users[id]) : undefined
}

function withEntry(file: Fields, part: string, name: string, value: unknown): Fields {
  const { [name]: _, ...others } = fieldsOf(file[part])
  return { ...file, [part]: value === undefined ? others : { ...others, [name]: value } }
}

async function stampOf(path: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
  return [ino, size, mtimeNs, ctimeNs].join()
}

async function readUses(path: string): Promise<Map<string, string>> {
  try {
    const uses = Object.entries(fieldsOf(parse((await readBoundedFile(path, MAX_BYTES)).toString())))
    return new Map(uses.filter((use): use is [string, string] => typeof use[1] === 'string'))
  } catch {
    return new Map()
  }
}

/** Replaces a file atomically; by default only its owner can read it. */
async function writeWhole(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.chmod(mode)
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

function parse(text: string): unknown {
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
