// Writes events to a private file as JSON lines, with bounded size, without secrets, and without the content of
// conversations unless enabled. Each line is passed to the kernel before `write` returns, so a killed process loses at most
// the line that it is writing. If the file cannot be written, nothing else fails.
import {
  closeSync,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { TraceRecord } from '../events.ts'
import { type AuditLineOptions, auditLine } from './audit-line.ts'

/** Options of `openAuditFile`. */
export type AuditFileOptions = AuditLineOptions & {
  /** Called once when the file cannot be written, and again only after a successful write. */
  readonly notify: (message: string) => void
  /** Size at which a new file begins. Default: 10 MB. */
  readonly maxBytes?: number
  /** Age at which a new file begins. Default: a week. */
  readonly maxAgeMs?: number
  /** How many files to keep, including the current one. Default: 5. */
  readonly maxFiles?: number
  /** Replaceable in tests. */
  readonly now?: () => number
}

/** An audit file that is being written. */
type AuditFile = {
  /**
   * Appends a record: when it returns, the operating system has the line, unless `notify` reported a failure. Never
   * throws.
   */
  write(record: TraceRecord): void
  /** Closes the file; a later record opens it again. */
  close(): void
}

const MAX_BYTES = 10_000_000
const MAX_AGE_MS = 7 * 24 * 3_600_000
const MAX_FILES = 5
const PRIVATE = 0o600
/** How long to write to the open file without checking whether another process has rotated or removed it. */
const TRUSTED_MS = 250

/** Opens an audit file at the first record. Several processes may write to the same file. */
export function openAuditFile(path: string, options: AuditFileOptions): AuditFile {
  const file = resolve(path)
  const { notify } = options
  const current = createCurrentFile(file, options)
  let isBroken = false

  /** Appends a line; reopens the file once if its descriptor stopped working, for example because something closed it. */
  function append(line: string): void {
    try {
      current.append(line)
    } catch (error) {
      if (!current.close()) throw error
      current.append(line)
    }
  }

  return {
    write(record) {
      try {
        append(`${auditLine(record, options)}\n`)
        isBroken = false
      } catch (error) {
        current.close()
        if (!isBroken) notify(`events are not being written to ${file}: ${(error as Error).message}`)
        isBroken = true
      }
    },
    close: () => void current.close(),
  }
}

/** Manages the file of this name: opens it when needed, and rotates it when it is full or old. */
function createCurrentFile(file: string, options: AuditFileOptions) {
  const { maxBytes = MAX_BYTES, maxFiles = MAX_FILES, maxAgeMs = MAX_AGE_MS, now = Date.now } = options
  let opened:
    | { readonly descriptor: number; readonly inode: number; size: number; checkedAt: number }
    | undefined
  let isFirst = true
  const isFull = ({ size, birthtimeMs, ctimeMs }: Stats) =>
    size > 0 && (size >= maxBytes || now() - (birthtimeMs || ctimeMs) >= maxAgeMs)

  /** Returns whether the file was open. */
  function close(): boolean {
    if (!opened) return false
    try {
      closeSync(opened.descriptor)
    } catch {
      // Something else has closed it.
    }
    opened = undefined
    return true
  }

  /** Returns the file to append to. */
  function ready(): NonNullable<typeof opened> {
    const time = now()
    if (opened && opened.size < maxBytes && Math.abs(time - opened.checkedAt) < TRUSTED_MS) return opened
    if (isFirst) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const found = lstatSync(file, { throwIfNoEntry: false })
    // A pipe or device could block or never fill up, and a link could point to someone else's file.
    if (found && !found.isFile()) throw new Error('it is not a regular file')
    if (found && isFull(found)) rotate(file, found, maxFiles)
    else if (found && opened?.inode === found.ino) {
      opened.size = found.size
      opened.checkedAt = time
      return opened
    }
    close()
    opened = open(time)
    isFirst = false
    return opened
  }

  function open(checkedAt: number): NonNullable<typeof opened> {
    // Checks the last byte: a killed process, or a full disk, may have left half a line.
    const descriptor = openSync(file, 'a+', PRIVATE)
    try {
      const { mode, size, ino: inode } = fstatSync(descriptor)
      if ((mode & 0o077) !== 0) fchmodSync(descriptor, PRIVATE)
      if (size > 0 && !endsLine(descriptor, size)) writeAll(descriptor, '\n')
      return { descriptor, inode, size, checkedAt }
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
  }

  return {
    close,
    append(lines: string): void {
      const target = ready()
      target.size += writeAll(target.descriptor, lines)
    },
  }
}

/** Writes the text; throws if a full disk took only a part of it. */
function writeAll(descriptor: number, text: string): number {
  const length = Buffer.byteLength(text)
  if (writeSync(descriptor, text) < length) throw new Error('the disk is full')
  return length
}

function endsLine(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1)
  readSync(descriptor, last, 0, 1, size - 1)
  return last[0] === 0x0a
}

/** Renames `audit.jsonl` to `audit.jsonl.1`, that to `.2`, and so on; the oldest is replaced. */
function rotate(file: string, found: Stats, maxFiles: number): void {
  // Another process may have been faster.
  if (statSync(file, { throwIfNoEntry: false })?.ino !== found.ino) return
  const nameOf = (number: number) => (number === 0 ? file : `${file}.${number}`)
  for (let number = maxFiles - 1; number > 0; number--) {
    if (existsSync(nameOf(number - 1))) renameSync(nameOf(number - 1), nameOf(number))
  }
}
