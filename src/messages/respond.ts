// Answers as they are written to a client: whole, as a stream with pings, or the upstream's own bytes.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fieldsOf, isFields } from '../core/oracle/json.ts'
import { createCollector } from '../reply.ts'
import { errorAnswer, Refusal } from './errors.ts'
import { RefusedMidway } from './rounds.ts'
import { written } from './stream/sse.ts'
import type { Answer, Headers, StreamEvent } from './types.ts'
import { passedOn, UpstreamError } from './upstream/http.ts'

export function sendAnswer(
  outgoing: ServerResponse,
  { status, headers, body }: Answer,
  ours: Headers = {},
): void {
  if (outgoing.destroyed) return
  outgoing.writeHead(status, { ...headers, ...ours, 'content-length': String(Buffer.byteLength(body)) })
  const { req: incoming } = outgoing
  if (incoming.complete) {
    outgoing.end(body)
    return
  }
  // A connection that is closed before all was read takes the answer with it.
  outgoing.write(body)
  incoming.once('end', () => outgoing.end()).resume()
}

/** The upstream's bytes as they come; one that breaks off breaks the client's connection off, too. */
export function sendOn(outgoing: ServerResponse, incoming: IncomingMessage, ours: Headers): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once('close', resolve)
    if (outgoing.destroyed) return resolve()
    outgoing.writeHead(incoming.statusCode ?? 502, { ...passedOn(incoming), ...ours })
    // Bytes that come with the head go out with it; a model that thinks first shows at least the head.
    const head = setImmediate(() => outgoing.flushHeaders())
    for (const begun of ['data', 'end', 'close']) incoming.once(begun, () => clearImmediate(head))
    incoming.once('error', () => outgoing.destroy())
    incoming.once('aborted', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
}

/** The whole reply as one message. */
export async function sendMessage(
  outgoing: ServerResponse,
  events: AsyncIterable<StreamEvent>,
  headers: Headers,
): Promise<void> {
  const collector = createCollector()
  for await (const event of events) {
    if (event.type === 'error') {
      const body = JSON.stringify(event)
      return sendAnswer(
        outgoing,
        { status: statusOf(event), headers: { 'content-type': 'application/json' }, body },
        headers,
      )
    }
    collector.add(event)
  }
  const body = JSON.stringify(collector.message())
  sendAnswer(outgoing, { status: 200, headers: { 'content-type': 'application/json' }, body }, headers)
}

/** The reply as it comes, with a ping where nothing comes for long. */
export async function sendStream(
  outgoing: ServerResponse,
  events: AsyncIterable<StreamEvent>,
  headers: Headers,
  silence: number,
): Promise<void> {
  let isSilent = false
  const begin = () => {
    if (!outgoing.headersSent) outgoing.writeHead(200, { ...headers, ...STREAM })
  }
  const pinger = setInterval(() => {
    if (isSilent && !outgoing.writableNeedDrain) {
      begin()
      outgoing.write(written({ type: 'ping' }))
    }
    isSilent = true
  }, silence)
  try {
    for await (const event of events) {
      begin()
      isSilent = false
      if (!outgoing.write(written(event))) await drained(outgoing)
      if (outgoing.destroyed) return
    }
  } finally {
    clearInterval(pinger)
  }
  begin()
  outgoing.end()
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** What went wrong, as an answer, or as the last event of a stream that has begun. */
export function sendFailure(outgoing: ServerResponse, error: unknown, ours: Headers = {}): Answer {
  const answer = answerFor(error)
  if (!outgoing.headersSent) sendAnswer(outgoing, answer, ours)
  else if (!outgoing.writableEnded) outgoing.end(written(asEvent(answer)))
  return answer
}

function answerFor(error: unknown): Answer {
  if (error instanceof Refusal || error instanceof RefusedMidway) return error.answer
  if (error instanceof UpstreamError) return errorAnswer(502, 'api_error', error.message)
  const isOurs = error instanceof Error && !('code' in error)
  const what = isOurs ? error.message : String((error as { code?: unknown })?.code ?? error)
  return errorAnswer(isOurs ? 500 : 502, 'api_error', `the gateway could not answer: ${what}`)
}

function asEvent({ body }: Answer): StreamEvent {
  try {
    const value: unknown = JSON.parse(body)
    if (isFields(value) && value.type === 'error') return value as StreamEvent
  } catch {
    // An upstream may refuse in any words; they are passed on as such.
  }
  return { type: 'error', error: { type: 'api_error', message: body.slice(0, 2000) } }
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

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (outgoing.destroyed) return resolve()
    const done = () => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.once('drain', done)
    outgoing.once('close', done)
  })
}
