// What each of the three upstreams gets of what each of the three client APIs can say: kept, said otherwise, or refused;
// never gone without a word (X3).
import { describe, expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf } from '../../src/lib/index.ts'
import type { ApiName, HttpAnswer } from '../../src/messages/index.ts'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
} from '../../src/messages/upstream/index.ts'
import { record, start } from './support/gateways.ts'

const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' }
const MODELS = { messages: 'claude-sonnet-4-5', chat: 'gpt-4o', responses: 'gpt-5.4' }
const upstreams = {
  messages: createMessagesUpstream,
  chat: createChatUpstream,
  responses: createResponsesUpstream,
}

/** A reply in each API that says `ok`. */
const OK: { readonly [api in ApiName]: Fields } = {
  messages: {
    ...{
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'ok' }],
    },
    ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
  },
  chat: {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', model: 'm', usage: {} },
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
  responses: {
    ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm', usage: {} },
    output: [
      { type: 'message', id: 'm_1', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] },
    ],
  },
}

type Asked = {
  readonly status: number
  readonly headers: globalThis.Headers
  readonly answer: Fields
  readonly sent: readonly Fields[]
}

/** A gateway in front of an upstream that answers `reply`; what it answers a client, and what the upstream was sent. */
async function between(upstream: ApiName, { mode = 'auto', reply = OK[upstream] as unknown } = {}) {
  const isText = typeof reply === 'string'
  const answer: HttpAnswer = {
    status: 200,
    headers: { 'content-type': isText ? 'text/event-stream' : 'application/json' },
    body: isText ? reply : JSON.stringify(reply),
  }
  const { url, requests } = await record(answer)
  const gateway = await start(
    upstreams[upstream]({ url: new URL(upstream === 'messages' ? '/' : '/v1', url) }),
    { mode },
  )
  return async (client: ApiName, body: Fields): Promise<Asked> => {
    const before = requests.length
    const response = await fetch(gateway.url + PATHS[client], {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
      body: JSON.stringify({ ...basics(client, upstream), ...body }),
    })
    const sent = requests.slice(before).map((one) => JSON.parse(one.body) as Fields)
    const text = await response.text()
    const { status, headers } = response
    return { status, headers, answer: text.startsWith('{') ? JSON.parse(text) : { text }, sent }
  }
}

function basics(client: ApiName, upstream: ApiName): Fields {
  const said = client === 'responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }
  return { model: MODELS[upstream], ...(client === 'messages' ? { max_tokens: 100 } : {}), ...said }
}

