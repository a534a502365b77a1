// Reads a request body, as one buffer or as a stream to forward, under limits: of one body, of one client's, and of all.
import type { IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'
import { type BufferPool, freeBuffer } from '@toolshelf/core/internal/node'
import { type Flow, type RefusedRequest, refuseForNow, refuseRequest } from '@toolshelf/messages/internal'

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

/** Accounts for one body from its first byte until its request ends. */
type HeldBytes = {
  /** Throws a refusal with status 503 if a limit is exceeded. */
  readonly add: (bytes: number) => void
  /** Releases all bytes of this body; safe to call more than once. */
  readonly release: () => void
}

/** Counts the bytes of all bodies. */
export type BodyMemory = ReturnType<typeof createBodyMemory>

/** The share of the limit that one client may use. */
const SHARE_OF_ONE = 0.75

/** Seconds until a refused client may retry. */
const RETRY_AFTER_SECONDS = 5

/** Creates a counter with this limit. */
export function createBodyMemory(maxBytes: number) {
  const byOwner = new Map<string, number>()
  let total = 0
  const change = (owner: string, bytes: number): void => {
    total += bytes
    const own = (byOwner.get(owner) ?? 0) + bytes
    if (own > 0) byOwner.set(owner, own)
    else byOwner.delete(owner)
  }
  return {
    /** Bytes held now. */
    get bytes() {
      return total
    },
    hold(owner: string) {
      let held = 0
      let isOver = false
      return {
        add(bytes: number) {
          if (isOver) return
          if (total + bytes > maxBytes) throw full(maxBytes, 'all requests')
          const ownMost = maxBytes * SHARE_OF_ONE
          if ((byOwner.get(owner) ?? 0) + bytes > ownMost) throw full(ownMost, 'requests of one client')
          held += bytes
          change(owner, bytes)
        },
        release() {
          isOver = true
          change(owner, -held)
          held = 0
        },
      }
    },
  }
}

function full(maxBytes: number, whose: string): RefusedRequest {
  const megabytes = Math.floor(maxBytes / 1_000_000)
  const message = `the bodies of ${whose} being answered take the limit of ${megabytes} MB; try again in ${RETRY_AFTER_SECONDS} seconds`
  return refuseForNow(message, RETRY_AFTER_SECONDS)
}
