// Splits bytes into lines and parses each as a JSON-RPC message. Returns other lines, such as log output, without one.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { whyTooComplex } from '../../node/index.ts'

/** Reads lines from chunks. */
export type LineReader = {
  /** Returns the lines that a chunk completes. Throws if a line is too long or has too many values. */
  read(chunk: Buffer): MessageLine[]
}

/** A line of output. */
export type MessageLine = {
  readonly bytes: number
  /** The message; undefined if the line is not one. */
  readonly message: JSONRPCMessage | undefined
  readonly isAnswer: boolean
}

const NEWLINE = 10

/** Values of one message. More are seconds of parsing, during which nothing else is done. */
const MAX_VALUES = 5_000_000

/** Creates a reader for lines of at most `maxBytes` bytes. */
export function createLineReader(maxBytes: number): LineReader {
  let parts: Buffer[] = []
  let size = 0
  return {
    read(chunk) {
      const lines: MessageLine[] = []
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        parts.push(chunk.subarray(start, end))
        const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
        parts = []
        size = 0
        start = end + 1
        lines.push(readLine(line))
      }
      if (start < chunk.length) {
        parts.push(chunk.subarray(start))
        size += chunk.length - start
      }
      if (size > maxBytes) {
        parts = []
        throw new Error(`it wrote a line of more than ${Math.round(maxBytes / 1_000_000)} MB`)
      }
      return lines
    },
  }
}

function readLine(line: Buffer): MessageLine {
  const message = parse(line)
  const isAnswer = message !== undefined && 'id' in message && !('method' in message)
  return { bytes: line.length + 1, message, isAnswer }
}

type Loose = { jsonrpc?: unknown; id?: unknown; method?: unknown; error?: unknown; result?: unknown }

function parse(line: Buffer): JSONRPCMessage | undefined {
  if (!looksLikeObject(line)) return undefined
  const why = whyTooComplex(line, { maxValues: MAX_VALUES, maxDepth: Number.POSITIVE_INFINITY })
  if (why !== undefined) throw new Error(`it wrote a message that ${why}`)
  let value: Loose | null
  try {
    value = JSON.parse(line.toString('utf8')) as Loose | null
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || value.jsonrpc !== '2.0') return undefined
  return mend(value) as JSONRPCMessage
}

const OPEN = 123
const CLOSE = 125

/**
 * Returns whether a line starts with `{` and ends with `}`. Checked first, because parsing a flood of invalid JSON is
 * slow.
 */
function looksLikeObject(line: Buffer): boolean {
  let start = 0
  let end = line.length - 1
  while (isBlank(line[start])) start++
  while (isBlank(line[end])) end--
  return line[start] === OPEN && line[end] === CLOSE
}

function isBlank(byte = 0): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13)
}

/** Turns a malformed response into a valid error, so that its request fails at once instead of timing out. */
function mend(value: Loose): object {
  const { error, result, ...rest } = value
  const isFine = typeof result === 'object' && result !== null && !Array.isArray(result)
  if (error !== undefined && !(error === null && isFine)) return { ...rest, error: mendError(error) }
  if (isFine || !('result' in value)) return error === undefined ? value : { ...rest, result }
  const shown = JSON.stringify(result).slice(0, MAX_EXCERPT_LENGTH)
  return { ...rest, error: { code: -32603, message: `its answer is not an object: ${shown}` } }
}

const MAX_EXCERPT_LENGTH = 500

function mendError(error: unknown): { code: number; message: string } {
  const { code, message, ...rest } = (typeof error === 'object' && error !== null ? error : {}) as Loose & {
    code?: unknown
    message?: unknown
  }
  return {
    ...rest,
    code: Number.isInteger(code) ? (code as number) : -32603,
    message:
      typeof message === 'string'
        ? message
        : `an error without a message: ${JSON.stringify(error).slice(0, MAX_EXCERPT_LENGTH)}`,
  }
}
