// Sets the headers of the inspector's responses: the content security policy allows only its own files.

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Creates a response with the headers that every answer has. */
export function respond(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  type: string,
  status = 200,
  more: { readonly [name: string]: string } = {},
): Response {
  return new Response(body, { status, headers: { ...HEADERS, 'content-type': type, ...more } })
}

/** Creates a JSON response. */
export function respondJson(
  value: unknown,
  status = 200,
  more: { readonly [name: string]: string } = {},
): Response {
  return respond(JSON.stringify(value), JSON_TYPE, status, more)
}

/** Content type of JSON. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Creates a response that is written piece by piece, only as fast as it is read.
 * @param stop - Called when the reader has left, to end a generator that is waiting.
 */
export function respondPieces(
  pieces: AsyncGenerator<string, void>,
  type: string,
  stop: () => void = () => {},
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next.done) controller.close()
        else controller.enqueue(encoder.encode(next.value))
      },
      async cancel() {
        stop()
        await pieces.return()
      },
    },
    { highWaterMark: 1 },
  )
  return respond(body, type)
}
