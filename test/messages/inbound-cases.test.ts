// The APIs of clients beyond their usual requests and replies: rare tools, items and blocks, errors, lists of models, and what
// is remembered from one request to the next.
import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import {
  apiFor,
  chatApi,
  createItemMemory,
  type InboundApi,
  messagesApi,
  modelAnswer,
  modelsAnswer,
  responsesApi,
} from '../../src/messages/inbound/index.ts'
import type { HttpAnswer, StreamEvent } from '../../src/messages/index.ts'
import { keepItem } from '../../src/messages/upstream/index.ts'

/** Ids and times differ from run to run. */
const steady = (line: string) =>
  line
    .replace(/\b([a-z]+_)[0-9a-f]{16,}/g, '$1…')
    .replace(/"(created|created_at|completed_at)":\d{10}\b/g, '"$1":0')
    .replace(/x{60,}/g, (long) => `<${long.length} x>`)
const file = (name: string) => `./conversions/${name}.txt`
/** Long lines are cut, with a digest of all that they have. */
const brief = (line: string) =>
  line.length <= LONGEST ? line : `${line.slice(0, LONGEST)}… ${hash('sha256', line).slice(0, 6)}`
const LONGEST = 250
const written = (lines: readonly string[]) => `${lines.map(steady).map(brief).join('\n')}\n`
const json = JSON.stringify

function attempt(make: () => readonly string[]): readonly string[] {
  try {
    return make()
  } catch (error) {
    const { answer } = error as { answer?: HttpAnswer }
    if (!answer) throw error
    return [`refused with ${answer.status}: ${JSON.parse(answer.body).error.message}`]
  }
}

/** A request as it is read. */
const readBy = (api: InboundApi, body: Fields, stored?: Parameters<InboundApi['read']>[1]) =>
  attempt(() => {
    const { request, terms, reply: _, ...facts } = api.read(body, stored)
    return [json(request), json({ ...terms, tools: [...(terms?.tools ?? [])] }), json(facts)]
  })

const long = 'x'.repeat(100)
const fn = (name: string, more: Fields = {}): Fields => ({ type: 'function', name, ...more })
const chatTool = (name: string, more: Fields = {}): Fields => ({
  type: 'function',
  function: { name, ...more },
})
const hi = { role: 'user', content: 'hi' }
const chat = (more: Fields): Fields => ({ model: 'm', messages: [hi], ...more })
const asked = (more: Fields, ...input: Fields[]): Fields => ({ model: 'm', input: [hi, ...input], ...more })
const call = (id: string, name: string, more: Fields = {}): Fields => ({
  ...{ type: 'function_call', call_id: id, name, arguments: '{}' },
  ...more,
})
const output = (id: string, text: unknown = 'ok', more: Fields = {}): Fields => ({
  ...{ type: 'function_call_output', call_id: id, output: text },
  ...more,
})
const found = (more: Fields, ...tools: Fields[]): Fields => ({
  ...{ type: 'tool_search_output', execution: 'server', status: 'completed', tools },
  ...more,
})
const search = (more: Fields): Fields => ({ type: 'tool_search_call', execution: 'server', ...more })

