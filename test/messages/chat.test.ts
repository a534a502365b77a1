// The Chat Completions upstream as the gateway sees it: addresses, credentials, refusals, models, connections.
import { describe, expect, it } from 'vitest'
import { createChatUpstream, UpstreamError } from '../../src/messages/upstream/index.ts'
import {
  type ChatAnswer,
  callWith,
  chunk,
  completion,
  hello,
  refusal,
  refused,
  sample,
  serveChat,
  talk,
} from './support/chat-server.ts'

const answer: ChatAnswer = { body: completion({ content: 'Hi' }) }

describe('the upstream', () => {
  it('appends tools, unless another wire is forced', () => {
    const url = new URL('http://user:secret@127.0.0.1:1/v1')
    const upstream = createChatUpstream({ url })
    expect(upstream.wireFor('m')).toMatchObject({
      wire: 'append',
      why: expect.stringContaining('references'),
    })
    expect(createChatUpstream({ url, wire: 'bridge' }).wireFor('m').wire).toBe('bridge')
    expect(() => createChatUpstream({ url, wire: 'native' })).toThrow(/append or bridge/)
    expect(upstream.name).not.toContain('secret')
    expect(upstream.api).toBe('chat')
  })

  it('counts no tokens', async () => {
    expect(
      await createChatUpstream({ url: new URL('http://127.0.0.1:1') }).countTokens(hello, callWith()),
    ).toBeUndefined()
  })

  it.each(['', '/'])('finds its addresses below a base that ends in "%s"', async (end) => {
    const server = await serveChat(({ method }) => (method === 'GET' ? { body: { data: [] } } : answer))
    const upstream = createChatUpstream({ url: new URL(`${server.url}${end}`) })
    await sample(upstream, hello)
    await upstream.models(callWith())
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/models'])
  })
})

describe('credentials', () => {
  const headers = {
    'x-api-key': 'client',
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'b',
    'x-stainless-lang': 'js',
  }
  it.each([
    ['its own key', 'own', headers, 'Bearer own'],
    ["the client's key", undefined, headers, 'Bearer client'],
    ["the client's authorization", undefined, { ...headers, authorization: 'Bearer token' }, 'Bearer token'],
    ['none', undefined, {}, undefined],
    ["nothing that is Anthropic's", undefined, { 'x-api-key': 'sk-ant-api03-x' }, undefined],
  ])('are %s', async (_, key, given, authorization) => {
    const server = await serveChat(() => answer)
    const upstream = createChatUpstream({ url: server.url, ...(key ? { key } : {}) })
    await upstream.sample(hello, callWith(given))
    const sent = server.requests[0]!.headers
    expect(sent.authorization).toBe(authorization)
    expect(Object.keys(sent).filter((name) => /^(anthropic|x-)/.test(name))).toEqual([])
  })
})

describe('refusals', () => {
  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [418, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [503, 'overloaded_error'],
  ])('%i is %s, with its status, words and headers', async (status, type) => {
    const headers = { 'retry-after': '7', 'x-request-id': 'req_9' }
    const relayed = await refused({
      status,
      headers,
      body: { error: { message: 'No', type: 'x', code: 'y' } },
    })
    expect(relayed.status).toBe(status)
    expect(relayed.headers).toMatchObject({ 'retry-after': '7', 'content-type': 'application/json' })
    expect(JSON.parse(relayed.body)).toEqual({
      type: 'error',
      error: { type, message: 'No' },
      request_id: 'req_9',
    })
  })

  it.each([
    [{ object: 'error', message: 'No' }, 'No'],
    [{ error: 'No' }, 'No'],
    [{ detail: 'No' }, 'No'],
    [{ message: { detail: [{ msg: 'No' }] } }, '[{"msg":"No"}]'],
    [[{ error: { message: 'No' } }], 'No'],
    ['<h1>No</h1>', '<h1>No</h1>'],
    [{}, 'the upstream answered with status 500 and gave no reason'],
  ])('reads %j', async (body, message) => {
    expect(JSON.parse((await refused({ status: 500, body })).body).error.message).toBe(message)
  })

  it('does not follow a redirect', async () => {
    const relayed = await refused({ status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: {} })
    expect(relayed.status).toBe(502)
    expect(relayed.headers).not.toHaveProperty('location')
  })

  it.each([
    [{ error: { message: 'Busy', code: 429 } }, 429, 'Busy'],
    [{ error: { message: 'Broken', code: 'server_error' } }, 502, 'Broken'],
    [{ hello: 'world' }, 502, 'did not answer with a completion'],
    ['<html></html>', 502, 'did not answer with a completion'],
  ])('takes no 200 for a reply that is none: %j', async (body, status, message) => {
    const relayed = await refused({ body }, { stream: true })
    expect(relayed.status).toBe(status)
    expect(JSON.parse(relayed.body).error.message).toContain(message)
  })

  it('offers the request without the fields that a server names, one after the other', async () => {
    const server = await serveChat(({ body }) => {
      if (body.user)
        return { status: 422, body: { detail: [{ type: 'extra_forbidden', loc: ['body', 'user'] }] } }
      if (body.max_tokens) return refusal("'max_tokens' is too large: 100")
      return answer
    })
    const request = { ...hello, temperature: 0, metadata: { user_id: 'someone' } }
    const { message } = await sample(createChatUpstream({ url: server.url }), request)
    expect(message.content).toEqual([{ type: 'text', text: 'Hi' }])
    expect(server.requests.map(({ body }) => Object.keys(body).join())).toEqual([
      'model,max_tokens,temperature,user,messages',
      'model,max_tokens,temperature,messages',
      'model,temperature,messages',
    ])
  })

  it('ends when nothing can be spared', async () => {
    const server = await serveChat(() => refusal('max_tokens, user, messages: all wrong'))
    const sampled = await createChatUpstream({ url: server.url }).sample(hello, callWith())
    expect(sampled).toMatchObject({ refused: { status: 400 } })
    expect(server.requests).toHaveLength(2)
  })
})

