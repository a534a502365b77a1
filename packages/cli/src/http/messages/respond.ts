// Writes responses to a client: a complete body, the upstream's bytes as they arrive, or a reply as server-sent events, whose
// headers go early when the upstream is slow, and pings while no event arrives, because clients drop silent connections.
// Implements wire 35, 38.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { fieldsOf, hasCode, wellFormedJson } from '@toolshelf/core/internal'
import {
  errorAnswer,
  type Headers,
  type HttpAnswer,
  type InboundApi,
  maskHeaders,
  maskingStream,
  pickEndToEndHeaders,
  type RefusedMidway,
  type RefusedRequest,
  type ReplyWriter,
  type StreamEvent,
  UpstreamError,
} from '@toolshelf/messages/internal'
import { waitForDrain } from '@toolshelf/server/internal'
import type { RequestContext } from './request-context.ts'
import type { MessagesHttpOptions } from './server.ts'

export function sendAnswer(
  outgoing: ServerResponse,
  { status, headers, body: json }: HttpAnswer,
  extraHeaders: Headers = {},
): void {
  if (outgoing.destroyed) return
  const body = wellFormedJson(json)
  outgoing.writeHead(status, {
    ...headers,
    ...extraHeaders,
    'content-length': String(Buffer.byteLength(body)),
  })
  const { req: incoming } = outgoing
  if (incoming.complete) {
    outgoing.end(body)
    return
  }
  // Closing the connection before the request is fully read would lose the response.
  outgoing.write(body)
  incoming.once('end', () => outgoing.end()).resume()
}

/** Forwards the upstream's bytes with secrets masked. If the upstream breaks off, so does the client's connection. */
export function sendOn(
  outgoing: ServerResponse,
  incoming: IncomingMessage,
  extraHeaders: Headers,
  secrets: readonly string[] = [],
): Promise<void> {
  const { headers, body } = secrets.length === 0 ? asItIs(incoming) : withMask(incoming, secrets)
  return new Promise((resolve) => {
    outgoing.once('close', resolve)
    if (outgoing.destroyed) return resolve()
    outgoing.writeHead(incoming.statusCode ?? 502, { ...headers, ...extraHeaders })
    // Sends headers together with the first bytes, or alone if no bytes follow at once.
    const head = setImmediate(() => outgoing.flushHeaders())
    for (const begun of ['data', 'end', 'close']) incoming.once(begun, () => clearImmediate(head))
    for (const broken of ['error', 'aborted']) incoming.once(broken, () => outgoing.destroy())
    if (body !== incoming) body.once('error', () => outgoing.destroy())
    body.pipe(outgoing)
  })
}

type Passed = { readonly headers: Headers; readonly body: Readable }

function asItIs(incoming: IncomingMessage): Passed {
  return { headers: pickEndToEndHeaders(incoming), body: incoming }
}

const DECODERS: { readonly [encoding: string]: () => Transform } = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Decompresses bodies that are compressed despite `accept-encoding: identity`, to find secrets in them. */
function withMask(incoming: IncomingMessage, secrets: readonly string[]): Passed {
  const headers = maskHeaders(pickEndToEndHeaders(incoming), secrets)
  const { 'content-encoding': encoding = 'identity', 'content-length': _, ...rest } = headers
  if (encoding === 'identity') return { headers, body: incoming.pipe(maskingStream(secrets)) }
  const decoder = DECODERS[encoding]?.()
  if (!decoder) throw new UpstreamError('the upstream answered in an unsupported content-encoding.')
  decoder.once('error', () => incoming.destroy())
  return { headers: rest, body: incoming.pipe(decoder).pipe(maskingStream(secrets)) }
}

type MessageOptions = {
  readonly writer: ReplyWriter
  readonly api: InboundApi
  /** Called if the upstream reports an error inside its reply. */
  readonly onError: (event: StreamEvent) => void
}

/** Sends the whole reply as one message, or the error among its events; calls `headers` after the reply has ended. */
export async function sendMessage(
  outgoing: ServerResponse,
  events: AsyncIterable<StreamEvent>,
  headers: () => Headers,
  { writer, api, onError }: MessageOptions,
): Promise<void> {
  for await (const event of events) {
    if (event.type === 'error') {
      onError(event)
      const answer = { status: statusOf(event), headers: JSON_TYPE, body: JSON.stringify(event) }
      return sendAnswer(outgoing, api.error(answer), headers())
    }
    writer.add(event)
  }
  sendAnswer(outgoing, { status: 200, headers: JSON_TYPE, body: writer.document() }, headers())
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends an error as a response, or as the last event of a stream that has begun. */
export function sendFailure(
  outgoing: ServerResponse,
  error: unknown,
  { api, writer }: Pick<RequestContext, 'api' | 'writer'>,
  extraHeaders: Headers = {},
): HttpAnswer {
  const answer = answerFor(error)
  if (!outgoing.headersSent) sendAnswer(outgoing, api.error(answer), extraHeaders)
  else if (!outgoing.writableEnded) outgoing.end(wellFormedJson(writer?.failure(answer) ?? ''))
  return answer
}

function answerFor(error: unknown): HttpAnswer {
  if (hasCode<RefusedRequest | RefusedMidway>(error, 'REFUSED')) return error.answer
  if (hasCode<UpstreamError>(error, 'UPSTREAM')) return errorAnswer(502, 'api_error', error.message)
  const isOurs = error instanceof Error && (!('code' in error) || hasCode(error, 'STORE'))
  const what = isOurs ? error.message : String((error as { code?: unknown })?.code ?? error)
  return errorAnswer(isOurs ? 500 : 502, 'api_error', `the gateway could not answer: ${what}`)
}

const STATUS: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['overloaded_error', 529],
])

function statusOf(event: StreamEvent): number {
  return STATUS.get(fieldsOf(event.error).type) ?? 502
}

type EventStreamOptions = Required<Pick<MessagesHttpOptions, 'headWaitMs' | 'silenceMs'>> & {
  /** Headers to use when they are sent early. */
  readonly headers: () => Headers
  readonly writer: ReplyWriter
}

export type EventStream = ReturnType<typeof openEventStream>

export function openEventStream(outgoing: ServerResponse, options: EventStreamOptions) {
  const { headWaitMs, silenceMs, writer } = options
  let headers = options.headers
  let isSilent = false
  const begin = () => {
    if (!outgoing.headersSent) outgoing.writeHead(200, { ...headers(), ...STREAM })
  }
  const ping = () => {
    if (outgoing.destroyed || outgoing.writableEnded || outgoing.writableNeedDrain) return
    begin()
    outgoing.write(writer.ping)
  }
  const waiting = setTimeout(ping, headWaitMs)
  const pinger = setInterval(() => {
    if (isSilent) ping()
    isSilent = true
  }, silenceMs)
  const close = () => {
    clearTimeout(waiting)
    clearInterval(pinger)
  }
  return {
    /** Stops the pings and leaves the response open. */
    close,
    /** Writes the whole reply; `headers` apply unless they were already sent. `onError` gets an error among the events. */
    async send(events: AsyncIterable<StreamEvent>, given: Headers, onError: (event: StreamEvent) => void) {
      headers = () => given
      for await (const event of events) {
        clearTimeout(waiting)
        begin()
        isSilent = false
        if (event.type === 'error') onError(event)
        const text = wellFormedJson(writer.add(event))
        if (text !== '' && !outgoing.write(text)) await waitForDrain(outgoing)
        if (outgoing.destroyed) return
      }
      begin()
      outgoing.end()
    },
  }
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
