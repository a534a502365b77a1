// Runs a local HTTP server that receives the browser's redirect after a login: it takes one answer and closes.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isSecret, OptionError } from '@toolshelf/core/internal/node'

/** A server that waits for the redirect. */
type Callback = {
  readonly url: string
  /** The parameters of the one answer with the expected state. */
  readonly answer: Promise<URLSearchParams>
  close(): void
}

type CallbackOptions = {
  readonly state: string
  /** The port. Default: any free one. */
  readonly port?: number
  /** Milliseconds. Default: five minutes. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Starts the server. */
export async function listenForCallback({
  state,
  port = 0,
  timeoutMs = FIVE_MINUTES_MS,
  signal,
}: CallbackOptions): Promise<Callback> {
  const { promise: answer, resolve, reject } = withResolvers<URLSearchParams>()
  // Prevents an unhandled rejection if nobody waits any more.
  answer.catch(() => {})
  let isAnswered = false
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method !== 'GET' || pathname !== PATH) return show(response, 404, 'Not found.')
    if (isAnswered) return show(response, 410, 'This login is already over.')
    if (!isSecret(searchParams.get('state') ?? '', state))
      return show(response, 400, 'This answer does not belong to the current login.')
    isAnswered = true
    const isGranted = searchParams.has('code')
    show(
      response,
      200,
      `The login was ${isGranted ? 'granted' : 'refused'}. You can close this window.`,
      () => resolve(searchParams),
    )
  })
  server.on('error', reject)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new OptionError('port', `port ${port} is in use`, 'set the option "port" to another')
      : new Error(error.message)
  })
  const timer = setTimeout(() => reject(new Error('the login timed out; run it again')), timeoutMs)
  const cancel = () => reject(new Error('the login was cancelled'))
  signal?.addEventListener('abort', cancel)
  if (signal?.aborted) cancel()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    answer,
    close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      server.close()
      server.closeAllConnections()
    },
  }
}

const PATH = '/callback'
const FIVE_MINUTES_MS = 300_000

/** Shows fixed texts only, nothing from the request. */
function show(response: ServerResponse, status: number, text: string, onShown?: () => void): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(`<!doctype html><title>Toolshelf</title><p>${text}</p>`, onShown)
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}
