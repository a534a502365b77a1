// What each API's upstream gets of what each client can say: kept, said otherwise, or refused with a reason. And what of a
// client's tools reaches the model: names, fields, breakpoints, choices.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { createChatUpstream, createMessagesUpstream, createResponsesUpstream } from '../../doors.ts'
import { eventsIn, open, play, post, wires } from './gateways.ts'
import { toolFor } from './model.ts'
import { recorder } from './recorder.ts'

type Api = 'messages' | 'chat' | 'responses'
const apis = ['messages', 'chat', 'responses'] as const
const PATHS = { messages: 'messages', chat: 'chat/completions', responses: 'responses' }
const MODELS = { messages: 'claude-sonnet-4-5', chat: 'gpt-4o', responses: 'gpt-5.4' }
const creates = {
  messages: createMessagesUpstream,
  chat: createChatUpstream,
  responses: createResponsesUpstream,
}

/** A reply in each API that says `ok`. */
const OK: Record<Api, Loose> = {
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

/** A gateway in front of an upstream that answers `reply`; what it answers a client, and what the upstream was sent. */
async function between(
  upstream: Api,
  { mode = 'auto', reply = OK[upstream] }: { mode?: string; reply?: Loose } = {},
) {
  const { url, bodies } = await recorder(reply)
  const { url: gateway } = await open(
    creates[upstream]({ url: new URL(upstream === 'messages' ? '/' : '/v1', url) }),
    { mode },
  )
  return async (client: Api, body: Loose) => {
    const before = bodies.length
    const hi = client === 'responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }
    const most = client === 'messages' ? { max_tokens: 100 } : {}
    const got = await post(
      gateway,
      { model: MODELS[upstream], ...most, ...hi, ...body },
      { path: PATHS[client] },
    )
    return { ...got, sent: bodies.slice(before) }
  }
}

/** A part of a request, words that the upstream gets if it is kept, and its fate in front of the three upstreams: kept, refused, left out. */
type Row = readonly [body: Loose, words: string, fates: string]

const user = { role: 'user', content: 'hi' }
const asked = (...content: Loose[]): Loose => ({
  messages: [{ role: 'user', content: [...content, text] }],
})
const said = (...content: Loose[]): Loose => ({
  messages: [user, { role: 'assistant', content: [...content, text] }, user],
})
const text = { type: 'text', text: 'Well' }
const own = (name: string, more: Loose = {}): Loose => ({
  ...{ name, description: 'd', input_schema: { type: 'object', properties: {} } },
  ...more,
})
const withTool = (tool: Loose, ...more: Loose[]): Loose => ({ tools: [own('a'), tool, ...more] })
const search = { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }
const toolset = { type: 'mcp_toolset', mcp_server_name: 'gh' }
const deferring = { default_config: { defer_loading: true } }
const asJson = { type: 'json_schema', schema: { type: 'object', title: 'MARK' } }
const file = { type: 'file', file_id: 'MARK' }
const webSearch = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'MARK' } }
const webFound = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const directive = { role: 'system', content: [], output_config: { effort: 'max', format: asJson } }