describe('settings fit the model, from every client', () => {
  const cases: [string, Fields, Fields][] = [
    // Since 4.7 Claude refuses temperature and top_p; which models may not stop thinking differs.
    ['claude-opus-5-5', { temperature: 0.2, top_p: 0.9 }, {}],
    ['claude-opus-4-8', { temperature: 0.2 }, {}],
    ['anthropic/claude-4.7-opus', { top_p: 0.9 }, {}],
    ['claude-haiku-5-5', { temperature: 0 }, {}],
    ['claude-opus-7', { temperature: 0 }, {}],
    ['claude-sonnet-4-6', { temperature: 0.2, top_p: 0.9 }, { temperature: 0.2 }],
    ['claude-sonnet-4-5', { temperature: 1.7 }, { temperature: 1 }],
    ['claude-opus-4-20250514', { top_p: 0.9 }, { top_p: 0.9 }],
    ['claude-opus-5-5', { effort: 'none' }, { output_config: { effort: 'low' } }],
    ['claude-fable-5-1', { effort: 'none' }, { output_config: { effort: 'low' } }],
    ['claude-opus-5', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-haiku-5-5', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-opus-4-8', { effort: 'none' }, {}],
    ['claude-sonnet-4-5-20250929', { effort: 'none' }, {}],
    ['claude-sonnet-4-5', { effort: 'high', temperature: 0.3 }, { temperature: 0.3 }],
    [
      'claude-sonnet-4-6',
      { effort: 'xhigh', temperature: 0.3 },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    [
      'claude-opus-5-5',
      { effort: 'xhigh' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    ],
    // No model writes more than its limit, and a forced call excludes thinking that was asked for.
    ['claude-3-haiku-20240307', { max: 50_000 }, { max_tokens: 4096 }],
    ['claude-opus-4-1', { max: 50_000 }, { max_tokens: 32_000 }],
    ['claude-opus-5', { max: 50_000 }, { max_tokens: 50_000 }],
    ['claude-3-5-sonnet-20241022', {}, { max_tokens: 8192 }],
  ]
  const settings = ['temperature', 'top_p', 'thinking', 'output_config', 'max_tokens']
  test.each(cases)('%s with %j becomes %j', async (model, { effort, max, ...asked }, expected) => {
    const ask = await between('messages')
    const chat = await ask('chat', { model, ...asked, reasoning_effort: effort, max_completion_tokens: max })
    const reasoning = effort === undefined ? undefined : { effort }
    const responses = await ask('responses', { model, ...asked, reasoning, max_output_tokens: max })
    for (const { sent } of [chat, responses]) {
      const { max_tokens: limit, ...rest } = Object.fromEntries(
        Object.entries(sent[0] ?? {}).filter(([field]) => settings.includes(field)),
      )
      expect(rest).toEqual('max_tokens' in expected ? {} : expected)
      expect(limit).toBe(expected.max_tokens ?? (/3-|opus-4-[12]/.test(model) ? limit : 32_000))
    }
  })

  test('a forced call excludes thinking, but not the effort', async () => {
    const tools = [{ type: 'function', function: { name: 'a' } }]
    const ask = await between('messages')
    const asked = { model: 'claude-opus-5', tools, tool_choice: 'required', reasoning_effort: 'high' }
    const { sent } = await ask('chat', asked)
    expect(sent[0]).toMatchObject({ tool_choice: { type: 'any' }, output_config: { effort: 'high' } })
    expect(sent[0]).not.toHaveProperty('thinking')
  })

  test('a client of the Messages API is answered by its own API, whatever it asks for', async () => {
    const ask = await between('messages', { mode: 'off' })
    const asked = {
      model: 'claude-opus-5-5',
      temperature: 0.2,
      thinking: { type: 'disabled' },
      max_tokens: 1e6,
    }
    expect((await ask('messages', asked)).sent[0]).toMatchObject(asked)
  })

  test('models of OpenAI get a temperature up to 2 where they do not think, and no other', async () => {
    const asked = { temperature: 1.5, top_p: 0.5 }
    const chat = await between('chat', { mode: 'off' })
    const responses = await between('responses', { mode: 'off' })
    expect((await chat('responses', { model: 'gpt-4o', ...asked })).sent[0]).toMatchObject(asked)
    expect((await responses('chat', { model: 'gpt-4o', ...asked })).sent[0]).toMatchObject(asked)
    expect((await responses('messages', { model: 'gpt-5', ...asked })).sent[0]).not.toHaveProperty(
      'temperature',
    )
    const off = { ...asked, reasoning_effort: 'none' }
    expect((await responses('chat', { model: 'gpt-5.4', ...off })).sent[0]).toMatchObject({
      ...asked,
      reasoning: { effort: 'none' },
    })
    const high = { ...asked, reasoning_effort: 'high' }
    expect((await responses('chat', { model: 'gpt-5.4', ...high })).sent[0]).not.toHaveProperty('top_p')
  })
})

/** What becomes of a part of a request at one upstream: its words arrive, the request is refused, or the guide says that it is left out. */
type Fate = 'kept' | 'refused' | 'left out'
type Row = readonly [
  what: string,
  body: Fields,
  /** Text that the upstream gets if it is kept. */
  words: string,
  messages: Fate,
  chat: Fate,
  responses: Fate,
]

const user = { role: 'user', content: 'hi' }
const asked = (...content: Fields[]): Fields => ({
  messages: [{ role: 'user', content: [...content, text] }],
})
const said = (...content: Fields[]): Fields => ({
  messages: [user, { role: 'assistant', content: [...content, text] }, user],
})
const text = { type: 'text', text: 'Well' }
const own = (name: string, more: Fields = {}): Fields => ({
  ...{ name, description: 'd', input_schema: { type: 'object', properties: {} } },
  ...more,
})
const withTool = (tool: Fields, ...more: Fields[]): Fields => ({ tools: [own('a'), tool, ...more] })
const search = { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }
const toolset = { type: 'mcp_toolset', mcp_server_name: 'gh' }
const deferring = { default_config: { defer_loading: true } }
const asJson = { type: 'json_schema', schema: { type: 'object', title: 'MARK' } }
const file = { type: 'file', file_id: 'MARK' }
const webSearch = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'MARK' } }
const webFound = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const directive = { role: 'system', content: [], output_config: { effort: 'max', format: asJson } }

