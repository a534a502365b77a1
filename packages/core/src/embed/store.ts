// Stores vectors by text, in memory and on disk, so that each tool is embedded only once. One append-only file per model,
// to which any number of processes may write: two may store a record twice, and an append during the rewrite at the size
// limit is lost.

import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { dropOldest } from '../lib/objects.ts'
import { decode, encode, keyIn, keyOf, quantize, recordSize, recordsIn, type Vector } from './records.ts'

/** Vectors by text. */
export interface VectorStore {
  /** The number of stored vectors. */
  readonly count: number
  has(text: string): boolean
  get(text: string): Vector | undefined
  /** Adds vectors to memory at once and to disk soon. Skips zero and non-finite vectors. */
  add(texts: readonly string[], vectors: readonly ArrayLike<number>[]): void
  /** Resolves when everything added so far is on disk, or writing has failed. */
  flush(): Promise<void>
}

/** Options of `openStore`. */
interface StoreOptions {
  /** Where to store them; undefined keeps vectors in memory only. */
  readonly folder: string | undefined
  /** The model's id; each model has its own file. */
  readonly model: string
  readonly dimensions: number
  readonly notify: (message: string) => void
  /** Maximum file size; a larger file is rewritten with its newest half. */
  readonly maxBytes?: number
}

/** About 160,000 tools. The file is loaded whole; with later additions, memory holds at most twice as much. */
const MAX_BYTES = 64_000_000
/** Maximum cached keys: hashing 20,000 texts would take longer than a search may. */
const MAX_KEYS = 50_000
/** Maximum characters of all cached texts. */
const MAX_CHARACTERS = 30_000_000

/** Returns `$XDG_CACHE_HOME/toolshelf`, else `~/.cache/toolshelf`; undefined for a user without a home. */
export function defaultFolder(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { XDG_CACHE_HOME: cache } = environment
  if (cache !== undefined && isAbsolute(cache)) return join(cache, 'toolshelf')
  try {
    return join(homedir(), '.cache', 'toolshelf')
  } catch {
    return undefined
  }
}

/** Opens the store and reads its file. Never rejects: if the folder is unusable, it keeps vectors in memory. */
export async function openStore(options: StoreOptions): Promise<VectorStore> {
  const { dimensions } = options
  const records = new Map<string, Buffer>()
  const maxRecords = 2 * Math.floor((options.maxBytes ?? MAX_BYTES) / recordSize(dimensions))
  const keyFor = createKeys()
  const disk = createDisk(options)
  await disk.read((record) => records.set(keyIn(record), record))
  return {
    get count() {
      return records.size
    },
    has: (text) => records.has(keyFor(text)),
    get(text) {
      const record = records.get(keyFor(text))
      return record && decode(record)
    },
    add(texts, vectors) {
      const added: Buffer[] = []
      for (const [index, text] of texts.entries()) {
        const vector = quantize(vectors[index] ?? [], dimensions)
        if (vector === undefined) continue
        const key = keyFor(text)
        const record = encode(key, vector)
        records.set(key, record)
        added.push(record)
      }
      dropOldest(records, maxRecords)
      if (added.length > 0) disk.append(Buffer.concat(added))
    },
    flush: () => disk.flush(),
  }
}

function createKeys(): (text: string) => string {
  const keys = new Map<string, string>()
  let characters = 0
  return (text) => {
    const known = keys.get(text)
    if (known !== undefined) return known
    characters += text.length
    if (keys.size >= MAX_KEYS || characters > MAX_CHARACTERS) {
      keys.clear()
      characters = text.length
    }
    const key = keyOf(text)
    keys.set(text, key)
    return key
  }
}

interface Disk {
  read(take: (record: Buffer) => void): Promise<void>
  append(bytes: Buffer): void
  flush(): Promise<void>
}

/** Opens the file on disk; after the first failure, warns and no longer uses it. */
function createDisk({ folder, model, dimensions, notify, maxBytes = MAX_BYTES }: StoreOptions): Disk {
  const name = `${model.replace(/[^\w.-]+/g, '-')}-${dimensions}.vectors`
  let path = folder === undefined ? undefined : join(folder, name)
  let tail = Promise.resolve()

  const attempt = async (use: (path: string) => Promise<void>): Promise<void> => {
    if (path === undefined) return
    try {
      await use(path)
    } catch (error) {
      path = undefined
      const reason = error instanceof Error ? error.message : String(error)
      notify(
        `cannot store the tools' vectors in ${folder} (${reason}). They are computed again at every start.`,
      )
    }
  }
  const readAll = (take: (record: Buffer) => void) => async (path: string) => {
    await mkdir(folder!, { recursive: true, mode: 0o700 })
    await readRecords(path, recordSize(dimensions), take)
  }
  const write = (bytes: Buffer) => async (path: string) => {
    const size = await appendTo(path, bytes)
    if (size > maxBytes) await keepNewest(path, recordSize(dimensions), size - Math.floor(maxBytes / 2))
  }
  return {
    read: (take) => attempt(readAll(take)),
    append(bytes) {
      tail = tail.then(() => attempt(write(bytes)))
    },
    flush: () => tail,
  }
}

async function readRecords(path: string, size: number, take: (record: Buffer) => void): Promise<void> {
  // 'a+' creates the file if needed and fails right away if it is not writable.
  const file = await open(path, 'a+', 0o600)
  try {
    for await (const records of recordsIn(file, size)) for (const record of records) take(record)
  } finally {
    await file.close()
  }
}

/** Appends whole records in one write, so that other writers cannot interleave. Returns the file's size. */
async function appendTo(path: string, bytes: Buffer): Promise<number> {
  const file = await open(path, 'a', 0o600)
  try {
    const { bytesWritten } = await file.write(bytes)
    if (bytesWritten < bytes.length) throw new Error('the disk is full')
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}

/** Replaces the file with its records from an offset on. Concurrent appends may be lost. */
async function keepNewest(path: string, size: number, from: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}`
  const old = await open(path, 'r')
  try {
    const kept = await open(temporary, 'wx', 0o600)
    try {
      for await (const records of recordsIn(old, size, from)) await kept.writeFile(Buffer.concat(records))
    } finally {
      await kept.close()
    }
    await rename(temporary, path)
  } finally {
    await old.close()
    await rm(temporary, { force: true })
  }
}
