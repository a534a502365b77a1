// A store of long results on disk.
import { createHash } from 'node:crypto'
import { lstat, mkdir, readdir, rm, rmdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type ResultLimits, readLimits, tooLarge } from '../result-stores.ts'
import type { ResultStore } from '../results.ts'
import { readBoundedFile } from './bounded-file.ts'
import { replaceFile } from './json-file.ts'

type DiskResultOptions = ResultLimits & {
  /** Where the files are. Created if missing, readable only by this user. */
  readonly folder: string
  /** Milliseconds after which a result that nobody read is deleted. Default: seven days. */
  readonly maxAgeMs?: number
  /** The clock, in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

const DISK_BYTES = 256_000_000
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000
/** The share of `bytes` that may be written before the next sweep of all owners. */
const SWEEP_SHARE = 1 / 16
const ID = /^[a-z0-9]{8,64}$/
/** Names that the store itself creates. It leaves everything else in the folder alone. */
const OWNER_FOLDER = /^[0-9a-f]{40}$/
const OWN_FILE = /^[a-z0-9]{8,64}\.txt(?:\.toolshelf-[0-9a-f-]{36})?$/

type StoredFile = { readonly path: string; readonly bytes: number; readonly time: number }

/**
 * Creates a store on disk.
 *
 * @example
 * const shelf = createShelf({ results: { store: createDiskResults({ folder: '/var/lib/agent/results' }) } })
 */
export function createDiskResults(options: DiskResultOptions): ResultStore {
  const { folder, maxAgeMs = MAX_AGE_MS, now = Date.now } = options
  const { bytes: maxBytes, bytesPerOwner } = readLimits(options, DISK_BYTES)
  let unswept = Number.POSITIVE_INFINITY
  const folderOf = (owner: string) =>
    join(folder, createHash('sha256').update(owner).digest('hex').slice(0, 40))
  const pathOf = (owner: string, id: string) => (ID.test(id) ? join(folderOf(owner), `${id}.txt`) : undefined)
  const isExpired = ({ time }: Pick<StoredFile, 'time'>) => now() - time > maxAgeMs

  /** Marks as just used, by our clock. A file that another process has deleted meanwhile stays deleted. */
  async function touch(path: string): Promise<void> {
    const seconds = now() / 1000
    await utimes(path, seconds, seconds).catch(() => {})
  }

  /** Deletes what has expired, and the least recently used files above the limit. */
  async function shrink(files: readonly StoredFile[], limit: number): Promise<void> {
    let sum = 0
    for (const file of [...files].sort((a, b) => b.time - a.time)) {
      sum += file.bytes
      if (sum > limit || isExpired(file)) await rm(file.path, { force: true })
    }
  }

  async function sweep(): Promise<void> {
    unswept = 0
    const owners = (await namesIn(folder))
      .filter((name) => OWNER_FOLDER.test(name))
      .map((name) => join(folder, name))
    const files = await Promise.all(owners.map(filesIn))
    await shrink(files.flat(), maxBytes)
    // Fails for folders that still contain files.
    for (const owner of owners) await rmdir(owner).catch(() => {})
  }

  async function write(owner: string, path: string, bytes: Buffer): Promise<void> {
    await mkdir(folderOf(owner), { recursive: true, mode: 0o700 })
    await replaceFile(path, bytes)
    await touch(path)
  }

  return {
    async put(owner, id, text) {
      const path = pathOf(owner, id)
      if (path === undefined) throw new Error('its id must be 8 to 64 lower-case letters and digits')
      const bytes = Buffer.from(text)
      if (bytes.length > bytesPerOwner) throw tooLarge(bytes.length, bytesPerOwner)
      await write(owner, path, bytes).catch((error: NodeJS.ErrnoException) => {
        // Another process deleted the folder while it was empty.
        if (error.code === 'ENOENT') return write(owner, path, bytes)
        throw error
      })
      unswept += bytes.length
      await shrink(await filesIn(folderOf(owner)), bytesPerOwner)
      if (unswept > maxBytes * SWEEP_SHARE) await sweep()
    },
    async get(owner, id) {
      const path = pathOf(owner, id)
      const found = path === undefined ? undefined : await aboutFile(path)
      if (path === undefined || !found || isExpired(found)) return undefined
      const bytes = await readBoundedFile(path, bytesPerOwner)
      await touch(path)
      return bytes.toString('utf8')
    },
    async drop(owner) {
      await rm(folderOf(owner), { recursive: true, force: true })
    },
  }
}

async function filesIn(folder: string): Promise<StoredFile[]> {
  const names = (await namesIn(folder)).filter((name) => OWN_FILE.test(name))
  const found = await Promise.all(names.map((name) => aboutFile(join(folder, name))))
  return found.filter((file) => file !== undefined)
}

/** Returns undefined for a link, which could point anywhere. */
async function aboutFile(path: string): Promise<StoredFile | undefined> {
  const about = await lstat(path).catch(() => undefined)
  return about?.isFile() ? { path, bytes: about.size, time: about.mtimeMs } : undefined
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
