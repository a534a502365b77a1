// Chat Completions inbound: what a request becomes inside, what the reply becomes on the way out, and errors.
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import { chatApi } from '../../src/messages/inbound/index.ts'
import {
  createChatUpstream,
  createMessagesUpstream,
  type HttpAnswer,
  type StreamEvent,
} from '../../src/messages/index.ts'
import { always, play } from './script-talk.ts'
import { record, start } from './support/gateways.ts'

const user = { role: 'user', content: 'hi' }
const read = (body: Fields) => chatApi.read({ model: 'm', messages: [user], ...body })
const request = (body: Fields) => read(body).request
const fn = (name: string, more: Fields = {}) => ({ type: 'function', function: { name, ...more } })

const refusalOf = (body: Fields): Fields => {
  try {
    chatApi.read(body)
  } catch (error) {
    return JSON.parse(chatApi.error((error as { answer: HttpAnswer }).answer).body).error
  }
  throw new Error('it was taken')
}

/** What the writer makes of a reply. */
const written = (events: StreamEvent[], body: Fields = {}): Fields[] => {
  const writer = read({ stream: true, ...body }).reply()
  const lines = events
    .map((event) => writer.add(event))
    .join('')
    .split('\n\n')
    .filter(Boolean)
  return lines.filter((one) => one !== 'data: [DONE]').map((one) => JSON.parse(one.slice('data: '.length)))
}

const reply = (content: Fields[], delta: Fields = { stop_reason: 'end_turn' }): StreamEvent[] => [
  { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 7 } } },
  ...content.flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: { ...block, text: '', thinking: '', input: {} } },
    {
      type: 'content_block_delta',
      index,
      delta:
        block.type === 'text'
          ? { type: 'text_delta', text: block.text }
          : block.type === 'thinking'
            ? { type: 'thinking_delta', thinking: block.thinking }
            : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    },
    { type: 'content_block_stop', index },
  ]),
  {
    type: 'message_delta',
    delta,
    usage: { output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
  },
  { type: 'message_stop' },
]