const FROM_MESSAGES: readonly Row[] = [
  [withTool(own('MARK')), 'MARK', 'kkk'],
  [withTool(own('b', { input_examples: [{ a: 'MARK' }] })), 'MARK', 'kkk'],
  [withTool(own('b', { strict: true })), '"strict":true', 'kll'],
  [withTool(own('b', { allowed_callers: ['MARK'] })), 'MARK', 'kll'],
  [withTool({ type: 'web_search_20250305', name: 'web_search' }), 'web_search_2', 'krr'],
  [withTool({ type: 'bash_20250124', name: 'bash' }), 'bash_20250124', 'krr'],
  [withTool({ type: 'bash_20250124', name: 'bash', defer_loading: true }, search), '', 'krr'],
  [withTool(toolset), 'mcp_toolset', 'krr'],
  [withTool({ ...toolset, ...deferring }, search), '', 'rrr'],
  [withTool({ ...toolset, configs: { b: { defer_loading: true } } }), 'mcp_toolset', 'krr'],
  [withTool({ type: 'computer_toolset_20260801', configs: { click: { defer_loading: true } } }), '', 'rrr'],
  [
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
    'bash_20250124',
    'krr',
  ],
  [{ mcp_servers: [{ type: 'url', url: 'https://MARK', name: 'gh' }] }, 'MARK', 'krr'],
  [{ output_config: { format: asJson } }, 'MARK', 'kkk'],
  [{ messages: [user, directive] }, 'MARK', 'kkk'],
  [{ top_k: 77 }, '77', 'kll'],
  [{ service_tier: 'standard_only' }, 'standard_only', 'kll'],
  [{ context_management: { edits: [{ type: 'MARK' }] } }, 'MARK', 'kll'],
  [
    { ...withTool(own('b')), tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    'parallel',
    'kkk',
  ],
  [{ messages: [user, { role: 'system', content: 'MARK' }] }, 'MARK', 'kkk'],
  [asked({ type: 'image', source: file }), 'MARK', 'klr'],
  [asked({ type: 'container_upload', file_id: 'MARK' }), 'MARK', 'kkr'],
  [asked({ type: 'hologram', data: 'MARK' }), 'MARK', 'kkr'],
  [
    asked({
      type: 'search_result',
      source: 'https://x',
      title: 'T',
      content: [{ type: 'text', text: 'MARK' }],
    }),
    'MARK',
    'kkk',
  ],
  ...['title', 'context'].flatMap((field): Row[] =>
    [
      { type: 'text', media_type: 'text/plain', data: 'x' },
      { type: 'content', content: [text] },
      { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
      { type: 'url', url: 'https://x/a.pdf' },
    ].map((source) => [asked({ type: 'document', source, [field]: 'MARK' }), 'MARK', 'kkk']),
  ),
  [said(webSearch, webFound), 'MARK', 'kkr'],
  [
    said(
      { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'MARK', server_name: 'gh', input: {} },
      { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [] },
    ),
    'MARK',
    'kkr',
  ],
]

const fn = (name: string, more: Loose = {}): Loose => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} }, ...more },
})
const FROM_CHAT: readonly Row[] = [
  [{ tools: [fn('MARK')] }, 'MARK', 'kkk'],
  [{ tools: [fn('a', { strict: true })] }, '"strict":true', 'kkl'],
  [{ tools: [{ type: 'custom', custom: { name: 'MARK' } }] }, 'MARK', 'kkk'],
  [{ tools: [{ type: 'web_search' }] }, 'web_search', 'rkr'],
  [{ n: 2 }, '"n":2', 'rkr'],
  [{ logprobs: true }, 'logprobs', 'rkr'],
  [{ stop: ['MARK'] }, 'MARK', 'kkl'],
  [{ seed: 77 }, '77', 'lkl'],
  [asked({ type: 'input_audio', input_audio: { data: 'MARK' } }), 'MARK', 'rkr'],
  [{ messages: [user, { role: 'assistant', content: null, refusal: 'MARK' }, user] }, 'MARK', 'kkk'],
  [{ messages: [{ ...user, name: 'MARK' }] }, 'MARK', 'kkk'],
]

