// The inspector's HTML and the files that it links to, and responses whose policy allows only these files.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { PageFiles } from './types.ts'

/** The page as a process serves it. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Toolshelf inspector</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<div id="app"></div>
<noscript>The inspector needs JavaScript. It comes from this page alone and sends nothing anywhere.</noscript>
<script src="page.js"></script>
</body>
</html>
`

/** Where the build puts the page; in the sources there is none. */
const BUILT = new URL('../', import.meta.url)
const BUNDLER = new URL('../../../../scripts/build/page.mjs', import.meta.url)

/** Loads the bundled page; from the sources, bundles it. */
export async function loadPage(): Promise<PageFiles> {
  const script = new URL('page.js', BUILT)
  if (!existsSync(script)) {
    const { bundlePage } = (await import(BUNDLER.href)) as { bundlePage: () => Promise<PageFiles> }
    return bundlePage()
  }
  const [code, style] = await Promise.all([
    readFile(script, 'utf8'),
    readFile(new URL('page.css', BUILT), 'utf8'),
  ])
  return { script: code, style }
}

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
