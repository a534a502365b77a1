// Reads a request body under a size limit, either as one buffer or as a stream to forward.
import type { IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'
import { type BufferPool, freeBuffer } from '@toolshelf/core/internal/node'
import { type Flow, refuseRequest } from '@toolshelf/messages/internal'
import type { HeldBytes } from './held-bytes.ts'

export type RequestBodyLimits = {
  /** Maximum size of one body in bytes. */
  readonly maxBytes: number
  /** Accounts for the bytes against the limit shared by all bodies. */
  readonly held: HeldBytes
}

/** Reads the whole body into one buffer, from the pool if there is one. */
export async function readBody(
  incoming: IncomingMessage,
  limits: RequestBodyLimits,
  pool?: BufferPool,
): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw refuseRequest(
      415,
      'invalid_request_error',
      `content-encoding "${encoding}" is not supported; send the body uncompressed`,
    )
  const length = lengthOf(incoming, limits)
  // With a known length, chunks are copied straight into the final buffer, so the body is never in memory twice.
  const take = pool?.take ?? Buffer.allocUnsafeSlow
  const whole = length === undefined || length === 0 ? undefined : take(length)
  const chunks: Buffer[] = []
  let size = 0
  await receive(incoming, limits, (chunk) => {
    size += chunk.length
    if (!whole) return void chunks.push(chunk)
    chunk.copy(whole, size - chunk.length)
    freeBuffer(chunk)
  })
  return whole ?? Buffer.concat(chunks)
}

/** Streams the body as it arrives, for forwarding. */
export function flowOf(incoming: IncomingMessage, limits: RequestBodyLimits): Flow {
  const size = lengthOf(incoming, limits)
  let chunks: Buffer[] = []
  let target: Writable | undefined
  let isDropped = false
  const received = receive(incoming, limits, (chunk) => {
    if (!isDropped) chunks.push(chunk)
    target?.write(chunk)
  })
  const whole = received.then(() => {
    target?.end()
    return chunks
  })
  return {
    size,
    whole,
    into(next) {
      target = next
      for (const chunk of chunks) next.write(chunk)
      if (incoming.readableEnded) next.end()
    },
    drop() {
      isDropped = true
      chunks = []
      limits.held.release()
    },
  }
}

/** Resolves when the body has arrived; rejects when it is too large, and discards the rest. */
function receive(
  incoming: IncomingMessage,
  { maxBytes, held }: RequestBodyLimits,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let size = 0
    const take = (chunk: Buffer): void => {
      try {
        size += chunk.length
        if (size > maxBytes) throw tooLarge(maxBytes)
        held.add(chunk.length)
        onChunk(chunk)
      } catch (error) {
        incoming.off('data', take)
        held.release()
        reject(error)
      }
    }
    incoming.on('data', take)
    incoming.once('end', resolve)
    incoming.once('error', reject)
  })
}

function lengthOf({ headers }: IncomingMessage, { maxBytes }: RequestBodyLimits): number | undefined {
  const length = headers['content-length']
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes)
  return length === undefined ? undefined : Number(length)
}

function tooLarge(maxBytes: number) {
  const message = `the request body is larger than the limit of ${Math.floor(maxBytes / 1_000_000)} MB`
  return refuseRequest(413, 'request_too_large', message)
}
