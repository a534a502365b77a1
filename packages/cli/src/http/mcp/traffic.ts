// Counts the HTTP requests of MCP clients, and drains the gateway: finishes running calls, ends streams so that clients
// reconnect elsewhere, and refuses everything new.
import { type Fields, fieldsOf } from '@toolshelf/core/internal'
import { GATEWAY, type McpMetrics } from '@toolshelf/mcp/internal/gateway'
import { refusal } from './guard.ts'

export type Traffic = ReturnType<typeof createTraffic>

type Kind = { readonly endpoint: string; readonly isStream: boolean; readonly isContinuation: boolean }

/** Seconds after which a client of a draining gateway may retry; by then a load balancer sends it to another one. */
const RETRY_AFTER_SECONDS = 1

export function createTraffic(metrics: McpMetrics) {
  const kinds = new WeakMap<Request, Kind>()
  const running = new Set<Request>()
  const streams = new Set<() => void>()
  let isDraining = false
  let onIdle = () => {}

  metrics.read('toolshelf_active_requests', () => [{ labels: { gateway: GATEWAY }, value: running.size }])
  metrics.read('toolshelf_streams', () => [{ value: streams.size }])

  return {
    /** Runs a request for `/mcp`, or refuses it while the gateway drains. `body` is undefined if the method has none. */
    async run(request: Request, body: unknown, respond: () => Promise<Response>) {
      const kind = kindOf(request, body)
      kinds.set(request, kind)
      if (isDraining && !kind.isContinuation) return refuseNew()
      if (!kind.isStream) {
        running.add(request)
        return respond()
      }
      const response = await respond()
      if (!isDraining) return endable(response, streams)
      // The gateway has begun to drain meanwhile.
      await response.body?.cancel()
      return refuseNew()
    },
    /** Records that the response has been sent, or its client has disconnected. */
    over(request: Request, status: number, seconds: number) {
      running.delete(request)
      if (running.size === 0) onIdle()
      const kind = kinds.get(request)
      if (!kind && status < 400) return
      const labels = { gateway: GATEWAY, endpoint: kind?.endpoint ?? 'other' }
      metrics.add('toolshelf_requests_total', { ...labels, status: String(status) })
      if (kind && !kind.isStream) metrics.observe('toolshelf_request_seconds', labels, seconds)
    },
    /** Returns the number of running calls, without streams of notifications. */
    running: () => running.size,
    /** Ends streams, refuses new requests, and resolves when all calls have ended, or after the timeout. */
    async drain(timeoutMs: number) {
      isDraining = true
      for (const end of streams) end()
      if (running.size === 0) return
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((resolve) => {
        onIdle = resolve
        timer = setTimeout(resolve, timeoutMs)
      })
      clearTimeout(timer)
    },
  }
}

function refuseNew(): Response {
  return refusal(503, 'this gateway is stopping; try again, another one answers', {
    retryAfter: RETRY_AFTER_SECONDS,
  })
}

/** Methods that are counted separately; clients may send any text as a method. */
const METHODS = new Set([
  ...['initialize', 'ping', 'server/discover', 'subscriptions/listen', 'logging/setLevel'],
  ...['tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'completion/complete'],
  ...[
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'resources/subscribe',
    'resources/unsubscribe',
  ],
])

function kindOf({ method: httpMethod }: Request, body: unknown): Kind {
  if (httpMethod !== 'POST') {
    const isStream = httpMethod === 'GET'
    const endpoint = isStream ? 'stream' : httpMethod === 'DELETE' ? 'end' : 'other'
    return { endpoint, isStream, isContinuation: httpMethod === 'DELETE' }
  }
  const messages = [body].flat().map(fieldsOf)
  const [only] = messages
  const method = String(only?.method)
  const endpoint = messages.length !== 1 || !only ? 'batch' : endpointOf(only, method)
  return {
    endpoint,
    isStream: endpoint === 'subscriptions/listen',
    isContinuation: messages.every(isContinuing),
  }
}

function endpointOf(message: Fields, method: string): string {
  if (message.method === undefined) return 'response'
  if (method.startsWith('notifications/')) return 'notification'
  return METHODS.has(method) ? method : 'other'
}

/** Returns whether a message belongs to a running call: a response, a notification, or an answer in the newer protocol. */
function isContinuing({ method, id, params }: Fields): boolean {
  return method === undefined || id === undefined || fieldsOf(params).requestState !== undefined
}

/** Returns the response with a body that the gateway can end. */
function endable(response: Response, open: Set<() => void>): Response {
  const ending = new AbortController()
  const end = () => ending.abort()
  open.add(end)
  return whenOver(response, () => open.delete(end), ending.signal)
}

/** Wraps the response; reports when its body has been sent or its reader has disconnected. The signal ends it early. */
export function whenOver(response: Response, over: () => unknown, signal?: AbortSignal): Response {
  if (!response.body) {
    over()
    return response
  }
  let isOver = false
  const once = () => {
    if (!isOver) over()
    isOver = true
  }
  const reader = response.body.getReader()
  const end = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
  const body = new ReadableStream({
    async pull(controller) {
      const next = await reader.read().catch(() => ({ done: true as const, value: undefined }))
      if (!next.done) return controller.enqueue(next.value)
      once()
      controller.close()
    },
    async cancel(reason) {
      once()
      await reader.cancel(reason)
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