const rfn = (name: string, more: Loose = {}): Loose => ({
  ...{ type: 'function', name, parameters: { type: 'object', properties: {} } },
  ...more,
})
const item = (...items: Loose[]): Loose => ({ input: [...items, { role: 'user', content: 'hi' }] })
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
  [{ tools: [rfn('MARK')] }, 'MARK', 'kkk'],
  [{ tools: [rfn('a', { strict: true })] }, '"strict":true', 'klk'],
  [{ tools: [{ type: 'web_search' }] }, 'web_search', 'llk'],
  [{ tools: [rfn('a'), mcp] }, 'MARK', 'rrk'],
  [{ tools: [rfn('a'), { ...mcp, defer_loading: true }, { type: 'tool_search' }] }, 'MARK', 'rrk'],
  [{ tools: [{ type: 'file_search', vector_store_ids: ['MARK'] }] }, 'MARK', 'rrk'],
  [item(mcpCall), 'MARK', 'rrk'],
  [
    item(
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'MARK' } },
      { role: 'assistant', content: 'Well' },
    ),
    'MARK',
    'llk',
  ],
  [
    item(
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'MARK' },
      { role: 'assistant', content: 'Well' },
    ),
    'MARK',
    'llk',
  ],
  [
    item({ type: 'agent_message', content: [{ type: 'encrypted_content', encrypted_content: 'MARK' }] }),
    'MARK',
    'rrk',
  ],
  [{ text: { verbosity: 'low' } }, 'verbosity', 'llk'],
  [{ service_tier: 'flex' }, 'flex', 'llk'],
]

const FATES: Record<string, string> = { k: 'kept', r: 'refused', l: 'left out' }

describe.each([
  ['messages', FROM_MESSAGES],
  ['chat', FROM_CHAT],
  ['responses', FROM_RESPONSES],
] as const)('X3 from a client of %s', (client, rows) => {
  test.each(apis)('to an upstream of %s', async (upstream) => {
    // What the client defers is loaded in mode off.
    const [off, auto] = [await between(upstream, { mode: 'off' }), await between(upstream)]
    for (const [body, words, fates] of rows) {
      const ask = JSON.stringify(body).includes('"defer_loading":true') ? auto : off
      const { status, sent, body: answer } = await ask(client, body)
      const isKept = JSON.stringify(sent.at(-1) ?? '').includes(words)
      const fate = status === 400 ? 'refused' : isKept ? 'kept' : 'left out'
      expect([body, fate]).toEqual([body, FATES[fates[apis.indexOf(upstream)] ?? '']])
      if (status !== 200) expect(answer.error.message).toMatch(/^.+: .+(?:[lL]eave|send|use) /)
      expect(status === 200 || sent.length === 0).toBe(true)
    }
  })
})

test('tools that another model does without are named in a header', async () => {
  const { headers } = await (await between('messages'))('responses', { tools: [{ type: 'web_search' }] })
  expect(headers.get('x-toolshelf-why')).toContain('without web_search')
})

const sse = (events: readonly Loose[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

describe('a reply of Responses, which knows no stop sequences, ends at the first', () => {
  test.each([
    [['One STOP two'], 'One ', 'STOP'],
    [['One ST', 'OP two'], 'One ', 'STOP'],
    [[...'One ENDSTOP'], 'One ', 'END'],
    [['One ST', 'ART E', 'N'], 'One START EN', null],
    [['STOP'], '', 'STOP'],
  ])('%j', async (deltas, said, sequence) => {
    const place = { output_index: 0, content_index: 0 }
    const usage = { input_tokens: 3, output_tokens: 9 }
    const reply = sse([
      { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
      ...deltas.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.completed', response: { id: 'resp_1', usage, output: [] } },
    ])
    const ask = await between('responses', { reply })
    const { body } = await ask('messages', { stop_sequences: ['STOP', 'END'] })
    const reason = sequence === null ? 'end_turn' : 'stop_sequence'
    expect(body).toMatchObject({ stop_reason: reason, stop_sequence: sequence, usage })
    expect(body.content.map((block: Loose) => block.text).join('')).toBe(said)
    const chat = await ask('chat', { stop: ['STOP', 'END'] })
    expect(chat.body).toMatchObject({ choices: [{ message: { content: said }, finish_reason: 'stop' }] })
  })
})

test('what a model thinks is shown, also if nobody can send it back', async () => {
  const thought = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    content: [{ type: 'reasoning_text', text: 'Hm.' }],
  }
  const ask = await between('responses', {
    reply: { ...OK.responses, output: [thought, ...OK.responses.output] },
  })
  const { body } = await ask('messages', { thinking: { type: 'adaptive' } })
  expect(body.content).toMatchObject([{ type: 'thinking', thinking: 'Hm.' }, { type: 'text' }])
})

describe('a refusal is one for every client, and no content', () => {
  const part = { type: 'refusal', refusal: 'I will not.' }
  const message = { role: 'assistant', content: null, refusal: 'I will not.' }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const details = { type: 'refusal', category: 'bio', explanation: 'I will not.' }
  test.each([
    ['chat', { ...OK.chat, choices }],
    [
      'responses',
      { ...OK.responses, output: [{ type: 'message', id: 'm_1', role: 'assistant', content: [part] }] },
    ],
    ['messages', { ...OK.messages, content: [], stop_reason: 'refusal', stop_details: details }],
  ] as const)('from %s', async (api, reply) => {
    const ask = await between(api, { reply, mode: 'off' })
    expect((await ask('chat', {})).body.choices).toMatchObject([{ message, finish_reason: 'stop' }])
    const output = [{ type: 'message', content: [part] }]
    expect((await ask('responses', {})).body).toMatchObject({ status: 'completed', output })
    const { body } = await ask('messages', {})
    expect(body).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } })
    const deltas = eventsIn((await ask('chat', { stream: true })).text).flatMap((event) => event.choices)
    expect(deltas.map(({ delta }) => delta.refusal ?? '').join('')).toBe('I will not.')
    expect(deltas.map(({ delta }) => delta.content ?? '').join('')).toBe('')
    const events = eventsIn((await ask('responses', { stream: true })).text)
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output } })
  })
})

