// Stores values as private files in one folder: the name encodes the key, the modification time is the expiry, and the
// first line is the version. Writes a temporary file and renames it, so that readers see a whole value or none.
import { createHash, randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { compareKeys } from './limits.ts'
import { removeOld } from './owner-lock.ts'
import type { StoredEntry } from './types.ts'

/** Expiry of values that do not expire, in milliseconds since 1970: the year 2200. */
const NEVER_MS = 7_258_118_400_000
/** Longest file name in characters; file systems allow 255 bytes. */
const MAX_NAME_LENGTH = 200
const HASHED = '~'
const DRAFT = '.draft'
const SWEEP_SLICE = 50

/** Reads and writes the values of a folder; writers hold a lock. */
export type FileValues = ReturnType<typeof createFileValues>

/** Creates the values of a folder. */
export function createFileValues(folder: string) {
  const pathOf = (key: string) => join(folder, nameOf(key))

  async function read(key: string, path = pathOf(key)): Promise<StoredEntry | undefined> {
    const found = await readEntry(path)
    return found && found.key === key ? found : undefined
  }

  /** Returns the keys with their paths; reads the file if its name is a hash of the key. */
  async function keys(): Promise<[key: string, path: string][]> {
    const found: [string, string][] = []
    for (const name of await namesIn(folder)) {
      if (name.endsWith(DRAFT)) continue
      const path = join(folder, name)
      const key = name.startsWith(HASHED) ? (await readEntry(path))?.key : keyOf(name)
      if (key !== undefined) found.push([key, path])
    }
    return found
  }

  return {
    read,
    async list(prefix: string, after: string, limit: number): Promise<StoredEntry[]> {
      const all = await keys()
      const wanted = all.filter(
        ([key]) => key.startsWith(prefix) && (after === '' || compareKeys(key, after) > 0),
      )
      const entries: StoredEntry[] = []
      for (const [key, path] of wanted.sort(([one], [other]) => compareKeys(one, other))) {
        if (entries.length >= limit) break
        const found = await read(key, path)
        if (found) entries.push(found)
      }
      return entries
    },
    /** Writes a value; keeps the current expiry if `ttlMs` is `keep`. */
    async write({ key, version, value }: StoredEntry, ttlMs: number | 'keep' | undefined): Promise<void> {
      const path = pathOf(key)
      const kept = ttlMs === 'keep' ? await expiryOf(path) : undefined
      const expiresAt = typeof ttlMs === 'number' ? Date.now() + ttlMs : (kept ?? NEVER_MS)
      await replace(path, `${JSON.stringify([version, key])}\n${value}`, expiresAt)
    },
    /** Sets a new expiry; returns false if there is no such value. */
    async touch(key: string, ttlMs: number): Promise<boolean> {
      if (!(await read(key))) return false
      const expiresAt = (Date.now() + ttlMs) / 1000
      await utimes(pathOf(key), expiresAt, expiresAt)
      return true
    },
    /** Deletes a value; returns false if there is none, or it has another version. */
    async remove(key: string, ifVersion: string | undefined): Promise<boolean> {
      const found = await read(key)
      if (!found || (ifVersion !== undefined && found.version !== ifVersion)) return false
      await rm(pathOf(key), { force: true })
      return true
    },
    sweep: (alone: Alone) => sweep(folder, alone),
    nameOf,
  }
}

/** Runs work while nobody else changes the value with this file name. */
type Alone = (name: string, work: () => Promise<void>) => Promise<void>

/** Deletes expired values, and temporary files of processes that died. */
async function sweep(folder: string, alone: Alone): Promise<void> {
  const names = await namesIn(folder)
  for (const [index, name] of names.entries()) {
    if (index % SWEEP_SLICE === SWEEP_SLICE - 1) await new Promise((resolve) => setImmediate(resolve))
    const path = join(folder, name)
    if (name.endsWith(DRAFT)) await removeOld(path)
    else if (((await expiryOf(path)) ?? NEVER_MS) <= Date.now())
      await alone(name, async () => {
        if (((await expiryOf(path)) ?? NEVER_MS) <= Date.now()) await rm(path, { force: true })
      })
  }
}

async function replace(path: string, text: string, expiresAt: number): Promise<void> {
  const draft = join(dirname(path), `${randomUUID()}${DRAFT}`)
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      // A value that never expires must survive a power failure; others can be written again.
      if (expiresAt === NEVER_MS) await file.sync()
      await file.utimes(expiresAt / 1000, expiresAt / 1000)
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function readEntry(path: string): Promise<StoredEntry | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (!file) return undefined
  try {
    // Uses one handle, so that time and text belong to the same file.
    const { mtimeMs } = await file.stat()
    return mtimeMs <= Date.now() ? undefined : parse(await file.readFile('utf8'))
  } finally {
    await file.close()
  }
}

/** Parses a file's content; returns undefined if a power failure truncated it. */
function parse(text: string): StoredEntry | undefined {
  const end = text.indexOf('\n')
  try {
    const [version, key] = JSON.parse(text.slice(0, end)) as [string, string]
    return { version, key, value: text.slice(end + 1) }
  } catch {
    return undefined
  }
}

async function expiryOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mtimeMs
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder)
}

/** Returns the file name of a key. Names differ even if the file system ignores case, and none has a special meaning. */
function nameOf(key: string): string {
  const name = Buffer.from(key)
    .toString('latin1')
    .replace(/[^a-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
  if (name.length <= MAX_NAME_LENGTH) return name
  return HASHED + createHash('sha256').update(key).digest('hex')
}

function keyOf(name: string): string | undefined {
  const latin1 = name.replace(/%([0-9a-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  const key = Buffer.from(latin1, 'latin1').toString('utf8')
  return nameOf(key) === name ? key : undefined
}
