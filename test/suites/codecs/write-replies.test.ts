// What clients of OpenAI's two APIs get for a reply of the model: its blocks as messages and items, how it ended, errors, and
// the same in a stream as in a document.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { type Block, dataIn, eventsOf, streamReaders } from './replies.ts'
import { type Api, ask, openGateway, openModel, openVendor, upstreamFor } from './servers.ts'

const hi = { role: 'user', content: 'hi' }
const text = (said: string, more: Loose = {}): Block => ({ type: 'text', text: said, ...more })
const use = (id: string, name: string, input: Loose = {}, more: Loose = {}): Block => ({
  type: 'tool_use',
  id,
  name,
  input,
  ...more,
})
const thought: Block = { type: 'thinking', thinking: 'Hm.', signature: 'sig' }
const fn = (name: string, more: Loose = {}) => ({ type: 'function', name, ...more })
const mail = { type: 'namespace', name: 'mail', description: 'Mail.', tools: [fn('send'), fn('list')] }
const chatTools = [
  { type: 'function', function: { name: 'a.b' } },
  { type: 'custom', custom: { name: 'patch' } },
]
const tools = [
  fn('read'),
  mail,
  { type: 'custom', name: 'patch' },
  ...['local_shell', 'shell', 'apply_patch'].map((type) => ({ type })),
  fn('paint'),
]
const ASKED: { readonly [api: string]: Loose } = {
  messages: { model: 'm', max_tokens: 9, messages: [hi] },
  chat: { model: 'm', messages: [hi], tools: chatTools, stream_options: { include_usage: true } },
  responses: { model: 'm', input: [hi], tools, store: false, reasoning: { summary: 'auto' } },
}
const untimed = (document: Loose) =>
  JSON.parse(JSON.stringify(document), (key, value) =>
    /^(created|created_at|completed_at)$/.test(key) ? 0 : value,
  )

/** The document for a reply, after a look at the stream, which must say the same. */
async function written(
  api: Api,
  said: { blocks: readonly Block[]; stop?: string; usage?: Loose; events?: Loose[] },
  more: Loose = {},
): Promise<Loose> {
  const model = await openModel()
  model.reply = said
  const [whole, streamed] = [
    await ask(model.url, api, { ...ASKED[api], ...more }),
    await ask(model.url, api, { ...ASKED[api], ...more, stream: true }),
  ]
  expect(whole.status, whole.text).toBe(200)
  expect(untimed(streamReaders[api]!(streamed.text))).toEqual(untimed(whole.body))
  return whole.body
}
const messageOf = async (...blocks: Block[]) => (await written('chat', { blocks })).choices[0].message
const outputOf = async (blocks: readonly Block[], more: Loose = {}): Promise<Loose[]> =>
  (await written('responses', { blocks }, more)).output