const chats: readonly Fields[] = [
  ...[5, {}, ['x'], null].map((tools) => chat({ tools })),
  ...[{ function: {} }, { type: 'custom' }].map((tool) => chat({ tools: [tool] })),
  chat({
    tools: [
      { ...chatTool('a', { defer_loading: true }), cache_control: { type: 'ephemeral' } },
      { ...chatTool('b', { parameters: 5, strict: false, description: '' }), defer_loading: true },
      {
        type: 'custom',
        custom: {
          name: 'p q',
          description: 'patches',
          format: { type: 'grammar', grammar: { definition: 'd' } },
        },
      },
      { type: 'tool_search_tool_regex_20251119' },
      chatTool(long.repeat(2)),
    ],
  }),
  ...[
    'any',
    'odd',
    5,
    { type: 'function', function: { name: 'c' } },
    { type: 'custom', custom: { name: 'a' } },
    { name: 'a' },
  ].map((tool_choice) =>
    chat({ tools: [chatTool('a'), chatTool('b')], tool_choice, parallel_tool_calls: true }),
  ),
  ...['a', 'c'].map((name) =>
    chat({
      tools: [chatTool('a'), chatTool('b')],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [chatTool(name)] } },
    }),
  ),
  ...['required', 'none', null].map((tool_choice) => chat({ tool_choice })),
  ...[5, ['a', 5], [], null].map((stop) => chat({ stop })),
  ...['1', null, -1].map((temperature) => chat({ temperature, top_p: temperature })),
  ...[{ type: 'json_schema' }, { type: 'grammar' }, { type: 'text' }, null].map((response_format) =>
    chat({ response_format }),
  ),
  ...[1, 3, null].map((n) =>
    chat({ n, logprobs: false, modalities: ['text'], audio: null, functions: null }),
  ),
  chat({ web_search_options: {} }),
  chat({ function_call: 'auto' }),
  ...['claude-3-opus', 'claude-opus-4-5', 'claude-sonnet-4-6', 'claude-haiku-4-5-20250101'].map((model) => ({
    ...chat({ reasoning_effort: 'high', max_tokens: null, user: 'u', safety_identifier: 's' }),
    model,
  })),
  {
    model: 'm',
    messages: [
      { role: 'system', content: '' },
      { role: 'system', content: 'Only.' },
    ],
  },
  {
    model: 'm',
    messages: [
      { role: 'system', content: 'One.' },
      { role: 'developer', content: 'Two.' },
      hi,
      { role: 'system', content: 'Three.' },
      { role: 'system', content: '' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', function: { name: 'f', arguments: '{"a":12345678901234567890}' } },
          { id: 'b', type: 'custom', custom: { name: 'p', input: 'x' } },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: '' },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'ran' },
          { type: 'image_url', image_url: { url: 'data:image/png;charset=x;base64,QUJD' } },
        ],
      },
      { role: 'system', content: 'Four.' },
      { role: 'assistant', content: '', refusal: 'No.' },
      { role: 'developer', content: 'Five.' },
    ],
  },
  {
    model: 'm',
    messages: [
      { role: 'assistant', content: 'I begin.' },
      { role: 'user', content: '' },
      { role: 'user', content: [] },
    ],
  },
  { model: 'm', messages: [hi, { role: 'tool', content: 'x' }] },
  { model: 'm', messages: [hi, { role: 'assistant', tool_calls: [{ function: { name: 'f' } }] }] },
  { model: 'm', messages: [hi, { role: 'assistant', tool_calls: [{ id: 'a', type: 'odd' }] }] },
]

