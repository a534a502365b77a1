// Helpers for HTTP servers: listening, comparing keys, and running web-standard handlers on Node's requests.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { Server as SecureServer, TLSSocket } from 'node:tls'
import { wellFormedJson } from '@toolshelf/core/internal'
import { OptionError } from '@toolshelf/core/internal/node'

/** Names and addresses of this machine itself. */
export const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/** The path under which a gateway serves the inspector. */
export const INSPECTOR_PATH = '/inspect/'

/** Handles requests below `INSPECTOR_PATH`; checks their hosts, origins and keys itself. */
export type InspectorHandler = (request: Request) => Promise<Response>

/** Returns whether a request's target is the inspector or something below it. */
export function isForInspector(target: string): boolean {
  return target.startsWith(INSPECTOR_PATH) || /^\/inspect(?:\?|$)/.test(target)
}

/** Starts listening and returns the server's URL. Rejects with a clear message if the port is in use. */
export async function listen(server: Server, port: number, address: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new OptionError('port', `port ${port} is in use`, 'set the option "port" to another')
          : error,
      ),
    )
    server.listen(port, address, resolve)
  })
  const bound = server.address() as AddressInfo
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return `${server instanceof SecureServer ? 'https' : 'http'}://${shown}:${bound.port}`
}

export async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

/** Milliseconds between two checks for connections that have become idle. */
const IDLE_CHECK_MS = 20

/**
 * Stops accepting connections and finishes the requests that have arrived; closes what is left after the timeout. A client
 * that cannot connect knows that its request was not processed; one whose connection breaks does not.
 */
export async function closeGently(server: Server, timeoutMs: number): Promise<void> {
  const cutOff = setTimeout(() => server.closeAllConnections(), timeoutMs)
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  clearTimeout(cutOff)
  clearInterval(idle)
}

/** Returns a client's address; for IPv6 its /64 network, because one host usually owns the whole /64. */
export function networkOf({ socket }: IncomingMessage): string {
  return networkOfAddress(socket.remoteAddress ?? '')
}

/** Returns an address; for IPv6 its /64 network. */
export function networkOfAddress(written: string): string {
  const address = written.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!address.includes(':') || LOOPBACK.has(address)) return address
  const [start = '', end] = address.split('::')
  const groups = [...start.split(':'), ...(end === undefined ? [] : ['0', '0', '0', '0'])]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Milliseconds without reading after which a client's connection is closed. */
const STALLED_MS = 60_000

/** Handles a Node request with a web-standard handler; aborts the request's signal if the client disconnects. */
export async function answerNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handle: (request: Request) => Promise<Response>,
  { stalledMs = STALLED_MS }: { readonly stalledMs?: number | undefined } = {},
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort(new Error('the client went away')))
  const address = addressOf(incoming)
  if (!address) {
    outgoing.writeHead(400, { 'content-type': 'text/plain', connection: 'close' })
    outgoing.end('the request target is not a valid URL\n')
    return
  }
  try {
    const response = await handle(toRequest(incoming, address, gone.signal))
    // Unread body bytes would be parsed as the next request.
    if (!incoming.complete) outgoing.setHeader('connection', 'close')
    await write(response, outgoing, stalledMs)
  } catch {
    if (gone.signal.aborted) return
    // A body that was cut off must not look complete. The reason may contain secrets, so the client does not get it.
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(500, { 'content-type': 'text/plain' }).end('the server failed to answer\n')
  }
}

/** Returns the request's URL; an invalid host becomes localhost, which the handler then refuses. */
function addressOf({ url = '/', headers, socket }: IncomingMessage): URL | undefined {
  const base = `${socket instanceof TLSSocket ? 'https' : 'http'}://${headers.host ?? 'localhost'}`
  const known = URL.canParse(base) ? base : 'http://localhost'
  if (!URL.canParse(url, known)) return undefined
  const address = new URL(url, known)
  // A `Host` header may contain some, but the URL of a request must not; the handler still sees the header.
  address.username = ''
  address.password = ''
  return address
}

/**
 * Returns the value of `Authorization`. Node keeps only the first of several headers; this joins them, so that none is
 * accepted, because a proxy may have checked another one.
 */
export function authorizationOf({ rawHeaders, headers }: IncomingMessage): string | undefined {
  let joined: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length !== AUTHORIZATION.length || name.toLowerCase() !== AUTHORIZATION) continue
    if (joined !== undefined) joined = `${joined}, ${rawHeaders[index + 1]}`
    else joined = headers.authorization
  }
  return joined
}

const AUTHORIZATION = 'authorization'

function toRequest(incoming: IncomingMessage, address: URL, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const authorization = authorizationOf(incoming)
  if (authorization !== undefined) headers.set('authorization', authorization)
  const method = incoming.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
  } as RequestInit)
}

function wellFormedBytes(json: Uint8Array): Uint8Array | string {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  return bytes.includes('\\ud') ? wellFormedJson(bytes.toString()) : json
}

async function write(response: Response, outgoing: ServerResponse, stalledMs: number): Promise<void> {
  const headers = Object.fromEntries(response.headers)
  // Event streams ask for keep-alive, but `answerNode` may have set `connection: close`, which wins.
  if (outgoing.hasHeader('connection')) delete headers.connection
  outgoing.writeHead(response.status, headers)
  if (!response.body) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  const isJson = /json|event-stream/.test(response.headers.get('content-type') ?? '')
  outgoing.once('close', () => void reader.cancel().catch(() => {}))
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    // A chunk is a whole event or body: nothing is cut inside an escape.
    const chunk = isJson ? wellFormedBytes(next.value) : next.value
    if (!outgoing.write(chunk)) await waitForDrain(outgoing, stalledMs)
  }
  outgoing.end()
}

/**
 * Resolves when the response can take more data or its connection has closed. With `stalledMs`, destroys the connection
 * if the client reads nothing for that long.
 */
export function waitForDrain(outgoing: ServerResponse, stalledMs?: number): Promise<void> {
  return new Promise((resolve) => {
    if (outgoing.destroyed) return resolve()
    const giveUp = stalledMs === undefined ? undefined : setTimeout(() => outgoing.destroy(), stalledMs)
    const settle = () => {
      clearTimeout(giveUp)
      outgoing.off('drain', settle).off('close', settle)
      resolve()
    }
    outgoing.once('drain', settle).once('close', settle)
  })
}
