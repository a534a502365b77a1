// Vectors by text, in memory and on disk: to embed 200 tools takes fifteen seconds of CPU, to read their vectors none. One
// append-only file per model, to which any number of processes may write: two may store a record twice, and an append during
// the rewrite at the size limit is lost. A checksum in each record lets a reader skip damaged bytes.
import { createHash, randomUUID } from 'node:crypto'
import { appendFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { dropOldest } from '../lib/objects.ts'

/** A vector quantised to signed bytes: `scale` × `codes`, with ±127 for its largest component. */
export type Vector = { readonly codes: Int8Array; readonly scale: number }

/** Vectors by text. */
export type VectorStore = {
  /** The number of stored vectors. */
  readonly count: number
  has(text: string): boolean
  get(text: string): Vector | undefined
  /** Adds vectors to memory at once and to disk soon. Skips zero and non-finite vectors. */
  add(texts: readonly string[], vectors: readonly ArrayLike<number>[]): void
  /** Resolves when everything added so far is on disk, or writing has failed. */
  flush(): Promise<void>
}

type StoreOptions = {
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
/** Keys that are kept: hashing 20,000 texts would take longer than a search may. */
const MAX_KEYS = 50_000
/** Records to check before other work may run. */
const BETWEEN_PAUSES = 600

const MAX_CODE = 127
const MARK = Buffer.from('TSv1')
/** A record: mark, key, scale, codes, checksum. */
const [KEY_AT, SCALE_AT, CODES_AT] = [4, 20, 24]
const CHECKSUM_BYTES = 4

/** Returns the bytes of a record. */
export function recordSize(dimensions: number): number {
  return CODES_AT + dimensions + CHECKSUM_BYTES
}

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

/** Opens the store and reads its file. Never rejects: if the folder is unusable, it keeps vectors in memory and says so once. */
export async function openStore(options: StoreOptions): Promise<VectorStore> {
  const { folder, model, dimensions, notify, maxBytes = MAX_BYTES } = options
  const size = recordSize(dimensions)
  const name = `${model.replace(/[^\w.-]+/g, '-')}-${dimensions}.vectors`
  const records = new Map<string, Buffer>()
  const keys = new Map<string, string>()
  let path = folder === undefined ? undefined : join(folder, name)
  let tail = Promise.resolve()

  const keyOf = (text: string): string => {
    let key = keys.get(text)
    if (key === undefined) {
      if (keys.size >= MAX_KEYS) keys.clear()
      key = createHash('sha256')
        .update(text)
        .digest()
        .toString('latin1', 0, SCALE_AT - KEY_AT)
      keys.set(text, key)
    }
    return key
  }
  const onDisk = async (use: (path: string) => Promise<void>): Promise<void> => {
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
  await onDisk(async (path) => {
    await mkdir(folder!, { recursive: true, mode: 0o700 })
    // Fails right away if the file is not writable.
    await appendFile(path, '', { mode: 0o600 })
    for (const record of await recordsIn(path, size))
      records.set(record.toString('latin1', KEY_AT, SCALE_AT), record)
  })
  return {
    get count() {
      return records.size
    },
    has: (text) => records.has(keyOf(text)),
    get(text) {
      const record = records.get(keyOf(text))
      return (
        record && {
          codes: new Int8Array(record.buffer, record.byteOffset + CODES_AT, dimensions),
          scale: record.readFloatLE(SCALE_AT),
        }
      )
    },
    add(texts, vectors) {
      const added: Buffer[] = []
      for (const [index, text] of texts.entries()) {
        const vector = quantize(vectors[index] ?? [], dimensions)
        if (vector === undefined) continue
        const key = keyOf(text)
        const record = encode(key, vector)
        records.set(key, record)
        added.push(record)
      }
      dropOldest(records, 2 * Math.floor(maxBytes / size))
      if (added.length === 0) return
      const write = async (path: string) => {
        await appendFile(path, Buffer.concat(added), { mode: 0o600 })
        const written = (await stat(path)).size
        if (written > maxBytes) await keepNewest(path, size, written - Math.floor(maxBytes / 2))
      }
      tail = tail.then(() => onDisk(write))
    },
    flush: () => tail,
  }
}

/** Quantises a vector; returns undefined if a component is missing or not finite, or all are zero. */
export function quantize(vector: ArrayLike<number>, dimensions: number): Vector | undefined {
  if (vector.length !== dimensions) return undefined
  let largest = 0
  for (let i = 0; i < dimensions; i++) {
    const size = Math.abs(vector[i]!)
    if (!Number.isFinite(size)) return undefined
    if (size > largest) largest = size
  }
  const scale = Math.fround(largest / MAX_CODE)
  if (scale === 0) return undefined
  return { codes: Int8Array.from(vector, (value) => Math.round((value / largest) * MAX_CODE)), scale }
}

function encode(key: string, { codes, scale }: Vector): Buffer {
  const record = Buffer.alloc(recordSize(codes.length))
  MARK.copy(record)
  record.write(key, KEY_AT, 'latin1')
  record.writeFloatLE(scale, SCALE_AT)
  record.set(new Uint8Array(codes.buffer), CODES_AT)
  const end = CODES_AT + codes.length
  record.writeUInt32LE(crc32(record.subarray(0, end)), end)
  return record
}

/** Returns the intact records of a file from an offset on. */
async function recordsIn(path: string, size: number, from = 0): Promise<Buffer[]> {
  const bytes = await readFile(path)
  const end = size - CHECKSUM_BYTES
  const records: Buffer[] = []
  for (let at = from; at >= 0 && at + size <= bytes.length; ) {
    const record = bytes.subarray(at, at + size)
    const isWhole = record.indexOf(MARK) === 0 && record.readUInt32LE(end) === crc32(record.subarray(0, end))
    if (isWhole) records.push(record)
    at = isWhole ? at + size : bytes.indexOf(MARK, at + 1)
    if (records.length % BETWEEN_PAUSES === 0) await setImmediate()
  }
  return records
}

/** Replaces the file with its records from an offset on. */
async function keepNewest(path: string, size: number, from: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}`
  try {
    await writeFile(temporary, Buffer.concat(await recordsIn(path, size, from)), { flag: 'wx', mode: 0o600 })
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}
