// The two ends of a codec on loopback: a server in the place of a vendor that keeps what it was sent, and a model behind the
// gateway's own server that keeps the contract it was asked with. Neither knows the other side's API.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import {
  createChatUpstream,
  createMessagesGateway,
  createMessagesUpstream,
  createResponsesUpstream,
  type MessagesGateway,
  parseModeSetting,
  serveMessagesGateway,
  type Upstream,
} from '../../doors.ts'
import { type Block, eventsOf, messageOf } from './replies.ts'

export const APIS = ['messages', 'chat', 'responses'] as const
export type Api = (typeof APIS)[number]

export const PATHS: { readonly [api in Api]: string } = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
}

/** A request as the vendor got it. */
export type Sent = {
  readonly line: string
  readonly headers: IncomingHttpHeaders
  readonly json: string
  readonly body: Loose
}

/** What the vendor says: a document, or the data of events. */
export type Answer = {
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
  readonly events?: readonly unknown[]
  /** Breaks the connection in place of an end. */
  readonly isCut?: boolean
  /** How many bytes come at once, again and again; all at once if there are none. */
  readonly sizes?: readonly number[]
}

export type Vendor = {
  readonly url: URL
  readonly sent: Sent[]
  answer: Answer | ((sent: Sent) => Answer)
  last(): Loose
}

/** A server that gives the current answer to everything, until the test is over. */
export async function openVendor(answer: Vendor['answer'] = {}): Promise<Vendor> {
  const server = createServer(async (incoming, outgoing) => {
    const json = await text(incoming)
    const { method, url, headers } = incoming
    const sent = { line: `${method} ${url}`, headers, json, body: json === '' ? undefined : JSON.parse(json) }
    vendor.sent.push(sent)
    const given = typeof vendor.answer === 'function' ? vendor.answer(sent) : vendor.answer
    const { status = 200, body = {}, events, isCut, sizes } = given
    const type = events ? 'text/event-stream' : typeof body === 'string' ? 'text/html' : 'application/json'
    outgoing.writeHead(status, { 'content-type': type, ...given.headers })
    const said = events
      ? events.map(serverSent).join('')
      : typeof body === 'string'
        ? body
        : JSON.stringify(body)
    await writeIn(sizes, Buffer.from(said), (part) => outgoing.write(part))
    // The head has arrived before the connection breaks.
    if (isCut) await turn()
    if (isCut) await turn()
    if (isCut) outgoing.destroy()
    else outgoing.end()
  })
  const { port } = await new Promise<AddressInfo>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(server.address() as AddressInfo)),
  )
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const vendor: Vendor = {
    url: new URL(`http://127.0.0.1:${port}/v1`),
    sent: [],
    answer,
    last: () => vendor.sent.at(-1)?.body,
  }
  return vendor
}

