// What holds for every request that passes through the gateway, whatever the APIs: JSON in any spelling, endpoints, thoughts that
// nobody asked to see, calls through CallTool, limits of tools, and keys in what is forwarded.
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { endOnFailure, runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { eventsOf, streamReaders } from './replies.ts'
import { ask, openGateway, openModel, openVendor, sample, upstreamFor } from './servers.ts'

const TRIES = runs(160)
const SEED = seedOr(20261122)
const params = { numRuns: TRIES, seed: SEED, endOnFailure }
const TIME = 60_000 + TRIES * 200
const hi = { role: 'user', content: 'hi' }
const text = (said: string) => ({ type: 'text', text: said })
const tool = (name: string, more: Loose = {}) => ({
  name,
  description: name,
  input_schema: { type: 'object' },
  ...more,
})
const message = (...content: Loose[]) => ({
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  usage: {},
  stop_reason: 'end_turn',
})

/** JSON with its numbers as texts, so that none loses digits. */
const exactly = (json: string): unknown =>
  JSON.parse(
    json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
      token.startsWith('"') ? token : `"#${token}"`,
    ),
  )

/** Values as somebody writes them by hand: spaces anywhere, escapes, long numbers, long texts. */
const space = fc.constantFrom('', '', ' ', '\n\t ', '\r')
const { value: anyJson } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(
      'null',
      'true',
      '0',
      '-1.5',
      '12345678901234567890',
      '""',
      `"${'x'.repeat(20_000)}"`,
      `"${'\\n\\"'.repeat(2000)}"`,
      '"\\ud83d\\ude00é\u2028"',
      '"]}"',
    ),
    fc.string({ unit: 'grapheme' }).map((one) => JSON.stringify(one)),
    listOf(tie('value'), '[', ']'),
    listOf(
      fc
        .tuple(fc.constantFrom('"a"', '"data"', '"\\u0061b"', '"__proto"'), space, tie('value'))
        .map(([key, gap, value]) => `${key}${gap}:${gap}${value}`),
      '{',
      '}',
    ),
  ),
}))

function listOf(items: fc.Arbitrary<string>, open: string, close: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(items, { maxLength: 4 }), space)
    .map(([list, gap]) => `${open}${gap}${list.map((one) => `${gap}${one}${gap}`).join(',')}${close}`)
}

/** In a message that is written anew, in a tool, and beside them; only values in objects keep digits that JavaScript cannot hold. */
const around = (value: string) =>
  `{"model":"m","max_tokens":9, "messages" : [{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","own": ${value}}]}],"tools":[{"name":"a","input_schema":${value}}],"own":${value}}`

