// Reads recorded events from audit files and their rotated siblings: the newest of all files in the order of time, then each
// new one. Holds one block of bytes per file, whatever its size.
import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Some lines of JSON, each a `TraceRecord`, or the notice that all recorded ones have been read. */
export type EventBatch =
  | { readonly lines: readonly string[] }
  | {
      readonly caughtUp: { readonly events: number; readonly skipped: number; readonly broken: number }
    }

/** Options of a reader. */
export type ReadEventsOptions = {
  readonly signal: AbortSignal
  /** Leaves out what happened earlier, in ISO 8601. */
  readonly since?: string | undefined
  /** Continues with new events after the recorded ones. */
  readonly isFollowing: boolean
}

/** A source of events. Several readers may read it at once; each one reads only as fast as it is asked. */
export type EventFeed = {
  /** The files that events come from; empty for the memory of the process. */
  readonly files: readonly string[]
  read(options: ReadEventsOptions): AsyncGenerator<EventBatch, void, void>
}

/** Options of `createFileFeed`. */
type FileFeedOptions = {
  /** Older events are skipped. Default: 100,000. */
  readonly maxEvents?: number
  /** Milliseconds between two looks at a file that did not grow. */
  readonly pollMs?: number
}

const MAX_EVENTS = 100_000
const POLL_MS = 250
/** Lines that one batch holds. */
const BATCH = 500

/**
 * Creates a source from files. They need not exist yet; other processes may append to them and rotate them meanwhile.
 */
export function createFileFeed(files: readonly string[], options: FileFeedOptions = {}): EventFeed {
  const { maxEvents = MAX_EVENTS, pollMs = POLL_MS } = options
  async function* read({ signal, since, isFollowing }: ReadEventsOptions): AsyncGenerator<EventBatch, void> {
    const logs = await openAll(files)
    try {
      const count = { events: 0, broken: 0 }
      const keep = (line: string) => {
        const record = readRecord(line)
        if (record === undefined && line.trim() !== '') count.broken++
        return record !== undefined && (since === undefined || record.time >= since) ? record : undefined
      }
      await seekNewest(logs, maxEvents)
      for await (const lines of merged(logs.map((log) => recordsOf(log, keep, signal)))) {
        if (signal.aborted) return
        count.events += lines.length
        yield { lines }
      }
      let skipped = 0
      for (const log of logs) skipped += await log.countSkipped(signal)
      const halves = logs.reduce((sum, log) => sum + log.broken(), 0)
      yield { caughtUp: { events: count.events, skipped, broken: count.broken + halves } }
      if (isFollowing) yield* following(logs, keep, { signal, pollMs })
    } finally {
      await closeAll(logs)
    }
  }
  return { files, read }
}

async function openAll(files: readonly string[]): Promise<Log[]> {
  const logs: Log[] = []
  try {
    for (const file of files) logs.push(await openLog(file))
    return logs
  } catch (error) {
    await closeAll(logs)
    throw error
  }
}

async function closeAll(logs: readonly Log[]): Promise<void> {
  await Promise.allSettled(logs.map((log) => log.close()))
}

/** Divides the limit evenly among the logs; the others get what a short log does not need. */
async function seekNewest(logs: readonly Log[], maxLines: number): Promise<void> {
  const counted: { log: Log; lines: number }[] = []
  for (const log of logs) counted.push({ log, lines: await log.seekBack(maxLines) })
  if (counted.reduce((sum, { lines }) => sum + lines, 0) <= maxLines) return
  counted.sort((one, other) => one.lines - other.lines)
  let room = maxLines
  for (const [index, { log, lines }] of counted.entries()) {
    const share = Math.min(lines, Math.floor(room / (counted.length - index)))
    if (share < lines) await log.seekBack(share)
    room -= share
  }
}

type Line = { readonly line: string; readonly time: string }
type Keep = (line: string) => Line | undefined

