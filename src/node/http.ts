// What every server of this project needs: where it listens, who has the key, Node's requests as web-standard ones.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

export const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/** Listens; the address that clients use. A port that is taken is told as such. */
export async function listen(server: Server, port: number, address: string): Promise<string> {
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
  return `http://${shown}:${bound.port}`
}

/** Ends all connections. */
export async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

/** In constant time, whatever their lengths. */
export function isSecret(given: string | null | undefined, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given ?? ''), digest(secret)) && typeof given === 'string'
}

/** The address of a client; of IPv6 its /64 network, because one host usually has all addresses of that. */
export function networkOf({ socket }: IncomingMessage): string {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '')
  if (!address.includes(':') || LOOPBACK.has(address)) return address
  const [start = '', end] = address.split('::')
  const groups = [...start.split(':'), ...(end === undefined ? [] : ['0', '0', '0', '0'])]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Milliseconds that a client may take to read what was sent before its connection ends. */
const STALLED_MS = 60_000

/** Answers by a web-standard handler; a client that goes away aborts the request's signal. */
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
    outgoing.end('this is no address\n')
    return
  }
  try {
    const response = await handle(toRequest(incoming, address, gone.signal))
    // What was not read of the body would be taken for the next request.
    if (!incoming.complete) outgoing.setHeader('connection', 'close')
    await write(response, outgoing, stalledMs)
  } catch (error) {
    if (gone.signal.aborted) return
    if (!outgoing.headersSent) outgoing.writeHead(500, { 'content-type': 'text/plain' })
    outgoing.end(outgoing.headersSent ? undefined : `${(error as Error).message}\n`)
  }
}

/** A wrong host is for the handler to refuse. */
function addressOf({ url = '/', headers }: IncomingMessage): URL | undefined {
  const base = `http://${headers.host ?? 'localhost'}`
  const known = URL.canParse(base) ? base : 'http://localhost'
  return URL.canParse(url, known) ? new URL(url, known) : undefined
}

function toRequest(incoming: IncomingMessage, address: URL, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const method = incoming.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
  } as RequestInit)
}

async function write(response: Response, outgoing: ServerResponse, stalledMs: number): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  outgoing.once('close', () => void reader.cancel().catch(() => {}))
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!outgoing.write(next.value)) await waitForDrain(outgoing, stalledMs)
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
