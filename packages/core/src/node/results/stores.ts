// Stores of long results, on disk and in memory, and what a shelf gets if it names none.
import { createHash, randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, rm, rmdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_BUDGET, type ResultSettings, type ResultStore } from '../../results.ts'
import { readBoundedFile } from '../bounded-file.ts'
import { replaceFile } from '../json-file.ts'
import { OptionError } from '../option-error.ts'

/** Options for storing long results outside the context. */
export type ResultOptions = {
  /** Where to store them. Default: in memory. */
  readonly store?: ResultStore
  /** Longest result, in characters, that is sent whole. Default: 25,000. Servers and tools may have their own. */
  readonly budget?: number
}

/** Characters of an id: 80 bits. */
const ID_LENGTH = 16

/** Returns the settings with defaults; throws an `OptionError` for an invalid budget. */
export function resultSettings({
  store = createMemoryResults(),
  budget = DEFAULT_BUDGET,
}: ResultOptions = {}): ResultSettings {
  if (!(Number.isFinite(budget) && budget >= 0))
    throw new OptionError('budget', `option "budget" is ${budget}`, 'use a number of characters, or 0.')
  return { store, budget, idOf: digestOf, newOwner: randomUUID }
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/** Returns the beginning of the text's SHA-256, in digits and letters. */
export function digestOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest()
  return Array.from({ length: ID_LENGTH }, (_, index) => DIGITS[(bytes[index] ?? 0) & 31]).join('')
}

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

/** Limits of a store of results. */
type ResultLimits = {
  /** Maximum bytes of all results. Default: 256 MB on disk, 64 MB in memory. */
  readonly bytes?: number
  /** Maximum bytes of the results of one owner. Default: a quarter of `bytes`. */
  readonly bytesPerOwner?: number
}

const MEMORY_BYTES = 64_000_000

type Stored = { readonly owner: string; readonly id: string; readonly text: string; readonly bytes: number }

/**
 * Creates a store in memory, whose content is lost when the process ends.
 *
 * @example
 * const shelf = createShelf({ results: { store: createMemoryResults({ bytes: 10_000_000 }) } })
 */
export function createMemoryResults(limits: ResultLimits = {}): ResultStore {
  const { bytes: maxBytes, bytesPerOwner } = readLimits(limits, MEMORY_BYTES)
  /** In order of use, least recently used first. */
  const stored = new Map<string, Stored>()
  const keyOf = (owner: string, id: string) => JSON.stringify([owner, id])

  function use(key: string, one: Stored): void {
    stored.delete(key)
    stored.set(key, one)
  }

  function shrink(isCounted: (one: Stored) => boolean, limit: number): void {
    let sum = 0
    for (const [key, one] of [...stored].reverse()) {
      if (!isCounted(one)) continue
      sum += one.bytes
      if (sum > limit) stored.delete(key)
    }
  }

  return {
    async put(owner, id, text) {
      const bytes = Buffer.byteLength(text)
      if (bytes > bytesPerOwner) throw tooLarge(bytes, bytesPerOwner)
      use(keyOf(owner, id), { owner, id, text, bytes })
      shrink((one) => one.owner === owner, bytesPerOwner)
      shrink(() => true, maxBytes)
    },
    async get(owner, id) {
      const key = keyOf(owner, id)
      const one = stored.get(key)
      if (one) use(key, one)
      return one?.text
    },
    async drop(owner) {
      for (const [key, one] of stored) if (one.owner === owner) stored.delete(key)
    },
  }
}

/** Fills in the defaults; throws for limits that are not positive numbers. */
function readLimits(limits: ResultLimits, defaultBytes: number): Required<ResultLimits> {
  const { bytes = defaultBytes, bytesPerOwner = Math.ceil(bytes / 4) } = limits
  for (const [name, value] of Object.entries({ bytes, bytesPerOwner }))
    if (!(Number.isFinite(value) && value > 0))
      throw new OptionError(name, `option "${name}" is ${value}`, 'use a number of bytes above 0.')
  return { bytes, bytesPerOwner: Math.min(bytes, bytesPerOwner) }
}

function tooLarge(bytes: number, limit: number): Error {
  return new Error(`it has ${bytes} bytes, and one owner may store ${limit}`)
}