async function* recordsOf(log: Log, keep: Keep, signal: AbortSignal): AsyncGenerator<Line[], void> {
  for (let lines = await log.next(); lines && !signal.aborted; lines = await log.next()) {
    yield lines.flatMap((line) => keep(line) ?? [])
  }
}

/** Merges logs by time; each is in the order of time already, more or less. */
async function* merged(logs: readonly AsyncGenerator<Line[], void>[]): AsyncGenerator<string[], void> {
  const [only] = logs
  if (only && logs.length === 1) {
    for await (const lines of only) if (lines.length > 0) yield lines.map(({ line }) => line)
    return
  }
  const heads: { readonly log: AsyncGenerator<Line[], void>; lines: Line[]; at: number }[] = []
  for (const log of logs) heads.push({ log, lines: [], at: 0 })
  let batch: string[] = []
  for (;;) {
    for (const head of [...heads]) {
      while (head.at >= head.lines.length) {
        const next = await head.log.next()
        if (next.done) {
          heads.splice(heads.indexOf(head), 1)
          break
        }
        head.lines = next.value
        head.at = 0
      }
    }
    const [first, ...others] = heads
    if (!first) break
    const earliest = others.reduce(
      (best, head) => (head.lines[head.at]!.time < best.lines[best.at]!.time ? head : best),
      first,
    )
    batch.push(earliest.lines[earliest.at++]!.line)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function* following(
  logs: readonly Log[],
  keep: Keep,
  { signal, pollMs }: { readonly signal: AbortSignal; readonly pollMs: number },
): AsyncGenerator<EventBatch, void> {
  while (!signal.aborted) {
    let isQuiet = true
    for (const log of logs) {
      const appended = await log.fresh()
      if (appended) isQuiet = false
      const lines = (appended ?? []).flatMap((line) => keep(line)?.line ?? [])
      if (lines.length > 0) yield { lines }
    }
    if (isQuiet) await sleep(pollMs, undefined, { signal }).catch(() => {})
  }
}

/** A line that is a record of ours; undefined for any other. */
function readRecord(line: string): Line | undefined {
  try {
    const record = JSON.parse(line) as { readonly [field: string]: unknown } | null
    const isRecord =
      record?.version === 1 &&
      typeof record.type === 'string' &&
      record.type !== 'caught-up' &&
      typeof record.time === 'string' &&
      Number.isSafeInteger(record.processId) &&
      Number.isSafeInteger(record.sequence)
    return isRecord ? { line, time: record.time as string } : undefined
  } catch {
    return undefined
  }
}

/** A log that is read from front to back and then followed. */
type Log = {
  /** Starts `max` lines before the end, or at the beginning; returns how many lines there are from there on. */
  seekBack(max: number): Promise<number>
  /** Reads some of the recorded lines; undefined after the last. */
  next(): Promise<readonly string[] | undefined>
  /** Counts the lines in front of the start. */
  countSkipped(signal: AbortSignal): Promise<number>
  /** Reads some lines that were appended since; undefined if there are none yet. */
  fresh(): Promise<readonly string[] | undefined>
  /** Lines that were cut off or too long. */
  broken(): number
  close(): Promise<void>
}

/** One file of the log; it stays open, so that it is recognised after it is renamed. */
type Part = { readonly handle: FileHandle; readonly inode: bigint; readonly size: number }

const BLOCK_BYTES = 262_144
/** Audit lines have at most 64,000 characters. */
const MAX_LINE_BYTES = 262_144
const MAX_SIBLINGS = 100
const NEW_LINE = 0x0a

/** Opens a log. The file need not exist yet. Rejects if it cannot be read or is not a regular file. */
async function openLog(path: string): Promise<Log> {
  const log = new RotatedLog(path)
  await log.open()
  return log
}

class RotatedLog implements Log {
  readonly #path: string
  readonly #block = Buffer.allocUnsafe(BLOCK_BYTES)
  readonly #splitter = createByteLineSplitter(MAX_LINE_BYTES)
  /** Oldest first. */
  #parts: Part[] = []
  #start = { part: 0, offset: 0 }
  #at = { part: 0, offset: 0 }
  #successor: Part | undefined
  #halves = 0

  constructor(path: string) {
    this.#path = path
  }

  async open(): Promise<void> {
    this.#parts = await openParts(this.#path)
  }

  async seekBack(max: number): Promise<number> {
    let found = 0
    this.#start = { part: 0, offset: 0 }
    for (let part = this.#parts.length - 1; part >= 0; part--) {
      for (let end = this.#parts[part]!.size; end > 0; end -= BLOCK_BYTES) {
        const from = Math.max(0, end - BLOCK_BYTES)
        const block = await this.#read(part, from, end - from)
        for (
          let at = block.lastIndexOf(NEW_LINE);
          at >= 0;
          at = at === 0 ? -1 : block.lastIndexOf(NEW_LINE, at - 1)
        ) {
          if (found === max) {
            this.#start = { part, offset: from + at + 1 }
            this.#at = { ...this.#start }
            return found
          }
          found++
        }
      }
    }
    this.#at = { ...this.#start }
    return found
  }

  async next(): Promise<readonly string[] | undefined> {
    for (;;) {
      const part = this.#parts[this.#at.part]
      if (!part) return undefined
      const left = part.size - this.#at.offset
      const block = left > 0 ? await this.#read(this.#at.part, this.#at.offset, left) : undefined
      if (block && block.length > 0) {
        this.#at.offset += block.length
        return this.#splitter.push(block)
      }
      if (this.#at.part === this.#parts.length - 1) return undefined
      this.#dropHalf()
      this.#at = { part: this.#at.part + 1, offset: 0 }
    }
  }

  async countSkipped(signal: AbortSignal): Promise<number> {
    let lines = 0
    for (let part = 0; part <= this.#start.part && part < this.#parts.length; part++) {
      const end = part === this.#start.part ? this.#start.offset : this.#parts[part]!.size
      for (let from = 0; from < end && !signal.aborted; ) {
        const block = await this.#read(part, from, end - from)
        if (block.length === 0) break
        for (let at = block.indexOf(NEW_LINE); at >= 0; at = block.indexOf(NEW_LINE, at + 1)) lines++
        from += block.length
      }
    }
    return lines
  }

  async fresh(): Promise<readonly string[] | undefined> {
    const current = this.#parts.at(-1)
    if (current) {
      const block = await this.#read(this.#parts.length - 1, this.#at.offset, BLOCK_BYTES)
      this.#at.offset += block.length
      if (block.length > 0) return this.#splitter.push(block)
      const { size } = await current.handle.stat()
      if (size < this.#at.offset) {
        // The file was truncated and is being written again.
        this.#dropHalf()
        this.#at.offset = 0
        return []
      }
    }
    if (this.#successor) {
      this.#dropHalf()
      this.#parts.push(this.#successor)
      this.#successor = undefined
      this.#at = { part: this.#parts.length - 1, offset: 0 }
      return []
    }
    // A writer may still be finishing its line in the old file, so read that once more before the new one.
    this.#successor = await this.#findSuccessor()
    return this.#successor ? [] : undefined
  }

  broken(): number {
    return this.#halves + this.#splitter.dropped
  }

  async close(): Promise<void> {
    await closeParts([...this.#parts, ...(this.#successor ? [this.#successor] : [])])
  }

  /** Opens the oldest file that has not been read; forgets those that rotation has deleted. */
  async #findSuccessor(): Promise<Part | undefined> {
    const opened = await openParts(this.#path)
    const there = new Set(opened.map(({ inode }) => inode))
    const isRead = (part: Part) => this.#parts.some(({ inode }) => inode === part.inode)
    const successor = opened.find((part) => !isRead(part))
    await closeParts(opened.filter((part) => part !== successor))
    const gone = this.#parts.slice(0, -1).filter(({ inode }) => !there.has(inode))
    await closeParts(gone)
    this.#parts = this.#parts.filter((part) => !gone.includes(part))
    this.#at.part = Math.max(0, this.#parts.length - 1)
    return successor
  }

  async #read(part: number, offset: number, max: number): Promise<Buffer> {
    const length = Math.min(max, BLOCK_BYTES)
    const { bytesRead } = await this.#parts[part]!.handle.read(this.#block, 0, length, offset)
    return this.#block.subarray(0, bytesRead)
  }

  #dropHalf(): void {
    if (this.#splitter.end()) this.#halves++
  }
}

/**
 * Opens the files of a log and returns them oldest first. Opens the newest first: if the log is rotated meanwhile, a
 * file is seen again under its next name instead of being missed.
 */
async function openParts(path: string): Promise<Part[]> {
  const parts: Part[] = []
  try {
    const oldest = await oldestNumber(path)
    let part: Part | undefined
    for (let number = 0; number <= oldest || (part && number <= MAX_SIBLINGS); number++) {
      part = await openPart(number === 0 ? path : `${path}.${number}`)
      const seen = parts.findIndex(({ inode }) => inode === part?.inode)
      // Files between the two sightings are newer than it.
      if (seen >= 0) await closeParts(parts.splice(seen, 1))
      if (part) parts.push(part)
    }
    return parts.reverse()
  } catch (error) {
    await closeParts(parts)
    throw error
  }
}

async function closeParts(parts: readonly Part[]): Promise<void> {
  await Promise.allSettled(parts.map(({ handle }) => handle.close()))
}

/** The highest number that rotation has given; 0 without any. */
async function oldestNumber(path: string): Promise<number> {
  const names = await readdir(dirname(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const start = `${basename(path)}.`
  const numbers = names.flatMap((name) =>
    name.startsWith(start) && /^[1-9]\d{0,3}$/.test(name.slice(start.length))
      ? [Number(name.slice(start.length))]
      : [],
  )
  return Math.min(MAX_SIBLINGS, Math.max(0, ...numbers))
}

/** Undefined for a file that does not exist. Opening a pipe must not wait for its writer. */
async function openPart(path: string): Promise<Part | undefined> {
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    },
  )
  if (!handle) return undefined
  const status = await handle.stat({ bigint: true })
  if (status.isFile()) return { handle, inode: status.ino, size: Number(status.size) }
  await handle.close()
  throw new Error(`${path} is not a regular file`)
}

/** Splits one stream of bytes. */
type LineSplitter = {
  /** Returns the lines that the chunk completes. */
  push(chunk: Uint8Array): string[]
  /** Drops the line that is not complete; returns whether there was one. */
  end(): boolean
  /** How many lines were too long. */
  readonly dropped: number
}

/** Creates a splitter for lines of at most this many bytes. */
function createByteLineSplitter(maxBytes: number): LineSplitter {
  let kept: Buffer[] = []
  let size = 0
  let dropped = 0
  const take = (rest: Buffer): string[] => {
    const isLong = size + rest.length > maxBytes
    const line = isLong ? '' : Buffer.concat([...kept, rest]).toString('utf8')
    kept = []
    size = 0
    if (!isLong) return [line]
    dropped++
    return []
  }
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const lines: string[] = []
      let from = 0
      for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, from)) {
        lines.push(...take(bytes.subarray(from, at)))
        from = at + 1
      }
      const rest = bytes.subarray(from)
      size += rest.length
      // The start of a line that is too long is not needed any more.
      if (size > maxBytes) kept = []
      else if (rest.length > 0) kept.push(Buffer.from(rest))
      return lines
    },
    end() {
      const isHalf = size > 0
      kept = []
      size = 0
      return isHalf
    },
    get dropped() {
      return dropped
    },
  }
}
