// Stores profiles, users and keys in `users.json`: rereads it whenever it changes, and writes it atomically under a
// lock.
import { unwatchFile, watchFile } from 'node:fs'
import { stat } from 'node:fs/promises'
import { bindMethods, errorMessage, type Fields, fieldsOf } from '@toolshelf/core/internal'
import { type FileRights, JsonFile, readBoundedFile } from '@toolshelf/core/internal/node'
import {
  createChangeListeners,
  createDirectory,
  type RecordPart,
  type RecordPlace,
  type UserDirectory,
} from './directory.ts'
import { readUserRecords, type UserRecord, type UserRecords, UsersError, withUids } from './records.ts'

/** Options of `openUserFile`. */
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
    const file = parse((await readBoundedFile(path, MAX_BYTES)).toString('utf8')) as Fields
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
    const file = parse((await readBoundedFile(this.place, MAX_BYTES)).toString('utf8')) as Fields
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
      const file = parse((await this.#file.read()) ?? '{}') as Fields
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
    const uses = Object.entries(fieldsOf(parse((await file.read()) ?? '{}')))
    return new Map(uses.filter((use): use is [string, string] => typeof use[1] === 'string'))
  } catch {
    return new Map()
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