const FROM_MESSAGES: readonly Row[] = [
  ['a tool', withTool(own('MARK')), 'MARK', 'kept', 'kept', 'kept'],
  [
    'examples of a tool',
    withTool(own('b', { input_examples: [{ a: 'MARK' }] })),
    'MARK',
    'kept',
    'kept',
    'kept',
  ],
  ['a strict tool', withTool(own('b', { strict: true })), '"strict":true', 'kept', 'left out', 'left out'],
  [
    'callers of a tool',
    withTool(own('b', { allowed_callers: ['MARK'] })),
    'MARK',
    'kept',
    'left out',
    'left out',
  ],
  [
    'a tool of the API',
    withTool({ type: 'web_search_20250305', name: 'web_search' }),
    'web_search_2',
    'kept',
    'refused',
    'refused',
  ],
  [
    'one that the client runs',
    withTool({ type: 'bash_20250124', name: 'bash' }),
    'bash_20250124',
    'kept',
    'refused',
    'refused',
  ],
  [
    'one that is deferred',
    withTool({ type: 'bash_20250124', name: 'bash', defer_loading: true }, search),
    '',
    'kept',
    'refused',
    'refused',
  ],
  ['the tools of an MCP server', withTool(toolset), 'mcp_toolset', 'kept', 'refused', 'refused'],
  [
    'those of one that is deferred',
    withTool({ ...toolset, ...deferring }, search),
    '',
    'refused',
    'refused',
    'refused',
  ],
  [
    'some of them deferred',
    withTool({ ...toolset, configs: { b: { defer_loading: true } } }),
    'mcp_toolset',
    'kept',
    'refused',
    'refused',
  ],
  [
    'a deferred toolset',
    withTool({ type: 'computer_toolset_20260801', configs: { click: { defer_loading: true } } }),
    ...(['', 'refused', 'refused', 'refused'] as const),
  ],
  [
    'a tool of the API that is added later',
    {
      messages: [
        user,
        {
          role: 'system',
          content: [
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { type: 'bash_20250124', name: 'bash' } },
            },
          ],
        },
      ],
    },
    ...(['bash_20250124', 'kept', 'refused', 'refused'] as const),
  ],
  [
    'MCP servers',
    { mcp_servers: [{ type: 'url', url: 'https://MARK', name: 'gh' }] },
    'MARK',
    'kept',
    'refused',
    'refused',
  ],
  ['a format of the reply', { output_config: { format: asJson } }, 'MARK', 'kept', 'kept', 'kept'],
  ['a format from here on', { messages: [user, directive] }, 'MARK', 'kept', 'kept', 'kept'],
  ['a sampling of few tokens', { top_k: 77 }, '77', 'kept', 'left out', 'left out'],
  ['a service tier', { service_tier: 'standard_only' }, 'standard_only', 'kept', 'left out', 'left out'],
  [
    'editing of the context',
    { context_management: { edits: [{ type: 'MARK' }] } },
    'MARK',
    'kept',
    'left out',
    'left out',
  ],
  [
    'one call at a time',
    { ...withTool(own('b')), tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    'parallel',
    'kept',
    'kept',
    'kept',
  ],
  [
    'words of the system',
    { messages: [user, { role: 'system', content: 'MARK' }] },
    'MARK',
    'kept',
    'kept',
    'kept',
  ],
  ['an image by its id', asked({ type: 'image', source: file }), 'MARK', 'kept', 'left out', 'refused'],
  [
    'an uploaded file',
    asked({ type: 'container_upload', file_id: 'MARK' }),
    'MARK',
    'kept',
    'kept',
    'refused',
  ],
  ['a block that nobody knows', asked({ type: 'hologram', data: 'MARK' }), 'MARK', 'kept', 'kept', 'refused'],
  [
    'a search result',
    asked({
      type: 'search_result',
      source: 'https://x',
      title: 'T',
      content: [{ type: 'text', text: 'MARK' }],
    }),
    'MARK',
    'kept',
    'kept',
    'kept',
  ],
  ...['title', 'context'].flatMap((field): Row[] =>
    [
      { type: 'text', media_type: 'text/plain', data: 'x' },
      { type: 'content', content: [text] },
      { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
      { type: 'url', url: 'https://x/a.pdf' },
    ].map((source) => [
      `the ${field} of a document of type ${source.type}`,
      asked({ type: 'document', source, [field]: 'MARK' }),
      'MARK',
      'kept',
      'kept',
      'kept',
    ]),
  ),
  ['a search of the web', said(webSearch, webFound), 'MARK', 'kept', 'kept', 'refused'],
  [
    'a call of an MCP server',
    said(
      { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'MARK', server_name: 'gh', input: {} },
      { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [] },
    ),
    'MARK',
    'kept',
    'kept',
    'refused',
  ],
]

const fn = (name: string, more: Fields = {}): Fields => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} }, ...more },
})
const FROM_CHAT: readonly Row[] = [
  ['a tool', { tools: [fn('MARK')] }, 'MARK', 'kept', 'kept', 'kept'],
  ['a strict tool', { tools: [fn('a', { strict: true })] }, '"strict":true', 'kept', 'kept', 'left out'],
  [
    'a freeform tool',
    { tools: [{ type: 'custom', custom: { name: 'MARK' } }] },
    'MARK',
    'kept',
    'kept',
    'kept',
  ],
  ['a tool of the server', { tools: [{ type: 'web_search' }] }, 'web_search', 'refused', 'kept', 'refused'],
  ['several replies', { n: 2 }, '"n":2', 'refused', 'kept', 'refused'],
  ['probabilities', { logprobs: true }, 'logprobs', 'refused', 'kept', 'refused'],
  // Responses has none: the reply is cut (below).
  ['an end of the reply', { stop: ['MARK'] }, 'MARK', 'kept', 'kept', 'left out'],
  ['a seed', { seed: 77 }, '77', 'left out', 'kept', 'left out'],
  [
    'sound',
    asked({ type: 'input_audio', input_audio: { data: 'MARK' } }),
    'MARK',
    'refused',
    // What is malformed in the upstream's own API is left to the upstream.
    'kept',
    'refused',
  ],
  [
    'a refusal',
    { messages: [user, { role: 'assistant', content: null, refusal: 'MARK' }, user] },
    'MARK',
    'kept',
    'kept',
    'kept',
  ],
  ['who speaks', { messages: [{ ...user, name: 'MARK' }] }, 'MARK', 'kept', 'kept', 'kept'],
]

