// The gateway over HTTP: where it listens, its limits, and one record per request.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { close, LOOPBACK, listen } from '../http.ts'
import { createEndpoints } from './endpoints.ts'
import { reasonIn } from './errors.ts'
import type { Deed, Gateway } from './gateway.ts'
import type { Key } from './guard.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { AUTO, type Setting } from './plan.ts'
import { sendFailure } from './respond.ts'
import { ours, record, type Visit } from './visit.ts'

export type ServeOptions = {
  readonly gateway: Gateway
  /** What is done with requests that do not say; `auto` if left out. */
  readonly setting?: Setting
  readonly metrics?: Metrics
  readonly port: number
  /** Loopback unless given. */
  readonly address?: string
  readonly keys?: readonly Key[]
  readonly hosts?: readonly string[]
  /** Whoever can reach it may use it, although it listens beyond loopback without a key. */
  readonly isOpen?: boolean
  /** Bytes that a body may have. */
  readonly mostBody?: number
  /** Milliseconds without an event after which a stream gets a ping. */
  readonly silence?: number
  /** Milliseconds within which a request must have come whole; its headers within a minute. */
  readonly patience?: number
  /** Told of each request when it is over. */
  readonly onDone?: (done: Done) => void
}

export type Done = {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
  readonly model: string | undefined
  readonly deed: Deed | undefined
  /** Why it failed, in the words that the client was told. */
  readonly error: string | undefined
}

export type Served = { readonly url: string; close(): Promise<void> }

const MOST_BODY = 32_000_000
const SILENCE = 15_000
const PATIENCE = 300_000
/** The status of a request whose client went away before it was answered. */
const UNANSWERED = 499

export async function serve(options: ServeOptions): Promise<Served> {
  const { gateway, setting = AUTO, metrics = createMetrics(), port } = options
  const { address = '127.0.0.1', keys = [], hosts = [] } = options
  const { mostBody = MOST_BODY, silence = SILENCE, isOpen = false, onDone = () => {} } = options
  const { patience = PATIENCE } = options
  if (!LOOPBACK.has(address) && keys.length === 0 && !isOpen)
    throw new Error(
      `listening on ${address} needs a key: set TOOLSHELF_KEY, listen on 127.0.0.1, or say --open if anyone may use it`,
    )
  const guard = { address, keys, hosts }
  const answer = createEndpoints({ gateway, setting, metrics, guard, mostBody, silence })

  const limits = { requestTimeout: patience, headersTimeout: Math.min(patience, 60_000) }
  const often = { connectionsCheckingInterval: Math.min(patience, 30_000) }
  const server = createServer(
    { ...limits, ...often },
    (incoming, outgoing) => void visited(incoming, outgoing),
  )
  async function visited(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const started = performance.now()
    const address = addressOf(incoming)
    const path = address?.pathname ?? ''
    const gone = new AbortController()
    const visit: Visit = {
      incoming,
      outgoing,
      address,
      path,
      gone: gone.signal,
      model: undefined,
      deed: undefined,
      error: undefined,
    }
    const over = metrics.begin()
    outgoing.once('close', () => {
      gone.abort(new Error('the client went away'))
      over()
      const milliseconds = performance.now() - started
      const status = outgoing.headersSent ? outgoing.statusCode : UNANSWERED
      const { model, deed, error } = visit
      if (deed) deed.tokensSaved = status < 400 ? deed.saving() : 0
      record(metrics, visit, status, milliseconds)
      onDone({ method: incoming.method ?? '', path, status, milliseconds, model, deed, error })
    })
    try {
      await answer(visit)
    } catch (error) {
      if (gone.signal.aborted) return
      visit.error = reasonIn(sendFailure(outgoing, error, visit.deed ? ours(visit.deed) : {}).body)
    }
  }

  const url = await listen(server, port, address)
  return {
    url,
    close: () => close(server),
  }
}

function addressOf({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.canParse(url, 'http://gateway') ? new URL(url, 'http://gateway') : undefined
}