describe('JSON', () => {
  it('in any spelling arrives with every value and digit', { timeout: TIME }, async () => {
    const vendor = await openVendor({ body: message() })
    const gateway = await openGateway(upstreamFor('messages', vendor.url, { wire: 'native' }))
    await fc.assert(
      fc.asyncProperty(anyJson, anyJson, async (value, other) => {
        for (const one of [value, other, value].map((inner) => `{"in": ${inner}}`)) {
          const { status, text } = await ask(gateway, 'messages', around(one))
          expect(status, text).toBe(200)
          const [sent, given] = [vendor.sent.at(-1)!.json, around(one)].map(exactly) as [Loose, Loose]
          expect([sent.own, sent.messages, sent.tools]).toEqual([given.own, given.messages, given.tools])
        }
      }),
      params,
    )
  })

  it('that is none is refused, and read where it still is some', { timeout: TIME }, async () => {
    const model = await openModel()
    const whole = around('[1, {"a":"b\\n"}, [] , {}]')
    await fc.assert(
      fc.asyncProperty(
        fc.nat(whole.length),
        fc.constantFrom('', '"', '}', ',', '\\', '\u0001', ':', '1'),
        fc.boolean(),
        async (at, put, isInstead) => {
          const json = whole.slice(0, at) + put + whole.slice(at + (isInstead ? 1 : 0))
          const { status, body } = await ask(model.url, 'messages', json)
          let isJson = true
          try {
            JSON.parse(json)
          } catch {
            isJson = false
          }
          if (!isJson) expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
          else expect([200, 400]).toContain(status)
        },
      ),
      params,
    )
    for (const odd of ['[]', '5', '"x', '', `{"__proto__":{},${whole.slice(1)}`, `\ufeff${whole}`]) {
      const { status } = await ask(model.url, 'messages', odd)
      expect([odd.slice(0, 9), status]).toEqual([odd.slice(0, 9), odd.length > 100 ? 200 : 400])
    }
    expect((await ask(model.url, 'messages', around('['.repeat(5000) + ']'.repeat(5000)))).status).toBe(400)
  })

  it('that was sent before is known by its bytes: the same list of the same client, and no other', async () => {
    const model = await openModel()
    const asked = (messages: string, key = 'one', tools = '[{"name":"a"},{"name":"b"}]') =>
      ask(model.url, 'messages', `{"model":"m","tools":${tools},"messages":${messages}}`, {
        'x-api-key': key,
      })
    const [a, b] = ['{"role":"user","content":"a"}', '{"role":"assistant","content":"b"}']
    for (const [messages, key] of [[`[${a},${b}]`], [`[${a} ,\n ${b},${a}]`], [`[${a},${b}]`, 'other']])
      await asked(messages!, key)
    const [one, longer, other] = model.requests
    expect([longer.tools === one.tools, other.tools === one.tools]).toEqual([true, false])
    expect(
      longer.messages.slice(0, 2).map((message: Loose, at: number) => message === one.messages[at]),
    ).toEqual([true, true])
    for (const messages of [
      `[${a}]`,
      `[${b}]`,
      `[${a},${a.replace('"a"', '"aa"')}]`,
      `[${a},${b}],"messages":[${b}]`,
    ]) {
      await asked(messages)
      expect(model.last().messages).toEqual(JSON.parse(`{"messages":${messages}}`).messages)
    }
  })

  it('with a key twice has its last value', async () => {
    const model = await openModel()
    const image = `{"data":"${'x'.repeat(20_000)}","data":"y"}`
    const { status } = await ask(model.url, 'messages', `{"model":"m","messages":[],"own":${image}}`)
    expect([status, model.last()?.own]).toEqual([200, { data: 'y' }])
  })

  it('that nobody changes leaves as the bytes that came, and too much of it is refused', async () => {
    const vendor = await openVendor({ body: message() })
    const gateway = await openGateway(upstreamFor('messages', vendor.url, { wire: 'native' }))
    const exact = '{ "role": "user", "content": [ {"type":"text", "text":"\\u00e9", "n": 1.0} ] }'
    await ask(gateway, 'messages', `{"model":"m","messages":[${exact}]}`)
    expect(vendor.sent[0]?.json).toContain(exact)
    const refused = async (name: string, count: number, item = '{}') =>
      (await ask(gateway, 'messages', `{"model":"m","${name}":[${`${item},`.repeat(count - 1)}${item}]}`))
        .body.error.message
    expect(await refused('metadata', 1_000_002)).toContain('more than 1000000 values')
    for (const name of ['tools', 'messages', 'input'])
      expect(await refused(name, 100_001)).toBe(`${name}: at most 100000 are allowed, but there are 100001`)
  })
})