describe('a request inside', () => {
  test('later system messages follow the user’s words, or remind in the user’s name; alone they are the prompt', () => {
    const said = (role: string, content: string) => ({ role, content })
    const { messages } = request({
      messages: [
        said('user', 'a'),
        said('system', 'b'),
        said('user', 'c'),
        said('assistant', 'd'),
        said('system', 'e'),
      ],
    })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'system', 'assistant', 'user'])
    expect(JSON.stringify(messages.at(-1))).toContain('<system-reminder>')
    expect(request({ messages: [said('system', 'a'), said('system', 'b')] })).toMatchObject({ system: 'a' })
  })

  test('system messages in front become the system prompt, later ones stay in place', () => {
    const { system, messages } = request({
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: [{ type: 'text', text: 'b' }] },
        user,
        { role: 'system', content: 'c' },
      ],
    })
    expect(system).toBe('a\n\nb')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'system'])
  })

  test('calls, and the results of parallel calls in one message', () => {
    const call = (id: string, json: string) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: json },
    })
    const { messages } = request({
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [call('a', '{"x":1}'), call('b', '{broken')] },
        { role: 'tool', tool_call_id: 'a', content: 'one' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'two' }] },
        user,
      ],
    })
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'f', input: { invalid_arguments: '{broken' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'one' }] },
          { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'two' }] },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    ])
  })

  test('arguments that are nested too deeply to be written again stay text', () => {
    const json = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: json } }]
    const { messages } = request({
      messages: [user, { role: 'assistant', tool_calls }, { role: 'tool', tool_call_id: 'a', content: 'x' }],
    })
    const input = { invalid_arguments: json }
    expect(messages[1]?.content).toEqual([{ type: 'tool_use', id: 'a', name: 'f', input }])
  })

  test('images, files and messages that say nothing', () => {
    const { messages } = request({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
          ],
        },
        { role: 'assistant', content: '' },
      ],
    })
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
            title: 'a.pdf',
          },
        ],
      },
    ])
  })

  test('the same frozen messages become the same objects, so that nothing is converted twice', () => {
    const frozen = [user, { role: 'assistant', content: 'x' }].map((one) => Object.freeze(one))
    const [one, other] = [request({ messages: frozen }), request({ messages: frozen })]
    expect(one.messages[0]).toBe(other.messages[0])
  })

  test('settings', () => {
    expect(
      request({
        ...{ max_completion_tokens: 5, temperature: 1.7, top_p: 0.5, stop: 'x', user: 'u', stream: true },
        ...{
          reasoning_effort: 'high',
          response_format: { type: 'json_schema', json_schema: { schema: { a: 1 } } },
        },
      }),
    ).toMatchObject({
      ...{
        max_tokens: 5,
        temperature: 1.7,
        top_p: 0.5,
        stop_sequences: ['x'],
        metadata: { user_id: 'u' },
        stream: true,
      },
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { a: 1 } } },
    })
    expect(request({ reasoning_effort: 'constructor' }).output_config).toBeUndefined()
    expect(request({ reasoning_effort: 'none' })).toMatchObject({ thinking: { type: 'disabled' } })
    expect(request({ response_format: { type: 'json_object' } }).system).toMatch(/JSON object/)
  })

  test.each([
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    ['auto', undefined],
    ['any', { type: 'any' }],
    [fn('a'), { type: 'tool', name: 'a' }],
  ])('tool_choice %j', (choice, expected) => {
    expect(request({ tools: [fn('a'), fn('b')], tool_choice: choice }).tool_choice).toEqual(expected)
  })

  test('allowed tools do not change the list, and calls one at a time are asked for', () => {
    const choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [fn('b')] } }
    const { tools, tool_choice } = request({
      ...{ tools: [fn('a'), fn('b')], tool_choice: choice, parallel_tool_calls: false },
    })
    expect(tools?.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(tool_choice).toEqual({ type: 'any', disable_parallel_tool_use: true })
  })

  test.each([
    ['maybe', [fn('a')], /^tool_choice: "maybe" is not known; send "auto"/],
    ['required', [], /^tool_choice: there are no tools/],
    [fn('zebra'), [fn('a')], /^tool_choice: there is no tool "zebra"/],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [fn('zebra')] } },
      [fn('a')],
      /^tool_choice: none of the allowed tools/,
    ],
  ])('tool_choice %j is refused', (choice, tools, reason) => {
    const { message, param } = refusalOf({ model: 'm', messages: [user], tools, tool_choice: choice })
    expect(message).toMatch(reason)
    expect(param).toBe('tool_choice')
  })

  test('names that the Messages API does not allow come back as the client wrote them', () => {
    const { request, reply: open } = read({ tools: [fn('a.b/c')] })
    const [name] = request.tools!.map(({ name }) => name)
    expect(name).toMatch(/^[\w-]{1,128}$/)
    const writer = open()
    for (const event of reply([{ type: 'tool_use', id: 't', name, input: {} }])) writer.add(event)
    expect(JSON.parse(writer.document()).choices[0].message.tool_calls[0].function.name).toBe('a.b/c')
  })

  test('what an upstream with the same API understands is kept for it', () => {
    const { terms } = read({ seed: 1, chat_template_kwargs: { a: 1 }, max_tokens: 3, tools: [fn('a')] })
    expect(terms?.settings).toEqual({ seed: 1, chat_template_kwargs: { a: 1 }, max_tokens: 3 })
  })

  test.each([
    [{ n: 2 }, /n: 2/],
    [{ n: '2' }, /n: 2/],
    [{ n: 0 }, /n: 0/],
    [{ response_format: { type: 'xml' } }, /response_format: the type "xml"/],
    [{ response_format: { type: 'json_schema' } }, /response_format: a json_schema without a schema/],
    [{ logprobs: true }, /logprobs/],
    [{ modalities: ['text', 'audio'] }, /audio/],
    [{ functions: [{}] }, /functions/],
    [{ tools: [{ type: 'web_search' }] }, /web_search/],
  ])('%j cannot be converted', (body, reason) => {
    expect(read(body).unconvertible).toMatch(reason)
  })

  test.each([
    [{}, /model/],
    [{ model: 'm', messages: 'x' }, /messages/],
    [{ model: 'm', messages: [], tools: {} }, /tools/],
    [{ model: 'm', messages: [{ role: 'robot' }] }, /robot/],
    [{ model: 'm', messages: [{ role: 'tool', content: 'x' }] }, /tool_call_id/],
    [{ model: 'm', messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, /input_audio/],
    ...['__proto__', 'constructor', 'valueOf'].map((type): [Fields, RegExp] => [
      { model: 'm', messages: [{ role: 'user', content: [{ type, text: 'x' }] }] },
      new RegExp(`type "${type}"`),
    ]),
    [
      { model: 'm', messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      /file_data/,
    ],
    [{ model: 'm', messages: [], tools: [fn('')] }, /no name/],
    [{ model: 'm', messages: [user], temperature: 'warm' }, /^temperature: "warm" is not a number; send one/],
    [{ model: 'm', messages: [user], top_p: [1] }, /^top_p: \[1\] is not a number; send one/],
    [{ model: 'm', messages: [user], stop: { a: 1 } }, /^stop: send a text or a list of texts/],
    [{ model: 'm', messages: [user], stop: ['x', 1] }, /^stop: send a text or a list of texts/],
  ])('%j is refused in OpenAI’s shape', (body, reason) => {
    expect(refusalOf(body)).toMatchObject({
      message: expect.stringMatching(reason),
      type: 'invalid_request_error',
      code: null,
    })
  })
})

