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
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) throw tooLarge(most)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export function parseBody(body: Buffer): Fields {
  const text = decoded(body)
  try {
    const value: unknown = JSON.parse(text)
    if (isFields(value)) return value
  } catch (error) {
    throw refuse(400, 'invalid_request_error', `the body is not valid JSON: ${(error as Error).message}`)
  }
  throw refuse(400, 'invalid_request_error', 'the body is not a JSON object')
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