const rfn = (name: string, more: Fields = {}): Fields => ({
  ...{ type: 'function', name, parameters: { type: 'object', properties: {} } },
  ...more,
})
const item = (...items: Fields[]): Fields => ({ input: [...items, { role: 'user', content: 'hi' }] })
const mcp = { type: 'mcp', server_label: 'gh', server_url: 'https://MARK' }
const mcpCall = {
  type: 'mcp_call',
  id: 'mcp_1',
  name: 'q',
  server_label: 'gh',
  arguments: '{}',
  output: 'MARK',
}
const FROM_RESPONSES: readonly Row[] = [
  ['a tool', { tools: [rfn('MARK')] }, 'MARK', 'kept', 'kept', 'kept'],
  ['a strict tool', { tools: [rfn('a', { strict: true })] }, '"strict":true', 'kept', 'left out', 'kept'],
  ['a search of the web', { tools: [{ type: 'web_search' }] }, 'web_search', 'left out', 'left out', 'kept'],
  ['an MCP server', { tools: [rfn('a'), mcp] }, 'MARK', 'refused', 'refused', 'kept'],
  [
    'an MCP server that is deferred',
    { tools: [rfn('a'), { ...mcp, defer_loading: true }, { type: 'tool_search' }] },
    'MARK',
    'refused',
    'refused',
    'kept',
  ],
  [
    'search of files',
    { tools: [{ type: 'file_search', vector_store_ids: ['MARK'] }] },
    'MARK',
    'refused',
    'refused',
    'kept',
  ],
  ['a call of an MCP server', item(mcpCall), 'MARK', 'refused', 'refused', 'kept'],
  [
    'a search of the web that ran',
    item(
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'MARK' } },
      { role: 'assistant', content: 'Well' },
    ),
    'MARK',
    'left out',
    'left out',
    'kept',
  ],
  [
    'thoughts of OpenAI',
    item(
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'MARK' },
      { role: 'assistant', content: 'Well' },
    ),
    'MARK',
    'left out',
    'left out',
    'kept',
  ],
  [
    'words of an agent that only OpenAI reads',
    item({ type: 'agent_message', content: [{ type: 'encrypted_content', encrypted_content: 'MARK' }] }),
    'MARK',
    'refused',
    'refused',
    'kept',
  ],
  ['how many words', { text: { verbosity: 'low' } }, 'verbosity', 'left out', 'left out', 'kept'],
  ['a service tier', { service_tier: 'flex' }, 'flex', 'left out', 'left out', 'kept'],
]