describe('a chat client gets', () => {
  it('thoughts, words and calls by its own names', async () => {
    const message = await messageOf(
      thought,
      text('Well'),
      text('.'),
      { type: 'redacted_thinking', data: 'd' },
      use('t1', 'read', { a: 1 }),
      use('t2', 'read'),
      use('t3', 'patch', { input: 'x' }),
    )
    const called = (id: string, name: string, json: string) => ({
      id,
      type: 'function',
      function: { name, arguments: json },
    })
    expect(message).toEqual({
      ...{ role: 'assistant', content: 'Well.', refusal: null, reasoning_content: 'Hm.' },
      tool_calls: [
        called('t1', 'read', '{"a":1}'),
        called('t2', 'read', '{}'),
        { id: 't3', type: 'custom', custom: { name: 'patch', input: 'x' } },
      ],
    })
    const model = await openModel()
    model.reply = ({ tools: [{ name }] }: Loose) => ({ blocks: [use('t', name)] })
    expect(
      (await ask(model.url, 'chat', ASKED.chat)).body.choices[0].message.tool_calls[0].function.name,
    ).toBe('a.b')
  })

  it('sources with their ranges in the whole content', async () => {
    const source = { url: 'https://a.example', title: 'A', encrypted_index: 'toolshelf.cited.1-3' }
    const { annotations } = await messageOf(
      text('Well. '),
      text('Cited', { citations: [source, { source: 'https://b.example' }, { source: 'a file' }] }),
    )
    expect(
      annotations.map(({ url_citation: { url, start_index, end_index } }: Loose) => [
        url,
        start_index,
        end_index,
      ]),
    ).toEqual([
      ['https://a.example', 7, 9],
      ['https://b.example', 6, 11],
    ])
  })

  it('a refusal in words, and one that is only a reason', async () => {
    const refused = {
      type: 'message_delta',
      delta: { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: 'No.' } },
      usage: {},
    }
    const events = eventsOf({ blocks: [] }).map((event) => (event.type === 'message_delta' ? refused : event))
    expect((await written('chat', { blocks: [], events })).choices[0]).toMatchObject({
      message: { content: null, refusal: 'No.' },
      finish_reason: 'stop',
    })
    expect(
      (await written('chat', { blocks: [text('No.', { refusal: true })] })).choices[0].message,
    ).toMatchObject({ content: null, refusal: 'No.' })
    expect((await written('responses', { blocks: [], events })).output).toMatchObject([
      { content: [{ type: 'refusal', refusal: 'No.' }] },
    ])
    expect((await written('messages', { blocks: [text('No.', { refusal: true })] })).content).toEqual([
      text('No.'),
    ])
  })

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['tool_use', 'tool_calls'],
  ])('for the end %s: %s', async (stop, finish) => {
    const usage = { cache_read_input_tokens: 3, output_tokens: 5, input_tokens: null }
    const { choices, usage: counted } = await written('chat', { blocks: [text('x')], stop, usage })
    expect(choices[0].finish_reason).toBe(finish)
    expect(counted).toEqual({
      prompt_tokens: 12,
      completion_tokens: 5,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 3 },
    })
  })
})

