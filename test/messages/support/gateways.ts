// Gateways over HTTP for the tests of the Messages API's statements: how they are started, asked and read.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Anthropic from '@anthropic-ai/sdk'
import { onTestFinished } from 'vitest'
import { createMessagesMetrics } from '../../../packages/cli/src/http/messages/metrics.ts'
import {
  type MessagesHttpOptions,
  serveMessagesGateway,
} from '../../../packages/cli/src/http/messages/server.ts'
import type { Fields } from '../../../packages/core/src/lib/json.ts'
import type { Rank } from '../../../packages/core/src/query.ts'
import { rankers } from '../../../packages/core/src/rankers/rankers.ts'
import {
  createMessagesGateway,
  type MessagesGateway,
  type MessagesGatewayOptions,
} from '../../../packages/messages/src/gateway.ts'
import type { RequestOutcome } from '../../../packages/messages/src/observe-reply.ts'
import { parseModeSetting } from '../../../packages/messages/src/plan.ts'
import type {
  Headers,
  HttpAnswer,
  StreamEvent,
  Upstream,
  UpstreamWire,
} from '../../../packages/messages/src/types.ts'
import { createMessagesUpstream } from '../../../packages/messages/src/upstream/messages.ts'
import type { ObservedRequest } from '../../../packages/messages/src/upstream/script.ts'
import { play } from '../script-talk.ts'

export type Started = { readonly url: string; readonly client: Anthropic }

type Options = Partial<Omit<MessagesHttpOptions, 'setting'>> &
  Pick<MessagesGatewayOptions, 'prices' | 'wait' | 'openTrace'> & {
    readonly mode?: string
    readonly bm25?: Rank
  }

/** A gateway in front of an upstream, until the test is over. It retries without pauses unless `wait` says otherwise. */
export function start(upstream: Upstream, options: Options = {}): Promise<Started> {
  const { lexical: own, regex } = rankers
  const { bm25 = rankers.bm25, prices, openTrace, wait = async () => {} } = options
  return listen(
    createMessagesGateway({
      upstream,
      rankers: { own, bm25, regex },
      keep: [],
      notify: () => {},
      openTrace,
      prices,
      wait,
    }),
    options,
  )
}

async function listen(gateway: MessagesGateway, { mode = 'auto', ...options }: Options): Promise<Started> {
  const setting = parseModeSetting(mode)!
  const served = await serveMessagesGateway({
    gateway,
    setting,
    metrics: createMessagesMetrics(),
    port: 0,
    ...options,
  })
  onTestFinished(() => served.close())
  const client = new Anthropic({ apiKey: 'test', baseURL: served.url, maxRetries: 0 })
  return { url: served.url, client }
}

/** An upstream's own words over HTTP, with nothing of a gateway between. */
export function expose(upstream: Upstream): Promise<Started> {
  const outcome: RequestOutcome = {
    ...{ mode: 'pass' as const, wire: undefined, why: 'nothing is done', loaded: [] },
    ...{ toolsGiven: 0, toolsVisible: 0, searches: 0, rounds: 0, figures: () => undefined },
  }
  return listen(
    {
      upstream,
      reply: async (request, { call }) => ({ outcome, sampled: await upstream.sample(request, call) }),
      count: async (request, { call }) => ({ outcome, answer: await upstream.countTokens(request, call) }),
    },
    {},
  )
}

export type Recorded = { readonly url: URL; readonly requests: Request[] }
export type Request = { readonly line: string; readonly headers: IncomingHttpHeaders; readonly body: string }

/** A server that gives this answer to everything, and keeps what it was sent. */
export async function record(answer: HttpAnswer): Promise<Recorded> {
  const requests: Request[] = []
  const server = createServer(async (incoming, outgoing) => {
    const { method, url, headers } = incoming
    requests.push({ line: `${method} ${url}`, headers, body: await text(incoming) })
    outgoing.writeHead(answer.status, answer.headers)
    outgoing.end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), requests }
}

/** Upstreams that play a script: one that takes references, and two ways to one from before tool search. */
export const kinds: readonly Kind[] = ['native', 'append', 'bridge']
export type Kind = UpstreamWire

export function upstreamOf(
  kind: Kind,
  script: object,
  onRequest: (seen: ObservedRequest) => void = () => {},
): Upstream {
  return kind === 'native'
    ? play(script, { onRequest })
    : play({ ...script, api: 'old' }, { wire: kind, onRequest })
}

export type Watched = Started & { readonly seen: ObservedRequest[] }

/** A gateway that emulates, and what its model saw; a request that the API refused reached no model. */
export async function emulate(kind: Kind, script: object, options: Options = {}): Promise<Watched> {
  const seen: ObservedRequest[] = []
  const upstream = upstreamOf(kind, script, (one) => {
    if (one.refused === undefined) seen.push(one)
  })
  return { ...(await start(upstream, options)), seen }
}

/** A gateway in front of a native API over HTTP: it passes on. */
export async function pass(script: object, options: Options = {}): Promise<Watched> {
  const behind = await emulate('native', script)
  const upstream = createMessagesUpstream({ url: new URL(behind.url), wire: 'native' })
  return { ...(await start(upstream, options)), seen: behind.seen }
}

