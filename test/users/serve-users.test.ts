// `serve` with users: their modes and limits, their names in events, and their keys, which no upstream sees.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { type RequestRecord, serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import type { Trace } from '../../packages/core/src/events.ts'
import type { Profile } from '../../packages/core/src/users.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../../packages/messages/src/plan.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { createUsageMeter } from '../../packages/server/src/users/usage.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { until } from '../mcp/support/processes.ts'
import { profileOf } from './support.ts'

const OPERATOR_SECRET = 'the-secret-of-the-operator'

const USAGE = { input_tokens: 60, cache_read_input_tokens: 30, output_tokens: 10 }
const REPLY = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_reason: 'end_turn' },
  content: [{ type: 'text', text: 'hi, "output_tokens": 999999' }],
  usage: USAGE,
}

async function startUpstream() {
  const seen: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = []
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming)
    seen.push({ headers: incoming.headers, body })
    if (body.includes(' hang"')) return
    if (!JSON.parse(body || '{}').stream) {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(REPLY))
      return
    }
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    const { content: _, ...message } = REPLY
    const { output_tokens, ...input } = USAGE
    const events = [
      { type: 'message_start', message: { ...message, content: [], usage: { ...input, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens } },
      { type: 'message_stop' },
    ]
    outgoing.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), seen }
}

async function openServe(profiles: { readonly [user: string]: Partial<Profile> }, mode = 'off') {
  const { url, seen } = await startUpstream()
  const store = createMemoryStore()
  const directory = await openUserStore(store)
  const tokens: { [user: string]: string } = {}
  for (const [id, profile] of Object.entries(profiles)) {
    await directory.saveProfile(profileOf({ ...profile, name: id }))
    await directory.saveUser(id, { profile: id })
    const key = createKey(id)
    await directory.saveKey(key.id, key.record)
    tokens[id] = key.token
  }
  const opened: unknown[] = []
  const events: Trace[] = []
  const records: RequestRecord[] = []
  const trace = (event: Trace) => void events.push(event)
  const openTrace = (start: unknown) => {
    opened.push(start)
    return trace
  }
  const upstream = createMessagesUpstream({ url, key: 'upstream-secret', wire: 'append' })
  const served = await serveMessagesGateway({
    gateway: createMessagesGateway({ upstream, openTrace }),
    setting: parseModeSetting(mode)!,
    port: 0,
    keys: [{ secret: OPERATOR_SECRET }],
    users: createKeyAuthenticator({ directory }),
    usage: createUsageMeter({ store }),
    trace,
    onDone: (record) => void records.push(record),
  })
  onTestFinished(async () => {
    await served.close()
    await store.close()
  })
  const post = async (
    headers: { readonly [name: string]: string },
    more: object = {},
    path = '/v1/messages',
  ) => {
    const request = {
      model: 'claude-x',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      ...more,
    }
    const response = await fetch(served.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(request),
    })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  /** Waits until so many tokens are counted and nothing is in progress, which follows the end of the response. */
  const counted = async (sum: number) => {
    const tokens = async () => {
      const { uid = '' } = (await directory.findUser('ada')) ?? {}
      const counters = await store.list(`limit/${uid}/tokens/`)
      const of = (kind: string) => counters.find(({ key }) => key.includes(`/${kind}-`))?.value ?? '0'
      return `${of('day')} used, ${of('begun')} in progress`
    }
    let found = ''
    await until(
      async () => {
        found = await tokens()
        return found === `${sum} used, 0 in progress`
      },
      () => `${sum} tokens are counted; there are ${found}`,
    )
  }
  return { url: served.url, counted, post, seen, tokens, opened, events, records, directory }
}

test.each([
  ['x-api-key', (key: string) => ({ 'x-api-key': key })],
  ['authorization', (key: string) => ({ authorization: `Bearer ${key}` })],
  ['x-toolshelf-key', (key: string) => ({ 'x-toolshelf-key': key })],
  [
    'all three',
    (key: string) => ({ 'x-api-key': key, authorization: `bearer ${key}`, 'x-toolshelf-key': key }),
  ],
])('a key in %s finds its user and never reaches the upstream, in any mode', async (_, headersOf) => {
  for (const mode of ['off', 'pass']) {
    const { post, seen, tokens, records, events, opened } = await openServe({ ada: {} }, mode)
    expect((await post(headersOf(tokens.ada ?? ''))).status).toBe(200)
    expect(seen).toHaveLength(1)
    expect(JSON.stringify(seen)).not.toContain('tsk_')
    await until(() => records.length === 1, 'the request is recorded')
    expect(records[0]).toMatchObject({ user: 'ada', status: 200 })
    expect(JSON.stringify([records, events, opened])).not.toContain(tokens.ada)
    expect(opened).toEqual([expect.objectContaining({ user: 'ada' })])
  }
})