describe('a Responses client gets', () => {
  const search: Block = {
    type: 'server_tool_use',
    id: 'srvtoolu_9',
    name: 'tool_search_tool_bm25',
    input: { query: 'mail' },
  }
  const found = (...names: string[]): Block => ({
    type: 'tool_search_tool_result',
    tool_use_id: 'srvtoolu_9',
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: names.map((tool_name) => ({ type: 'tool_reference', tool_name })),
    },
  })
  const every: Block[] = [
    ...[
      thought,
      { type: 'redacted_thinking', data: 'xyz' },
      text('Hello'),
      search,
      found('mail__send', 'paint', 'mail__list', 'gone'),
    ],
    ...[
      use('c1', 'read', { a: 1 }),
      use('c2', 'mail__send'),
      use('c3', 'patch', { input: '*** Begin\n"x"' }),
      use('c4', 'local_shell', { command: ['ls'], env: {} }),
    ],
    ...[
      use('c5', 'shell', { commands: ['ls'], timeout_ms: 5, max_output_length: null }),
      use('c6', 'apply_patch', { type: 'delete_file', path: 'a' }),
    ],
  ]

  it('items of every kind, which come back as the blocks that they were', async () => {
    const output = await outputOf(every)
    expect(
      output.map(({ type, name, namespace }) => [type, namespace, name].filter(Boolean).join(' ')),
    ).toEqual([
      'reasoning',
      'reasoning',
      'message',
      'tool_search_call',
      'tool_search_output',
      'function_call read',
      'function_call mail send',
      'custom_tool_call patch',
      'local_shell_call',
      'shell_call',
      'apply_patch_call',
    ])
    expect(output[4]?.tools).toEqual([mail, fn('paint')])
    expect(new Set(output.map(({ id }) => id)).size).toBe(output.length)
    const calls = output.filter(({ type, execution }) => /_call$/.test(type) && execution !== 'server')
    const outputs = calls.map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: 'x' }))
    const model = await openModel()
    const back = async (items: Loose[]) => {
      await ask(model.url, 'responses', { ...ASKED.responses, input: [hi, ...items, ...outputs, hi] })
      return model.last().messages[1].content
    }
    const isFound = ({ type }: Loose) => type === 'tool_search_tool_result'
    const known = every.map((block) => (isFound(block) ? found('mail__send', 'mail__list', 'paint') : block))
    expect(await back(output)).toEqual(known)
    const withoutIds = output.map(({ id: _, ...item }) => item)
    expect(
      (await back(withoutIds)).filter(
        (block: Loose) => !/server_tool_use|search_tool_result/.test(block.type),
      ),
    ).toEqual(known.filter(({ type }) => !/server_tool_use|search_tool_result/.test(type)))
    expect(
      (await back(output.map((item) => ({ ...item, encrypted_content: null })))).map(
        ({ type }: Loose) => type,
      ),
    ).not.toContain('thinking')
  })

  it('reasoning with a summary only if it asks for one, and none without content', async () => {
    const [hidden] = await outputOf([thought, text('x')], { reasoning: null })
    expect(hidden).toMatchObject({
      type: 'reasoning',
      summary: [],
      encrypted_content: expect.stringMatching(/^toolshelf-thinking\./),
    })
    expect(await outputOf([{ type: 'thinking', thinking: '', signature: '' }, text('')])).toEqual([])
  })

  it('a failed search, one that it runs itself, and sources', async () => {
    const failed: Block = {
      ...found(),
      content: { type: 'tool_search_tool_result_error', error_code: 'unavailable' },
    }
    const [, output] = await outputOf([
      search,
      failed,
      { type: 'server_tool_use', id: 'x', name: 'web_search', input: {} },
      { type: 'odd' },
    ])
    expect(output).toMatchObject({ status: 'incomplete', tools: [] })
    const own = [{ type: 'tool_search', execution: 'client' }]
    expect(await outputOf([use('s1', 'tool_search', { query: 'x' })], { tools: own })).toMatchObject([
      { type: 'tool_search_call', call_id: 's1', execution: 'client', arguments: { query: 'x' } },
    ])
    const source = { url: 'https://a.example', encrypted_index: 'toolshelf.cited.1-99' }
    const [message] = await outputOf([text('Cited', { citations: [source, { title: 'no address' }] })])
    expect(message?.content[0].annotations).toEqual([
      {
        type: 'url_citation',
        url: 'https://a.example',
        title: 'https://a.example',
        start_index: 1,
        end_index: 5,
      },
    ])
  })

  it.each([
    ['end_turn', 'completed', null],
    ['max_tokens', 'incomplete', 'max_output_tokens'],
    ['model_context_window_exceeded', 'incomplete', 'max_output_tokens'],
    ['pause_turn', 'incomplete', 'max_output_tokens'],
    ['refusal', 'incomplete', 'content_filter'],
  ])('for the end %s: %s', async (stop, status, reason) => {
    const response = await written('responses', {
      blocks: [text('x')],
      stop,
      usage: { cache_creation_input_tokens: 5, output_tokens: 7 },
    })
    expect(response).toMatchObject({ status, incomplete_details: reason && { reason } })
    expect(response.usage).toEqual({
      input_tokens: 18,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 5 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 25,
    })
  })

  it('what it asked for, and that nothing is stored', async () => {
    const settings = {
      temperature: 0.5,
      metadata: { a: 'b' },
      tool_choice: 'required',
      max_output_tokens: 20,
      instructions: 'Be kind.',
      parallel_tool_calls: false,
      user: 'u',
      truncation: 'auto',
    }
    expect(await written('responses', { blocks: [text('x')] }, settings)).toMatchObject({
      ...settings,
      id: 'resp_1',
      object: 'response',
      model: 'claude',
      tools,
      store: false,
      error: null,
    })
    const bare = await written(
      'responses',
      { blocks: [text('x')] },
      { tools: undefined, reasoning: undefined },
    )
    expect(bare).toMatchObject({
      metadata: {},
      temperature: 1,
      top_p: 1,
      tool_choice: 'auto',
      tools: [],
      instructions: null,
      reasoning: { effort: null, summary: null },
      text: { format: { type: 'text' } },
    })
  })
})