const shellTools = [{ type: 'local_shell' }, { type: 'shell' }, { type: 'apply_patch' }]
const mail = {
  type: 'namespace',
  name: 'mail',
  description: ' mails ',
  tools: [fn('send'), fn('list', { defer_loading: true })],
}
const others: readonly Fields[] = [
  ...[[{}], [{ type: 'namespace' }], [fn('')], [{ type: 'custom' }], 5].map((tools) => asked({ tools })),
  asked({
    tools: [
      ...shellTools,
      { type: 'shell', environment: { type: 'container_auto' } },
      { type: 'shell', name: 'other', environment: { type: 'local' } },
      { type: 'web_search' },
      { type: 'web_search', filters: {} },
      { type: 'openrouter:tool_search' },
      fn('a', { parameters: 5, strict: true }),
      fn('a'),
      fn('mail__send'),
      mail,
      {
        type: 'namespace',
        name: 'mcp__fax__',
        description: 'Tools in the mcp__fax__ namespace.',
        tools: [fn('dial')],
      },
      { type: 'namespace', name: 'functions', tools: [fn('a'), fn('b')] },
      { type: 'tool_search' },
      fn('tool_search_tool_bm25'),
    ],
  }),
  asked({
    tools: [
      { type: 'tool_search', execution: 'client', description: 'finds', parameters: { properties: {} } },
      fn('tool_search'),
    ],
  }),
  asked(
    { tools: [{ type: 'tool_search', execution: 'client' }] },
    { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'mail' } },
    found({ call_id: 's', execution: 'client' }, mail, fn('late')),
    { type: 'tool_search_call', call_id: 't', execution: 'client', arguments: '{' },
    found({ call_id: 't', execution: 'client' }),
  ),
  asked(
    { tools: [{ type: 'tool_search' }, mail] },
    search({ id: 'tsc_1', arguments: { paths: ['mail', '', 'fax'] } }),
    search({ id: 'tsc_2', arguments: { query: 'fax' } }),
    found({ id: 'tso_2' }, mail),
    found({ status: 'incomplete' }),
    search({ arguments: { query: 'again' } }),
    search({ arguments: { query: 'again' } }),
    found({}),
    found({}, fn('new', { parameters: {} })),
    { role: 'user', content: 'go on' },
    found({}, mail),
  ),
  asked(
    { tools: [mail] },
    call('c', 'mail', { namespace: 'mail' }),
    output('c'),
    call('d', 'send', { namespace: 'send' }),
    output('d'),
  ),
  ...['mail', 'functions', ''].map((namespace) =>
    asked({ tools: [mail, fn('send')] }, call('c', 'send', { namespace }), output('c')),
  ),
  ...[
    { type: 'apply_patch' },
    { type: 'function', name: 'send', namespace: 'mail' },
    { type: 'function', name: 'odd' },
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'apply_patch' }] },
    { type: 'web_search' },
    'odd',
    7,
    null,
  ].map((tool_choice) =>
    asked({
      tools: [...shellTools, { type: 'tool_search' }, { type: 'web_search' }, mail, fn('a')],
      tool_choice,
      parallel_tool_calls: false,
    }),
  ),
  asked(
    { tools: shellTools },
    {
      type: 'local_shell_call',
      id: 'l',
      action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: 5, working_directory: '/' },
    },
    { type: 'local_shell_call_output', id: 'l', output: 'files' },
    {
      type: 'shell_call',
      call_id: 's',
      action: { commands: ['ls', 'pwd'], timeout_ms: 9, max_output_length: 3 },
    },
    { type: 'apply_patch_call', call_id: 'p', operation: { type: 'update_file', path: 'a', diff: '@@' } },
    { type: 'apply_patch_call_output', call_id: 'p', status: 'failed', output: 'no such file' },
    {
      type: 'shell_call_output',
      call_id: 's',
      output: [
        { stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 1 } },
        { stdout: '', stderr: '', outcome: { type: 'timeout' } },
      ],
    },
    { type: 'shell_call', call_id: 's2', action: { commands: [] } },
    { type: 'shell_call_output', call_id: 's2', output: [] },
  ),
  asked({}, call('a', 'f')),
  asked({}, call(long, 'f')),
  asked({ tools: [{ ...mail, description: long.repeat(30) }] }),
  { model: 'm', input: [{ role: 'user', content: '' }] },
  asked({}, call('a', 'f'), call('a', 'f'), output('a')),
  asked({}, call('a', 'f'), output('', 'x', { id: 'y' }), output('a')),
  asked({}, output('')),
  asked({}, call('a', 'f'), output('a', { content: 'no', success: false }), output('a', 'twice')),
  asked(
    {},
    call('a', 'f'),
    { role: 'developer', content: 'Wait.' },
    output('a', [
      { type: 'input_text', text: 'one' },
      { type: 'input_image', image_url: { url: 'https://a.example' } },
    ]),
  ),
  asked(
    {},
    call('a', 'f'),
    call('b', 'f'),
    output('b', 'second'),
    output('a', ''),
    { role: 'system', content: 'Careful.' },
    { role: 'assistant', content: 'Yes.' },
    { role: 'system', content: 'End.' },
  ),
  asked(
    {},
    { type: 'message', role: 'assistant', content: 'Hello.' },
    { role: 'developer', content: 'Now.' },
    { type: 'additional_tools', tools: [fn('x')] },
    { type: 'additional_tools', tools: [] },
    { role: 'user', content: '' },
  ),
  {
    model: 'm',
    input: [
      { role: 'system', content: 'One.' },
      { type: 'additional_tools', tools: [fn('x')] },
      {
        role: 'developer',
        content: [
          { type: 'input_text', text: 'Two.' },
          { type: 'input_text', text: 'Three.' },
        ],
      },
    ],
  },
  { model: 'm', input: [{ role: 'assistant', content: 'I begin.' }, hi] },
  asked(
    {},
    { type: 'reasoning', id: 'r', summary: [{ text: 'a' }, { text: 'b' }], encrypted_content: '' },
    { role: 'assistant', content: 'So.' },
    { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'e' },
  ),
  ...[
    { type: 'thinking', thinking: 'a', signature: 'b' },
    { type: 'thinking', thinking: 'a' },
    { type: 'redacted_thinking', data: 'd' },
    { type: 'redacted_thinking' },
    { type: 'text', thinking: 'a', signature: 'b' },
    'odd',
  ].map((block) =>
    asked(
      {},
      {
        type: 'reasoning',
        encrypted_content: `toolshelf-thinking.${block === 'odd' ? '!' : Buffer.from(json(block)).toString('base64url')}`,
      },
      { role: 'assistant', content: 'So.' },
    ),
  ),
  ...['summary_text', 'reasoning_text', 'encrypted_content', 'computer_screenshot'].map((type) =>
    asked({}, { role: 'user', content: [{ type, text: 'x', image_url: 'https://a.example/a.png' }] }),
  ),
  ...['auto', 'none', 'detailed'].flatMap((summary) =>
    ['m', 'claude-opus-4-5'].map((model) => ({
      ...asked({ reasoning: { summary }, temperature: 2, top_p: 0.5 }),
      model,
    })),
  ),
  asked({
    reasoning: { generate_summary: 'auto', effort: 'none' },
    temperature: -1,
    top_p: 0.5,
    user: 'u',
    safety_identifier: 's',
  }),
  asked({ tools: [fn('a')], tool_choice: 'required', reasoning: { effort: 'high' } }),
  ...[0, 1.5, 'x', null].map((max_output_tokens) => asked({ max_output_tokens })),
  asked({ temperature: 'hot' }),
  ...[{ type: 'json_object' }, { type: 'grammar' }, { type: 'json_schema' }].map((format) =>
    asked({ text: { format }, instructions: '' }),
  ),
  ...[
    'compaction',
    'compaction_summary',
    'context_compaction',
    'mcp_list_tools',
    'program',
    'image_generation_call',
    'computer_call_output',
  ].map((type) => asked({}, { type, id: 'x', encrypted_content: 'e' }, { role: 'user', content: 'so?' })),
  ...[
    'prompt',
    'background',
    'conversation',
    'previous_response_id',
    'top_logprobs',
    'include',
    'max_tool_calls',
  ].flatMap((field) => [true, null, { id: 'x' }, 3, ['x']].map((value) => asked({ [field]: value }))),
]

