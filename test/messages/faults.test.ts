// The gateway when something goes wrong: upstreams that fail in every way, clients that leave, load and nonsense.
import { Agent, type ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Rank } from '../../packages/core/src/query.ts'
import { rankers } from '../../packages/core/src/rankers/rankers.ts'
import { createChatUpstream } from '../../packages/messages/src/upstream/chat.ts'
import { createResponsesUpstream } from '../../packages/messages/src/upstream/responses.ts'
import { isThorough, sizeOf } from '../../packages/testkit/src/runs.ts'
import {
  ask,
  begin,
  closeAll,
  deadAddress,
  dial,
  errorBody,
  type Json,
  opening,
  requestFor,
  type Started,
  searchReply,
  send,
  settled,
  shareStarted,
  startFake,
  startGateway,
  stream,
  textReply,
  tool,
  unhandled,
  until,
  wireEvents,
} from './support/faults.ts'

const MODES = ['pass', 'emulate', 'shelve'] as const
const SEARCHING = ['emulate', 'shelve'] as const

afterEach(async () => {
  await closeAll()
  expect(unhandled).toEqual([])
})

const errorOf = (text: string) => (JSON.parse(text) as { error: { type: string; message: string } }).error

/** The data of the last event of a stream. */
const lastEvent = (text: string) =>
  JSON.parse(text.trim().split('\n').at(-1)?.slice('data: '.length) ?? '') as Json

describe('an upstream that refuses', () => {
  const cases = MODES.flatMap((mode) =>
    [
      [429, 'rate_limit_error'],
      [500, 'api_error'],
      [529, 'overloaded_error'],
    ].map(([status, type]) => [mode, status as number, type as string] as const),
  )

  it.each(cases)('%s: %i is relayed as it is, streamed or not', async (mode, status, type) => {
    const body = errorBody(type)
    const fake = await startFake((outgoing) =>
      outgoing.writeHead(status, { 'retry-after': '7', 'content-type': 'application/json' }).end(body),
    )
    const gateway = await startGateway(fake.url, { mode })
    for (const isStream of [true, false]) {
      const got = await ask(gateway, requestFor(mode, { stream: isStream }))
      expect(got).toMatchObject({
        status,
        text: body,
        headers: { 'retry-after': '7', 'x-toolshelf-mode': mode },
      })
    }
  })

  it.each(SEARCHING)('%s: so is a refusal of a later sampling', async (mode) => {
    const body = errorBody('rate_limit_error')
    const fake = await startFake((outgoing, _, number) =>
      number % 2 === 0
        ? stream(outgoing, searchReply(mode))
        : outgoing.writeHead(429, { 'retry-after': '70', 'content-type': 'application/json' }).end(body),
    )
    const gateway = await startGateway(fake.url, { mode })
    const whole = await ask(gateway, requestFor(mode))
    expect(whole).toMatchObject({ status: 429, text: body, headers: { 'retry-after': '70' } })
    const streamed = await ask(gateway, requestFor(mode, { stream: true }))
    expect(streamed.status).toBe(200)
    expect(lastEvent(streamed.text)).toEqual(JSON.parse(body))
    expect(streamed.text.match(/event: error/g)).toHaveLength(1)
  })

  it('a refusal in words of any kind ends a stream as an error of the API', async () => {
    const fake = await startFake((outgoing, _, number) =>
      number === 0 ? stream(outgoing, searchReply('emulate')) : outgoing.writeHead(500).end('<h1>busy</h1>'),
    )
    const gateway = await startGateway(fake.url)
    const { text } = await ask(gateway, requestFor('emulate', { stream: true }))
    expect(lastEvent(text)).toEqual({ type: 'error', error: { type: 'api_error', message: '<h1>busy</h1>' } })
  })
})

