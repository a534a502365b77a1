// Answers the inspector's requests: refuses other hosts and origins, serves the page, and passes the rest to the
// endpoints.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { errorMessage, hasCode, isFields } from '@toolshelf/core/internal'
import type { LimitError } from '@toolshelf/core/internal/node'
import { createEndpointTable, type Endpoint } from './endpoints.ts'
import { pageHtml, respond, respondJson } from './page.ts'
import { createFindReader, refused } from './readers.ts'
import type { InspectorOptions } from './types.ts'
import { InspectorFailure } from './types.ts'

/** The inspector of one process. */
export type Inspector = {
  handle(request: Request): Promise<Response>
  /** Ends the streams of events. */
  close(): void
}

/** Requests with a body that are answered at once. */
const MAX_POSTS = 8

/**
 * Creates the handler of the inspector's page and endpoints. The page's files need no key, because they contain no data;
 * every endpoint needs one.
 *
 * A page of another origin can neither read an answer nor send the key: its CORS preflight is refused.
 */
export function createInspector(options: InspectorOptions): Inspector {
  const { path } = options
  const findReader = createFindReader(options)
  const closing = new AbortController()
  const table = createEndpointTable(options, findReader, closing.signal)
  const files = createFiles(options)
  let posts = 0

  async function handle(request: Request): Promise<Response> {
    try {
      const host = request.headers.get('host') ?? ''
      if (!options.allowsHost(host))
        throw new InspectorFailure(403, `host "${host.slice(0, 100)}" is not allowed`)
      if (!isSameOrigin(request, host))
        throw new InspectorFailure(403, 'web pages of other origins are not allowed')
      const { pathname, searchParams } = new URL(request.url)
      if (`${pathname}/` === path) return respond(null, 'text/plain', 308, { location: path })
      const name = pathname.startsWith(path) ? pathname.slice(path.length) : undefined
      const file = name === undefined ? undefined : await files(name, request)
      if (file) return file
      const endpoint = name === undefined ? undefined : table.get(name)
      if (!endpoint) throw new InspectorFailure(404, `no such path: ${pathname.slice(0, 200)}`)
      return await answer(endpoint, request, searchParams)
    } catch (error) {
      return failed(error, options.trace)
    }
  }

  async function answer(endpoint: Endpoint, request: Request, query: URLSearchParams): Promise<Response> {
    const { method, run } = endpoint
    const reader = await findReader(request)
    await reader.work.use('calls')
    if (request.method !== method)
      throw new InspectorFailure(405, `this path takes ${method}, not ${request.method}`)
    if (method === 'GET') return run({ request, reader, query, input: {} })
    if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
      throw new InspectorFailure(415, 'send JSON with "Content-Type: application/json"')
    if (posts >= MAX_POSTS) throw new InspectorFailure(503, 'too many requests at once; try again')
    posts++
    try {
      const body = await options.readBody(request)
      if ('status' in body) throw new InspectorFailure(body.status, body.message)
      body.release()
      if (!isFields(body.value)) throw new InspectorFailure(400, 'the body must be a JSON object')
      return await run({ request, reader, query, input: body.value })
    } finally {
      posts--
    }
  }

  return { handle, close: () => closing.abort(new Error('the inspector was closed')) }
}

/** Browsers name the origin of every request that is not a plain GET; programs name none. */
function isSameOrigin(request: Request, host: string): boolean {
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  const isOurs = origin === null || origin === `http://${host}` || origin === `https://${host}`
  const isNavigation = request.method === 'GET' && request.headers.get('sec-fetch-mode') === 'navigate'
  return isOurs && (site === null || site === 'same-origin' || site === 'none' || isNavigation)
}

function failed(error: unknown, trace: InspectorOptions['trace']): Response {
  if (hasCode<LimitError>(error, 'LIMIT')) {
    trace?.(error.event)
    return failed(refused(error.refusal), trace)
  }
  if (error instanceof InspectorFailure) {
    const { message, status, retryAfter } = error
    return respondJson({ error: message }, status, retryAfter ? { 'retry-after': String(retryAfter) } : {})
  }
  return respondJson({ error: errorMessage(error).slice(0, 2000) }, 500)
}

const compress = promisify(gzip)

/** The page's own files, by name: a path never reaches the disk. */
function createFiles({ page }: InspectorOptions) {
  let loaded: Promise<ReadonlyMap<string, File>> | undefined
  return async (name: string, { method, headers }: Request): Promise<Response | undefined> => {
    if (!FILE_NAMES.has(name) || (method !== 'GET' && method !== 'HEAD')) return undefined
    loaded ??= loadFiles(page)
    const files = await loaded.catch((error) => {
      loaded = undefined
      throw error
    })
    const { type, text, packed } = files.get(name)!
    const isPacked = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
    const more: { [header: string]: string } = isPacked ? { 'content-encoding': 'gzip' } : {}
    return respond(method === 'HEAD' ? null : isPacked ? packed : text, type, 200, {
      ...more,
      vary: 'accept-encoding',
    })
  }
}

type File = { readonly type: string; readonly text: string; readonly packed: Uint8Array<ArrayBuffer> }

const FILE_NAMES: ReadonlySet<string> = new Set(['', 'page.js', 'page.css'])

async function loadFiles(page: InspectorOptions['page']): Promise<ReadonlyMap<string, File>> {
  const { script, style } = await page()
  const file = async (type: string, text: string): Promise<File> => ({
    type: `${type}; charset=utf-8`,
    text,
    packed: new Uint8Array(await compress(text)),
  })
  return new Map([
    ['', await file('text/html', pageHtml)],
    ['page.js', await file('text/javascript', script)],
    ['page.css', await file('text/css', style)],
  ])
}