describe.each([
  ['messages', FROM_MESSAGES],
  ['chat', FROM_CHAT],
  ['responses', FROM_RESPONSES],
] as const)('X3 from a client of %s', (client, rows) => {
  test.each(['messages', 'chat', 'responses'] as const)('to an upstream of %s', async (upstream) => {
    const fates: string[] = []
    const expected: string[] = []
    // What the client defers is loaded in mode off.
    const [off, auto] = [await between(upstream, { mode: 'off' }), await between(upstream)]
    for (const [what, body, words, messages, chat, responses] of rows) {
      const ask = JSON.stringify(body).includes('"defer_loading":true') ? auto : off
      const { status, sent, answer } = await ask(client, body)
      const wire = JSON.stringify(sent.at(-1) ?? '')
      const fate = status === 400 ? 'refused' : wire.includes(words) ? 'kept' : 'left out'
      expected.push(`${what}: ${{ messages, chat, responses }[upstream]}`)
      fates.push(`${what}: ${fate}`)
      if (status !== 200)
        expect(String(fieldsOf(answer.error).message)).toMatch(/^.+: .+(?:[lL]eave|send|use) /)
      expect(status === 200 || sent.length === 0).toBe(true)
    }
    expect(fates).toEqual(expected)
  })
})

test('tools that another model does without are named in a header', async () => {
  const { headers } = await (await between('messages'))('responses', { tools: [{ type: 'web_search' }] })
  expect(headers.get('x-toolshelf-why')).toContain('without web_search')
})