describe('allowed_tools', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `tool_${index}`)
  const allowing = (client: Api, count: number, allowed: readonly string[], mode = 'auto'): Loose => {
    const type = 'allowed_tools'
    const names = allowed.map((name) =>
      client === 'responses' ? { type: 'function', name } : { type: 'function', function: { name } },
    )
    return client === 'responses'
      ? { tools: many(count).map((name) => rfn(name)), tool_choice: { type, mode, tools: names } }
      : {
          tools: many(count).map((name) => fn(name)),
          tool_choice: { type, allowed_tools: { mode, tools: names } },
        }
  }
  const namesIn = ({ tools = [] }: Loose) =>
    tools.map(({ name, function: called }: Loose) => name ?? called.name)
  const pairs = (['chat', 'responses'] as const).flatMap((client) =>
    apis.map((upstream) => [client, upstream] as const),
  )

  test.each(pairs)('of 150 tools the two are offered where 128 fit (%s, %s)', async (client, upstream) => {
    const { status, sent } = await (await between(upstream))(
      client,
      allowing(client, 150, ['tool_1', 'tool_140'], 'required'),
    )
    expect([status, namesIn(sent[0])]).toEqual([200, ['tool_1', 'tool_140']])
    expect(sent[0].tool_choice).toEqual(upstream === 'messages' ? { type: 'any' } : 'required')
  })

  test.each(pairs)(
    'the list stays as it is where the upstream knows them, too (%s, %s)',
    async (client, upstream) => {
      const isKnown = client === upstream || upstream === 'responses'
      for (const mode of ['auto', 'off']) {
        const ask = await between(upstream, { mode })
        const [one] = (await ask(client, allowing(client, 20, ['tool_1']))).sent
        const [other] = (await ask(client, allowing(client, 20, ['tool_2', 'tool_3'], 'required'))).sent
        expect(namesIn(one)).toEqual(isKnown ? many(20) : ['tool_1'])
        expect(JSON.stringify(one.tools) === JSON.stringify(other.tools)).toBe(isKnown)
        const choice = allowing(upstream, 20, ['tool_2', 'tool_3'], 'required').tool_choice
        if (isKnown) expect(other.tool_choice).toEqual(choice)
      }
    },
  )

  test.each([
    ['chat', 'gpt-4o'],
    ['responses', 'gpt-4o'],
    ['responses', 'gpt-5.4'],
  ] as const)('of shelved tools only they are found and called (%s, %s)', async (client, model) => {
    const search = { id: 'c1', name: 'ToolSearch', arguments: '{"query":"select:tool_1,tool_2"}' }
    const message = { tool_calls: [{ id: 'c1', type: 'function', function: search }] }
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    const output = [{ type: 'function_call', call_id: 'c1', ...search }]
    const ask = await between(client, { mode: 'shelve', reply: { ...OK[client], choices, output } })
    const { sent } = await ask(client, { model, ...allowing(client, 20, ['tool_2']) })
    expect(JSON.stringify(sent[1])).toContain('"name":"tool_2"')
    expect(JSON.stringify(sent[1])).not.toContain('"name":"tool_1"')
    // Tools that OpenAI's own search loads cannot be allowed by name.
    if (model === 'gpt-5.4') expect(sent[1]).not.toHaveProperty('tool_choice')
    else expect(JSON.stringify(sent[1].tool_choice)).toMatch(/allowed_tools.*ToolSearch.*tool_2/)
  })
})

