// The gateway over HTTP: endpoints, limits, and one record per request.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cut } from '../core/errors.ts'
import { isFields } from '../core/oracle/json.ts'
import { parseBody, readBody } from './body.ts'
import { newRequestId, refuse } from './errors.ts'
import { type Asked, type Deed, type Gateway, newDeed } from './gateway.ts'
import { admit, type Guest, type Key, LOOPBACK } from './guard.ts'
import type { Metrics } from './metrics.ts'
import { readSetting, type Setting } from './plan.ts'
import { sendAnswer, sendFailure, sendMessage, sendOn, sendStream } from './respond.ts'
import type { Answer, Call, Fields, Headers, MessagesRequest, Origin } from './types.ts'
import { open } from './upstream/http.ts'
import { below, withoutSearchBetas } from './upstream/messages.ts'

export type ServeOptions = {
  readonly gateway: Gateway
  readonly setting: Setting
  readonly metrics: Metrics
  readonly port: number
  /** Loopback unless given. */
  readonly address?: string
  readonly keys?: readonly Key[]
  readonly hosts?: readonly string[]
  /** Whoever can reach it may use it, although it listens beyond loopback without a key. */
  readonly isOpen?: boolean
  /** Bytes that a body may have. */
  readonly mostBody?: number
  /** Milliseconds without an event after which a stream gets a ping. */
  readonly silence?: number
  /** Milliseconds within which a request must have come whole; its headers within a minute. */
  readonly patience?: number
  /** Told of each request when it is over. */
  readonly onDone?: (done: Done) => void
}

export type Done = {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
  readonly model: string | undefined
  readonly deed: Deed | undefined
}

export type Served = { readonly url: string; close(): Promise<void> }

const MOST_BODY = 32_000_000
const SILENCE = 15_000
const PATIENCE = 300_000
/** The status of a request whose client went away before it was answered. */
const UNANSWERED = 499

