// Reads a file of lines and its rotated siblings (`file.2`, `file.1`, `file`) as one log: its newest lines, then what is
// appended. Holds one block of bytes, whatever the size of the files.
import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { createByteLineSplitter } from './line-splitter.ts'

/** A log that is read from front to back and then followed. */
export type Log = {
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
export async function openLog(path: string): Promise<Log> {
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
