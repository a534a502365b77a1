// The body of a request: bounded, whole, and JSON; anything else is refused in the API's words.
import type { IncomingMessage } from 'node:http'
import { isFields } from '../core/oracle/json.ts'
import { refuse } from './errors.ts'
import type { Fields } from './types.ts'

export async function readBody(incoming: IncomingMessage, most: number): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw refuse(415, 'invalid_request_error', `a body in "${encoding}" is not read; send it uncompressed`)
  if (Number(incoming.headers['content-length'] ?? 0) > most) throw tooLarge(most)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) throw tooLarge(most)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export function parseBody(body: Buffer): Fields {
  const text = decoded(body)
  if (isDeep(body))
    throw refuse(400, 'invalid_request_error', `the body is nested more than ${DEEPEST} levels deep`)
  try {
    const value: unknown = JSON.parse(text)
    if (isFields(value)) return value
  } catch (error) {
    throw refuse(400, 'invalid_request_error', `the body is not valid JSON: ${(error as Error).message}`)
  }
  throw refuse(400, 'invalid_request_error', 'the body is not a JSON object')
}

const DEEPEST = 1000
const [QUOTE, BACKSLASH, LIST, LIST_END, OBJECT, OBJECT_END] = Buffer.from('"\\[]{}')

/** Nested so deeply that it could be read, but neither walked nor written again. */
function isDeep(body: Buffer): boolean {
  let level = 0
  let isText = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) isText = !isText
    else if (isText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === LIST || byte === OBJECT) level++
    else if (byte === LIST_END || byte === OBJECT_END) level--
    if (level > DEEPEST) return true
  }
  return false
}

function decoded(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw refuse(400, 'invalid_request_error', 'the body is not valid UTF-8')
  }
}

function tooLarge(most: number) {
  const message = `the request is larger than ${Math.floor(most / 1_000_000)} MB, which is the most this gateway takes`
  return refuse(413, 'request_too_large', message)
}