export async function serve(options: ServeOptions): Promise<Served> {
  const { gateway, setting, metrics, port, address = '127.0.0.1', keys = [], hosts = [] } = options
  const { mostBody = MOST_BODY, silence = SILENCE, isOpen = false, onDone = () => {} } = options
  const { patience = PATIENCE } = options
  if (!LOOPBACK.has(address) && keys.length === 0 && !isOpen)
    throw new Error(
      `listening on ${address} needs a key: set TOOLSHELF_KEY, listen on 127.0.0.1, or say --open if anyone may use it`,
    )
  const { upstream } = gateway

  async function answer(visit: Visit): Promise<void> {
    const { incoming, path } = visit
    if (!visit.address) throw refuse(400, 'invalid_request_error', 'this is no address')
    const guest =
      path === '/health' || path === '/api/hello' ? undefined : admit(incoming, { address, keys, hosts })
    const endpoint = endpoints[`${incoming.method} ${path}`]
    if (endpoint) return endpoint(visit, guest ?? NOBODY)
    if (guest && upstream.origin && path.startsWith('/v1/')) return passThrough(visit, guest, upstream.origin)
    throw refuse(404, 'not_found_error', `there is nothing at ${incoming.method} ${path}`)
  }

  const endpoints: { readonly [endpoint: string]: (visit: Visit, guest: Guest) => Promise<void> | void } = {
    'POST /v1/messages': messages,
    'POST /v1/messages/count_tokens': counting,
    'GET /v1/models': listing,
    'HEAD /api/hello': ({ outgoing }) => sendAnswer(outgoing, document('')),
    'GET /api/hello': ({ outgoing }) => sendAnswer(outgoing, document({ message: 'hello' })),
    'GET /health': ({ outgoing }) =>
      sendAnswer(outgoing, document({ status: 'ok', upstream: upstream.name })),
    'GET /metrics': ({ outgoing }) =>
      sendAnswer(outgoing, {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4' },
        body: metrics.text(),
      }),
  }

  async function messages(visit: Visit, guest: Guest): Promise<void> {
    const { outgoing } = visit
    if (settingFor(visit, guest).mode === 'pass') return passUnread(visit, guest)
    const { body, request, asked } = await read(visit, guest)
    if (!isMessages(request)) return passMistake(visit, guest, body)
    visit.model = request.model
    const { deed, sampled } = await gateway.reply(request, asked)
    visit.deed = deed
    if (!sampled) return forward(visit, originOf(), passedCall(request, asked), body)
    if ('refused' in sampled) return sendAnswer(outgoing, sampled.refused, ours(deed))
    const all = { 'request-id': newRequestId(), ...sampled.headers, ...ours(deed) }
    return request.stream === true
      ? sendStream(outgoing, sampled.events, all, silence)
      : sendMessage(outgoing, sampled.events, all)
  }

  async function counting(visit: Visit, guest: Guest): Promise<void> {
    if (settingFor(visit, guest).mode === 'pass') return passUnread(visit, guest)
    const { body, request, asked } = await read(visit, guest)
    if (!isMessages(request)) return passMistake(visit, guest, body)
    visit.model = request.model
    const { deed, answer } = await gateway.count(request, asked)
    visit.deed = deed
    if (answer) return sendAnswer(visit.outgoing, answer, ours(deed))
    return forward(visit, originOf(), passedCall(request, asked), body)
  }

  /** Betas of tool search stay here, unless the upstream knows it or is to be asked as it is. */
  function passedCall({ model }: MessagesRequest, { setting, call }: Asked): Call {
    const takesAll = setting.mode === 'pass' || upstream.wireFor(model).wire === 'native'
    return takesAll ? call : { ...call, headers: withoutSearchBetas(call.headers) }
  }

  async function listing(visit: Visit, guest: Guest): Promise<void> {
    if (upstream.origin) return passThrough(visit, guest, upstream.origin)
    sendAnswer(visit.outgoing, await upstream.models(callFor(visit, guest)))
  }

  async function read(visit: Visit, guest: Guest): Promise<{ body: Buffer; request: Fields; asked: Asked }> {
    const body = await readBody(visit.incoming, mostBody)
    const call = callFor(visit, guest)
    return {
      body,
      request: parseBody(body),
      asked: { setting: settingFor(visit, guest), call, owner: ownerOf(call) },
    }
  }

  /** The request's own word, its key's, or everyone's. */
  function settingFor({ incoming }: Visit, { key }: Guest): Setting {
    const given = incoming.headers['x-toolshelf-mode']
    if (given === undefined) return key?.setting ?? setting
    const asked = readSetting(String(given))
    if (!asked || (asked.mode === 'pass' && !upstream.origin))
      throw refuse(
        400,
        'invalid_request_error',
        `x-toolshelf-mode is "${String(given).slice(0, 40)}"; use auto, auto:N, emulate, shelve, off${upstream.origin ? ' or pass' : ''}`,
      )
    return asked
  }

  function originOf(): Origin {
    if (!upstream.origin) throw new Error('this upstream takes no requests as they are')
    return upstream.origin
  }

  /** What is no request at all is the upstream's to refuse, where it speaks the same language. */
  async function passMistake(visit: Visit, guest: Guest, body: Buffer): Promise<void> {
    if (upstream.origin) return forward(visit, upstream.origin, callFor(visit, guest), body)
    throw refuse(
      400,
      'invalid_request_error',
      'a request needs "model", a string, and "messages", a list of objects; "tools" is one, too',
    )
  }

  /** Asked to pass on whatever comes. For the record the body is read too, but when the answer has begun. */
  async function passUnread(visit: Visit, guest: Guest): Promise<void> {
    const body = await readBody(visit.incoming, mostBody)
    visit.deed = newDeed({ mode: 'pass', wire: undefined, why: 'asked for' }, {})
    visit.unread = body
    await forward(visit, originOf(), callFor(visit, guest), body)
  }

  async function passThrough(visit: Visit, guest: Guest, origin: Origin): Promise<void> {
    const hasBody = visit.incoming.method !== 'GET' && visit.incoming.method !== 'HEAD'
    const body = hasBody ? await readBody(visit.incoming, mostBody) : undefined
    return forward(visit, origin, callFor(visit, guest), body)
  }

  const limits = { requestTimeout: patience, headersTimeout: Math.min(patience, 60_000) }
  const often = { connectionsCheckingInterval: Math.min(patience, 30_000) }
  const server = createServer(
    { ...limits, ...often },
    (incoming, outgoing) => void visited(incoming, outgoing),
  )
  async function visited(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const started = performance.now()
    const address = addressOf(incoming)
    const path = address?.pathname ?? ''
    const gone = new AbortController()
    const visit: Visit = {
      incoming,
      outgoing,
      address,
      path,
      gone: gone.signal,
      model: undefined,
      deed: undefined,
      unread: undefined,
    }
    const over = metrics.begin()
    outgoing.once('close', () => {
      gone.abort(new Error('the client went away'))
      over()
      readLate(visit)
      const milliseconds = performance.now() - started
      const status = outgoing.headersSent ? outgoing.statusCode : UNANSWERED
      record(metrics, visit, status, milliseconds)
      onDone({
        method: incoming.method ?? '',
        path,
        status,
        milliseconds,
        model: visit.model,
        deed: visit.deed,
      })
    })
    try {
      await answer(visit)
    } catch (error) {
      if (!gone.signal.aborted) sendFailure(outgoing, error, visit.deed ? ours(visit.deed) : {})
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' ? new Error(`port ${port} is in use; choose another with --port`) : error,
      ),
    )
    server.listen(port, address, resolve)
  })
  const bound = server.address() as AddressInfo
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return {
    url: `http://${shown}:${bound.port}`,
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** One request on its way. */
type Visit = {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Undefined where the client names none. */
  readonly address: URL | undefined
  readonly path: string
  readonly gone: AbortSignal
  model: string | undefined
  deed: Deed | undefined
  /** What was passed on and is still to be read for the record. */
  unread: Buffer | undefined
}

const NOBODY: Guest = { headers: {}, key: undefined }

async function forward(
  visit: Visit,
  { url, credentials }: Origin,
  call: Call,
  body: Buffer | undefined,
): Promise<void> {
  const { incoming, outgoing, address, path, deed } = visit
  const answer = await open(below(url, path + (address?.search ?? '')), {
    method: incoming.method ?? 'GET',
    headers: credentials(call.headers),
    ...(body === undefined ? {} : { body }),
    signal: call.signal,
  })
  const sent = sendOn(outgoing, answer, deed ? ours(deed) : {})
  if (visit.unread) setImmediate(() => readLate(visit))
  await sent
}

/** The model and the number of tools of what was passed on, if it says so. */
function readLate(visit: Visit): void {
  const { unread, deed } = visit
  if (!unread || !deed) return
  visit.unread = undefined
  try {
    const { model, tools } = parseBody(unread)
    if (typeof model === 'string') visit.model = model
    if (Array.isArray(tools)) deed.toolsGiven = deed.toolsVisible = tools.length
  } catch {
    // The upstream has told the client what it thinks of it.
  }
}

function callFor({ gone }: Visit, { headers }: Guest): Call {
  return { headers, signal: gone }
}

function isMessages(request: Fields): request is MessagesRequest {
  const { model, messages, tools } = request
  return typeof model === 'string' && areFields(messages) && (tools === undefined || areFields(tools))
}

function areFields(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
}

function addressOf({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.canParse(url, 'http://gateway') ? new URL(url, 'http://gateway') : undefined
}

/** Conversations of different clients are kept apart, whatever they say. */
function ownerOf({ headers }: Call): string {
  return createHash('sha256').update(`${headers['x-api-key']}\n${headers.authorization}`).digest('base64')
}

/** What was done, for whoever looks at the answer's headers. */
function ours({ mode, wire, why, toolsGiven, toolsVisible }: Deed): Headers {
  return {
    'x-toolshelf-mode': mode,
    'x-toolshelf-why': cut(why.replace(/[^\x20-\x7e]/g, '?'), 300).replace('…', '...'),
    ...(wire ? { 'x-toolshelf-wire': wire, 'x-toolshelf-tools': `${toolsVisible}/${toolsGiven}` } : {}),
  }
}

function record(metrics: Metrics, { path, deed }: Visit, status: number, milliseconds: number): void {
  const mode = deed?.mode ?? 'none'
  const endpoint = ['/v1/messages', '/v1/messages/count_tokens', '/v1/models'].includes(path) ? path : 'other'
  metrics.add('toolshelf_requests_total', { endpoint, mode, status: String(status) })
  metrics.add('toolshelf_request_seconds_total', { endpoint, mode }, milliseconds / 1000)
  if (!deed) return
  metrics.add('toolshelf_searches_total', { mode }, deed.searches)
  metrics.add('toolshelf_rounds_total', { mode }, deed.rounds)
  metrics.add('toolshelf_tools_offered_total', { mode }, deed.toolsGiven)
  metrics.add('toolshelf_tools_visible_total', { mode }, deed.toolsVisible)
  metrics.add('toolshelf_tokens_saved_total', { mode }, deed.tokensSaved)
}

function document(value: unknown): Answer {
  const body = value === '' ? '' : JSON.stringify(value)
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
