// Statements 33 to 35 through the gateway: what a coding agent expects of the address that it is pointed at.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import type { StreamEvent, Upstream } from '../../packages/messages/src/types.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import { deferred, text, tool, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import {
  ask,
  COUNT,
  emulate,
  eventsIn,
  kinds,
  post,
  record,
  reply,
  start,
  upstreamOf,
} from './support/gateways.ts'

const hello = always({ say: 'Hello.' })
const read = tool('Read')
const later = deferred('later')
const message = JSON.stringify({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'Hi.' }], usage: { input_tokens: 1, output_tokens: 1 } },
})
const fine = { status: 200, headers: { 'content-type': 'application/json' }, body: message }

describe('addresses', () => {
  test.each(['', '?beta=true', '?beta=true&x=1'])(
    'wire 33 /v1/messages%s and its counting are one',
    async (query) => {
      const gateway = await emulate('append', hello)
      expect((await post(gateway, ask([read, later]), { path: `/v1/messages${query}` })).status).toBe(200)
      expect((await post(gateway, ask([read, later]), { path: COUNT + query })).status).toBe(200)
    },
  )

  test('wire 33 passes the query on to an API that is passed to', async () => {
    const { url, requests } = await record(fine)
    const gateway = await start(createMessagesUpstream({ url: new URL('/base/', url) }))
    await post(gateway, ask([]), { path: '/v1/messages?beta=true' })
    expect(requests.map(({ line }) => line)).toEqual(['POST /base/v1/messages?beta=true'])
  })

  test('wire 33 HEAD /api/hello is answered, without a key and a body', async () => {
    const gateway = await emulate('append', hello, { keys: [{ secret: 'k'.repeat(24) }] })
    const answer = await fetch(`${gateway.url}/api/hello`, { method: 'HEAD' })
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe('')
  })

  test('wire 33 models are listed and not redirected, ours and the upstream’s own', async () => {
    const own = await emulate('append', { ...hello, model: ['claude-a', 'claude-b'] })
    const listing = await fetch(`${own.url}/v1/models?limit=1000`, { redirect: 'error' })
    expect(((await listing.json()) as { data: Fields[] }).data.map(({ id }) => id)).toEqual([
      'claude-a',
      'claude-b',
    ])
    const { url, requests } = await record({ ...fine, body: '{"data": [] }' })
    const gateway = await start(createMessagesUpstream({ url }))
    const theirs = await fetch(`${gateway.url}/v1/models?limit=1000`, { redirect: 'error' })
    expect(await theirs.text()).toBe('{"data": [] }')
    expect(requests[0]?.line).toBe('GET /v1/models?limit=1000')
  })

  test('wire 33 passes on what the operator allows below /v1 if the upstream has it, and answers 404 if not', async () => {
    const { url, requests } = await record({ ...fine, body: '{"ok":1}' })
    const gateway = await start(createMessagesUpstream({ url }), { forward: ['POST /v1/files'] })
    expect((await post(gateway, { a: 1 }, { path: '/v1/files?x=1' })).text).toBe('{"ok":1}')
    expect(requests[0]).toMatchObject({ line: 'POST /v1/files?x=1', body: '{"a":1}' })
    expect((await post(await emulate('append', hello), {}, { path: '/v1/files' })).status).toBe(404)
  })
})

describe('open lists', () => {
  const future = {
    ...{
      context_management: { edits: [] },
      future_field: { deep: [1] },
      metadata: { user_id: 'u', more: 1 },
    },
    output_config: { effort: 'low' },
  }
  const headers = {
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'future-2027-01-01',
    'x-claude-code-session-id': 's1',
    'x-future': 'yes',
  }

  test.each(kinds)('wire 34 on %s: passes on unknown fields of the body', async (kind) => {
    const gateway = await emulate(kind, hello)
    await reply(gateway, { ...ask([read, later]), ...future })
    expect(gateway.seen[0]?.request).toMatchObject(future)
  })

  test.each(['append', 'bridge'] as const)(
    'wire 34 on %s: unknown fields of tools, messages and blocks are no reason to refuse',
    async (kind) => {
      const { url, requests } = await record(fine)
      const gateway = await start(createMessagesUpstream({ url, wire: kind }))
      const turns = [{ ...user(text('go', { future: 1 })), future: 2 }]
      const tools = [
        { ...read, future: 3 },
        { ...later, future: 4 },
      ]
      expect((await post(gateway, ask(tools, ...turns))).status).toBe(200)
      const sent = JSON.parse(requests[0]?.body ?? '')
      expect(sent.messages).toEqual(turns)
      expect(sent.tools.at(-1)).toEqual({ ...read, future: 3 })
    },
  )

  test('wire 34 passes on headers with betas, but not those of tool search to an API from before it', async () => {
    const { url, requests } = await record(fine)
    const beta = 'future-2027-01-01,advanced-tool-use-2025-11-20'
    for (const wire of ['append', 'native'] as const) {
      const gateway = await start(createMessagesUpstream({ url, wire }), { mode: 'emulate' })
      await post(gateway, ask([read, later]), { headers: { ...headers, 'anthropic-beta': beta } })
    }
    const [append, native] = requests
    expect(append?.headers).toMatchObject(headers)
    expect(native?.headers).toMatchObject({ ...headers, 'anthropic-beta': beta })
  })

  test('wire 34 so it is where nothing waits and the request is passed on, unless that was asked for', async () => {
    const { url, requests } = await record(fine)
    const beta = 'future-2027-01-01,advanced-tool-use-2025-11-20'
    for (const mode of ['auto', 'pass']) {
      const gateway = await start(createMessagesUpstream({ url }), { mode })
      for (const path of ['/v1/messages', COUNT])
        await post(gateway, ask([read]), { path, headers: { 'anthropic-beta': beta } })
    }
    const betas = requests.map((request) => request.headers['anthropic-beta'])
    expect(betas).toEqual(['future-2027-01-01', 'future-2027-01-01', beta, beta])
  })

  test('wire 34 what is passed on arrives byte for byte, with its headers', async () => {
    const { url, requests } = await record(fine)
    const gateway = await start(createMessagesUpstream({ url, wire: 'native' }))
    const body = `{ "model":"m",  "future": 1.0, "messages":[{"role":"user","content":"\\u00e9"}], "tools": [${JSON.stringify(read)}, ${JSON.stringify({ ...later, future: 1 })}] }`
    await post(gateway, body, { headers })
    expect(requests[0]?.body).toBe(body)
    expect(requests[0]?.headers).toMatchObject({ ...headers, 'x-api-key': 'test' })
  })
})

test('wire 35 a silent upstream is bridged by pings', async () => {
  let speak = () => {}
  const spoken = new Promise<void>((resolve) => {
    speak = resolve
  })
  const upstream: Upstream = {
    ...upstreamOf('append', hello),
    sample: async () => ({ headers: {}, events: slow() }),
  }
  async function* slow(): AsyncGenerator<StreamEvent> {
    yield { type: 'message_start', message: { ...JSON.parse(message), content: [] } }
    await spoken
    yield { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} }
    yield { type: 'message_stop' }
  }
  const gateway = await start(upstream, { silenceMs: 5 })
  const answer = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ ...ask([read, later]), stream: true }),
  })
  let received = ''
  for await (const chunk of answer.body!) {
    received += Buffer.from(chunk).toString()
    if (received.includes('event: ping')) speak()
  }
  const types = eventsIn(received).map(({ type }) => type)
  expect(types.filter((type) => type !== 'ping')).toEqual(['message_start', 'message_delta', 'message_stop'])
  expect(types[1]).toBe('ping')
})