describe('endpoints', () => {
  it('have the paths of both vendors, with and without /v1; unknown ones are refused in the client’s words', async () => {
    const { url } = await openModel()
    const post = async (path: string, headers: Loose) => {
      const got = await fetch(new URL(path, url), {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'm', messages: [hi] }),
      })
      return [got.status, await got.json()]
    }
    expect(await post('/chat/completions', {})).toMatchObject([200, { object: 'chat.completion' }])
    for (const path of ['/v1/embeddings', '/v1/completions', '/v1/realtime/x', '/v1/chat/other'])
      expect(await post(path, {})).toMatchObject([
        404,
        { error: { type: 'invalid_request_error', code: 'not_found' } },
      ])
    expect(await post('/v1/files', { authorization: 'Bearer x' })).toMatchObject([
      404,
      { error: { code: 'not_found' } },
    ])
    expect(await post('/v1/files', { 'x-api-key': 'x' })).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' } },
    ])
    expect(await post('/v1/chatter', {})).toMatchObject([404, { type: 'error' }])
    for (const [path, words] of [
      ['/v1/responses', /426|WebSocket/i],
      ['/v1/realtime', /the Realtime API is not supported; use POST \/v1\/responses/],
    ] as const) {
      const headers = { connection: 'upgrade', upgrade: 'websocket' }
      const refused = await new Promise<IncomingMessage>((resolve, reject) =>
        get(new URL(path, url), { headers }, resolve).on('error', reject),
      )
      expect(refused.statusCode).toBe(426)
      expect(await textOf(refused)).toMatch(words)
    }
  })

  it('that list models pass an error of the upstream on', async () => {
    const vendor = await openVendor({ status: 401, body: { error: { message: 'who?' } } })
    const gateway = await openGateway(upstreamFor('responses', vendor.url))
    for (const path of ['/v1/models', '/v1/models/x']) {
      const got = await fetch(new URL(path, gateway), { headers: { authorization: 'Bearer x' } })
      expect([got.status, await got.json()]).toMatchObject([
        401,
        { error: { message: 'who?', code: 'invalid_api_key' } },
      ])
    }
  })

  it('that stream keep a silent client alive, in its own API', async () => {
    const model = await openModel({ silenceMs: 1, headWaitMs: 1 })
    const asked = {
      messages: { model: 'm', messages: [hi] },
      chat: { model: 'm', messages: [hi] },
      responses: { model: 'm', input: 'hi' },
    } as const
    for (const [api, alive] of [
      ['messages', 'event: ping'],
      ['chat', ': ping'],
      ['responses', 'event: keepalive'],
    ] as const) {
      let said = ''
      model.pause = () => new Promise((resolve) => setTimeout(resolve, 40))
      said = (await ask(model.url, api, { ...asked[api], stream: true })).text
      expect(said).toContain(alive)
    }
  })
})

it('events of no use to a client’s API change nothing', async () => {
  const model = await openModel()
  const [start, ...rest] = eventsOf({ blocks: [text('x')] })
  const odd = { type: 'content_block_delta', index: 99, delta: { type: 'text_delta', text: 'lost' } }
  model.reply = { blocks: [], events: [start!, { type: 'ping' }, ...rest.slice(0, -1), odd, rest.at(-1)!] }
  const { text: streamed } = await ask(model.url, 'responses', { model: 'm', input: 'hi', stream: true })
  expect(streamReaders.responses!(streamed).output).toMatchObject([{ content: [{ text: 'x' }] }])
})

it('a thought that nobody asked to see comes back to its model, for its own client only', async () => {
  const call = { id: 'x', type: 'function', function: { name: 'read', arguments: '{}' } }
  const vendor = await openVendor({
    body: { choices: [{ message: { reasoning_content: 'Hm', tool_calls: [call] } }] },
  })
  const gateway = await openGateway(upstreamFor('chat', vendor.url, { key: 'upstream' }))
  const asked = (messages: Loose[], key = 'one') =>
    ask(
      gateway,
      'messages',
      { model: 'deepseek-v4', max_tokens: 9, tools: [tool('read')], messages: [hi, ...messages] },
      { 'x-api-key': key },
    )
  const { content } = (await asked([])).body
  expect(content.map(({ type }: Loose) => type)).toEqual(['tool_use'])
  const next = [
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: content[0].id, content: 'ok' }] },
  ]
  await asked(next)
  expect(vendor.last().messages[1].reasoning_content).toBe('Hm')
  await asked(next, 'two')
  expect(vendor.last().messages[1].reasoning_content).toBe('.')
})

it('wire 28, 39, 40: calls through CallTool are calls of what they name, with arguments of any spelling', async () => {
  const vendor = await openVendor()
  const gateway = await openGateway(upstreamFor('messages', vendor.url, { wire: 'bridge' }), 'emulate')
  const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
  const tools = [search, tool('read'), tool('x', { defer_loading: true })]
  const called = async (input: Loose) => {
    vendor.answer = { body: message({ type: 'tool_use', id: 'a', name: 'CallTool', input }) }
    const { content } = (await ask(gateway, 'messages', { model: 'm', max_tokens: 9, tools, messages: [hi] }))
      .body
    return [content[0].name, content[0].input]
  }
  expect(await called({ name: 'x', arguments: { a: 1 } })).toEqual(['x', { a: 1 }])
  expect(await called({ name: 'x', arguments: '{"a":1}' })).toEqual(['x', { a: 1 }])
  for (const odd of ['{', '[1]', 5, null])
    expect(await called({ name: 'x', arguments: odd })).toEqual(['x', {}])
  for (const wrong of [{ name: '', arguments: {} }, { arguments: {} }, {}, { name: 'x', input: { a: 1 } }])
    expect(await called(wrong)).toEqual(['CallTool', wrong])
})