/** 100 characters, as a plugin's prefix and a long tool make them. */
const LONG = `mcp__plugin_acme-developer-platform_${'x'.repeat(32)}__create_pull_request_review_cmt`
const go = [{ role: 'user', content: 'go' }]
const question = { model: 'claude-sonnet-5', max_tokens: 100, messages: go }
const marksIn = (value: unknown): number => JSON.stringify(value ?? '').split('"cache_control":{').length - 1
const mark = { cache_control: { type: 'ephemeral' } }

describe.each(wires)("a client's tools on %s", (wire) => {
  it('H3 a name of 100 characters stays, shelved or found by a search of the client', async () => {
    for (const mode of ['shelve', 'emulate']) {
      const name = mode === 'shelve' ? 'ToolSearch' : 'tool_search_tool_bm25'
      const find = { type: 'tool_use', id: 'toolu_s', name, input: { query: 'pull request review' } }
      const call = (request: Loose) =>
        request.tools.some((tool: Loose) => tool.name === 'CallTool')
          ? { type: 'tool_use', id: 'toolu_c', name: 'CallTool', input: { name: LONG, arguments: {} } }
          : { type: 'tool_use', id: 'toolu_c', name: LONG, input: {} }
      const says = (request: Loose, n: number) => [
        n === 0 ? find : n === 1 ? call(request) : { type: 'text', text: 'Done.' },
      ]
      const { ask } = await play({ wire, mode, says })
      const search = { type: 'tool_search_tool_bm25_20251119', name }
      const long = { ...toolFor(LONG), input_schema: { type: 'object' } }
      const tools =
        mode === 'shelve'
          ? [toolFor('Read'), long]
          : [search, toolFor('Read'), { ...long, defer_loading: true }]
      const { content } = (await ask({ ...question, tools })).body
      expect(content.at(-1)).toMatchObject({ type: 'tool_use', name: LONG, input: {} })
      const results = [{ type: 'tool_result', tool_use_id: content.at(-1).id, content: 'ran' }]
      const messages = [...go, { role: 'assistant', content }, { role: 'user', content: results }]
      expect((await ask({ ...question, tools, messages })).body.stop_reason).toBe('end_turn')
    }
  })

  it('have never more breakpoints than the client sent, and one at the end of those in sight', async () => {
    const anyMark = fc.constantFrom({}, {}, mark)
    const marks = fc.record({
      system: anyMark,
      tools: fc.array(anyMark, { minLength: 4, maxLength: 4 }),
      said: anyMark,
    })
    await fc.assert(
      fc.asyncProperty(marks, fc.constantFrom('shelve', 'emulate'), async ({ system, tools, said }, mode) => {
        const name = mode === 'shelve' ? 'ToolSearch' : 'tool_search_tool_bm25'
        const find = { type: 'tool_use', id: 'toolu_s', name, input: { query: 'mail' } }
        const { ask, sent } = await play({
          wire,
          mode,
          says: (_, n) => (n === 0 ? [find] : [{ type: 'text', text: 'Done.' }]),
        })
        const names = ['Read', 'Bash', 'mcp__mail__send', 'mcp__mail__list']
        const own = names.map((tool, at) =>
          mode === 'emulate' && at > 1
            ? { ...toolFor(tool), defer_loading: true }
            : { ...toolFor(tool), ...tools[at] },
        )
        const body = {
          ...question,
          system: [{ type: 'text', text: 'system', ...system }],
          tools: mode === 'emulate' ? [{ type: 'tool_search_tool_bm25_20251119', name }, ...own] : own,
          messages: [{ role: 'user', content: [{ type: 'text', text: 'one', ...said }] }],
        }
        fc.pre(marksIn(body) <= 4)
        expect((await ask(body)).status).toBe(200)
        expect(sent()).toHaveLength(2)
        for (const request of sent()) {
          expect(marksIn(request)).toBeLessThanOrEqual(marksIn(body))
          expect(marksIn(request.tools)).toBe(Math.min(marksIn(body.tools), 1))
        }
      }),
      { seed: seedOr(20261119), numRuns: runs(20) },
    )
  })
})

