// Writes events to a file as JSON lines: private, bounded, without secrets, and without what a conversation says unless
// asked. A crash loses at most the line being written, and a file that cannot be written harms nothing else.
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
import type { TraceRecord } from '../core/index.ts'
import { cut, type Fields, isFields } from '../lib/index.ts'

/** Options of `openAuditFile`. */
export type AuditFileOptions = {
  /** Hides secrets in a text. */
  readonly redact: (text: string) => string
  /** Keeps arguments and results, redacted and cut. Default: false. */
  readonly hasContent?: boolean
  /** Reports once that the file cannot be written, until it can be again. */
  readonly notify: (message: string) => void
  /** Size at which a new file begins. Default: 10 MB. */
  readonly maxBytes?: number
  /** Age at which a new file begins. Default: a week. */
  readonly maxAgeMs?: number
  /** How many files are kept, the current one included. Default: 5. */
  readonly maxFiles?: number
  /** Replaceable in tests. */
  readonly now?: () => number
}

const MAX_BYTES = 10_000_000
const MAX_AGE_MS = 7 * 24 * 3_600_000
const MAX_FILES = 5
const PRIVATE = 0o600
/** Characters of one text; queries and errors are shorter. */
const LONGEST_TEXT = 2000
/** Characters of the arguments or the result of one call. */
const LONGEST_CONTENT = 16_000
/** Longer lines keep only what every record has. */
const LONGEST_LINE = 64_000

/** Returns a function that appends a record to the file. It never throws. Several processes may use the same file. */
export function openAuditFile(path: string, options: AuditFileOptions): (record: TraceRecord) => void {
  const file = resolve(path)
  const { notify, maxBytes = MAX_BYTES, maxFiles = MAX_FILES } = options
  const { maxAgeMs = MAX_AGE_MS, now = Date.now } = options
  let isFirst = true
  let isBroken = false
  const isFull = ({ size, birthtimeMs, ctimeMs }: Stats) =>
    size > 0 && (size >= maxBytes || now() - (birthtimeMs || ctimeMs) >= maxAgeMs)

  function append(line: string): void {
    if (isFirst) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const found = lstatIfThere(file)
    // A pipe or a device could block or never fill up, and a link could lead to a file of somebody else.
    if (found && !found.isFile()) throw new Error('it is not a regular file')
    if (found && isFull(found)) rotate(file, found, maxFiles)
    // Reads only the last byte of a file that another process may have left with half a line.
    const descriptor = openSync(file, 'a+', PRIVATE)
    try {
      const status = fstatSync(descriptor)
      if ((status.mode & 0o077) !== 0) fchmodSync(descriptor, PRIVATE)
      const isHalf = (isFirst || isBroken) && status.size > 0 && !endsLine(descriptor, status.size)
      const bytes = Buffer.from(`${isHalf ? '\n' : ''}${line}\n`)
      // A full disk may take a part of the line.
      if (writeSync(descriptor, bytes) < bytes.length) throw new Error('the disk is full')
    } finally {
      closeSync(descriptor)
    }
    isFirst = false
  }

  return (record) => {
    try {
      append(auditLine(record, options))
      isBroken = false
    } catch (error) {
      if (!isBroken) notify(`events are not being written to ${file}: ${(error as Error).message}`)
      isBroken = true
    }
  }
}

function lstatIfThere(file: string): Stats | undefined {
  return lstatSync(file, { throwIfNoEntry: false })
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

/** Writes a record as one line of JSON: without secrets, bounded, and without content unless asked for. */
export function auditLine(
  record: TraceRecord,
  { redact, hasContent = false }: Pick<AuditFileOptions, 'redact' | 'hasContent'>,
): string {
  const { content, ...rest } = record as TraceRecord & { readonly content?: unknown }
  const plain = written(rest, redact, LONGEST_TEXT)
  const kept = hasContent && content !== undefined ? written(content, redact, LONGEST_CONTENT) : undefined
  const isLong = kept !== undefined && kept.length > LONGEST_CONTENT
  const shown = isLong ? JSON.stringify(cut(kept, LONGEST_CONTENT)) : kept
  const line = shown === undefined ? plain : `${plain.slice(0, -1)},"content":${shown}}`
  if (line.length <= LONGEST_LINE) return line
  const { version, time, processId, sequence, conversation, type } = record
  return JSON.stringify({ version, time, processId, sequence, conversation, type, isCut: true })
}

/** JSON with secrets hidden in all texts and keys; `"…"` for a value that has no JSON. */
function written(value: unknown, redact: (text: string) => string, longest: number): string {
  try {
    return JSON.stringify(value, (_, inner) => hidden(inner, redact, longest)) ?? 'null'
  } catch {
    return '"…"'
  }
}

function hidden(value: unknown, redact: (text: string) => string, longest: number): unknown {
  if (typeof value === 'string') return cut(redact(value), longest)
  if (!isFields(value)) return value
  const keys = Object.keys(value)
  if (keys.every((key) => redact(key) === key)) return value
  return Object.fromEntries(keys.map((key) => [redact(key), (value as Fields)[key]]))
}