it('a toolset loses its deferral where everything is loaded', async () => {
  const model = await openModel()
  const gateway = await openGateway(upstreamFor('messages', model.url))
  const set = (more: Loose) => ({ type: 'mcp_toolset', mcp_server_name: 's', ...more })
  await ask(gateway, 'messages', {
    model: 'm',
    messages: [hi],
    tools: [
      set({
        default_config: { defer_loading: true, enabled: true },
        configs: { a: { defer_loading: false, x: 1 } },
      }),
      set({ mcp_server_name: 't', configs: { a: {} } }),
      tool('b', { defer_loading: true }),
    ],
  })
  expect(model.last().tools).toEqual([
    set({ default_config: { enabled: true }, configs: { a: { x: 1 } } }),
    set({ mcp_server_name: 't', configs: { a: {} } }),
    tool('b'),
  ])
})

it('more tools than OpenAI takes are shelved, and those beyond its limit go through CallTool', async () => {
  const vendor = await openVendor({ body: { choices: [{ message: { content: 'x' } }] } })
  const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`act_${index}`))
  const sentFor = async (mode: string, messages: Loose[]) => {
    const gateway = await openGateway(upstreamFor('chat', vendor.url), mode)
    const { status } = await ask(gateway, 'messages', {
      model: 'gpt-4o',
      max_tokens: 9,
      tools: many(150),
      messages,
    })
    expect(status).toBe(200)
    return vendor.last().tools.map((one: Loose) => one.function.name)
  }
  expect((await sentFor('auto', [hi])).length).toBeLessThan(10)
  const used = many(140).flatMap(({ name }, at) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${at}`, name, input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${at}`, content: 'ran' }] },
  ])
  const names = await sentFor('shelve', [hi, ...used])
  expect([names.length, names.at(-1)]).toEqual([128, 'CallTool'])
})

it('the operator’s key is masked in bytes that are forwarded, wherever they are cut', async () => {
  const said = 'a secret-key b sec secret-ke secret-keysecret-key'
  const vendor = await openVendor({ body: said, headers: { 'content-type': 'text/event-stream' } })
  const gateway = await openGateway(upstreamFor('chat', vendor.url, { key: 'secret-key' }), 'auto')
  for (const size of [1, 3, 7, 100]) {
    vendor.answer = { body: said, headers: { 'content-type': 'text/event-stream' }, sizes: [size] }
    const got = await ask(gateway, 'chat', { model: 'm', messages: [hi], stream: true, n: 2 })
    expect(got.text).toBe(
      'a [redacted] b sec secret-ke [redacted][redacted]'.replaceAll('[redacted]', '[redacted]'.slice(0, 10)),
    )
  }
  const counting = await openVendor(({ headers }) => ({
    status: 400,
    body: { error: { message: `no ${headers['x-api-key']}` } },
  }))
  const upstream = upstreamFor('messages', counting.url, { key: 'secret-key' })
  const counted: Loose = await upstream.countTokens(
    { model: 'm', messages: [] },
    { headers: {}, signal: new AbortController().signal },
  )
  expect(counted.body).toContain('no [redacted]')
  await expect(sample(upstream, { model: 'm', messages: [] })).rejects.toThrow('no [redacted]')
})