test.each([
  ['chat', 'gpt-4o', 128],
  ['responses', 'gpt-4o', 65],
  ['responses', 'gpt-5.4', 128],
] as const)(
  "H3 a name that %s of %s does not take is short there and the client's here (%i)",
  async (api, model, length) => {
    const name = `mcp__plugin_${'x'.repeat(length - 24)}__send_mail1`
    const tools = [toolFor('Read'), toolFor(name)]
    const first = await (await between(api, { mode: 'off' }))('messages', { model, tools })
    const short = JSON.stringify(first.sent[0].tools).match(/mcp__[\w-]+/)?.[0] ?? ''
    expect(short.length).toBeLessThanOrEqual(64)
    const call = { name: short, arguments: '{}' }
    const message = { tool_calls: [{ id: 'c1', type: 'function', function: call }] }
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    const reply = { ...OK[api], choices, output: [{ type: 'function_call', call_id: 'c1', ...call }] }
    const { body } = await (await between(api, { mode: 'off', reply }))('messages', { model, tools })
    expect(body.content.at(-1)).toMatchObject({ type: 'tool_use', name })
  },
)

test.each([
  [['tool_search', 'send_mail', 'list_mail'], {}, ['tool_search']],
  [
    ['search_tools', 'codebase_search', 'list_files', 'send_mail'],
    {},
    ['search_tools', 'codebase_search', 'list_files'],
  ],
  [['Bash', 'read_file', 'mail_send', 'x'], { keep: ['mail_*'] }, ['Bash', 'read_file', 'mail_send']],
  [['Bash', 'x', 'mcp__a__b', 'mcp__a__c'], { keep: ['mcp__a__c'] }, ['Bash', 'x', 'mcp__a__c']],
] as const)('of the tools %j with %j those in sight are %j', async (names, options, expected) => {
  const { ask, sent } = await play({ ...options, says: () => [{ type: 'text', text: 'Hi.' }] } as Loose)
  await ask({ ...question, tools: names.map(toolFor) })
  const seen = sent()[0]
    .tools.filter((tool: Loose) => !tool.defer_loading)
    .map(({ name }: Loose) => name)
  expect(seen.sort()).toEqual(['ToolSearch', ...expected].sort())
})

test('the fields of a tool reach an upstream that knows them, deferred or not', async () => {
  const examples = { input_examples: [{ to: 'me' }], allowed_callers: ['direct'] }
  const fields = { strict: true, eager_input_streaming: true, ...examples }
  const find = { type: 'tool_use', id: 'toolu_s', name: 'ToolSearch', input: { query: 'mail' } }
  const { ask, sent } = await play({ says: (_, n) => (n === 0 ? [find] : [{ type: 'text', text: 'Hi.' }]) })
  const names = ['Read', 'mcp__mail__send']
  await ask({ ...question, tools: names.map((name) => ({ ...toolFor(name), ...fields })) })
  const tools = sent()[1].tools.filter(({ name }: Loose) => names.includes(name))
  expect(tools).toMatchObject([fields, fields])
})