it('requests with rare tools, items and settings are read or refused', async () => {
  const lines = [
    ...chats.map((body) => [chatApi, body] as const),
    ...others.map((body) => [responsesApi, body] as const),
    ...[
      {},
      { model: 'm' },
      { model: 'm', messages: [5] },
      { model: 'm', messages: [], tools: [5] },
      { model: 'm', messages: [], tools: [{}] },
    ].map((body) => [messagesApi, body] as const),
  ].flatMap(([api, body]) => [`${api.name} ${json(body)}`, ...readBy(api, body).map((line) => `  ${line}`)])
  await expect(written(lines)).toMatchFileSnapshot(file('read-rare'))
})

const frozen = <Value>(value: Value): Value => {
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(Object.freeze(value))) frozen(inner)
  return value
}

it('what was read before is read again as if it were new', () => {
  const message: Fields = frozen({
    model: 'm',
    messages: chats.flatMap(({ messages }) => messages as Fields[]).slice(0, 9),
  })
  for (const [api, list, bodies] of [
    [chatApi, 'messages', [...chats, message]],
    [responsesApi, 'input', others],
  ] as const)
    for (const body of bodies) {
      const kept = frozen(structuredClone(body))
      const items = (kept[list] ?? []) as readonly Fields[]
      const tools = Array.isArray(kept.tools) ? (kept.tools as Fields[]) : []
      const turns = [
        kept,
        { ...kept, [list]: frozen([...items, hi]) },
        { ...kept, [list]: frozen(items.slice(0, -1)) },
        { ...kept, tools: frozen([...tools, fn('one_more', { function: { name: 'one_more' } })]) },
        { ...kept, tools: frozen(tools.slice(0, -1)) },
        kept,
      ]
      for (const turn of turns) expect(readBy(api, turn)).toEqual(readBy(api, structuredClone(turn)))
    }
  const twice = frozen(structuredClone(others[5] as Fields))
  const read = () => responsesApi.read(twice).request
  expect(read().tools).toBe(read().tools)
})