describe('connections', () => {
  it('says what to do when nobody answers', async () => {
    const upstream = createChatUpstream({ url: new URL('http://127.0.0.1:1/v1') })
    await expect(upstream.sample(hello, callWith())).rejects.toThrow(UpstreamError)
  })

  it('keeps the connection for the next request', async () => {
    const server = await serveChat(() => ({ data: [chunk({ content: 'Hi' }, 'stop'), '[DONE]'] }))
    const upstream = createChatUpstream({ url: server.url })
    const isReused = () => server.ports.size < server.requests.length
    // It is free again as soon as the server has ended its answer, which may be after the next request.
    for (let round = 0; round < 50 && !isReused(); round++) await sample(upstream, { ...hello, stream: true })
    expect(isReused()).toBe(true)
  })

  it('gives the headers, without those of the body', async () => {
    const server = await serveChat(() => ({ data: [chunk({ content: 'Hi' }, 'stop'), '[DONE]'] }))
    const sampled = await createChatUpstream({ url: server.url }).sample(
      { ...hello, stream: true },
      callWith(),
    )
    if ('refused' in sampled) throw new Error('refused')
    expect(sampled.headers).toMatchObject({ 'x-request-id': 'req_1' })
    expect(sampled.headers).not.toHaveProperty('content-type')
    for await (const _ of sampled.events);
  })

  it('ends the request when the client goes away', async () => {
    const server = await serveChat(() => ({ data: Array(1000).fill(chunk({ content: 'x'.repeat(10_000) })) }))
    const gone = new AbortController()
    const sampled = await createChatUpstream({ url: server.url }).sample(
      { ...hello, stream: true },
      { headers: {}, signal: gone.signal },
    )
    if ('refused' in sampled) throw new Error('refused')
    const reading = (async () => {
      for await (const event of sampled.events) if (event.type === 'content_block_start') gone.abort()
    })()
    await expect(reading).rejects.not.toBeInstanceOf(UpstreamError)
  })
})

describe('models', () => {
  const listing = async (given: ChatAnswer) => {
    const server = await serveChat(() => given)
    const relayed = await createChatUpstream({ url: server.url, key: 'k' }).models(callWith())
    expect(server.requests[0]!.headers.authorization).toBe('Bearer k')
    return { status: relayed.status, document: JSON.parse(relayed.body) }
  }

  it('are listed as the Messages API does', async () => {
    const data = [{ id: 'a', object: 'model', created: 1_700_000_000 }, { id: 'b', name: 'Bee' }, {}, null]
    expect((await listing({ body: { object: 'list', data } })).document).toEqual({
      data: [
        { type: 'model', id: 'a', display_name: 'a', created_at: '2023-11-14T22:13:20.000Z' },
        { type: 'model', id: 'b', display_name: 'Bee', created_at: '1970-01-01T00:00:00.000Z' },
      ],
      has_more: false,
      first_id: 'a',
      last_id: 'b',
    })
  })

  it('may come as a bare list, be none, or have odd dates', async () => {
    expect((await listing({ body: [{ id: 'a', created: 1e300 }] })).document.first_id).toBe('a')
    expect((await listing({ body: { data: [] } })).document).toMatchObject({ data: [], last_id: null })
  })

  it.each([
    [{ status: 401, body: { error: { message: 'No' } } }, 401, 'authentication_error'],
    [{ body: '<html></html>' }, 502, 'api_error'],
  ])('are refused with a reason: %j', async (given, status, type) => {
    const relayed = await listing(given)
    expect(relayed.status).toBe(status)
    expect(relayed.document.error.type).toBe(type)
  })
})

it('talks a whole conversation with tools through a strict server', async () => {
  const first = await talk(
    {
      data: [
        chunk({
          tool_calls: [{ index: 0, id: 'c1', function: { name: 'read', arguments: '{"path":"a"}' } }],
        }),
        chunk({}, 'tool_calls'),
        '[DONE]',
      ],
    },
    { stream: true, tools: [{ name: 'read', input_schema: { type: 'object' } }] },
  )
  const { message } = await talk(answer, {
    messages: [
      ...hello.messages,
      { role: 'assistant', content: first.message.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'text' }] },
    ],
  })
  expect(message.content).toEqual([{ type: 'text', text: 'Hi' }])
})
