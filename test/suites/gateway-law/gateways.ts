// Gateways over HTTP in front of a model: directly, on each wire, or behind an API of another kind, which a second gateway
// that does nothing but convert puts in front of the model.
import { onTestFinished } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import {
  createChatUpstream,
  createMessagesGateway,
  createMessagesUpstream,
  createResponsesUpstream,
  type MessagesGatewayOptions,
  type MessagesHttpOptions,
  parseModeSetting,
  rankers,
  serveMessagesGateway,
  type Upstream,
} from '../../doors.ts'
import { createModel, type Says } from './model.ts'

export const upstreams = ['native', 'append', 'bridge', 'messages', 'chat', 'responses'] as const
export type UpstreamKind = (typeof upstreams)[number]
export const wires = ['native', 'append', 'bridge'] as const

type Model = ReturnType<typeof createModel>

export type ServeOptions = Partial<Omit<MessagesHttpOptions, 'setting' | 'gateway'>> &
  Partial<Omit<MessagesGatewayOptions, 'upstream'>> & { readonly mode?: string }

/** A gateway on loopback in front of an upstream. */
export async function serve(upstream: Upstream, { mode = 'auto', ...options }: ServeOptions = {}) {
  const setting = parseModeSetting(mode)
  if (!setting) throw new Error(`no such mode: ${mode}`)
  const { lexical: own, bm25, regex } = rankers
  const gateway = createMessagesGateway({
    ...{ upstream, rankers: { own, bm25, regex }, notify: () => {}, wait: async () => {} },
    ...options,
  })
  return serveMessagesGateway({ gateway, setting, port: 0, ...options })
}

/** The model's own API of this kind. Old APIs are old: a native one is not behind them. */
export const isOld = (kind: UpstreamKind) => kind !== 'native' && kind !== 'messages'

/** Puts the API of the model in front of it; the upstream for each gateway in front of that. */
export async function offer(
  model: Model,
  kind: UpstreamKind,
): Promise<Upstream & { close(): Promise<void> }> {
  const close = async () => {}
  if (kind === 'native' || kind === 'append' || kind === 'bridge') return { ...model.upstream(kind), close }
  const behind = await serve(model.upstream(kind === 'messages' ? 'native' : 'append'), {
    mode: kind === 'messages' ? 'emulate' : 'off',
  })
  const url = new URL(kind === 'messages' ? behind.url : `${behind.url}/v1`)
  const upstream = {
    messages: () => createMessagesUpstream({ url, wire: 'native' }),
    chat: () => createChatUpstream({ url }),
    responses: () => createResponsesUpstream({ url }),
  }[kind]()
  return { ...upstream, close: () => behind.close() }
}

export const modelFor = (kind: UpstreamKind) =>
  kind === 'chat' || kind === 'responses' ? 'gpt-4o' : 'claude-sonnet-5'

/** A gateway until the test is over. */
export async function open(upstream: Upstream, options: ServeOptions = {}) {
  const served = await serve(upstream, options)
  onTestFinished(() => served.close())
  return served
}

type PlayOptions = ServeOptions & {
  readonly wire?: (typeof wires)[number]
  readonly maxTools?: number
  readonly says?: Says
}

/** A gateway that shelves, if nobody says otherwise, in front of a model that says what a test writes. */
export async function play({ wire = 'native', maxTools, says, ...options }: PlayOptions = {}) {
  const limit = maxTools === undefined ? {} : { maxTools }
  const model = createModel({
    ...{ script: [], api: wire === 'native' ? ('new' as const) : ('old' as const), ...limit },
    ...(says ? { says } : {}),
  })
  const { url } = await open(model.upstream(wire), { mode: 'shelve', ...options })
  const ask = (body: Loose, headers: Loose = {}, path = 'messages') => post(url, body, { path, headers })
  /** What the model got. */
  const sent = () => model.samplings.map(({ request }) => request)
  return { model, url, ask, sent }
}

/** One request over HTTP, as bytes: nothing is made of them but JSON. */
export async function post(
  url: string,
  body: Loose,
  {
    path = 'messages',
    headers = {},
    method = 'POST',
  }: { path?: string; headers?: Loose; method?: string } = {},
) {
  const answer = await fetch(`${url}/v1/${path}`, {
    ...{ method, headers: { 'content-type': 'application/json', 'x-api-key': 'key', ...headers } },
    ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  })
  const text = await answer.text()
  const isJson = text.startsWith('{')
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as Loose,
  }
}

/** The events of a streamed answer. */
export const eventsIn = (text: string): Loose[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json))