/** Replies block by block, with fragments of each block's text or input. */
type Block = readonly [Fields, ...Fields[]]
const say = (text: string): Fields => ({ type: 'text_delta', text })
const think = (thinking: string): Fields => ({ type: 'thinking_delta', thinking })
const put = (partial_json: string): Fields => ({ type: 'input_json_delta', partial_json })
const cite = (citation: Fields): Fields => ({ type: 'citations_delta', citation })
const toolUse = (name: string, input: unknown = {}): Fields => ({
  type: 'tool_use',
  id: `toolu_${name}`,
  name,
  input,
})
const replies: { readonly [name: string]: readonly Block[] } = {
  texts: [
    [{ type: 'text', text: '' }],
    [{ type: 'text', text: 'Well' }, say(''), say(', yes.')],
    [
      { type: 'text', text: '', citations: [{ url: 'https://a.example', title: 'A' }] },
      say('Cited.'),
      cite({ source: 'https://b.example' }),
      cite({ source: 'a file' }),
      cite({ url: 'https://c.example', start_char_index: 2, end_char_index: 99 }),
    ],
  ],
  thoughts: [
    [{ type: 'thinking', thinking: '', signature: '' }],
    [
      { type: 'thinking', thinking: 'Hm', signature: '' },
      think(', so'),
      { type: 'signature_delta', signature: 's' },
    ],
    [{ type: 'redacted_thinking', data: 'd' }],
    [{ ...keepItem({ type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'e' }) }],
    [{ ...keepItem({ type: 'web_search_call', id: 'ws_9' }) }],
  ],
  calls: [
    [toolUse('a')],
    [toolUse('a', { whole: 1 })],
    [toolUse('mail__send'), put(''), put('{"n":12345678901234567890}')],
    [toolUse('unknown', null), put('{')],
    [toolUse('patch', { input: 'whole' })],
    [toolUse('patch'), put('{"inp'), put('ut": "a\\'), put('nb'), put('"}')],
    [toolUse('patch'), put('{"other": "x"}')],
    [toolUse('local_shell', { command: ['ls'], working_directory: '/', env: { a: 'b' }, timeout_ms: 3 })],
    [toolUse('shell', { commands: ['ls'], timeout_ms: 3, max_output_length: 9 })],
    [toolUse('apply_patch'), put('{"type":"delete_file","path":"a"}')],
    [toolUse('tool_search', { query: 'mail' })],
  ],
  searches: [
    [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_bm25', input: { query: 'mail' } }],
    [{ type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_search', input: {} }],
    [
      {
        type: 'tool_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: {
          type: 'tool_search_tool_search_result',
          tool_references: ['mail__send', 'a', 'mail__list', 'none'].map((tool_name) => ({ tool_name })),
        },
      },
    ],
    [
      {
        type: 'tool_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: { type: 'tool_search_tool_result_error' },
      },
    ],
    [{ type: 'odd' }, say('x')],
  ],
}
const usages: readonly (readonly [unknown, unknown])[] = [
  [
    { input_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 },
    { input_tokens: null, output_tokens: 4.5 },
  ],
  [{ input_tokens: '3', cache_read_input_tokens: -2, output_tokens: 1 }, { output_tokens: undefined }],
  [undefined, undefined],
]

function eventsOf(
  blocks: readonly Block[],
  stop: string,
  [before, after]: readonly [unknown, unknown],
  isOpen = false,
): StreamEvent[] {
  const content = blocks.flatMap(([content_block, ...deltas], index): StreamEvent[] => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    ...(isOpen ? [] : [{ type: 'content_block_stop', index }]),
  ])
  return [
    { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage: before } },
    ...content,
    { type: 'content_block_delta', index: 99, delta: say('lost') },
    { type: 'message_delta', delta: { stop_reason: stop }, usage: after },
    { type: 'message_stop' },
  ]
}