describe('the input of a freeform tool', () => {
  const TEXT = 'a"\\\n\u{1f600}é\tz \u0007'
  const json = JSON.stringify({ input: TEXT })
  const escaped = json.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const cut = (said: string, at: number) => [said.slice(0, at), said.slice(at)]

  it.each(['chat', 'responses'] as const)(
    'is streamed as it comes, wherever its JSON is cut, to a client of %s',
    async (api) => {
      const model = await openModel()
      for (const said of [
        json,
        escaped,
        ` { "input" : ${JSON.stringify(TEXT)} } `,
        json.replace('\\n', '\n'),
      ])
        for (let at = 0; at < said.length; at += 1) {
          model.reply = { blocks: [use('t', 'patch', {}, { parts: cut(said, at) })] }
          const { text: streamed } = await ask(model.url, api, { ...ASKED[api], stream: true })
          const { choices, output } = streamReaders[api]!(streamed)
          expect(choices ? choices[0].message.tool_calls[0].custom.input : output[0].input).toBe(TEXT)
          for (const piece of dataIn(streamed)) expect(JSON.stringify(piece)).not.toMatch(/\\ud[89a-f]/i)
        }
    },
  )

  it.each<[string, string[], string]>([
    ['without the field', ['{"text":', '"a"}'], '{"text":"a"}'],
    ['that is not JSON', ['{"input":"a "b', '" c"}'], 'a "b" c"}'],
    [
      'with an escape that JSON does not have',
      ['{"input":"a\\d', ' is more than one"}'],
      'a\\d is more than one"}',
    ],
    ['that breaks off', ['{"input":"ab', 'c\\u00'], 'abc'],
    ['that never opens its field', [`{"other":"${'x'.repeat(100)}`, '"}'], `{"other":"${'x'.repeat(100)}"}`],
    ['without any JSON', [], '{}'],
  ])('%s is complete at the end', async (_, parts, input) => {
    expect((await messageOf(use('t', 'patch', {}, { parts }))).tool_calls[0].custom.input).toBe(input)
    expect((await outputOf([use('t', 'patch', {}, { parts })]))[0]?.input).toBe(input)
  })

  it('and of any other that comes with the start of its block', async () => {
    const model = await openModel()
    const started = (name: string, input: Loose) =>
      eventsOf({ blocks: [use('t', name, {}, { parts: [] })] }).flatMap((event) =>
        event.delta?.type === 'input_json_delta'
          ? []
          : event.type === 'content_block_start'
            ? [{ ...event, content_block: use('t', name, input) }]
            : [event],
      )
    for (const [name, input, shown] of [
      ['patch', { input: 'a' }, 'a'],
      ['read', { n: 1 }, '{"n":1}'],
    ] as const)
      for (const [api, pick] of [
        ['chat', ({ choices }: Loose) => Object.values(choices[0].message.tool_calls[0]).at(-1)],
        ['responses', ({ output }: Loose) => output[0]],
      ] as const) {
        model.reply = { blocks: [], events: started(name, input) }
        const got: Loose = pick((await ask(model.url, api, ASKED[api])).body)
        expect(got.input ?? got.arguments).toBe(shown)
      }
  })
})