/** Emulation on each wire, and an API that is passed to: clients see the same of all. */
export const ways = [...kinds, 'pass'] as const
export type Way = (typeof ways)[number]

export function open(way: Way, script: object): Promise<Watched> {
  return way === 'pass' ? pass(script) : emulate(way, script)
}

/** Requests that every test starts from; the model is whatever the script is. */
export const ask = (tools: readonly unknown[], ...messages: unknown[]): Fields => ({
  model: 'claude-opus-5-5',
  max_tokens: 500,
  tools,
  messages: messages.length > 0 ? messages : [{ role: 'user', content: 'go' }],
})

export type Got = { readonly status: number; readonly headers: globalThis.Headers; readonly text: string }

export async function post(
  { url }: { readonly url: string },
  body: unknown,
  { path = '/v1/messages', headers = {} }: { path?: string; headers?: Headers } = {},
): Promise<Got & { readonly body: Fields }> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'test', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false
  return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} }
}

/** A reply that is not streamed; refusals fail the test. */
export async function reply(
  gateway: { readonly url: string },
  body: Fields,
  headers: Headers = {},
): Promise<Reply> {
  const { status, text, body: message } = await post(gateway, body, { headers })
  if (status !== 200) throw new Error(`${status} ${text}`)
  return message as Reply
}

export type Reply = Fields & {
  readonly content: readonly Fields[]
  readonly stop_reason: string
  readonly usage: Fields
}

/** The error of a request that must be refused. */
export async function refused(
  gateway: { readonly url: string },
  body: Fields,
  more: Parameters<typeof post>[2] = {},
): Promise<{ status: number; type: unknown; message: string; code: unknown }> {
  const { status, body: answer } = await post(gateway, body, more)
  const { type, message, details } = answer.error as {
    type: string
    message: string
    details?: { error_code: string }
  }
  return { status, type, message, code: details?.error_code }
}

export async function count(
  gateway: { readonly url: string },
  body: Fields,
  headers: Headers = {},
): Promise<number> {
  const { max_tokens: _, ...rest } = body
  const { status, text, body: answer } = await post(gateway, rest, { path: COUNT, headers })
  if (status !== 200) throw new Error(`${status} ${text}`)
  return Number(answer.input_tokens)
}

export const COUNT = '/v1/messages/count_tokens'

/** The events of a streamed reply, with their names checked. */
export async function stream(
  gateway: { readonly url: string },
  body: Fields,
  headers: Headers = {},
): Promise<StreamEvent[]> {
  const { status, text } = await post(gateway, { ...body, stream: true }, { headers })
  if (status !== 200) throw new Error(`${status} ${text}`)
  return eventsIn(text)
}

export function eventsIn(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/s.exec(part) ?? []
      const event = JSON.parse(data) as StreamEvent
      if (event.type !== name) throw new Error(`the event ${name} holds one of type ${event.type}`)
      return event
    })
}

/** A stream in lines; fragments that follow each other are one, except for an empty first one. Pings may be anywhere. */
export function lines(events: readonly StreamEvent[]): string[] {
  const told: string[] = []
  let open = ''
  for (const event of events.filter(({ type }) => type !== 'ping')) {
    const { key, text } = fragmentOf(event)
    if (key !== '' && key === open && text !== '') told[told.length - 1] += text
    else told.push(key === '' ? lineOf(event) : `${key} ${text}`)
    open = text === '' ? '' : key
  }
  return told
}

function fragmentOf({ type, index, delta }: StreamEvent): { key: string; text: string } {
  if (type !== 'content_block_delta') return { key: '', text: '' }
  const { type: kind, text, partial_json, thinking, signature } = delta as Record<string, string>
  return { key: `${index} ${kind}`, text: text ?? partial_json ?? thinking ?? signature ?? '' }
}

function lineOf(event: StreamEvent): string {
  const { type, index } = event
  if (type === 'content_block_start') return `${index} start ${blockLine(event.content_block as Fields)}`
  if (type === 'content_block_stop') return `${index} stop`
  if (type === 'message_delta') return `message_delta ${(event.delta as Fields).stop_reason}`
  if (type === 'error') return `error ${(event.error as Fields).type}`
  return type
}

/** Describes a block in a line: its kind, and the part of it that is there from the start. */
export function blockLine({ type, name, input, text, content }: Fields): string {
  if (type === 'tool_search_tool_result') {
    const { tool_references: references, error_code: code } = content as {
      tool_references?: { tool_name: string }[]
      error_code?: string
    }
    return `result ${code ?? `[${references?.map(({ tool_name }) => tool_name)}]`}`
  }
  if (type === 'tool_use' || type === 'server_tool_use') return `${type} ${name} ${JSON.stringify(input)}`
  return type === 'text' && text !== '' ? `text ${text}` : String(type)
}

export const hosted = (variant: 'regex' | 'bm25', more: Fields = {}): Fields => ({
  type: `tool_search_tool_${variant}_20251119`,
  name: `tool_search_tool_${variant}`,
  ...more,
})
