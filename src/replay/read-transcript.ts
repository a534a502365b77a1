// Reads a transcript of any format from its files, as a stream; the format is recognised by its first lines.
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Fields, isFields } from '../lib/index.ts'
import { readHarEntries, readLines } from './chunks.ts'
import {
  createClaudeCodeReader,
  createCodexReader,
  createHttpReader,
  createToolshelfReader,
  isClaudeCodeLine,
  isCodexLine,
  isHttpLine,
  isToolshelfLine,
} from './readers/index.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import type { Recording, TranscriptFormat } from './types.ts'

/** Thrown for a file that is not a transcript; the message continues the file's name. */
export class TranscriptError extends Error {}

/** Lines that may precede the first one of a known format. */
const MAX_UNKNOWN_LINES = 1_000

/**
 * Reads a transcript; `files` are the transcript and those of its sub-agents. Damaged lines are counted, not thrown.
 *
 * @example
 * const recording = await readRecording(['session.jsonl'])
 */
export async function readRecording(files: readonly string[]): Promise<Recording> {
  const recorder = createRecorder()
  let reader: Reader | undefined
  for (const [index, file] of files.entries()) reader = await readOne(file, { recorder, reader, index })
  if (!reader) throw new TranscriptError(NO_FORMAT)
  return recorder.recording(reader.format, reader.takesReferences())
}

const NO_FORMAT =
  'is not a transcript that can be replayed; pass a session of toolshelf, Claude Code or Codex, a HAR file, or JSON lines with request and reply bodies'

type Reader = {
  readonly format: TranscriptFormat
  readonly read: (line: Fields, file: number) => void
  readonly takesReferences: () => boolean
}

type Reading = { readonly recorder: Recorder; readonly reader: Reader | undefined; readonly index: number }

async function readOne(file: string, { recorder, index, ...known }: Reading): Promise<Reader | undefined> {
  let reader = known.reader
  let unknown = 0
  // Without O_NONBLOCK, opening a pipe without a writer would wait forever.
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await handle.stat()).isFile()) throw new TranscriptError('is not a regular file')
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const isHar = /^\uFEFF?\s*\{\s*"log"\s*:/.test(buffer.subarray(0, bytesRead).toString('utf8'))
    const chunks = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: CHUNK_BYTES })
    for await (const text of (isHar ? readHarEntries : readLines)(chunks as AsyncIterable<Buffer>)) {
      if (text !== undefined && text.trim() === '') continue
      const line = parsed(text)
      reader ??= isHar ? httpReader(recorder) : line && readerFor(line, recorder)
      if (!reader && ++unknown > MAX_UNKNOWN_LINES) throw new TranscriptError(NO_FORMAT)
      if (!line) recorder.markUnreadable()
      else if (reader) attempt(() => reader?.read(line, index), recorder)
    }
  } finally {
    await handle.close()
  }
  return reader
}

const HEAD_BYTES = 4096
const CHUNK_BYTES = 1 << 20

/** Counts a line as unreadable if reading it throws: it may be nested too deeply, or be an invalid request. */
function attempt(read: () => void, recorder: Recorder): void {
  try {
    read()
  } catch {
    recorder.markUnreadable()
  }
}

function parsed(text: string | undefined): Fields | undefined {
  try {
    const value: unknown = JSON.parse((text ?? '').replace(/^\uFEFF/, ''))
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function readerFor(line: Fields, recorder: Recorder): Reader | undefined {
  if (isToolshelfLine(line)) return lineReader('toolshelf', createToolshelfReader(recorder), true)
  if (isCodexLine(line)) return lineReader('codex', createCodexReader(recorder), false)
  if (isHttpLine(line)) return httpReader(recorder)
  if (isClaudeCodeLine(line)) return lineReader('claude-code', createClaudeCodeReader(recorder), true)
  return undefined
}

function httpReader(recorder: Recorder): Reader {
  return { format: 'http', ...createHttpReader(recorder) }
}

function lineReader(format: TranscriptFormat, read: Reader['read'], takesReferences: boolean): Reader {
  return { format, read, takesReferences: () => takesReferences }
}
