// Requests to upstreams: kept-alive connections, no redirect followed, the answer as it comes.
import { type IncomingMessage, Agent as PlainAgent, request as plain, type RequestOptions } from 'node:http'
import { Agent as SecureAgent, request as secure } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Answer, Headers } from '../types.ts'

export type Outgoing = {
  readonly method: string
  readonly headers: Headers
  readonly body?: string | Uint8Array
  readonly signal: AbortSignal
}

/** The upstream could not be reached, or its answer could not be read. */
export class UpstreamError extends Error {}

const agents = {
  'http:': new PlainAgent({ keepAlive: true, maxSockets: 4096 }),
  'https:': new SecureAgent({ keepAlive: true, maxSockets: 4096 }),
}

/** The head of the answer; its body is still to be read. */
export function open(url: URL, { method, headers, body, signal }: Outgoing): Promise<IncomingMessage> {
  const options: RequestOptions = {
    method,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    agent: agents[url.protocol as keyof typeof agents],
    signal,
  }
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? secure : plain)(url, options, resolve)
    outgoing.once('error', (error) => reject(signal.aborted ? error : unreachable(url, error)))
    outgoing.end(body)
  })
}

/** The whole answer. */
export async function ask(url: URL, outgoing: Outgoing): Promise<Answer> {
  return readWhole(await open(url, outgoing))
}

export async function readWhole(incoming: IncomingMessage): Promise<Answer> {
  return {
    status: incoming.statusCode ?? 502,
    headers: { ...relayed(incoming), 'content-type': incoming.headers['content-type'] ?? 'application/json' },
    body: await text(incoming),
  }
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
  return pick(headers, (name) => !OF_CONNECTION.has(name))
}

/** What of an answer's headers is the client's business when its body is another. */
export function relayed({ headers }: IncomingMessage): Headers {
  return pick(headers, (name) => !OF_CONNECTION.has(name) && !OF_BODY.has(name))
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
