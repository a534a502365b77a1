// The body of a request: bounded, whole, and JSON; anything else is refused in the API's words.
import type { IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'
import { isFields } from '../core/oracle/json.ts'
import { refuse } from './errors.ts'
import type { Fields } from './types.ts'
import type { Flow } from './upstream/http.ts'

/** The whole body, which is to be read. */
export function readBody(incoming: IncomingMessage, most: number): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw refuse(415, 'invalid_request_error', `a body in "${encoding}" is not read; send it uncompressed`)
  return flowOf(incoming, most).whole
}

/** The body as it comes, for whoever passes it on. */
export function flowOf(incoming: IncomingMessage, most: number): Flow {
  const length = incoming.headers['content-length']
  if (Number(length ?? 0) > most) throw tooLarge(most)
  const chunks: Buffer[] = []
  let target: Writable | undefined
  let size = 0
  const whole = new Promise<Buffer>((resolve, reject) => {
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > most) return reject(tooLarge(most))
      chunks.push(chunk)
      target?.write(chunk)
    })
    incoming.once('end', () => {
      target?.end()
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    })
    incoming.once('error', reject)
  })
  return {
    size: length === undefined ? undefined : Number(length),
    whole,
    into(next) {
      target = next
      for (const chunk of chunks) next.write(chunk)
      if (incoming.readableEnded) next.end()
    },
  }
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
const [QUOTE = 0, BACKSLASH, LIST, LIST_END, OBJECT, OBJECT_END] = Buffer.from('"\\[]{}')

/** Nested so deeply that it could be read, but neither walked nor written again. Texts are skipped at one go. */
function isDeep(body: Buffer): boolean {
  let level = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) at = endOfText(body, at)
    else if (byte === LIST || byte === OBJECT) level++
    else if (byte === LIST_END || byte === OBJECT_END) level--
    if (level > DEEPEST) return true
  }
  return false
}

/** Where the quote stands that ends a text; the body's end if none does. */
function endOfText(body: Buffer, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end >= 0; end = body.indexOf(QUOTE, end + 1)) {
    let escapes = 0
    while (body[end - 1 - escapes] === BACKSLASH) escapes++
    if (escapes % 2 === 0) return end
  }
  return body.length
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
