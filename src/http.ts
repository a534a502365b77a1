// Node's requests as web-standard ones, and web-standard answers as Node's. For every server of this project.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** Answers by a web-standard handler; a client that goes away aborts the request's signal. */
export async function answerNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handle: (request: Request) => Promise<Response>,
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
    await write(response, outgoing)
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

async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  outgoing.once('close', () => void reader.cancel().catch(() => {}))
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!outgoing.write(next.value)) await drained(outgoing)
  }
  outgoing.end()
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once('drain', resolve)
    outgoing.once('close', resolve)
  })
}
