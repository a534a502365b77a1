// Reads the JSON body of a request up to a size limit, and bounds the memory that the large bodies of all requests take
// together.
import { whyTooComplex } from '@toolshelf/core/internal/node'

type BodyLimits = {
  /** Bytes of one body. */
  readonly maxBytes: number
  /** Total bytes of all bodies being processed; small ones do not count. */
  readonly maxTotalBytes: number
}

/** A parsed body, or why it was refused. */
export type Body =
  | {
      readonly value: unknown /** Frees its share of `maxTotalBytes`; may be called twice. */
      readonly release: () => void
    }
  | { readonly status: 400 | 413 | 503; readonly message: string }

/** Reads bodies within limits. */
export type Bodies = { read(request: Request): Promise<Body> }

/** Smaller bodies do not count, so that a client with large requests cannot block small requests of others. */
const SMALL_BYTES = 262_144

/** Creates a reader of bodies that share the limits. */
export function createBodies({ maxBytes, maxTotalBytes }: BodyLimits): Bodies {
  let total = 0
  const tooLarge = {
    status: 413,
    message: `the request body is larger than the limit of ${maxBytes} bytes`,
  } as const
  const full = {
    status: 503,
    message: `large request bodies already take the limit of ${maxTotalBytes} bytes; try again later`,
  } as const

  return {
    async read(request) {
      if (Number(request.headers.get('content-length')) > maxBytes) return tooLarge
      let held = 0
      const release = () => {
        total -= held
        held = 0
      }
      const chunks: Uint8Array[] = []
      let size = 0
      try {
        for await (const chunk of request.body ?? []) {
          size += chunk.byteLength
          const counted = size > SMALL_BYTES ? size - held : 0
          const failure = size > maxBytes ? tooLarge : total + counted > maxTotalBytes ? full : undefined
          if (failure) {
            release()
            return failure
          }
          total += counted
          held += counted
          chunks.push(chunk)
        }
        const json = Buffer.concat(chunks)
        const why = whyTooComplex(json)
        if (why === undefined) return { value: JSON.parse(json.toString('utf8')), release }
        release()
        return { status: 400, message: `the body ${why}` }
      } catch {
        release()
        return { status: 400, message: 'the body is not valid JSON' }
      }
    },
  }
}
