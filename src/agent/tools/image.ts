// Turns image bytes into an image block for the model.
import { isBinary } from './files.ts'

/** The API's limit, in bytes before base64 encoding. */
const MAX_IMAGE_BYTES = 3_750_000

const STARTS: readonly (readonly [string, number, string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
]

/** Returns an image block; undefined if the bytes are not an image. Throws if it is too large. */
export function imageBlock(bytes: Buffer, name: string): object | undefined {
  const type = STARTS.find(([, at, start]) => bytes.toString('latin1', at, at + start.length) === start)?.[0]
  // Text may begin like an image, and the API refuses a request with an invalid image.
  if (type === undefined || !isBinary(bytes)) return undefined
  if (bytes.length > MAX_IMAGE_BYTES)
    throw new Error(
      `${name} is an image of ${bytes.length} bytes, more than can be shown. Make it smaller first.`,
    )
  return { type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } }
}
