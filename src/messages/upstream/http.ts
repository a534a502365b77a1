// Requests to upstreams: kept-alive connections, no redirect followed, the answer as it comes.
import { type IncomingMessage, Agent as PlainAgent, request as plain, type RequestOptions } from 'node:http'
import { Agent as SecureAgent, request as secure } from 'node:https'
import type { Writable } from 'node:stream'
import type { Headers, HttpAnswer } from '../types.ts'

export type Outgoing = {
  readonly method: string
  readonly headers: Headers
  /** Parts are sent one behind the other. */
  readonly body?: string | Uint8Array | readonly Uint8Array[] | Flow
  readonly signal: AbortSignal
}

/** A body that is still coming: it goes on part by part, and is whole in the end. */
export type Flow = {
  /** In bytes, where it is known beforehand. */
  readonly size: number | undefined
  readonly into: (target: Writable) => void
  /** All of it, in the parts in which it came. */
  readonly whole: Promise<readonly Buffer[]>
  /** Forgets what has come: it will not be sent again. */
  readonly drop: () => void
}

/** The upstream could not be reached, or its answer could not be read. */
export class UpstreamError extends Error {}

const agents = {
  'http:': new PlainAgent({ keepAlive: true, maxSockets: 4096 }),
  'https:': new SecureAgent({ keepAlive: true, maxSockets: 4096 }),
}

/** The head of the answer; its body is still to be read. */
export function open(url: URL, request: Outgoing): Promise<IncomingMessage> {
  const { method, headers, body, signal } = request
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...lengthOf(body) },
    agent: agents[url.protocol as keyof typeof agents],
    signal,
  }
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const outgoing = (url.protocol === 'https:' ? secure : plain)(url, options, (incoming) => {
      isAnswered = true
      resolve(incoming)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (isAnswered || signal.aborted) reject(error)
      else if (outgoing.reusedSocket && CLOSED.has(error.code ?? '')) resolve(openAgain(url, request))
      else reject(unreachable(url, error))
    })
    outgoing.once('close', () => {
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
  return open(url, isFlow(body) ? { ...request, body: await body.whole } : request)
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

/** A kept connection that the upstream had closed meanwhile; another one is tried. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE'])

/** The whole answer. */
export async function fetchWhole(url: URL, outgoing: Outgoing): Promise<HttpAnswer> {
  return readWhole(await open(url, outgoing))
}

export async function readWhole(incoming: IncomingMessage): Promise<HttpAnswer> {
  return {
    status: incoming.statusCode ?? 502,
    headers: { ...relayed(incoming), 'content-type': incoming.headers['content-type'] ?? 'application/json' },
    body: await textOf(incoming),
  }
}

/** Bytes that an answer may have which is read whole: one without an end must not fill the memory. */
const LONGEST_ANSWER = 64_000_000

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > LONGEST_ANSWER) throw new UpstreamError('the answer of the upstream is too long.')
      chunks.push(chunk)
    }
  } catch (error) {
    throw brokenOff(error)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** A connection that fails in the middle of an answer, told as such. */
export function brokenOff(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return new UpstreamError(`the answer of the upstream broke off (${code ?? message}). Try again.`, {
    cause: error,
  })
}

/** Headers that belong to one connection. */
const OF_CONNECTION = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

/** Headers that belong to bytes which are written anew, or to the upstream's own name. */
const OF_BODY = new Set(['content-length', 'content-encoding', 'content-type', 'date', 'set-cookie'])

/** An answer's headers for a client that gets the very bytes. */
export function passedOn({ headers }: IncomingMessage): Headers {
  const isOfConnection = ofConnection(headers)
  return pick(headers, (name) => !isOfConnection(name))
}

/** What of an answer's headers is the client's business when its body is another. */
export function relayed({ headers }: IncomingMessage): Headers {
  const isOfConnection = ofConnection(headers)
  return pick(headers, (name) => !isOfConnection(name) && !OF_BODY.has(name))
}

/** Whether a header belongs to one connection: always, or because `Connection` names it. */
export function ofConnection({ connection = '' }: IncomingMessage['headers']): (name: string) => boolean {
  const named = new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
  return (name) => OF_CONNECTION.has(name) || named.has(name)
}

function pick(headers: IncomingMessage['headers'], isPicked: (name: string) => boolean): Headers {
  const picked = Object.entries(headers).filter(([name]) => isPicked(name))
  return Object.fromEntries(picked.map(([name, value]) => [name, String(value)]))
}

function unreachable(url: URL, error: NodeJS.ErrnoException): UpstreamError {
  const why = error.code ?? error.message
  return new UpstreamError(
    `the upstream ${url.origin} cannot be reached (${why}). Is it running, and is --upstream right?`,
    { cause: error },
  )
}