/** An event with its name, as Anthropic and OpenAI send them; texts are sent as they are. */
export function serverSent(event: unknown): string {
  if (typeof event === 'string') return `data: ${event}\n\n`
  const { type } = (event ?? {}) as Loose
  return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`
}

async function writeIn(sizes: readonly number[] | undefined, bytes: Buffer, write: (part: Buffer) => void) {
  if (!sizes) return write(bytes)
  for (let at = 0, part = 0; at < bytes.length; part++) {
    const size = sizes[part % sizes.length] ?? 1
    write(bytes.subarray(at, at + size))
    at += size
    // The reader has each part before the next is written.
    await turn()
    await turn()
  }
}

const CREATE = {
  messages: createMessagesUpstream,
  chat: createChatUpstream,
  responses: createResponsesUpstream,
} as const

/** An upstream of an API at a URL; the Messages API has its version in the path. */
export function upstreamFor(api: Api, url: URL, more: Loose = {}): Upstream {
  return CREATE[api]({ url, ...more }) as Upstream
}

export type Reply = {
  readonly content: Loose[]
  readonly stop_reason: string
  readonly stop_sequence: string | null
  readonly usage: Loose
  readonly [field: string]: Loose
}

/** Samples one reply; a refusal is thrown with its status and message. */
export async function sample(upstream: Upstream, request: Loose, call: Loose = {}): Promise<Reply> {
  const sampled: Loose = await upstream.sample(request, {
    headers: {},
    signal: new AbortController().signal,
    ...call,
  })
  if (sampled.refused)
    throw new Error(`${sampled.refused.status} ${JSON.parse(sampled.refused.body).error.message}`)
  const events: Loose[] = []
  for await (const event of sampled.events) events.push(event)
  return messageOf(events) as Reply
}

/** What a model says: blocks, events, or that it refuses. */
type Said = {
  readonly blocks: readonly Block[]
  readonly stop?: string
  readonly usage?: Loose
  readonly events?: readonly Loose[]
  readonly refused?: Loose
}

/** What the model behind the gateway got, and says. */
export type Model = {
  /** The requests in the shape of the Messages API. */
  readonly contracts: Loose[]
  /** The same as the objects that they are. */
  readonly requests: Loose[]
  /** What else the reader of the client's API says of each. */
  readonly facts: Loose[]
  reply: Said | ((contract: Loose) => Said)
  /** Holds each reply back after its first event. */
  pause?: () => Promise<void>
  readonly url: URL
  last(): Loose
}

/** A model on the gateway's own server, with nothing of a gateway between: only what the client's API is converted to. */
export async function openModel(options: Loose = {}): Promise<Model> {
  const upstream = {
    name: 'model',
    api: 'messages',
    wireFor: () => ({ wire: 'native', why: 'asked for' }),
    async sample(request: Loose, { headers, terms }: Loose) {
      model.requests.push(request)
      model.contracts.push(JSON.parse(JSON.stringify(request)))
      model.facts.push({ terms, headers })
      const said = typeof model.reply === 'function' ? model.reply(model.last()) : model.reply
      const { refused, events = eventsOf(said) } = said
      return refused ? { refused } : { headers: {}, events: streamed(events, model.pause) }
    },
    countTokens: async () => undefined,
    models: async () => ({ status: 200, headers: {}, body: JSON.stringify(MODELS) }),
  } as unknown as Upstream
  const outcome: Loose = {
    mode: 'pass',
    why: '',
    loaded: [],
    toolsGiven: 0,
    toolsVisible: 0,
    searches: 0,
    rounds: 0,
    figures: () => undefined,
  }
  const gateway = {
    upstream,
    async reply(request: Loose, { call, inbound }: Loose) {
      const sampled = await upstream.sample(request, call)
      Object.assign(model.facts.at(-1), inbound)
      return { outcome, sampled }
    },
    count: async () => ({ outcome, answer: undefined }),
  } as unknown as MessagesGateway
  const url = await serve(gateway, 'off', options)
  const model: Model = {
    contracts: [],
    requests: [],
    facts: [],
    reply: { blocks: [{ type: 'text', text: 'Fine.' }] },
    url,
    last: () => model.contracts.at(-1),
  }
  return model
}

export const MODELS = {
  data: [{ id: 'a', created_at: '2026-01-01T00:00:01.900Z' }, { id: 'b' }, 5],
  has_more: false,
}

async function* streamed([first, ...rest]: readonly Loose[], pause = async () => {}) {
  if (first) yield first
  await pause()
  yield* rest
}

async function serve(gateway: MessagesGateway, mode: string, options: Loose = {}): Promise<URL> {
  const served = await serveMessagesGateway({
    gateway,
    setting: parseModeSetting(mode)!,
    port: 0,
    ...options,
  })
  onTestFinished(() => served.close())
  return new URL(served.url)
}

/** The whole gateway in front of an upstream. */
export function openGateway(upstream: Upstream, mode = 'off'): Promise<URL> {
  return serve(createMessagesGateway({ upstream, wait: async () => {} }), mode)
}

export type Got = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Loose
}

/** Asks in an API; a client of OpenAI's APIs has a bearer token, one of Anthropic's a key. */
export async function ask(url: URL, api: Api, body: unknown, headers: Loose = {}): Promise<Got> {
  const own = api === 'messages' ? { 'x-api-key': 'test' } : { authorization: 'Bearer test' }
  const got = await fetch(new URL(PATHS[api], url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...own, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const said = await got.text()
  const isJson = got.headers.get('content-type')?.startsWith('application/json')
  return { status: got.status, headers: got.headers, text: said, body: isJson ? JSON.parse(said) : undefined }
}
