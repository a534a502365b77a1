// The HTTP client for upstreams: keeps connections alive, uses proxies, follows no redirects, streams responses.
import { type IncomingMessage, request as plain, type RequestOptions } from 'node:http'
import { request as secure } from 'node:https'
import type { Writable } from 'node:stream'
import { agentFor, nameProxy } from '@toolshelf/core/internal/node'
import type { Headers, HttpAnswer } from '../types.ts'

/** A request to an upstream. */
type Outgoing = {
  readonly method: string
  readonly headers: Headers
  /** Several parts are sent in sequence. */
  readonly body?: string | Uint8Array | readonly Uint8Array[] | Flow
  readonly signal: AbortSignal
  /** Called when the whole body has been sent and is not needed for a retry; not called if the response came earlier. */
  readonly onSent?: () => void
}

/** A body that is still arriving: it is forwarded in parts and buffered for a retry. */
export type Flow = {
  /** Size in bytes, if known in advance. */
  readonly size: number | undefined
  readonly into: (target: Writable) => void
  /** All chunks, once the body is complete. */
  readonly whole: Promise<readonly Buffer[]>
  /** Discards the buffer, because no retry will follow. */
  readonly drop: () => void
}

/** Thrown if the upstream could not be reached, or its response could not be read. */
export class UpstreamError extends Error {
  readonly code = 'UPSTREAM'
}

/** Sends a request and resolves with the response once its headers have arrived. */
export function openRequest(url: URL, request: Outgoing): Promise<IncomingMessage> {
  const { method, headers, body, signal } = request
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...lengthOf(body) },
    agent: agentFor(url.protocol),
  }
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const outgoing = (url.protocol === 'https:' ? secure : plain)(url, options, (incoming) => {
      isAnswered = true
      if (outgoing.writableFinished) request.onSent?.()
      resolve(incoming)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (isAnswered || signal.aborted) reject(error)
      else if (outgoing.reusedSocket && CLOSED.has(error.code ?? '')) resolve(openAgain(url, request))
      else reject(unreachable(url, error))
    })
    // By hand: Node's option `signal` watches the request with many more listeners.
    const abort = () => outgoing.destroy(signal.reason)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    outgoing.once('close', () => {
      signal.removeEventListener('abort', abort)
      if (!isAnswered) reject(unreachable(url, new Error('it changed the protocol')))
    })
    if (isFlow(body)) body.into(outgoing)
    else if (isParts(body)) {
      for (const part of body) outgoing.write(part)
      outgoing.end()
    } else outgoing.end(body)
  })
}

async function openAgain(url: URL, request: Outgoing): Promise<IncomingMessage> {
  const { body } = request
  return openRequest(url, isFlow(body) ? { ...request, body: await body.whole } : request)
}

function isFlow(body: Outgoing['body']): body is Flow {
  return typeof body === 'object' && 'into' in body
}

function isParts(body: Outgoing['body']): body is readonly Uint8Array[] {
  return Array.isArray(body)
}

function lengthOf(body: Outgoing['body']): Headers {
  const size = sizeOf(body)
  return size === undefined ? {} : { 'content-length': String(size) }
}

function sizeOf(body: Outgoing['body']): number | undefined {
  if (body === undefined) return undefined
  if (isFlow(body)) return body.size
  return isParts(body) ? body.reduce((sum, part) => sum + part.length, 0) : Buffer.byteLength(body)
}

/** Errors of a kept-alive connection that the upstream had closed; the request is retried on another one. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE'])

/** Sends a request and reads the whole response. */
export async function fetchWhole(url: URL, outgoing: Outgoing): Promise<HttpAnswer> {
  return readWhole(await openRequest(url, outgoing))
}

export async function readWhole(
  incoming: IncomingMessage,
  maxBytes = MAX_ANSWER_LENGTH,
): Promise<HttpAnswer> {
  return {
    status: incoming.statusCode ?? 502,
    headers: {
      ...pickRelayHeaders(incoming),
      'content-type': incoming.headers['content-type'] ?? 'application/json',
    },
    body: await readBody(incoming, maxBytes),
  }
}

/** Maximum size of a response that is read whole, and of one event, so that an endless one cannot fill the memory. */
export const MAX_ANSWER_LENGTH = 64_000_000

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw new UpstreamError("the upstream's answer is too long.")
      chunks.push(chunk)
    }
  } catch (error) {
    throw brokenOff(error)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** Makes the error for a connection that failed in the middle of a response. */
export function brokenOff(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return new UpstreamError(`the upstream's answer broke off (${code ?? message}). Try again.`, {
    cause: error,
  })
}

const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

/** Headers that do not apply to a rewritten body or to another host. */
const OF_BODY = new Set(['content-length', 'content-encoding', 'content-type', 'date', 'set-cookie'])

/** Returns the response headers for a client that receives the body unchanged. */
export function pickEndToEndHeaders({ headers }: IncomingMessage): Headers {
  const isHopByHop = createHopByHopTest(headers)
  return pick(headers, (name) => !isHopByHop(name))
}

/** Returns the response headers for a client that receives a rewritten body. */
export function pickRelayHeaders({ headers }: IncomingMessage): Headers {
  const isHopByHop = createHopByHopTest(headers)
  return pick(headers, (name) => !isHopByHop(name) && !OF_BODY.has(name))
}

/** Returns a test for headers that are hop-by-hop, by definition or because `Connection` names them. */
export function createHopByHopTest({
  connection = '',
}: IncomingMessage['headers']): (name: string) => boolean {
  if (connection === '' || connection === 'keep-alive') return isAlwaysHopByHop
  const named = new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
  return (name) => HOP_BY_HOP.has(name) || named.has(name)
}

function isAlwaysHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name)
}

function pick(headers: IncomingMessage['headers'], isPicked: (name: string) => boolean): Headers {
  const picked: { [name: string]: string } = {}
  for (const name of Object.keys(headers)) if (isPicked(name)) picked[name] = String(headers[name])
  return picked
}

function unreachable(url: URL, error: NodeJS.ErrnoException): UpstreamError {
  const named = nameProxy(url, error)
  const why = named === error ? (error.code ?? error.message) : (named as Error).message
  return new UpstreamError(
    `the upstream ${url.origin} cannot be reached (${why}). Check that it is running and that its URL is right.`,
    { cause: error },
  )
}

/** Appends a path to a base URL, with or without a trailing slash. */
export function appendPath(base: URL, path: string): URL {
  const address = new URL(base)
  const [pathname = '', search = ''] = path.split(/(?=\?)/)
  address.pathname = base.pathname.replace(/\/+$/, '') + pathname
  address.search = search
  return address
}