describe('a reply outside', () => {
  const call = { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } }

  test('as chunks: role first, text, thoughts, calls, the reason, and the usage if it is asked for', () => {
    const content = [{ type: 'thinking', thinking: 'hm' }, { type: 'text', text: 'Hi' }, call]
    const chunks = written(reply(content, { stop_reason: 'tool_use' }), {
      stream_options: { include_usage: true },
    })
    const deltas = chunks.flatMap(({ choices }) => choices as Fields[]).map(({ delta }) => delta)
    expect(deltas).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'hm' },
      { content: 'Hi' },
      { tool_calls: [{ index: 0, id: 't1', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
      {},
    ])
    expect(chunks.at(-2)?.choices).toMatchObject([{ finish_reason: 'tool_calls' }])
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        ...{ prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
        prompt_tokens_details: { cached_tokens: 3 },
      },
    })
  })

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['refusal', 'content_filter'],
    ['tool_use', 'tool_calls'],
  ])('%s is %s', (reason, finish) => {
    expect(written(reply([], { stop_reason: reason })).at(-1)?.choices).toMatchObject([
      { finish_reason: finish },
    ])
  })

  test('a freeform tool: defined as text with its grammar, called with plain text, streamed or not', () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } }
    const tools = [{ type: 'custom', custom: { name: 'patch', description: 'Patches.', format } }]
    const [tool] = request({ tools }).tools!
    expect(tool).toMatchObject({ name: 'patch', input_schema: { required: ['input'] } })
    expect(tool?.description).toContain('start: "x"')
    const content = [{ type: 'tool_use', id: 't', name: 'patch', input: { input: '*** Begin' } }]
    const custom = { id: 't', type: 'custom', custom: { name: 'patch', input: '*** Begin' } }
    const writer = read({ tools }).reply()
    for (const event of reply(content)) writer.add(event)
    expect(JSON.parse(writer.document()).choices[0].message.tool_calls).toEqual([custom])
    const back = request({ tools, messages: [user, { role: 'assistant', tool_calls: [custom] }] })
    expect(back.messages[1]?.content).toEqual(content)
  })

  describe('the input of a freeform tool', () => {
    const tools = [{ type: 'custom', custom: { name: 'patch' } }]

    /** What a call in pieces becomes: the first delta of the call, and the texts after it. */
    function streamed(pieces: readonly string[], input: Fields = {}) {
      const block = { type: 'tool_use', id: 't', name: 'patch', input }
      const events = [
        { type: 'content_block_start', index: 0, content_block: block },
        ...pieces.map((partial_json) => ({
          ...{ type: 'content_block_delta', index: 0 },
          delta: { type: 'input_json_delta', partial_json },
        })),
        { type: 'content_block_stop', index: 0 },
      ]
      const [first, ...rest] = written(events, { tools }).flatMap(({ choices }) =>
        (choices as { delta: { tool_calls: Fields[] } }[]).flatMap(({ delta }) => delta.tool_calls),
      )
      return { first, texts: rest.map(({ custom }) => (custom as Fields).input) }
    }

    test('is streamed as it comes', () => {
      const { first, texts } = streamed(['{"inp', 'ut":"*** Be', 'gin\\', 'n🦓', '"}'])
      expect(first).toEqual({ index: 0, id: 't', type: 'custom', custom: { name: 'patch', input: '' } })
      expect(texts).toEqual(['*** Be', 'gin', '\n🦓'])
    })

    test.each([
      ['without the field', ['{"text":', '"a"}'], '{"text":"a"}'],
      ['with a line break that is not JSON', ['{"input":"a\nb', '"}'], 'a\nb'],
      ['that is not JSON', ['{"input":"a "b', '" c"}'], 'a "b" c"}'],
      ['that breaks off', ['{"input":"ab', 'c\\u00'], 'abc'],
      ['without any JSON', [], '{}'],
    ])('%s is complete at the end', (_, pieces, text) => {
      expect(streamed(pieces).texts.join('')).toBe(text)
    })

    test('that comes with the start of its block', () => {
      expect(streamed([], { input: 'a' }).texts).toEqual(['a'])
    })
  })

  test('an error in the middle', () => {
    const event = { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }
    expect(written([event])).toEqual([
      { error: { message: 'busy', type: 'server_error', param: null, code: 'server_overloaded' } },
    ])
  })
})