test('the operator’s key keeps working; no key, a wrong one and a revoked one do not', async () => {
  const { post, tokens, directory, seen } = await openServe({ ada: {} })
  expect((await post({ 'x-api-key': OPERATOR_SECRET })).status).toBe(200)
  expect((await post({})).status).toBe(401)
  expect((await post({ 'x-api-key': createKey('ada').token })).status).toBe(401)
  expect((await post({ 'x-api-key': tokens.ada ?? '' })).status).toBe(200)
  await directory.deleteKey((tokens.ada ?? '').split('_')[1] ?? '')
  const refused = await post({ 'x-api-key': tokens.ada ?? '' })
  expect(refused.status).toBe(401)
  expect(JSON.parse(refused.text).error.type).toBe('authentication_error')
  expect(seen).toHaveLength(2)
})

test('a profile decides the mode', async () => {
  const { post, tokens } = await openServe({ ada: { mode: 'pass' }, bob: {}, eve: { mode: 'nonsense' } })
  expect((await post({ 'x-api-key': tokens.ada ?? '' })).headers.get('x-toolshelf-mode')).toBe('pass')
  expect((await post({ 'x-api-key': tokens.bob ?? '' })).headers.get('x-toolshelf-mode')).toBe('off')
  const wrong = await post({ 'x-api-key': tokens.eve ?? '' })
  expect(wrong).toMatchObject({ status: 403, text: expect.stringContaining('the mode \\"nonsense\\"') })
})

test.each([
  ['off', false],
  ['off', true],
  ['pass', false],
  ['pass', true],
] as const)('tokens are counted from the usage of replies: mode %s, stream %s', async (mode, stream) => {
  const { post, tokens, events, counted } = await openServe(
    { ada: { limits: { tokensPerDay: 150 } }, bob: {} },
    mode,
  )
  const asked = (user: string) => post({ 'x-api-key': tokens[user] ?? '' }, { stream })
  // Each reply uses 100 tokens: the second begins below the limit, and the third does not.
  expect((await asked('ada')).status).toBe(200)
  await counted(100)
  expect((await asked('ada')).status).toBe(200)
  await counted(200)
  const refused = await asked('ada')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(JSON.parse(refused.text).error).toMatchObject({
    type: 'rate_limit_error',
    message: expect.stringContaining('your limit of 150 tokens per day is reached'),
  })
  expect(events).toContainEqual(expect.objectContaining({ type: 'refused', user: 'ada', status: 429 }))
  expect((await asked('bob')).status).toBe(200)
})

test('a reply that nobody waits for counts as what was sent for it', async () => {
  const { url, tokens, counted, seen } = await openServe({ ada: { limits: { tokensPerDay: 100_000 } } })
  const controller = new AbortController()
  const messages = [{ role: 'user', content: `${'x'.repeat(4000)} hang` }]
  const body = JSON.stringify({ model: 'claude-x', max_tokens: 10, messages })
  const lost = fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': tokens.ada ?? '' },
    body,
    signal: controller.signal,
  }).catch(() => {})
  await until(() => seen.length === 1, 'the upstream has the request')
  controller.abort()
  await lost
  await counted(Math.ceil(body.length / 4))
})

test('a limit of requests is refused in the shape of each API', async () => {
  const { post, tokens } = await openServe({ ada: { limits: { requestsPerDay: 0 } } })
  const headers = { 'x-api-key': tokens.ada ?? '' }
  const messages = await post(headers)
  expect(JSON.parse(messages.text)).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } })
  const chat = await post(headers, {}, '/v1/chat/completions')
  expect(chat.status).toBe(429)
  expect(JSON.parse(chat.text).error.message).toContain('your limit of 0 requests per day is reached')
})

test('says in which headers it takes keys, and else what an authenticator of the host says', async () => {
  const refusals = [
    { status: 401, message: 'no such key', isWrongKey: true },
    { status: 401, message: 'missing group "ops"; ask an operator' },
  ] as const
  let count = 0
  const upstream = createMessagesUpstream({ url: new URL('http://127.0.0.1:9'), key: 'x', wire: 'append' })
  const served = await serveMessagesGateway({
    gateway: createMessagesGateway({ upstream }),
    setting: parseModeSetting('off')!,
    port: 0,
    users: {
      authenticate: async () => refusals[count++]!,
      refresh: async () => undefined,
      onChange: () => () => {},
      close: async () => {},
    },
  })
  onTestFinished(() => served.close())
  const post = async () =>
    (await fetch(`${served.url}/v1/messages`, { method: 'POST', body: '{}' })).json() as Promise<Loose>
  expect((await post()).error.message).toContain('send it as x-api-key')
  expect((await post()).error.message).toBe('missing group "ops"; ask an operator')
})
