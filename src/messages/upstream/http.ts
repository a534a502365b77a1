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
    headers: relayed(incoming),
    body: await text(incoming),
  }
}

/** Headers that belong to one connection, or to a body that is written anew. */
const NOT_RELAYED = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'content-length', 'content-encoding', 'set-cookie'],
])

/** What of an answer's headers is the client's business. */
export function relayed({ headers }: IncomingMessage): Headers {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !NOT_RELAYED.has(name))
      .map(([name, value]) => [name, String(value)]),
  )
}

function unreachable(url: URL, error: NodeJS.ErrnoException): UpstreamError {
  const why = error.code ?? error.message
  return new UpstreamError(
    `the upstream ${url.origin} cannot be reached (${why}). Is it running, and is --upstream right?`,
    { cause: error },
  )
}