describe('errors', () => {
  const error = (type: string, message = 'busy') => ({ type: 'error', error: { type, message } })
  const begun = eventsOf({ blocks: [text('Hm'), use('t', 'read', { a: 1 })] }).slice(0, -3)

  it('in the middle of a stream end it, and do not complete a call', async () => {
    const model = await openModel()
    model.reply = { blocks: [], events: [...begun, error('overloaded_error')] }
    const streamed = async (api: Api) =>
      dataIn((await ask(model.url, api, { ...ASKED[api], stream: true })).text)
    expect((await streamed('messages')).at(-1)).toEqual(error('overloaded_error'))
    expect((await streamed('chat')).at(-1)).toEqual({
      error: { message: 'busy', type: 'server_error', param: null, code: 'server_overloaded' },
    })
    const events = await streamed('responses')
    expect(events.map(({ sequence_number: at }) => at)).toEqual([...events.keys()])
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        id: 'resp_1',
        status: 'failed',
        error: { code: 'server_is_overloaded', message: 'busy' },
        usage: null,
      },
    })
    expect(
      events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item.type),
    ).toEqual(['message'])
    for (const [api, status] of [
      ['chat', 503],
      ['responses', 503],
      ['messages', 529],
    ] as const)
      expect((await ask(model.url, api, ASKED[api])).status).toBe(status)
  })

  it('of an upstream that breaks off, and of one that never begins', async () => {
    const vendor = await openVendor({ events: [{ choices: [{ delta: { content: 'x' } }] }] })
    const gateway = await openGateway(upstreamFor('chat', vendor.url))
    const last = async (api: Api) =>
      dataIn((await ask(gateway, api, { ...ASKED[api], tools: undefined, stream: true })).text).at(-1)
    expect(await last('chat')).toMatchObject({
      error: { message: expect.stringMatching(/broke off/), type: 'server_error' },
    })
    expect(await last('responses')).toMatchObject({
      type: 'response.failed',
      response: { error: { message: expect.stringMatching(/broke off/) } },
    })
    expect(await last('messages')).toMatchObject({ type: 'error', error: { type: 'api_error' } })
  })

  // biome-ignore format: a table, as few lines to a row as it takes
  it.each<[string, number, string, string | null]>([
    ['invalid_request_error', 400, 'invalid_request_error', null],
    ['request_too_large', 413, 'invalid_request_error', 'request_too_large'],
    ['authentication_error', 401, 'invalid_request_error', 'invalid_api_key'],
    ['permission_error', 403, 'invalid_request_error', 'permission_denied'],
    ['not_found_error', 404, 'invalid_request_error', 'not_found'],
    ['rate_limit_error', 429, 'rate_limit_exceeded', 'rate_limit_exceeded'],
    ['billing_error', 402, 'insufficient_quota', 'insufficient_quota'],
    ['timeout_error', 504, 'server_error', 'timeout'],
    ['overloaded_error', 529, 'server_error', 'server_overloaded'],
    ['toString', 499, 'invalid_request_error', null],
    ['odd', 500, 'server_error', null],
  ])('%s have OpenAI’s type and code', async (type, status, expected, code) => {
    const model = await openModel()
    const resets = {
      'anthropic-ratelimit-requests-reset': new Date(0).toISOString(),
      'anthropic-ratelimit-tokens-reset': 'soon',
      'anthropic-ratelimit-tokens-limit': '9',
      'request-id': 'r',
      'content-type': 'application/json',
      'x-kept': 'k',
    }
    const message = status === 400 ? 'tools.0.name: prompt is too long' : 'tools.0.name: wrong'
    model.reply = { blocks: [], refused: { status, headers: resets, body: JSON.stringify(error(type, message)) } }
    const got = await ask(model.url, 'chat', ASKED.chat)
    expect([got.status, got.body.error]).toEqual([
      status === 529 ? 503 : status,
      { message, type: expected, param: 'tools.0.name', code: status === 400 ? 'context_length_exceeded' : code },
    ])
    const named = [
      'x-request-id',
      'x-kept',
      'x-ratelimit-reset-requests',
      'x-ratelimit-reset-tokens',
      'x-ratelimit-limit-tokens',
      'anthropic-ratelimit-tokens-limit',
    ]
    expect(named.map((name) => got.headers.get(name))).toEqual(['r', 'k', '0s', 'soon', '9', null])
    model.reply = { blocks: [], refused: { status: 500, headers: { 'content-type': 'application/json' }, body: 'no JSON' } }
    expect((await ask(model.url, 'chat', ASKED.chat)).body.error).toMatchObject({ type: 'server_error', message: expect.stringMatching(/no JSON|500/) })
  })
})

