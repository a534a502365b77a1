// Upstreams that misbehave, gateways in front of them, and a client that sends exactly what a test gives it.
import {
  type Agent,
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { createMessagesMetrics } from '../../../packages/cli/src/http/messages/metrics.ts'
import {
  type MessagesHttpOptions,
  type RequestRecord,
  serveMessagesGateway,
} from '../../../packages/cli/src/http/messages/server.ts'
import type { Rank } from '../../../packages/core/src/query.ts'
import { rankers } from '../../../packages/core/src/rankers/rankers.ts'
import { createMessagesGateway } from '../../../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../../../packages/messages/src/plan.ts'
import type { Upstream } from '../../../packages/messages/src/types.ts'
import {
  createMessagesUpstream,
  type MessagesOptions,
} from '../../../packages/messages/src/upstream/messages.ts'

export type Json = { [field: string]: unknown }

const started: { close(): Promise<void> }[] = []

/** Ends what the test started. */
export async function closeAll(): Promise<void> {
  await Promise.all(started.splice(0).map((one) => one.close()))
}

/** Takes what was started so far out of `closeAll`, for several tests to share; returns what ends it. */
export function shareStarted(): () => Promise<void> {
  const shared = started.splice(0)
  return async () => {
    await Promise.all(shared.map((one) => one.close()))
  }
}

/** What came to a fake upstream; `over` when its answer ended or was given up. */
export type Came = {
  readonly headers: IncomingHttpHeaders
  readonly url: string
  readonly body: string
  readonly over: Promise<void>
}

export type Fake = { readonly url: URL; readonly came: Came[]; readonly underWay: () => number }

export type Answering = (outgoing: ServerResponse, came: Came, number: number) => void

/** An upstream that answers as the test says, the first request with number 0. */
export async function startFake(answer: Answering): Promise<Fake> {
  const came: Came[] = []
  let underWay = 0
  const server = createServer(async (incoming, outgoing) => {
    underWay++
    const over = new Promise<void>((resolve) => outgoing.once('close', resolve))
    void over.then(() => underWay--)
    const one = { headers: incoming.headers, url: incoming.url ?? '', body: await textOf(incoming), over }
    came.push(one)
    answer(outgoing, one, came.length - 1)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  started.push({
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
  const { port } = server.address() as AddressInfo
  return { url: new URL(`http://127.0.0.1:${port}`), came, underWay: () => underWay }
}

export type Started = {
  readonly url: string
  readonly done: RequestRecord[]
  readonly metrics: () => string
  readonly active: () => number
  readonly close: () => Promise<void>
}

export type Starting = Partial<MessagesHttpOptions> & {
  readonly mode?: string
  readonly rank?: Rank
  readonly messages?: Partial<MessagesOptions>
  readonly notify?: (message: string) => void
}

/** A gateway before an address, or before any upstream. */
export async function startGateway(before: URL | Upstream, starting: Starting = {}): Promise<Started> {
  const { mode = 'auto', rank = rankers.lexical, messages, notify = () => {}, ...options } = starting
  const upstream =
    before instanceof URL ? createMessagesUpstream({ url: before, wire: 'append', ...messages }) : before
  const metrics = createMessagesMetrics()
  const done: RequestRecord[] = []
  const setting = parseModeSetting(mode)
  if (!setting) throw new Error(`no mode: ${mode}`)
  const served = await serveMessagesGateway({
    gateway: createMessagesGateway({
      upstream,
      rankers: { own: rank, bm25: rank, regex: rankers.regex },
      keep: [],
      notify,
    }),
    setting,
    metrics,
    port: 0,
    notify,
    onDone: (one) => done.push(one),
    ...options,
  })
  started.push(served)
  return {
    url: served.url,
    done,
    metrics: metrics.text,
    active: served.activeRequests,
    close: () => served.close(),
  }
}

export type Got = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }

export type Sending = {
  readonly method?: string
  readonly headers?: { readonly [name: string]: string | string[] }
  readonly body?: string | Buffer
  readonly signal?: AbortSignal
  /** Keeps connections; by default each request has its own. */
  readonly agent?: Agent
}

/** One request; strings are sent as they are, everything else as JSON. */
export async function send(url: string, sending: Sending = {}): Promise<Got> {
  const incoming = await begin(url, sending)
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: await textOf(incoming),
  }
}

/** The head of an answer. */
export function begin(
  url: string,
  { method = 'POST', headers = {}, body, signal, agent }: Sending = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing: ClientRequest = request(
      url,
      {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        agent: agent ?? false,
        ...(signal ? { signal } : {}),
      },
      resolve,
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

export const ask = (gateway: { readonly url: string }, body: unknown, headers: Sending['headers'] = {}) =>
  send(`${gateway.url}/v1/messages`, { headers, body: JSON.stringify(body) })

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** A bare connection: what is written to it, and everything that came until it ended. */
export async function dial(url: string): Promise<{ socket: Socket; ended: Promise<string> }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  return { socket, ended: new Promise((resolve) => socket.once('close', () => resolve(text))) }
}

/** Until something is so; the test's own limit ends it otherwise. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await wait(5)
}

/** Until a number no longer changes. */
export async function settled(count: () => number): Promise<number> {
  for (let before = -1; ; ) {
    const now = count()
    if (now === before) return now
    before = now
    await wait(200)
  }
}

/** A port at which nobody listens. */
export async function deadAddress(): Promise<URL> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return new URL(`http://127.0.0.1:${port}`)
}

export const errorBody = (type: string, message = 'said by the upstream') =>
  JSON.stringify({ type: 'error', error: { type, message } })

/** Events of a reply as lines of a stream. */
export const wireEvents = (...events: readonly Json[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

export const opening = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}
const ending = (reason: string) => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

export const textReply = (text: string) =>
  wireEvents(
    opening,
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    ...ending('end_turn'),
  )

/** A reply that only searches, under the name that the mode gives the search. */
export const searchReply = (mode: string, query = 'send message') =>
  wireEvents(
    opening,
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'toolu_1', name: searchName(mode), input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify({ query }) },
    },
    { type: 'content_block_stop', index: 0 },
    ...ending('tool_use'),
  )

const searchName = (mode: string) => (mode === 'shelve' ? 'ToolSearch' : 'tool_search_tool_bm25')

export function stream(outgoing: ServerResponse, text: string): void {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.end(text)
}

export const tool = (name: string, more: Json = {}): Json => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object', properties: { text: { type: 'string' } } },
  ...more,
})

const NAMES = ['send_message', 'list_channels', 'create_issue']

/** A request that the mode is made for. */
export function requestFor(mode: string, more: Json = {}, names: readonly string[] = NAMES): Json {
  const hosted = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const tools =
    mode === 'emulate'
      ? [hosted, ...names.map((name) => tool(name, { defer_loading: true }))]
      : names.map((name) => tool(name))
  return { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }], tools, ...more }
}

/** Rejections that nobody handled, since this file was loaded. */
export const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))
process.on('uncaughtExceptionMonitor', (error) => unhandled.push(error))