test('more messages and calls than can be converted without holding up others are refused', () => {
  const calls = (count: number) => ({
    role: 'assistant',
    tool_calls: Array.from({ length: count }, () => ({ id: 'c', ...fn('a') })),
  })
  expect(() => read({ messages: [user, calls(19_998)] })).not.toThrow()
  const { message, param } = refusalOf({ model: 'm', messages: [user, calls(19_999)] })
  expect(message).toMatch(/^messages: at most 20000 .* there are 20001/)
  expect(param).toBe('messages')
})

describe('over HTTP', () => {
  const message = (content: Fields[], usage: Fields = {}) => ({
    status: 200,
    headers: {
      'content-type': 'application/json',
      'request-id': 'req_1',
      'anthropic-ratelimit-requests-remaining': '9',
    },
    body: JSON.stringify({
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', content, usage, stop_reason: 'end_turn' },
    }),
  })
  const sdk = (url: string) => new OpenAI({ apiKey: 'sk-own', baseURL: `${url}/v1`, maxRetries: 0 })

  test('a Messages upstream gets the key, the version and a limit; the client its own names of headers', async () => {
    const { url, requests } = await record(message([{ type: 'text', text: 'Hi.' }]))
    const gateway = await start(createMessagesUpstream({ url, wire: 'append' }), { mode: 'off' })
    const { response } = await sdk(gateway.url)
      .chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
      .withResponse()
    expect(requests[0]?.headers).toMatchObject({ 'x-api-key': 'sk-own', 'anthropic-version': '2023-06-01' })
    expect(JSON.parse(requests[0]!.body)).toMatchObject({ max_tokens: 32_000 })
    expect(response.headers.get('x-request-id')).toBe('req_1')
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('9')
  })

  test('an error of a Messages upstream has OpenAI’s shape, and a conversation that is too long its code', async () => {
    const error = {
      type: 'invalid_request_error',
      message: 'prompt is too long: 250000 tokens > 200000 maximum',
    }
    const headers = { 'content-type': 'application/json' }
    const { url } = await record({ status: 400, headers, body: JSON.stringify({ type: 'error', error }) })
    const gateway = await start(createMessagesUpstream({ url, wire: 'append' }), { mode: 'off' })
    const asked = sdk(gateway.url).chat.completions.create({ model: 'm', messages: [] })
    await expect(asked).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
  })

  test('thoughts come back to the model although the client cannot send their signatures', async () => {
    const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
    const { url, requests } = await record(message([thought, { type: 'text', text: 'a' }, call]))
    const gateway = await start(createMessagesUpstream({ url, wire: 'append' }), { mode: 'off' })
    const client = sdk(gateway.url)
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }]
    const body = { model: 'm', tools, reasoning_effort: 'high' as const }
    const first = await client.chat.completions.create({
      ...body,
      messages: [{ role: 'user', content: 'go' }],
    })
    const { message: said } = first.choices[0]!
    expect(said).toMatchObject({ reasoning_content: 'hm', content: 'a' })
    await client.chat.completions.create({
      ...body,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: said.content, tool_calls: said.tool_calls! },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' },
      ],
    })
    const { messages } = JSON.parse(requests[1]!.body)
    expect(messages[1].content).toEqual([thought, { type: 'text', text: 'a' }, call])
  })

  test('a call of another conversation with the same id, or one that the client has edited, keeps its own input', async () => {
    const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const call = { type: 'tool_use', id: 'call_0', name: 'f', input: { path: 'first' } }
    const { url, requests } = await record(message([thought, call]))
    const gateway = await start(createMessagesUpstream({ url, wire: 'append' }), { mode: 'off' })
    const { completions } = sdk(gateway.url).chat
    await completions.create({ model: 'm', messages: [{ role: 'user', content: 'go' }] })
    const called = { name: 'f', arguments: '{"path":"second"}' }
    await completions.create({
      model: 'm',
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', tool_calls: [{ id: 'call_0', type: 'function', function: called }] },
        { role: 'tool', tool_call_id: 'call_0', content: 'ok' },
      ],
    })
    const { messages } = JSON.parse(requests[1]!.body)
    expect(messages[1].content).toEqual([{ ...call, input: { path: 'second' } }])
  })

  test('bytes pass through where both sides speak Chat Completions and nothing is to be done', async () => {
    const answer = '{"id":"x",  "choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}'
    const headers = { 'content-type': 'application/json' }
    const { url, requests } = await record({ status: 200, headers, body: answer })
    const gateway = await start(createChatUpstream({ url: new URL('v1', url) }))
    const sent = '{"model":"m", "messages":[{"role":"user","content":"hi"}], "logprobs":true, "n":2}'
    const got = await fetch(`${gateway.url}/v1/chat/completions?a=1`, { method: 'POST', body: sent })
    expect(await got.text()).toBe(answer)
    expect(requests[0]).toMatchObject({ line: 'POST /v1/chat/completions?a=1', body: sent })
    expect(got.headers.get('x-toolshelf-mode')).toBe('pass')
  })

  test('what cannot be converted is refused with what to do, unless it can be forwarded', async () => {
    const gateway = await start(play(always({ say: 'Hi.' })))
    const asked = sdk(gateway.url).chat.completions.create({ model: 'm', messages: [], n: 3 })
    await expect(asked).rejects.toThrow(
      /n: 3 .*Leave it out, or use an upstream that speaks Chat Completions/,
    )
  })

  test('models in OpenAI’s shape for OpenAI’s clients', async () => {
    const gateway = await start(play(always({ say: 'Hi.' })))
    const client = sdk(gateway.url)
    const models = await client.models.list()
    expect(models.data[0]).toMatchObject({ object: 'model', id: expect.any(String) })
    expect(await client.models.retrieve(models.data[0]!.id)).toMatchObject({ id: models.data[0]!.id })
    await expect(client.models.retrieve('nothing')).rejects.toMatchObject({ status: 404 })
  })

  test('WebSockets are refused with a status on which clients fall back to HTTP', async () => {
    const gateway = await start(play(always({ say: 'Hi.' })))
    const headers = { connection: 'upgrade', upgrade: 'websocket' }
    const { statusCode } = await new Promise<IncomingMessage>((resolve, reject) =>
      get(`${gateway.url}/v1/responses`, { headers }, resolve).on('error', reject),
    )
    expect(statusCode).toBe(426)
    const realtime = await new Promise<IncomingMessage>((resolve, reject) =>
      get(`${gateway.url}/v1/realtime`, { headers }, resolve).on('error', reject),
    )
    expect(await text(realtime)).toContain('the Realtime API is not supported; use POST /v1/responses')
  })

  test('paths without /v1 work too, and unknown ones are refused in the client’s words', async () => {
    const gateway = await start(play(always({ say: 'Hi.' })))
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    const got = await fetch(`${gateway.url}/chat/completions`, { method: 'POST', body })
    expect(await got.json()).toMatchObject({ object: 'chat.completion' })
    const lost = await fetch(`${gateway.url}/v1/embeddings`, { method: 'POST', body: '{}' })
    expect(await lost.json()).toMatchObject({ error: { type: 'invalid_request_error', code: 'not_found' } })
    await expect(sdk(gateway.url).files.list()).rejects.toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('deferral as other vendors spell it', () => {
  const tools = [
    { type: 'openrouter:tool_search' },
    fn('Read', { description: 'Reads.' }),
    { ...fn('paint_zebra', { description: 'Paints a zebra.' }), defer_loading: true },
    { ...fn('send_mail', { description: 'Sends mail.' }), defer_loading: true },
  ]
  const ask = (url: string, messages: Fields[]) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'claude-opus-5-5', messages, tools }),
    }).then((got) => got.json() as Promise<{ choices: { message: Fields & { tool_calls: Fields[] } }[] }>)

  test('a search tool of the vendor: the gateway searches, hidden, what the client marked', async () => {
    const seen: (readonly string[])[] = []
    const upstream = play(always({ call: 'paint_zebra' }, { say: 'Done.' }), {
      onRequest: ({ visible }) => seen.push(visible),
    })
    const gateway = await start(upstream)
    const { message } = (await ask(gateway.url, [user])).choices[0]!
    expect(message.tool_calls).toMatchObject([{ function: { name: 'paint_zebra' } }])
    const result = { role: 'tool', tool_call_id: message.tool_calls[0]!.id, content: 'ok' }
    await ask(gateway.url, [user, message, result])
    expect(seen[0]).not.toContain('paint_zebra')
    expect(seen.at(-1)).toContain('paint_zebra')
    expect(seen.flat()).not.toContain('send_mail')
  })

  test('a search of the client’s own: its results name tools, as on Baseten', async () => {
    const seen: (readonly string[])[] = []
    const upstream = play(always({ call: 'find' }, { call: 'paint_zebra' }, { say: 'Done.' }), {
      onRequest: ({ visible }) => seen.push(visible),
    })
    const gateway = await start(upstream)
    const call = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' } }
    const found = {
      role: 'tool',
      tool_call_id: 'c1',
      content: [{ type: 'tool_reference', tool_name: 'paint_zebra' }],
    }
    const got = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'claude-opus-5-5',
        messages: [user, { role: 'assistant', tool_calls: [call] }, found],
        tools: [fn('find'), ...tools.slice(2)],
      }),
    })
    expect(got.headers.get('x-toolshelf-mode')).toBe('emulate')
    expect(seen[0]).toEqual(['find', 'paint_zebra'])
  })
})
