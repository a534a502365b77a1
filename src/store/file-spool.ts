// Passes messages between the processes of one machine: each process appends to its own files, and reads what is new in
// those of all. Deletes old files; a reader that was too slow learns of a gap.
import { randomBytes } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { appendFile, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isRunning } from '../node/index.ts'

/** Options of `createFileSpool`. */
export type FileSpoolOptions = {
  readonly folder: string
  readonly onMessage: (channel: string, message: string) => void
  readonly onGap: () => void
}

/** Bytes after which a process starts its next file. `KEPT_FILES` are kept for slow readers. */
const FILE_BYTES = 16_000_000
const KEPT_FILES = 4
/** A file that was not written to for this long will not be written to again, and is deleted after twice the time. */
const QUIET_MS = 120_000
/** How often to check the files even if the system reports no change. */
const POLL_MS = 500
const CHUNK_BYTES = 4_000_000
/** Process id, random origin, number of the file. */
const NAME = /^(\d+)-([0-9a-f]+)-(\d{8})\.spool$/

/** How far the files of one process were read. */
type Position = { file: number; offset: number; rest: Buffer[] }

type SpoolFile = {
  readonly name: string
  readonly pid: number
  readonly origin: string
  readonly file: number
}

/** Creates the spool; after `start` it reads what is appended from then on. */
export function createFileSpool(options: FileSpoolOptions) {
  const { folder } = options
  const writer = createWriter(folder)
  const reader = createReader(options)
  let started: Promise<void> | undefined
  let watcher: FSWatcher | undefined
  let poll: NodeJS.Timeout | undefined
  let reading: Promise<void> | undefined
  let isStale = false
  let isClosed = false

  /** Reads now, and once more if something changed meanwhile. */
  function readSoon(): void {
    isStale = true
    reading ??= (async () => {
      while (isStale && !isClosed) {
        isStale = false
        await reader.read().catch(() => {})
      }
    })().finally(() => {
      reading = undefined
    })
  }

  async function begin(): Promise<void> {
    await reader.skip()
    if (isClosed) return
    try {
      watcher = watch(folder, { persistent: false }, readSoon)
      watcher.on('error', () => {})
    } catch {
      // The system has no free watches left; polling is enough.
    }
    poll = setInterval(readSoon, POLL_MS)
    poll.unref()
  }

  return {
    publish: writer.append,
    /** Starts at the current ends of all files; does so once. */
    start(): Promise<void> {
      started ??= begin().catch((error: unknown) => {
        started = undefined
        throw error
      })
      return started
    },
    /** Deletes the files of processes that have ended. */
    async sweep(): Promise<void> {
      for (const { name, pid } of await filesIn(folder)) {
        const found = await stat(join(folder, name)).catch(() => undefined)
        const age = found ? Date.now() - found.mtimeMs : 0
        if (age < 2 * QUIET_MS && (isRunning(pid) || age < QUIET_MS / 2)) continue
        await rm(join(folder, name), { force: true })
      }
    },
    async close(): Promise<void> {
      isClosed = true
      reader.stop()
      watcher?.close()
      clearInterval(poll)
      await Promise.all([writer.settled(), reading])
    },
  }
}

/** Reads what was appended since the last time. */
function createReader({ folder, onMessage, onGap }: FileSpoolOptions) {
  const positions = new Map<string, Position>()
  let isClosed = false

  async function read(): Promise<void> {
    const groups = groupFiles(await filesIn(folder))
    for (const origin of positions.keys()) if (!groups.has(origin)) positions.delete(origin)
    for (const [origin, files] of groups) {
      const position = positions.get(origin) ?? { file: files[0]?.file ?? 0, offset: 0, rest: [] }
      positions.set(origin, position)
      for (const found of files) {
        if (found.file < position.file || isClosed) continue
        if (found.file > position.file) advance(position, found.file)
        await readFrom(join(folder, found.name), position)
      }
    }
  }

  function advance(position: Position, file: number): void {
    if (file > position.file + 1 || position.rest.length > 0) onGap()
    Object.assign(position, { file, offset: 0, rest: [] })
  }

  async function readFrom(path: string, position: Position): Promise<void> {
    const size = (await stat(path).catch(() => undefined))?.size ?? 0
    if (size <= position.offset) return
    const handle = await open(path, 'r')
    try {
      while (position.offset < size && !isClosed) {
        const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - position.offset))
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, position.offset)
        if (bytesRead === 0) return
        position.offset += bytesRead
        deliver(position, chunk.subarray(0, bytesRead))
      }
    } finally {
      await handle.close()
    }
  }

  function deliver(position: Position, chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...position.rest, chunk.subarray(start, end)])
      position.rest = []
      start = end + 1
      const parsed = parseLine(line.toString('utf8'))
      if (parsed) onMessage(...parsed)
      else onGap()
    }
    if (start < chunk.length) position.rest.push(chunk.subarray(start))
  }

  return {
    read,
    /** Skips what is there now. */
    async skip(): Promise<void> {
      for (const { name, origin, file } of await filesIn(folder)) {
        const size = (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0
        positions.set(origin, { file, offset: size, rest: [] })
      }
    },
    stop(): void {
      isClosed = true
    },
  }
}

function createWriter(folder: string) {
  const origin = `${process.pid}-${randomBytes(8).toString('hex')}`
  const pathOf = (file: number) => join(folder, `${origin}-${String(file).padStart(8, '0')}.spool`)
  let file = 0
  let bytes = 0
  let writtenAt = 0
  let turn: Promise<void> = Promise.resolve()

  async function write(line: Buffer): Promise<void> {
    const isQuiet = bytes > 0 && Date.now() - writtenAt > QUIET_MS
    if (bytes > FILE_BYTES || isQuiet) {
      await rm(pathOf(file - KEPT_FILES), { force: true })
      file++
      bytes = 0
    }
    writtenAt = Date.now()
    bytes += line.length
    try {
      await appendFile(pathOf(file), line, { mode: 0o600 })
    } catch (error) {
      // A part of the line may have been written, so the next one goes to a new file.
      file++
      bytes = 0
      throw error
    }
  }

  return {
    append(channel: string, message: string): Promise<void> {
      const done = turn.then(() => write(Buffer.from(`${JSON.stringify([channel, message])}\n`)))
      turn = done.catch(() => {})
      return done
    },
    settled: () => turn,
  }
}

function parseLine(line: string): [channel: string, message: string] | undefined {
  try {
    const found: unknown = JSON.parse(line)
    const [channel, message] = Array.isArray(found) ? found : []
    if (typeof channel === 'string' && typeof message === 'string') return [channel, message]
  } catch {
    // Truncated, because the process died or the disk was full.
  }
  return undefined
}

async function filesIn(folder: string): Promise<SpoolFile[]> {
  const names = await readdir(folder)
  return names.sort().flatMap((name) => {
    const [, pid, origin, file] = NAME.exec(name) ?? []
    if (pid === undefined || origin === undefined) return []
    return [{ name, pid: Number(pid), origin, file: Number(file) }]
  })
}

/** Groups files by their origin, sorted by number. */
function groupFiles(files: readonly SpoolFile[]): Map<string, SpoolFile[]> {
  const groups = new Map<string, SpoolFile[]>()
  for (const found of files) groups.set(found.origin, [...(groups.get(found.origin) ?? []), found])
  return groups
}
