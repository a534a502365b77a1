// The events of the Messages gateway: one conversation over many requests, searches, answers, and the trace context.
import { describe, expect, it } from 'vitest'
import type { OpenTrace, TraceRecord } from '../../packages/core/src/events.ts'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import { createTraceStream } from '../../packages/core/src/node/trace-stream.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import type { MessagesRequest } from '../../packages/messages/src/types.ts'
import { createChatUpstream } from '../../packages/messages/src/upstream/chat.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { callWith, completion, hello, serveChat } from './support/chat-server.ts'
import { ask, hosted, type Kind, kinds, start, upstreamOf } from './support/gateways.ts'

const ID = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${ID}-00f067aa0ba902b7-01`
const NAMES = ['send_message', 'read_file', 'list_issues', 'get_weather']
const plain = NAMES.map((name) => ({
  name: `mcp__work__${name}`,
  description: `The tool to ${name.replace('_', ' ')}.`,
  input_schema: { type: 'object', properties: {} },
}))
const script = {
  rules: [{ when: 'find (.+)', do: [{ search: '{{1}}' }, { say: 'found' }] }],
  otherwise: 'hi',
}

async function listening(kind: Kind, mode: string) {
  const records: Loose[] = []
  const stream = createTraceStream((record: TraceRecord) => void records.push(record))
  const openTrace: OpenTrace = (start) => stream.open('serve', start).trace
  const { url } = await start(upstreamOf(kind, script), { mode, openTrace })
  const of = (type: string) => records.filter((record) => record.type === type)
  const send = async (body: Fields, headers: { readonly [name: string]: string } = {}) => {
    const before = of('answered').length
    const response = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const reply = (await response.json()) as Loose
    // The record follows the end of the response.
    while (of('answered').length === before) await new Promise((resolve) => setImmediate(resolve))
    return reply
  }
  return { records, of, send, url }
}

const user = (content: string, more: Fields = {}) => ({
  role: 'user',
  content: [{ type: 'text', text: content, ...more }],
})

describe.each(kinds)('%s', (kind) => {
  it('a client without tool search: the decision, the search, the load and the answer, in one conversation', async () => {
    const { records, of, send } = await listening(kind, 'shelve')
    await send(ask(plain, user('find send message')))
    const types = records.map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['decision', 'searched', 'loaded']))
    expect(types.at(-1)).toBe('answered')
    const own = records.filter(({ type }) => type !== 'tools' && type !== 'pool')
    expect(new Set(own.map(({ conversation }) => conversation)).size).toBe(1)
    expect(of('searched')).toMatchObject([{ query: 'send message', ranker: 'lexical' }])
    expect(of('searched')[0].scores[0]).toBeGreaterThan(0)
    expect(of('loaded')[0].names).toContain('mcp__work__send_message')
    expect(of('answered')).toMatchObject([
      { status: 200, mode: 'shelve', wire: kind, toolsGiven: 4, searches: 1, rounds: 2 },
    ])
    expect(of('opened')).toMatchObject([{ kind: 'serve', client: { name: 'node' } }])
    const [{ id }] = of('pool')
    expect([of('decision')[0].pool, of('answered')[0].pool]).toEqual([id, id])
    expect(of('answered')[0].loaded).toContain('mcp__work__send_message')
    expect(of('sampled').map(({ stopReason }) => stopReason)).toEqual(['tool_use', 'end_turn'])
    for (const { usage } of of('sampled'))
      expect(usage.input + usage.cacheRead + usage.cacheWrite).toBeGreaterThan(0)
    expect(of('answered')[0].tokensWithout).toBeGreaterThan(0)
    expect(of('answered')[0].tokensWith).toBeGreaterThan(0)
  })

  it('a hosted search names its ranker, too', async () => {
    const { of, send } = await listening(kind, 'emulate')
    const deferred = plain.map((tool) => ({ ...tool, defer_loading: true }))
    await send(ask([hosted('bm25'), ...deferred], user('find send message')))
    if (kind !== 'native') expect(of('searched')).toMatchObject([{ query: 'send message', ranker: 'bm25' }])
    expect(of('answered')).toMatchObject([{ mode: 'emulate', pool: of('pool')[0].id }])
    expect(of('tools').find(({ server }) => server === 'work').deferred).toHaveLength(4)
  })
})

describe('a conversation', () => {
  const marked = { cache_control: { type: 'ephemeral' } }

  it('continues although cache breakpoints move, and another begins with the same words', async () => {
    const { of, send } = await listening('native', 'shelve')
    const first = await send(ask(plain, user('hello', marked)))
    const reply = { role: 'assistant', content: first.content }
    await send(ask(plain, user('hello'), reply, user('again', marked)))
    await send(ask(plain, user('hello', marked)))
    const [one, two, three] = of('answered').map(({ conversation }) => conversation)
    expect(two).toBe(one)
    expect(three).not.toBe(one)
    expect(of('prefix').filter((event) => event.conversation === one)).toMatchObject([{ isKept: true }])
  })

  it('belongs to its client', async () => {
    const { of, send } = await listening('native', 'shelve')
    const body = ask(plain, user('hello'), { role: 'assistant', content: 'hi' }, user('again'))
    for (const key of ['one', 'two', 'one']) await send(body, { 'x-api-key': key })
    const [one, two, three] = of('answered').map(({ conversation }) => conversation)
    expect(two).not.toBe(one)
    expect(three).toBe(one)
  })

  it('takes the trace id of its first request', async () => {
    const { of, send } = await listening('native', 'shelve')
    await send(ask(plain, user('hello')), { traceparent })
    expect(of('answered')).toMatchObject([{ conversation: ID, traceparent }])
  })
})

it('a request that the gateway refuses is reported, one that it cannot read is not', async () => {
  const { records, send, url } = await listening('append', 'emulate')
  await fetch(`${url}/v1/messages`, { method: 'POST', body: 'no json' })
  expect(records).toEqual([])
  await send(ask(plain, user('hello'), { role: 'nobody', content: 'x' }))
  expect(records.at(-1)).toMatchObject({ type: 'answered' })
})

it('says nothing of what a conversation says', async () => {
  const { records, send } = await listening('append', 'shelve')
  await send(ask(plain, user('a private word')))
  expect(JSON.stringify(records)).not.toContain('private')
})

describe('the trace context', () => {
  it('reaches an upstream of Chat Completions, an invalid one does not', async () => {
    const server = await serveChat(() => ({ body: completion({ content: 'Hi' }) }))
    const upstream = createChatUpstream({ url: new URL(server.url) })
    const headers = { traceparent, tracestate: 'vendor=1', baggage: 'user=ada' }
    await upstream.sample(hello, callWith(headers))
    await upstream.sample(hello, callWith({ ...headers, traceparent: 'garbage' }))
    const [good, bad] = server.requests as Loose[]
    expect(good.headers).toMatchObject({ traceparent, tracestate: 'vendor=1' })
    expect(good.headers).not.toHaveProperty('baggage')
    expect(bad.headers).not.toHaveProperty('traceparent')
  })

  it.each([
    [{ traceparent, tracestate: 'vendor=1' }, ID, 'vendor=1'],
    [{ tracestate: 'vendor=1' }, undefined, undefined],
  ])(
    'an upstream gets the span of its sampling as parent, if there are spans: %j',
    async (headers, id, state) => {
      const server = await serveChat(() => ({ body: completion({ content: 'Hi' }) }))
      const records: Loose[] = []
      const stream = createTraceStream((record) => void records.push(record), { hasSpans: true })
      const openTrace: OpenTrace = (begin) => stream.open('serve', begin).trace
      const upstream = createChatUpstream({ url: new URL(server.url) })
      const { url } = await start(upstream, { mode: 'off', openTrace })
      const body = JSON.stringify(ask(plain, user('hello')))
      await (await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })).text()
      const [{ conversation, spanId }] = records.filter(({ type }) => type === 'sampled') as [Loose]
      expect(conversation).toBe(id ?? conversation)
      const [request] = server.requests as [Loose]
      expect(request.headers.traceparent).toBe(`00-${conversation}-${spanId}-01`)
      expect(request.headers.tracestate).toBe(state)
    },
  )
})

it('searches rank as hybrid does unless a host chooses otherwise', async () => {
  const records: Loose[] = []
  const gateway = createMessagesGateway({
    upstream: upstreamOf('append', script),
    openTrace: () => (record) => void records.push(record),
  })
  const call = { headers: {}, signal: new AbortController().signal }
  const options = { setting: { mode: 'shelve', share: 10 }, call, owner: '' } as const
  const { sampled } = await gateway.reply(ask(plain, user('find send message')) as MessagesRequest, options)
  if (sampled && 'events' in sampled) for await (const _ of sampled.events);
  expect(records.filter(({ type }) => type === 'searched')).toMatchObject([{ ranker: 'hybrid' }])
})