const clientTools = [
  fn('a'),
  mail,
  { type: 'custom', name: 'patch' },
  ...shellTools,
  { type: 'tool_search', execution: 'client' },
]
const clients: readonly (readonly [InboundApi, Fields])[] = [
  [messagesApi, chat({ max_tokens: 5 })],
  [
    chatApi,
    chat({ tools: [chatTool('a'), { type: 'custom', custom: { name: 'patch' } }, chatTool('mail__send')] }),
  ],
  [
    responsesApi,
    asked({ tools: clientTools, reasoning: { summary: 'auto' }, store: false, parallel_tool_calls: false }),
  ],
  [
    responsesApi,
    asked({
      tools: clientTools,
      store: false,
      metadata: { a: 'b' },
      instructions: 'Be brief.',
      text: { verbosity: 'low' },
      user: 'u',
    }),
  ],
]

it('replies of every kind are written, streamed and whole', async () => {
  const lines = clients.flatMap(([api, body]) =>
    [true, false].flatMap((stream) => {
      const open = () => api.read({ ...body, stream }).reply()
      const play = (
        name: string,
        events: readonly StreamEvent[],
        rest: 'document' | 'failure' = 'document',
      ) => {
        const writer = open()
        const sent = [writer.ping, ...events.map((event) => writer.add(event)), writer.ping].join('')
        const end =
          rest === 'failure' ? writer.failure({ status: 529, headers: {}, body: 'busy' }) : writer.document()
        return [
          `${api.name} ${stream} ${name}`,
          ...`${sent}\n${end}`
            .split('\n')
            .filter((line) => line !== '' && !line.startsWith('event: '))
            .map((line) => `  ${line}`),
        ]
      }
      const [usage] = usages as [(typeof usages)[number]]
      const text = replies.texts?.slice(1, 2) ?? []
      const whole = eventsOf(text, 'end_turn', usage)
      const error = (type: string): StreamEvent => ({
        type: 'error',
        error: { type, message: 'prompt is too long' },
      })
      return [
        ...Object.entries(replies).flatMap(([name, blocks]) =>
          play(name, eventsOf(blocks, 'tool_use', usage)),
        ),
        ...(stream
          ? []
          : ['max_tokens', 'model_context_window_exceeded', 'pause_turn', 'refusal', 'stop_sequence']
        ).flatMap((stop) => play(stop, eventsOf(text, stop, usage))),
        ...usages.slice(1).flatMap((one) => play('usage', eventsOf([], 'end_turn', one))),
        ...play(
          'open blocks',
          eventsOf([...(replies.calls ?? []).slice(2, 6), ...text], 'max_tokens', usage, true),
        ),
        ...play('nothing', [], 'failure'),
        ...play('broken', whole.slice(0, 3), 'failure'),
        ...play('over', whole, 'failure'),
        ...['invalid_request_error', 'overloaded_error'].flatMap((type) =>
          play(type, [...whole.slice(0, 3), error(type), ...whole.slice(3)]),
        ),
      ]
    }),
  )
  await expect(written(lines)).toMatchFileSnapshot(file('written-rare'))
})