it('thoughts come back to the model although a chat client cannot send their signatures, but not to other calls', async () => {
  const call = use('toolu_1', 'read', { path: 'first' })
  const vendor = await openVendor({
    body: {
      type: 'message',
      role: 'assistant',
      content: [thought, text('a'), call],
      usage: {},
      stop_reason: 'tool_use',
    },
  })
  const gateway = await openGateway(upstreamFor('messages', vendor.url))
  const asked = (messages: Loose[]) =>
    ask(gateway, 'chat', {
      model: 'm',
      tools: [{ type: 'function', function: { name: 'read' } }],
      reasoning_effort: 'high',
      messages: [hi, ...messages],
    })
  const { message } = (await asked([])).body.choices[0]
  const answered = (tool_calls: Loose[]) =>
    asked([
      { role: 'assistant', content: message.content, tool_calls },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' },
    ])
  await answered(message.tool_calls)
  expect(vendor.last().messages[1].content).toEqual([thought, text('a'), call])
  await answered([
    { id: 'toolu_1', type: 'function', function: { name: 'read', arguments: '{"path":"second"}' } },
  ])
  expect(vendor.last().messages[1].content).toEqual([text('a'), { ...call, input: { path: 'second' } }])
})

it('numbers that JavaScript cannot hold keep their digits, in every API on both sides', async () => {
  const LONG = '12345678901234567890.10'
  const raw = (value: unknown) => JSON.stringify(value).replaceAll('"LONG"', LONG)
  const asked: { readonly [api: string]: string } = {
    messages: raw({
      ...ASKED.messages,
      tools: [{ name: 'read', input_schema: { properties: { n: { maximum: 'LONG' } } } }],
      messages: [
        hi,
        { role: 'assistant', content: [use('t', 'read', { n: 'LONG' })] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
      ],
    }),
    chat: raw({
      model: 'm',
      tools: [
        {
          type: 'function',
          function: { name: 'read', parameters: { properties: { n: { maximum: 'LONG' } } } },
        },
      ],
      messages: [
        hi,
        {
          role: 'assistant',
          tool_calls: [{ id: 't', type: 'function', function: { name: 'read', arguments: `{"n":${LONG}}` } }],
        },
        { role: 'tool', tool_call_id: 't', content: 'x' },
      ],
    }),
    responses: raw({
      model: 'm',
      tools: [fn('read', { parameters: { properties: { n: { maximum: 'LONG' } } } })],
      input: [
        hi,
        { type: 'function_call', call_id: 't', name: 'read', arguments: `{"n":${LONG}}` },
        { type: 'function_call_output', call_id: 't', output: 'x' },
      ],
    }),
  }
  const bodies: { readonly [api: string]: string } = {
    messages: raw({ content: [use('t', 'read', { n: 'LONG' })], usage: {}, stop_reason: 'tool_use' }),
    chat: raw({
      choices: [
        { message: { tool_calls: [{ id: 't', function: { name: 'read', arguments: `{"n":${LONG}}` } }] } },
      ],
    }),
    responses: raw({
      status: 'completed',
      output: [{ type: 'function_call', call_id: 't', name: 'read', arguments: `{"n":${LONG}}` }],
    }),
  }
  for (const upstream of ['messages', 'chat', 'responses'] as const) {
    const vendor = await openVendor({
      body: bodies[upstream],
      headers: { 'content-type': 'application/json' },
    })
    const gateway = await openGateway(upstreamFor(upstream, vendor.url))
    for (const client of ['messages', 'chat', 'responses'] as const) {
      const got = await ask(gateway, client, asked[client])
      expect(got.text, `${client} in front of ${upstream}`).toContain(LONG)
      const parts = vendor.sent.at(-1)!.json.split(LONG).length
      expect(parts, `${client} in front of ${upstream}`).toBe(3)
    }
  }
})