describe('a reply of Responses, which knows no stop sequences, ends at the first', () => {
  const reply = (...deltas: string[]) => {
    const events = [
      { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
      ...deltas.map((delta) => ({
        type: 'response.output_text.delta',
        output_index: 0,
        content_index: 0,
        delta,
      })),
      {
        type: 'response.completed',
        response: { id: 'resp_1', usage: { input_tokens: 3, output_tokens: 9 }, output: [] },
      },
    ]
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  }
  test.each([
    [['One STOP two'], 'One ', 'STOP'],
    [['One ST', 'OP two'], 'One ', 'STOP'],
    [[...'One ENDSTOP'], 'One ', 'END'],
    [['One ST', 'ART E', 'N'], 'One START EN', null],
    [['STOP'], '', 'STOP'],
  ])('%j', async (deltas, said, sequence) => {
    const ask = await between('responses', { reply: reply(...deltas) })
    const { answer } = await ask('messages', { stop_sequences: ['STOP', 'END'] })
    expect(answer).toMatchObject({
      stop_reason: sequence === null ? 'end_turn' : 'stop_sequence',
      stop_sequence: sequence,
      usage: { input_tokens: 3, output_tokens: 9 },
    })
    expect((answer.content as Fields[]).map((block) => block.text).join('')).toBe(said)
    const chat = await ask('chat', { stop: ['STOP', 'END'] })
    expect(chat.answer).toMatchObject({ choices: [{ message: { content: said }, finish_reason: 'stop' }] })
  })
})

test('what a model thinks is shown, also if nobody can send it back', async () => {
  const parts = [{ type: 'reasoning_text', text: 'Hm.' }]
  const output = [
    { type: 'reasoning', id: 'rs_1', summary: [], content: parts },
    ...listOf(OK.responses.output),
  ]
  const ask = await between('responses', { reply: { ...OK.responses, output } })
  const { answer } = await ask('messages', { thinking: { type: 'adaptive' } })
  expect(answer.content).toMatchObject([{ type: 'thinking', thinking: 'Hm.' }, { type: 'text' }])
})

describe('a refusal is one for every client, and no content', () => {
  const message = { role: 'assistant', content: null, refusal: 'I will not.' }
  const part = { type: 'refusal', refusal: 'I will not.' }
  const sse = (events: readonly Fields[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const details = { type: 'refusal', category: 'bio', explanation: 'I will not.' }
  const upstream: { readonly [name: string]: readonly [ApiName, unknown] } = {
    'Chat Completions': ['chat', { ...OK.chat, choices: [{ index: 0, message, finish_reason: 'stop' }] }],
    'Chat Completions, streamed': [
      'chat',
      sse([
        ...['I will', ' not.'].map((refusal) => ({ choices: [{ index: 0, delta: { refusal } }] })),
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      ]).replaceAll(/event:.*\n/g, ''),
    ],
    Responses: [
      'responses',
      { ...OK.responses, output: [{ type: 'message', id: 'm_1', role: 'assistant', content: [part] }] },
    ],
    'Responses, streamed': [
      'responses',
      sse([
        { type: 'response.created', response: { id: 'resp_1' } },
        ...['I will', ' not.'].map((delta) => ({
          ...{ type: 'response.refusal.delta', output_index: 0, content_index: 0, delta },
        })),
        { type: 'response.completed', response: { id: 'resp_1', output: [] } },
      ]),
    ],
    Messages: ['messages', { ...OK.messages, content: [], stop_reason: 'refusal', stop_details: details }],
  }
  test.each(Object.keys(upstream))('from %s', async (name) => {
    const [api, reply] = upstream[name]!
    const ask = await between(api, { reply, mode: 'off' })
    const isStreamed = name.endsWith('streamed')
    for (const stream of isStreamed ? [true] : [false, true]) {
      const chat = await ask('chat', { stream })
      const responses = await ask('responses', { stream })
      if (stream) {
        const deltas = eventsIn(chat).map((event) => fieldsOf((event.choices as Fields[])[0]))
        expect(deltas.map(({ delta }) => fieldsOf(delta).refusal ?? '').join('')).toBe('I will not.')
        expect(deltas.map(({ delta }) => fieldsOf(delta).content ?? '').join('')).toBe('')
        expect(deltas.at(-1)?.finish_reason).toBe('stop')
        const events = eventsIn(responses)
        const said = events.filter(({ type }) => type === 'response.refusal.delta')
        expect(said.map(({ delta }) => delta).join('')).toBe('I will not.')
        expect(events.at(-1)).toMatchObject({
          type: 'response.completed',
          response: { output: [{ type: 'message', content: [part] }] },
        })
      } else {
        expect(chat.answer.choices).toMatchObject([{ message, finish_reason: 'stop' }])
        expect(responses.answer).toMatchObject({
          status: 'completed',
          output: [{ type: 'message', content: [part] }],
        })
      }
    }
    if (isStreamed) return
    const { answer } = await ask('messages', {})
    expect(answer).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } })
    expect(answer.content).toEqual(api === 'messages' ? [] : [{ type: 'text', text: 'I will not.' }])
  })

  test('content that a filter cut off is none', async () => {
    const choices = [{ index: 0, message: { content: 'I wi' }, finish_reason: 'content_filter' }]
    const ask = await between('chat', { reply: { ...OK.chat, choices }, mode: 'off' })
    expect((await ask('chat', {})).answer.choices).toMatchObject([
      { message: { content: 'I wi', refusal: null }, finish_reason: 'content_filter' },
    ])
    expect((await ask('responses', {})).answer).toMatchObject({
      ...{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
      output: [{ content: [{ type: 'output_text', text: 'I wi' }] }],
    })
    expect((await ask('messages', {})).answer).toMatchObject({ stop_reason: 'refusal' })
  })
})

/** The events of a streamed answer. */
function eventsIn({ answer: { text } }: Asked): Fields[] {
  const data = [...String(text).matchAll(/^data: (\{.*)$/gm)]
  return data.map(([, json = '']) => JSON.parse(json) as Fields)
}

describe('allowed_tools', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `tool_${index}`)
  const allowing = (client: ApiName, count: number, allowed: readonly string[], mode = 'auto'): Fields => {
    if (client === 'responses')
      return {
        tools: many(count).map((name) => rfn(name)),
        tool_choice: {
          type: 'allowed_tools',
          mode,
          tools: allowed.map((name) => ({ type: 'function', name })),
        },
      }
    const tools = allowed.map((name) => ({ type: 'function', function: { name } }))
    return {
      tools: many(count).map((name) => fn(name)),
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools } },
    }
  }
  const namesIn = (sent: Fields | undefined) =>
    listOf(sent?.tools)
      .map(fieldsOf)
      .map(({ name, function: called }) => name ?? fieldsOf(called).name)
  const pairs = (['chat', 'responses'] as const).flatMap((client) =>
    (['messages', 'chat', 'responses'] as const).map((upstream) => [client, upstream] as const),
  )

  test.each(pairs)(
    'of 150 tools the two are offered, to an upstream that takes 128 (%s, %s)',
    async (client, upstream) => {
      const ask = await between(upstream)
      const { status, sent } = await ask(client, allowing(client, 150, ['tool_1', 'tool_140'], 'required'))
      expect([status, namesIn(sent[0])]).toEqual([200, ['tool_1', 'tool_140']])
      const choice = sent[0]?.tool_choice
      expect(choice).toEqual(upstream === 'messages' ? { type: 'any' } : 'required')
    },
  )

  test.each(pairs)(
    'the list stays as it is where the upstream knows them, too (%s, %s)',
    async (client, upstream) => {
      const isKnown = client === upstream || upstream === 'responses'
      for (const mode of ['auto', 'off']) {
        const ask = await between(upstream, { mode })
        const one = (await ask(client, allowing(client, 20, ['tool_1']))).sent[0]
        const other = (await ask(client, allowing(client, 20, ['tool_2', 'tool_3'], 'required'))).sent[0]
        expect(namesIn(one)).toEqual(isKnown ? many(20) : ['tool_1'])
        expect(JSON.stringify(one?.tools) === JSON.stringify(other?.tools)).toBe(isKnown)
        if (isKnown)
          expect(other?.tool_choice).toEqual(
            allowing(upstream, 20, ['tool_2', 'tool_3'], 'required').tool_choice,
          )
      }
    },
  )

  test.each([
    ['chat', 'gpt-4o'],
    ['responses', 'gpt-4o'],
    ['responses', 'gpt-5.4'],
  ] as const)('of shelved tools only they are found and called (%s, %s)', async (client, model) => {
    const call = (name: string, input: Fields) => ({ id: 'c1', name, arguments: JSON.stringify(input) })
    const search = call('ToolSearch', { query: 'select:tool_1,tool_2' })
    const choices = [
      {
        index: 0,
        message: { tool_calls: [{ id: 'c1', type: 'function', function: search }] },
        finish_reason: 'tool_calls',
      },
    ]
    const output = [{ type: 'function_call', call_id: 'c1', ...search }]
    const ask = await between(client, { mode: 'shelve', reply: { ...OK[client], choices, output } })
    const { sent } = await ask(client, { model, ...allowing(client, 20, ['tool_2']) })
    const last = JSON.stringify(sent[1])
    expect(last).toContain('"name":"tool_2"')
    expect(last).not.toContain('"name":"tool_1"')
    // Tools that OpenAI's own search loads cannot be allowed by name.
    if (model === 'gpt-4o')
      expect(JSON.stringify(sent[1]?.tool_choice)).toMatch(/allowed_tools.*ToolSearch.*tool_2/)
    else expect(sent[1]).not.toHaveProperty('tool_choice')
  })
})