it('freeform calls are written as they stream, wherever their JSON is cut', () => {
  const input = 'a"\\\n\u{1f600}é\tz'
  const spellings = [
    json({ input }),
    ` { "input" : ${json(input).replace('😀', '\\ud83d\\uDE00').replace('é', '\\u00e9')} } `,
    json({ input }).replace('\\n', '\n'),
  ]
  for (const whole of spellings)
    for (let cut = 0; cut <= whole.length; cut++) {
      const writer = chatApi.read({ ...clients[1]![1], stream: true }).reply()
      const parts = [whole.slice(0, cut), whole.slice(cut)]
      const sent = eventsOf([[toolUse('patch'), ...parts.map(put)]], 'tool_use', [{}, {}]).map((event) =>
        writer.add(event),
      )
      const deltas = [...sent.join('').matchAll(/"custom":\{"input":("(?:[^"\\]|\\.)*")\}/g)].map(
        ([, text]) => JSON.parse(text ?? ''),
      )
      expect(deltas.join('')).toBe(input)
      expect(JSON.parse(writer.document()).choices[0].message.tool_calls[0].custom).toEqual({
        name: 'patch',
        input,
      })
    }
})

it('errors, headers and models have the names of the client’s API', async () => {
  const answers: HttpAnswer[] = [
    ...[
      'invalid_request_error',
      'request_too_large',
      'authentication_error',
      'permission_error',
      'not_found_error',
      'rate_limit_error',
      'billing_error',
      'timeout_error',
      'overloaded_error',
      'api_error',
      'toString',
      'odd',
    ].flatMap((type) =>
      [499, 500].map((status) => ({
        status,
        headers: {},
        body: json({ type: 'error', error: { type, message: 'tools.0.name: wrong' } }),
      })),
    ),
    ...[
      'prompt is too long',
      'context length',
      'it exceeds the context',
      'too many input tokens',
      'Too: many',
      'a b: c',
      'x[0].y: z',
    ].map((message) => ({
      ...{
        status: 400,
        headers: {},
        body: json({ error: { message, param: message === 'a b: c' ? 'p' : null } }),
      },
    })),
    { status: 500, headers: {}, body: json({ error: { message: 'prompt is too long' } }) },
    { status: 529, headers: {}, body: 'no JSON' },
    {
      status: 200,
      headers: {
        'request-id': 'r',
        'x-kept': 'k',
        'anthropic-ratelimit-requests-limit': '9',
        'anthropic-ratelimit-tokens-remaining': '8',
        'anthropic-ratelimit-requests-reset': new Date(0).toISOString(),
        'anthropic-ratelimit-tokens-reset': 'soon',
        'anthropic-organization-id': 'o',
      },
      body: json({ data: [{ id: 'a', created_at: '2026-01-01T00:00:01.900Z' }, { id: 'b' }, 5] }),
    },
    { status: 200, headers: {}, body: '{' },
  ]
  const lines = [chatApi, responsesApi, messagesApi].flatMap((api) => [
    ...(api === responsesApi ? [] : answers.map((answer) => json(api.error(answer)))),
    ...answers
      .slice(-3)
      .flatMap((answer) => [
        json(modelsAnswer(answer, api)),
        ...['b', long.repeat(3)].map((id) => json(modelAnswer(answer, api, id))),
      ]),
  ])
  const paths = [
    '/v1/messages',
    '/v1/messages/count_tokens',
    '/v1/chat',
    '/v1/chatter',
    '/v1/completions',
    '/v1/responses',
    '/v1/responses/x',
    '/v1/models',
    '/v2/models',
  ]
  const headers = [
    {},
    { authorization: 'a' },
    { authorization: 'a', 'anthropic-version': 'v' },
    { authorization: 'a', 'x-api-key': 'k' },
  ]
  const chosen = paths.map((path) => `${path} ${headers.map((one) => apiFor(path, one).name)}`)
  await expect(written([...lines, ...chosen])).toMatchFileSnapshot(file('errors-and-models'))
})

it('items are found by their owner, until newer ones need the room', () => {
  const itemsOf = createItemMemory(290)
  const item = (id: string, size = 50) => ({ id, text: 'x'.repeat(size) })
  const [me, you] = [itemsOf('me'), itemsOf('you')]
  me.keep([item('a'), item('b'), { text: 'nameless' }, item('large', 400)])
  expect([me.get('a'), you.get('a'), me.get(''), me.get('large')]).toEqual([
    item('a'),
    undefined,
    undefined,
    undefined,
  ])
  expect(Object.isFrozen(me.get('a'))).toBe(true)
  you.keep([item('c'), item('d')])
  expect([me.get('a'), me.get('b'), you.get('c'), you.get('d')].map(Boolean)).toEqual([
    true,
    false,
    true,
    true,
  ])
  const refer = (...ids: string[]) =>
    readBy(responsesApi, asked({}, ...ids.map((id) => ({ type: 'item_reference', id }))), me)
  me.keep([
    { id: 'said', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] },
  ])
  expect(refer('said')[0]).toContain('Hello.')
  expect(refer('said')[2]).toContain('"cannotPass":true')
  expect(refer('gone')[2]).toContain('does not know the item')
})
