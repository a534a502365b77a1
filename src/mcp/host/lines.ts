// Bytes → JSON-RPC messages, a line each. Servers print other things too: what is no message is left out.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'

export type LineReader = {
  /** Takes what has arrived; returns the messages that are complete now. Throws when a line is too long. */
  read(chunk: Buffer): Line[]
}

export type Line = {
  readonly bytes: number
  /** Undefined when the line is none. */
  readonly message: JSONRPCMessage | undefined
  readonly isAnswer: boolean
}

const NEWLINE = 10

export function createLineReader(longest: number): LineReader {
  let parts: Buffer[] = []
  let size = 0
  return {
    read(chunk) {
      const lines: Line[] = []
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        parts.push(chunk.subarray(start, end))
        const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
        parts = []
        size = 0
        start = end + 1
        if (line.length > 0) lines.push(readLine(line))
      }
      if (start < chunk.length) {
        parts.push(chunk.subarray(start))
        size += chunk.length - start
      }
      if (size > longest) {
        parts = []
        throw new Error(`it wrote a line of more than ${Math.round(longest / 1_000_000)} MB`)
      }
      return lines
    },
  }
}

function readLine(line: Buffer): Line {
  const message = parse(line)
  const isAnswer = message !== undefined && 'id' in message && !('method' in message)
  return { bytes: line.length, message, isAnswer }
}

type Loose = { jsonrpc?: unknown; id?: unknown; method?: unknown; error?: unknown; result?: unknown }

function parse(line: Buffer): JSONRPCMessage | undefined {
  let value: Loose | null
  try {
    value = JSON.parse(line.toString('utf8')) as Loose | null
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || value.jsonrpc !== '2.0') return undefined
  return (value.error === undefined ? value : { ...value, error: mendError(value.error) }) as JSONRPCMessage
}

/** An error that is spelled wrong is still the answer to a request, which else would wait in vain. */
function mendError(error: unknown): { code: number; message: string } {
  const { code, message, ...rest } = (typeof error === 'object' && error !== null ? error : {}) as Loose & {
    code?: unknown
    message?: unknown
  }
  return {
    ...rest,
    code: Number.isInteger(code) ? (code as number) : -32603,
    message: typeof message === 'string' ? message : `an error without a message: ${JSON.stringify(error)}`,
  }
}