it.each(['messages', 'chat', 'responses'] as const)(
  'what a client of %s has sent before is not converted again',
  async (api) => {
    const model = await openModel()
    const say = (role: string, content: string) => ({ role, content })
    const talk = [
      say('user', 'a'),
      say('assistant', 'b'),
      say('user', 'c'),
      say('assistant', 'd'),
      say('user', 'e'),
    ]
    const tools = {
      messages: tool('read'),
      chat: { type: 'function', function: { name: 'read' } },
      responses: { type: 'function', name: 'read' },
    }
    for (const count of [3, 5])
      await ask(model.url, api, {
        model: 'm',
        tools: [tools[api]],
        [api === 'responses' ? 'input' : 'messages']: talk.slice(0, count),
      })
    const [first, second] = model.requests
    expect(second.tools).toBe(first.tools)
    for (const [at, message] of first.messages.entries()) expect(second.messages[at]).toBe(message)
  },
)

it('a client that leaves ends the work of its upstream, and connections are kept for the next request', async () => {
  const ports: unknown[] = []
  let isOver = () => {}
  const over = new Promise<void>((resolve) => {
    isOver = resolve
  })
  const server = createServer((incoming, outgoing) => {
    ports.push(incoming.socket.remotePort)
    if (ports.length < 3) return void outgoing.end('{"choices":[{"message":{"content":"x"}}]}')
    outgoing
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .write('data: {"choices":[{"delta":{"content":"x"}}]}\n\n')
    outgoing.once('close', isOver)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const gateway = await openGateway(upstreamFor('chat', new URL(`http://127.0.0.1:${port}/v1`)))
  const asked = { model: 'm', messages: [hi] }
  for (let count = 0; count < 2; count++) await ask(gateway, 'messages', asked)
  expect(new Set(ports).size).toBe(1)
  const leaving = new AbortController()
  const body = JSON.stringify({ ...asked, stream: true })
  const got = await fetch(new URL('/v1/messages', gateway), { method: 'POST', body, signal: leaving.signal })
  leaving.abort()
  await over
  expect(got.status).toBe(200)
})

it('reasoning that led to a hidden search goes back to its model, and one that is forged does not', async () => {
  const thought = (id: number) => ({
    type: 'reasoning',
    id: `rs_${id}`,
    summary: [],
    encrypted_content: `e${id}`,
  })
  const called = (id: string, name: string, args: Loose) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: JSON.stringify(args),
  })
  const vendor = await openVendor(({ body }) => {
    const outputs = body.input.filter(({ type }: Loose) => type === 'function_call_output').length
    const calls = [called('s', 'ToolSearch', { query: 'select:mail' }), called('c', 'mail', {})]
    const said = { type: 'message', content: [{ type: 'output_text', text: 'Done.' }] }
    return { body: { status: 'completed', output: [thought(outputs), calls[outputs] ?? said], usage: {} } }
  })
  const gateway = await openGateway(upstreamFor('responses', vendor.url, { wire: 'append' }), 'shelve')
  const tools = ['mail', 'post', 'fax'].map((name) => tool(name))
  for (const thinking of [undefined, { type: 'adaptive' }]) {
    const asked = (messages: Loose[]) =>
      ask(gateway, 'messages', {
        model: 'gpt-5.4',
        max_tokens: 99,
        tools,
        thinking,
        messages: [hi, ...messages],
      })
    const { content } = (await asked([])).body
    const calls = content.filter(({ type }: Loose) => type === 'tool_use')
    expect(calls.map(({ name }: Loose) => name)).toEqual(['mail'])
    expect(content.some(({ type }: Loose) => type === 'thinking')).toBe(thinking !== undefined)
    await asked([
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: calls[0].id, content: 'sent' }] },
    ])
    const kinds = vendor
      .last()
      .input.map(({ type, encrypted_content: content, name }: Loose) => content ?? name ?? type)
    expect(kinds).toEqual([
      'message',
      'message',
      'e0',
      'ToolSearch',
      'function_call_output',
      'e1',
      'mail',
      'function_call_output',
    ])
  }
  const deep = `{"type":"reasoning","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const forged = {
    type: 'thinking',
    thinking: '',
    signature: `toolshelf.item.${Buffer.from(deep).toString('base64url')}`,
  }
  await ask(gateway, 'messages', {
    model: 'gpt-5.4',
    max_tokens: 9,
    messages: [hi, { role: 'assistant', content: [forged, text('yes')] }, hi],
  })
  expect(vendor.last().input.map(({ type }: Loose) => type)).not.toContain('reasoning')
})
