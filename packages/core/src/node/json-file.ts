// Keeps what one machine stores in a file: reads it up to a limit, locks it between processes and replaces it
// atomically, so that a reader finds a whole file however a writer ended.
import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readBoundedFile } from './bounded-file.ts'
import { lockFile } from './file-lock.ts'

/** Permissions and owner of a file. */
export type FileRights = { readonly mode: number; readonly uid?: number; readonly gid?: number }

/** Limits of a `JsonFile`. */
type JsonFileOptions = {
  /** Default: 20,000,000. */
  readonly maxBytes?: number
  /** Milliseconds after which another process's lock counts as abandoned. Default: 10,000. */
  readonly maxHoldMs?: number
}

/** A file that only its owner can read, in a folder of the same kind. Follows a symbolic link instead of replacing it. */
export class JsonFile {
  readonly path: string
  readonly #maxBytes: number
  readonly #maxHoldMs: number

  constructor(path: string, { maxBytes = 20_000_000, maxHoldMs = 10_000 }: JsonFileOptions = {}) {
    this.path = path
    this.#maxBytes = maxBytes
    this.#maxHoldMs = maxHoldMs
  }

  /** Returns the text; undefined if there is no such file. */
  async read(): Promise<string | undefined> {
    try {
      return (await readBoundedFile(this.path, this.#maxBytes)).toString('utf8')
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async write(content: string | Buffer, rights: FileRights = PRIVATE): Promise<void> {
    await replaceFile(await this.#prepare(), content, rights)
  }

  /** Deletes the file; returns false if there is none. */
  async remove(): Promise<boolean> {
    try {
      await rm(this.path)
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  /** Runs the work while no other process holds the lock of this file. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = await lockFile(`${await this.#prepare()}.lock`, this.#maxHoldMs)
    try {
      return await work()
    } finally {
      await release()
    }
  }

  async #prepare(): Promise<string> {
    const target = await realpath(this.path).catch(() => this.path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    return target
  }
}

const PRIVATE: FileRights = { mode: 0o600 }
const TEMPORARY = '.toolshelf-'
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Returns whether `replaceFile` gives a temporary file this name, for a file called `file`. */
export function isTemporaryFor(name: string, file: string): boolean {
  const start = `${file}${TEMPORARY}`
  return name.startsWith(start) && UUID.test(name.slice(start.length))
}

/** Replaces a file atomically, with exactly these permissions. Does not follow symbolic links. */
export async function replaceFile(
  file: string,
  content: string | Buffer,
  { mode, uid, gid }: FileRights = PRIVATE,
): Promise<void> {
  const temporary = `${file}${TEMPORARY}${randomUUID()}`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      // Only root may change the owner, and only root can encounter a file of another owner here.
      if (uid !== undefined && gid !== undefined) await handle.chown(uid, gid).catch(() => {})
      await handle.chmod(mode)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await renameOver(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const RENAMES = 10
const RETRY_MS = 20
const HELD_OPEN: ReadonlySet<unknown> = new Set(['EPERM', 'EACCES', 'EBUSY'])

/** On Windows a file cannot be replaced for the moment in which another process reads it. */
async function renameOver(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(from, to)
    } catch (error) {
      const isHeld = process.platform === 'win32' && HELD_OPEN.has((error as NodeJS.ErrnoException).code)
      if (!isHeld || tries === RENAMES) throw error
      await sleep(RETRY_MS * tries)
    }
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