describe('an upstream that fails', () => {
  it.each(MODES)('%s: one that is not there is named in a 502', async (mode) => {
    const dead = await deadAddress()
    const gateway = await startGateway(dead, { mode })
    const { status, text } = await ask(gateway, requestFor(mode, { stream: true }))
    expect(status).toBe(502)
    expect(errorOf(text).type).toBe('api_error')
    expect(errorOf(text).message).toContain(`${dead.origin} cannot be reached (ECONNREFUSED)`)
  })

  it.each(MODES)('%s: one that says nothing is let go with the client', async (mode) => {
    const fake = await startFake(() => {})
    const gateway = await startGateway(fake.url, { mode })
    const leaving = new AbortController()
    const body = JSON.stringify(requestFor(mode, { stream: true }))
    const asked = begin(`${gateway.url}/v1/messages`, { body, signal: leaving.signal })
    await until(() => fake.came.length === 1)
    leaving.abort()
    await expect(asked).rejects.toThrow()
    await fake.came[0]?.over
    await until(() => gateway.active() === 0)
    expect(gateway.done).toMatchObject([{ status: 499 }])
  })

  const cut = (outgoing: ServerResponse) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(wireEvents(opening), () => outgoing.destroy())
  }

  it('pass: a stream that is cut is cut for the client', async () => {
    const fake = await startFake(cut)
    const gateway = await startGateway(fake.url, { mode: 'pass' })
    await expect(ask(gateway, requestFor('pass', { stream: true }))).rejects.toThrow('aborted')
  })

  it.each(SEARCHING)('%s: a stream that is cut ends with an error of the API', async (mode) => {
    const fake = await startFake(cut)
    const gateway = await startGateway(fake.url, { mode })
    const streamed = await ask(gateway, requestFor(mode, { stream: true }))
    expect(streamed.status).toBe(200)
    expect(lastEvent(streamed.text)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect(JSON.stringify(lastEvent(streamed.text))).toContain('upstream')
    const whole = await ask(gateway, requestFor(mode))
    expect(whole.status).toBe(502)
    expect(errorOf(whole.text)).toMatchObject({
      type: 'api_error',
      message: expect.stringContaining('upstream'),
    })
  })

  const head = { 'content-type': 'text/event-stream' }
  const plain = { 'content-type': 'application/json' }
  const nonsense: [string, (outgoing: ServerResponse) => void][] = [
    ['an event that is no JSON', (outgoing) => stream(outgoing, 'data: {oops\n\n')],
    ['an event that is a list', (outgoing) => stream(outgoing, 'data: [1]\n\n')],
    ['a stream of nothing', (outgoing) => stream(outgoing, '')],
    ['bytes', (outgoing) => outgoing.writeHead(200, head).end(Buffer.from([0, 255, 10, 10, 254]))],
    ['events before the message', (outgoing) => stream(outgoing, textReply('x').replace(/^.*\n.*\n\n/, ''))],
    ['a page', (outgoing) => outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['JSON that is cut', (outgoing) => outgoing.writeHead(200, plain).end('{"type":"message","content":[')],
    ['another document', (outgoing) => outgoing.writeHead(200, plain).end('{"hello":"world"}')],
    ['null', (outgoing) => outgoing.writeHead(200, plain).end('null')],
    [
      'a body shorter than it says',
      (outgoing) => {
        outgoing.writeHead(200, { ...plain, 'content-length': '100' })
        outgoing.write('{', () => outgoing.destroy())
      },
    ],
    [
      'an unknown kind of error',
      (outgoing) =>
        stream(outgoing, wireEvents({ type: 'error', error: { type: 'constructor', message: 'x' } })),
    ],
    ['no answer of HTTP', (outgoing) => outgoing.socket?.end('hello\r\n\r\n')],
    [
      'a change of protocol',
      (outgoing) =>
        outgoing.socket?.end('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    ],
    [
      'broken chunks',
      (outgoing) =>
        outgoing.socket?.end(
          'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
        ),
    ],
  ]

  it.each(nonsense)('%s is a 502', async (_, answer) => {
    const fake = await startFake(answer)
    const gateway = await startGateway(fake.url)
    for (const mode of SEARCHING) {
      for (const isStream of [true, false]) {
        const got = await ask(gateway, requestFor(mode, { stream: isStream }), { 'x-toolshelf-mode': mode })
        const inStream = got.status === 200 && isStream
        const said = inStream ? lastEvent(got.text) : (JSON.parse(got.text) as Json)
        expect(said).toMatchObject({ type: 'error', error: { message: expect.any(String) } })
        if (!inStream) expect(got.status).toBe(502)
        expect(got.text).not.toMatch(/\.ts:\d|ERR_|TypeError/)
      }
    }
    await until(() => fake.underWay() === 0 && gateway.active() === 0)
  })

  const odd = { toString: 1 }

  it('values that are not text give a reply or a 502, never an internal error', async () => {
    const item = { type: 'function_call', call_id: 'c', name: 'send_message', arguments: '{}' }
    const response = { id: odd, output: [], usage: { input_tokens: odd } }
    const streams = [
      textReply('hi').replaceAll('"index":0', '"index":{"toString":1}'),
      textReply('hi').replaceAll(':1', ':{"toString":1}'),
      wireEvents(
        { type: 'response.created', response },
        { type: 'response.output_text.delta', output_index: odd, content_index: odd, delta: 'x' },
        { type: 'response.output_item.added', output_index: odd, item },
        { type: 'response.output_item.done', output_index: odd, item },
        { type: 'response.completed', response },
      ),
      wireEvents({ type: 'error', error: { code: odd, message: odd, type: odd } }),
    ]
    const documents = [
      { error: { message: 'x', code: odd } },
      { choices: [odd] },
      { content: [odd, null], usage: odd },
    ]
    let text = ''
    const fake = await startFake((outgoing) => {
      const type = text.startsWith('{') ? 'application/json' : 'text/event-stream'
      outgoing.writeHead(200, { 'content-type': type }).end(text)
    })
    const { url } = fake
    for (const upstream of [url, createChatUpstream({ url }), createResponsesUpstream({ url })]) {
      const gateway = await startGateway(upstream)
      for (text of [...streams, ...documents.map((one) => JSON.stringify(one))]) {
        const got = await ask(gateway, requestFor('emulate', { stream: true }))
        expect([200, 502]).toContain(got.status)
        expect(got.text).not.toContain('the gateway could not answer')
      }
    }
  })

  it('broken chunks break the connection of a client whose bytes they are', async () => {
    const fake = await startFake((outgoing) =>
      outgoing.socket?.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
    )
    const gateway = await startGateway(fake.url, { mode: 'pass' })
    await expect(ask(gateway, requestFor('pass'))).rejects.toThrow('aborted')
    await until(() => gateway.active() === 0)
  })

  const endless: [string, string, string][] = [
    ['an event', 'text/event-stream', 'x'.repeat(1 << 16)],
    ['an event of many lines', 'text/event-stream', `data: ${'x'.repeat(1 << 16)}\n`],
    ['a document', 'application/json', ' '.repeat(1 << 16)],
    ['an error', 'application/json', ' '.repeat(1 << 16)],
  ]

  it.each(endless)('%s without an end is given up', async (what, type, chunk) => {
    const fake = await startFake((outgoing) => {
      outgoing.writeHead(what === 'an error' ? 500 : 200, { 'content-type': type })
      const more = () => {
        while (!outgoing.destroyed && outgoing.write(chunk)) {}
      }
      outgoing.on('drain', more)
      more()
    })
    const gateway = await startGateway(fake.url, { messages: { maxAnswerBytes: 1_000_000 } })
    const { status, text } = await ask(gateway, requestFor('emulate'))
    expect(status).toBe(502)
    expect(errorOf(text).message).toMatch(/too long/)
    await fake.came[0]?.over
  })
})

describe('a client that leaves', () => {
  it.each(MODES)('%s: in the middle of a stream', async (mode) => {
    const fake = await startFake((outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(wireEvents(opening))
    })
    const gateway = await startGateway(fake.url, { mode })
    const body = JSON.stringify(requestFor(mode, { stream: true }))
    const incoming = await begin(`${gateway.url}/v1/messages`, { body })
    incoming.on('error', () => {}).destroy()
    await fake.came[0]?.over
    await until(() => gateway.active() === 0)
  })

  it.each(SEARCHING)('%s: in the middle of the second sampling', async (mode) => {
    const fake = await startFake((outgoing, _, number) => {
      if (number === 0) stream(outgoing, searchReply(mode))
    })
    const gateway = await startGateway(fake.url, { mode })
    const leaving = new AbortController()
    const body = JSON.stringify(requestFor(mode))
    const asked = begin(`${gateway.url}/v1/messages`, { body, signal: leaving.signal })
    await until(() => fake.came.length === 2)
    leaving.abort()
    await expect(asked).rejects.toThrow()
    await fake.came[1]?.over
    await until(() => gateway.active() === 0)
  })

  it.each(SEARCHING)('%s: during a search; no further sampling is asked for', async (mode) => {
    let release = () => {}
    let isSearching = false
    const rank: Rank = async (...given) => {
      isSearching = true
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return rankers.lexical(...given)
    }
    const fake = await startFake((outgoing) => stream(outgoing, searchReply(mode)))
    const gateway = await startGateway(fake.url, { mode, rank })
    const leaving = new AbortController()
    const body = JSON.stringify(requestFor(mode, { stream: true }))
    const asked = begin(`${gateway.url}/v1/messages`, { body, signal: leaving.signal }).catch(() => {})
    await until(() => isSearching)
    leaving.abort()
    await asked
    await until(() => gateway.active() === 0)
    release()
    expect((await send(`${gateway.url}/health`, { method: 'GET' })).status).toBe(200)
    expect(fake.came).toHaveLength(1)
  })

  it.each(['pass', 'emulate'])('%s: one that reads slowly is waited for', async (mode) => {
    const total = 32
    const chunk = wireEvents({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'x'.repeat(1 << 20) },
    })
    let sent = 0
    const fake = await startFake((outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      const [start = '', end = ''] = textReply('').split(/(?=event: content_block_stop)/)
      outgoing.write(start)
      const more = () => {
        while (sent < total) {
          sent++
          if (!outgoing.write(chunk)) return
        }
        if (!outgoing.writableEnded) outgoing.end(end)
      }
      outgoing.on('drain', more)
      more()
    })
    const gateway = await startGateway(fake.url, { mode })
    const body = JSON.stringify(requestFor(mode, { stream: true }))
    const incoming = await begin(`${gateway.url}/v1/messages`, { body })
    expect(await settled(() => sent)).toBeLessThan(total / 2)
    let size = 0
    for await (const bytes of incoming) size += (bytes as Buffer).length
    expect(size).toBeGreaterThan(total * (1 << 20))
  })

  it('one that leaves while events are there to be sent leaves nothing behind', async () => {
    let given = 0
    let isClosed = false
    async function* events() {
      try {
        yield opening
        for (; given < 1_000_000; given++) {
          yield { type: 'ping' }
          await new Promise((resolve) => setImmediate(resolve))
        }
      } finally {
        isClosed = true
      }
    }
    const upstream = {
      name: 'deaf',
      api: 'messages' as const,
      wireFor: () => ({ wire: 'append' as const, why: 'x' }),
      sample: async () => ({ headers: {}, events: events() }),
      countTokens: async () => undefined,
      models: async () => ({ status: 200, headers: {}, body: '{}' }),
    }
    const gateway = await startGateway(upstream)
    const body = JSON.stringify(requestFor('emulate', { stream: true }))
    const incoming = await begin(`${gateway.url}/v1/messages`, { body })
    incoming.on('error', () => {}).destroy()
    await until(() => isClosed)
    await until(() => gateway.active() === 0)
    expect(given).toBeLessThan(1_000_000)
  })
})

describe('requests that never become whole', () => {
  it.each([
    ['headers', 'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-a'],
    ['a body', 'POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{'],
  ])('%s that do not come are waited for only so long', async (_, part) => {
    const fake = await startFake(() => {})
    const gateway = await startGateway(fake.url, { requestTimeoutMs: 100 })
    const { socket, ended } = await dial(gateway.url)
    socket.write(part)
    expect(await ended).toMatch(/^HTTP\/1\.1 408 /)
    await until(() => gateway.active() === 0)
    expect(fake.came).toEqual([])
  })

  const large = Buffer.alloc(50_000_000, 'x')

  it.each([
    ['with its length', { 'content-length': String(large.length) }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('refuses 50 MB %s with 413, and others continue', async (_, headers) => {
    const fake = await startFake((outgoing) => stream(outgoing, textReply('hi')))
    const gateway = await startGateway(fake.url)
    const [refused, other] = await Promise.all([
      send(`${gateway.url}/v1/messages`, { body: large, headers }),
      ask(gateway, requestFor('emulate')),
    ])
    expect(refused.status).toBe(413)
    expect(errorOf(refused.text)).toMatchObject({ type: 'request_too_large' })
    expect(refused.text).toContain('32 MB')
    expect(other.status).toBe(200)
    expect((await ask(gateway, requestFor('emulate'))).status).toBe(200)
    await until(() => gateway.active() === 0)
  })

  it('stops reading a body that continues after its refusal', async () => {
    const fake = await startFake(() => {})
    const gateway = await startGateway(fake.url, { maxBodyBytes: 1000, requestTimeoutMs: 3000 })
    const { socket, ended } = await dial(gateway.url)
    socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n{')
    expect(await ended).toMatch(/^HTTP\/1\.1 413 /)
    await until(() => gateway.active() === 0)
  })
})

describe('nonsense from clients', () => {
  const request = (more: Json) => JSON.stringify(requestFor('emulate', more))
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const bodies: [string, string | Buffer][] = [
    ['nothing', ''],
    ['no JSON', '{"model":'],
    ['a list', '[]'],
    ['null', 'null'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['a byte order mark alone', Buffer.from([0xef, 0xbb, 0xbf])],
    ['lone surrogates', request({ messages: [{ role: 'user', content: 'a\ud800b' }] })],
    ['lone surrogates in a name', request({ tools: [tool('a\udc00')] })],
    ['100,000 levels', deep(100_000)],
    [
      '100,000 levels in a message',
      request({ messages: 1 }).replace('"messages":1', `"messages":${deep(100_000)}`),
    ],
    [
      '100,000 levels in a tool',
      request({ tools: [{ ...tool('a'), input_schema: 1 }] }).replace(
        '"input_schema":1',
        `"input_schema":{"a":${deep(100_000)}}`,
      ),
    ],
    ['900 levels in an input', request({ messages: [{ role: 'user', content: 7 }] }).replace('7', deep(900))],
    ['huge numbers', request({ max_tokens: 1 }).replace('"max_tokens":1', '"max_tokens":1e999')],
    [
      'long numbers',
      request({ max_tokens: 1 }).replace('"max_tokens":1', `"max_tokens":${'9'.repeat(5000)}`),
    ],
    ['__proto__', request({}).replace('{', '{"__proto__":{"tools":[null]},')],
    [
      '__proto__ in a tool',
      request({ tools: [1] }).replace('[1]', '[{"name":"a","__proto__":{"defer_loading":true}}]'),
    ],
    [
      'a tool named __proto__',
      request({ tools: [tool('__proto__'), tool('constructor'), tool('hasOwnProperty')] }),
    ],
    [
      'deferred tools named so',
      request({
        tools: ['__proto__', 'constructor', 'toString'].map((name) => tool(name, { defer_loading: true })),
      }),
    ],
    ['no model', request({ model: undefined })],
    ['a number for a model', request({ model: 7 })],
    ['an endless model', request({ model: 'm'.repeat(100_000) })],
    ['tools that are no list', request({ tools: {} })],
    ['tools that are a text', request({ tools: 'abc' })],
    ['tools: null', request({ tools: null })],
    ['entries of tools that are null', request({ tools: [null, tool('a')] })],
    ['entries of tools that are lists', request({ tools: [[], 7, 'x', false] })],
    ['tools without names', request({ tools: [{}, { name: 7 }, { name: null }, { name: '' }] })],
    ['tools with the same name', request({ tools: [tool('a'), tool('a')] })],
    [
      'deferred tools with the same name',
      request({ tools: [tool('a', { defer_loading: true }), tool('a', { defer_loading: true }), tool('b')] }),
    ],
    [
      'schemas of any kind',
      request({
        tools: [
          tool('a', { input_schema: 'x' }),
          tool('b', { input_schema: null }),
          tool('c', { input_schema: { properties: [null], required: 7 } }),
        ],
      }),
    ],
    [
      'descriptions of any kind',
      request({
        tools: [tool('a', { description: 7 }), tool('b', { description: { a: 1 } }), tool('c', { type: 7 })],
      }),
    ],
    [
      'configs of any kind',
      request({
        tools: [
          tool('a', {
            configs: [null],
            default_config: 7,
            defer_loading: 'x',
            cache_control: 7,
            input_examples: 'x',
          }),
        ],
      }),
    ],
    ['messages that are no list', request({ messages: {} })],
    ['messages: null', request({ messages: null })],
    ['entries of messages that are null', request({ messages: [null] })],
    ['entries of messages that are lists', request({ messages: [[], 7, 'x'] })],
    ['no messages', request({ messages: [] })],
    [
      'roles of any kind',
      request({
        messages: [{ role: 7 }, { role: null, content: null }, { role: 'system', content: [null] }],
      }),
    ],
    [
      'content of any kind',
      request({
        messages: [
          { role: 'user', content: 7 },
          { role: 'assistant', content: { a: 1 } },
        ],
      }),
    ],
    [
      'blocks of any kind',
      request({
        messages: [
          { role: 'user', content: [null, 7, 'x', [], {}] },
          { role: 'assistant', content: [null, { type: 7 }, { type: 'tool_use' }] },
        ],
      }),
    ],
    [
      'results of any kind',
      request({
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 7, name: null, input: 'x' },
              { type: 'server_tool_use', id: null, name: 'tool_search_tool_bm25', input: 7 },
            ],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: {},
                content: [null, { type: 'tool_reference' }, { type: 'tool_reference', tool_name: 7 }],
              },
              { type: 'tool_search_tool_result', content: null },
            ],
          },
        ],
      }),
    ],
    [
      'changes of any kind',
      request({
        messages: [
          {
            role: 'system',
            content: [
              { type: 'tool_addition' },
              { type: 'tool_addition', tool: null },
              { type: 'tool_removal', tool: 7 },
            ],
            tool_changes: [null],
          },
        ],
      }),
    ],
    ['choices of any kind', request({ tool_choice: 'any', system: 7, stream: 'yes', metadata: [] })],
    ['a thread', request({ thread: { id: 7 } })],
  ]

  let gateway: Started
  let others: { readonly name: string; readonly gateway: Started }[] = []
  let closeShared = async () => {}
  const agent = new Agent({ keepAlive: true })

  beforeAll(async () => {
    const fake = await startFake((outgoing, { url }) =>
      url.includes('count_tokens')
        ? outgoing
            .writeHead(400, { 'content-type': 'application/json' })
            .end(errorBody('invalid_request_error'))
        : stream(outgoing, textReply('hi')),
    )
    gateway = await startGateway(fake.url)
    const { url } = await startFake((outgoing) =>
      outgoing.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}'),
    )
    const upstreams = [createChatUpstream({ url }), createResponsesUpstream({ url })]
    others = await Promise.all(
      upstreams.map(async (upstream) => ({ name: upstream.name, gateway: await startGateway(upstream) })),
    )
    closeShared = shareStarted()
  })
  afterAll(async () => {
    agent.destroy()
    await closeShared()
  })

  /** By default each body meets one of these modes, in turn; with more effort, all. */
  const inTurn = (modes: readonly string[], name: string) => {
    const index = bodies.findIndex(([one]) => one === name)
    return isThorough ? modes : [modes[index % modes.length] as string]
  }

  it.each(bodies)('%s: never a fault of ours, in any mode', async (name, body) => {
    const settings = ['off', 'auto', 'auto:0']
    const asked = {
      '/v1/messages': [...MODES, ...inTurn(settings, name)],
      '/v1/messages/count_tokens': inTurn(isThorough ? [...MODES, ...settings] : MODES, name),
    }
    for (const [path, modes] of Object.entries(asked)) {
      for (const mode of modes) {
        const headers = { 'x-toolshelf-mode': mode }
        const got = await send(`${gateway.url}${path}`, { body, headers, agent })
        expect({ mode, path, status: got.status, text: got.status < 500 ? '' : got.text }).toEqual({
          mode,
          path,
          status: expect.toSatisfy((status: number) => status === 200 || (status >= 400 && status < 500)),
          text: '',
        })
        if (got.status !== 200) expect(JSON.parse(got.text)).toMatchObject({ type: 'error' })
        expect(got.text).not.toMatch(/\.ts:\d|TypeError|Cannot (read|destructure)/)
      }
    }
  })

  it.each(bodies)('%s: nor before an upstream of another language', async (title, body) => {
    for (const { name, gateway } of others) {
      for (const mode of ['emulate', ...inTurn(['shelve', 'off'], title)]) {
        const headers = { 'x-toolshelf-mode': mode }
        const got = await send(`${gateway.url}/v1/messages`, { body, headers, agent })
        expect({ mode, name, status: got.status, text: got.text }).toEqual({
          mode,
          name,
          status: expect.toSatisfy((status: number) => status >= 400 && status < 500),
          text: expect.not.stringMatching(/\.ts:\d|TypeError|Cannot (read|destructure)/),
        })
      }
    }
  })

  it('ids of any kind do not trouble the memory of searches', async () => {
    const fake = await startFake((outgoing, _, number) =>
      stream(outgoing, number === 0 ? searchReply('shelve') : textReply('hi')),
    )
    const gateway = await startGateway(fake.url, { mode: 'shelve' })
    expect((await ask(gateway, requestFor('shelve'))).status).toBe(200)
    const content = [{ type: { toString: 1 }, id: { toString: 1 }, tool_use_id: { toString: 1 } }]
    const messages = [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content },
      { role: 'user', content },
    ]
    expect((await ask(gateway, requestFor('shelve', { messages }))).status).toBe(200)
  })

  it.each(['//', '//[', 'http://[::', '/%', '/v1/%ff', '*'])(
    'the address %s is no reason to fall',
    async (address) => {
      const fake = await startFake((outgoing) => outgoing.writeHead(404).end())
      const gateway = await startGateway(fake.url)
      const { socket, ended } = await dial(gateway.url)
      socket.write(`GET ${address} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
      expect(await ended).toMatch(/^HTTP\/1\.1 4\d\d /)
      await until(() => gateway.active() === 0)
    },
  )
})

describe('much', () => {
  const tools = sizeOf({ quick: 1000, full: 10_000 })
  const turns = sizeOf({ quick: 800, full: 5000 })
  const many = Array.from({ length: tools }, (_, index) => `service_${index % 100}_action_${index}`)

  it.each(SEARCHING)(`%s: ${tools} tools`, async (mode) => {
    const fake = await startFake((outgoing, _, number) =>
      stream(outgoing, number === 0 ? searchReply(mode, 'service 7 action 807') : textReply('done')),
    )
    const gateway = await startGateway(fake.url, { mode })
    const { status, text } = await ask(gateway, requestFor(mode, {}, many))
    expect(status).toBe(200)
    expect(text).toContain('done')
    expect(gateway.done).toMatchObject([
      { outcome: { toolsGiven: expect.any(Number), searches: 1, rounds: 2 } },
    ])
    expect(fake.came[0]?.body.length).toBeLessThan(1_000_000)
    expect(fake.came[1]?.body).toContain('"service_7_action_807"')
  })

  it.each(SEARCHING)(`%s: ${turns} messages`, async (mode) => {
    const messages = Array.from({ length: turns }, (_, index) => {
      const id = `toolu_${index >> 1}`
      return index % 2 === 0
        ? {
            role: 'user',
            content:
              index === 0
                ? 'hello'
                : [{ type: 'tool_result', tool_use_id: `toolu_${(index >> 1) - 1}`, content: 'ok' }],
          }
        : { role: 'assistant', content: [{ type: 'tool_use', id, name: 'here', input: {} }] }
    }).slice(0, turns - 1)
    const fake = await startFake((outgoing, _, number) =>
      stream(outgoing, number === 0 ? searchReply(mode) : textReply('done')),
    )
    const gateway = await startGateway(fake.url, { mode })
    const given = requestFor(mode)
    const more = { tools: [...(given.tools as Json[]), tool('here')], messages }
    const { status, text } = await ask(gateway, { ...given, ...more })
    expect(text).toContain('done')
    expect(status).toBe(200)
  })

  it.each(SEARCHING)('%s: very many blocks in one message', async (mode) => {
    const content = Array.from({ length: sizeOf({ quick: 6000, full: 50_000 }) }, () => ({
      type: 'text',
      text: 'x',
    }))
    const fake = await startFake((outgoing) => stream(outgoing, textReply('done')))
    const gateway = await startGateway(fake.url, { mode })
    const { status } = await ask(gateway, requestFor(mode, { messages: [{ role: 'user', content }] }))
    expect(status).toBe(200)
  })

  it('more messages than the API takes are refused at once', async () => {
    const fake = await startFake((outgoing) => stream(outgoing, textReply('hi')))
    const gateway = await startGateway(fake.url, { mode: 'shelve' })
    const messages = Array.from({ length: 100_001 }, () => ({ role: 'user', content: 'x' }))
    const { status, text } = await ask(gateway, requestFor('shelve', { messages }))
    expect([status, JSON.parse(text).error.message]).toEqual([
      400,
      'messages: at most 100000 are allowed, but there are 100001',
    ])
    expect(fake.came).toEqual([])
  })

  const streams = sizeOf({ quick: 20, full: 500 })

  it.each(['pass', 'emulate'])(`%s: ${streams} streams at once`, async (mode) => {
    const waiting: ServerResponse[] = []
    const fake = await startFake((outgoing, { body }) => {
      if (mode === 'emulate' && !body.includes('tool_result')) return stream(outgoing, searchReply(mode))
      waiting.push(outgoing)
      if (waiting.length === streams)
        for (const [index, one] of waiting.entries()) stream(one, textReply(`hi ${index}`))
    })
    const gateway = await startGateway(fake.url, { mode })
    const answers = await Promise.all(
      Array.from({ length: streams }, () => ask(gateway, requestFor(mode, { stream: true }))),
    )
    expect(answers.every(({ status, text }) => status === 200 && text.includes('message_stop'))).toBe(true)
    const said = new Set(answers.map(({ text }) => /hi \d+/.exec(text)?.[0]))
    expect(said.size).toBe(streams)
    await until(() => gateway.active() === 0 && fake.underWay() === 0)
    expect(gateway.done).toHaveLength(streams)
  })

  it('closing ends running requests, here and upstream', async () => {
    const fake = await startFake((outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(wireEvents(opening))
    })
    const gateway = await startGateway(fake.url)
    const bodies = [...MODES, ...MODES].map((mode) => JSON.stringify(requestFor(mode, { stream: true })))
    const streams = await Promise.all(bodies.map((body) => begin(`${gateway.url}/v1/messages`, { body })))
    const cut = streams.map((one) => new Promise((resolve) => one.on('error', resolve).resume()))
    await gateway.close()
    await Promise.all(cut)
    await until(() => fake.underWay() === 0 && gateway.active() === 0)
  })
})
