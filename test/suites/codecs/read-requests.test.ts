// What clients of OpenAI's two APIs ask for, as the model behind the gateway gets it, or why it is refused.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOnFailure, runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { variantsOf } from '../../../packages/testkit/src/variants.ts'
import { validateRequest } from '../../doors.ts'
import { anyChat, anyResponses } from './odd-requests.ts'
import { type Api, ask, type Model, openGateway, openModel, openVendor, upstreamFor } from './servers.ts'

const TRIES = runs(200)
const SEED = seedOr(20261120)

const say = (role: string, content: string) => ({ role, content })
const hi = say('user', 'hi')
const text = (said: string) => ({ type: 'text', text: said })
const u = (said: string) => ({ role: 'user', content: [text(said)] })
const a = (said: string) => ({ role: 'assistant', content: [text(said)] })
const s = (said: string) => ({ role: 'system', content: [text(said)] })
const use = (id: string, name: string, input: Loose = {}) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: Loose = 'ok', more: Loose = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content === null ? {} : { content }),
  ...more,
})
const fn = (name: string, more: Loose = {}) => ({ type: 'function', name, ...more })
const chatFn = (name: string, more: Loose = {}) => ({ type: 'function', function: { name, ...more } })
const chat = (more: Loose) => ({ model: 'm', messages: [hi], ...more })
const talk = (...messages: Loose[]) => chat({ messages })
const items = (...input: Loose[]) => ({ model: 'm', input: [hi, ...input] })
const asked = (more: Loose, ...input: Loose[]) => ({ ...items(...input), ...more })
const call = (id: string, name: string, more: Loose = {}) => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: '{}',
  ...more,
})
const output = (id: string, said: Loose = 'ok', more: Loose = {}) => ({
  type: 'function_call_output',
  call_id: id,
  output: said,
  ...more,
})
const reference = (tool_name: string) => ({ type: 'tool_reference', tool_name })

type Read = {
  readonly status: number
  readonly contract: Loose
  readonly facts: Loose
  readonly error: Loose
}

async function read(api: Api, body: Loose, model?: Model): Promise<Read> {
  const open = model ?? (await openModel())
  const before = open.contracts.length
  const { status, body: document } = await ask(open.url, api, body)
  if (open.contracts.length === before)
    return { status, contract: undefined, facts: {}, error: document.error }
  return { status, contract: open.last(), facts: open.facts.at(-1), error: undefined }
}

/** A row: what is asked for; the contract, or the message of the refusal with the parameter in front of it. */
type Row = readonly [name: string, body: Loose, expected: Expected]
type Expected = RegExp | { readonly [field: string]: unknown } | ((made: Loose, facts: Loose) => void)

async function check(api: Api, body: Loose, expected: Expected) {
  const { status, contract, facts, error } = await read(api, body)
  if (expected instanceof RegExp) {
    expect(error?.message ?? JSON.stringify(contract)).toMatch(expected)
    return expect([status, error.type, error.code]).toEqual([400, 'invalid_request_error', null])
  }
  expect(error).toBeUndefined()
  if (typeof expected === 'function') return expected(contract, facts)
  const { messages, ...rest } = expected
  expect(contract).toMatchObject(rest)
  if (messages) expect(contract.messages).toEqual(messages)
}

const two = [chatFn('a'), chatFn('b')]
// biome-ignore format: a table, as few lines to a row as it takes
const chats: readonly Row[] = [
  [
    'leading system messages',
    talk(say('system', 'a'), { role: 'developer', content: [text('b')] }, hi, say('system', 'c')),
    { system: 'a\n\nb', messages: [u('hi'), s('c')] },
  ],
  ['a system message alone', talk(say('system', 'a'), say('system', 'b')), { system: 'a', messages: [u('<system-reminder>\nb\n</system-reminder>')] }],
  [
    'a system message between replies',
    talk(hi, say('assistant', 'x'), say('system', 'b'), say('assistant', 'y'), hi),
    { messages: [u('hi'), a('x'), u('<system-reminder>\nb\n</system-reminder>'), a('y'), u('hi')] },
  ],
  ['an empty system message', talk(say('system', ''), hi, say('assistant', 'x'), say('system', '')), { messages: [u('hi'), a('x')] }],
  ['a conversation that the model begins', talk(say('assistant', 'x'), hi), { messages: [u('(The conversation begins.)'), a('x'), u('hi')] }],
  ['messages that say nothing', talk(hi, say('assistant', ''), { role: 'user', content: [] }, u('')), { messages: [u('hi')] }],
  ['who of several users speaks', talk({ ...hi, name: 'me' }), { messages: [{ role: 'user', content: [text('me:'), text('hi')] }] }],
  [
    'a refusal of the model',
    talk(
      hi,
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }, { type: 'refusal' }] },
    ),
    { messages: [u('hi'), a('No.'), a('Never.')] },
  ],
  [
    'calls, invalid arguments, and the results of parallel calls in one message',
    talk(
      hi,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', ...chatFn('f', { arguments: '{"x":1}' }) },
          { id: 'b', ...chatFn('f', { arguments: '{broken' }) },
          { id: 'c', type: 'custom', custom: { name: 'p', input: 'x' } },
          { id: 'd', ...chatFn('f', { arguments: { y: 2 } }) },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: [text('two'), reference('a.b')] },
      { role: 'tool', tool_call_id: 'c', content: '' },
      { role: 'tool', tool_call_id: 'd', content: [{ type: 'image_url', image_url: { url: 'data:image/png;charset=x;base64,QUJD' } }] },
      hi,
    ),
    (contract: Loose) => {
      expect(contract.messages.slice(1)).toEqual([
        {
          role: 'assistant',
          content: [use('a', 'f', { x: 1 }), use('b', 'f', { invalid_arguments: '{broken' }), use('c', 'p', { input: 'x' }), use('d', 'f', { y: 2 })],
        },
        {
          role: 'user',
          content: [
            result('a', [text('one')]),
            result('b', [text('two'), { type: 'tool_reference', tool_name: expect.stringMatching(/^a_b_\w+$/) }]),
            result('c', null),
            result('d', [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }]),
          ],
        },
        u('hi'),
      ])
    },
  ],
  [
    'images, files and breakpoints',
    talk({
      role: 'user',
      content: [
        { type: 'image_url', image_url: 'https://a.example/x.png' },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'QUJD' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,QUJD' } },
        { ...text('x'), cache_control: { type: 'ephemeral' } },
      ],
    }),
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QUJD' }, title: 'a.pdf' },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QUJD' } },
            { ...text('x'), cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    },
  ],
  [
    'settings',
    chat({ max_completion_tokens: 5, max_tokens: 9, temperature: 1.7, top_p: 0.5, stop: 'x', user: 'u', reasoning_effort: 'high' }),
    {
      max_tokens: 5,
      temperature: 1.7,
      top_p: 0.5,
      stop_sequences: ['x'],
      metadata: { user_id: 'u' },
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    },
  ],
  [
    'a list of stops, a safety identifier and a schema',
    chat({ max_tokens: 9, stop: ['x', 'y'], user: 'u', safety_identifier: 's', response_format: { type: 'json_schema', json_schema: { schema: { a: 1 } } } }),
    { max_tokens: 9, stop_sequences: ['x', 'y'], metadata: { user_id: 's' }, output_config: { format: { type: 'json_schema', schema: { a: 1 } } } },
  ],
  ['an object as reply', chat({ response_format: { type: 'json_object' } }), { system: 'Reply with one JSON object and nothing else.' }],
  ...[
    [{ thinking: { type: 'enabled' } }, 'adaptive', undefined],
    [{ thinking: { type: 'disabled' }, reasoning_effort: 'high' }, 'disabled', undefined],
    [{ reasoning: { enabled: true } }, 'adaptive', { effort: 'medium' }],
    [{ reasoning: { enabled: false } }, 'disabled', undefined],
    [{ reasoning: { max_tokens: 9 } }, 'adaptive', { effort: 'medium' }],
    [{ reasoning: { effort: 'low' } }, 'adaptive', { effort: 'low' }],
    [{ reasoning_effort: 'minimal' }, 'disabled', undefined],
    [{ reasoning_effort: 'constructor' }, 'adaptive', undefined],
    [{ thinking: { type: 'odd' } }, undefined, undefined],
  ].map(
    ([more, type, output_config]: Loose): Row => [
      `effort as ${JSON.stringify(more)}`,
      chat(more),
      (made) => {
        expect(made.thinking?.type).toBe(type)
        if (output_config) expect(made.output_config).toEqual(output_config)
      },
    ],
  ),
  [
    'tools of every spelling',
    chat({
      tools: [
        { ...chatFn('a', { description: 'A.', parameters: { properties: {} }, strict: true }), cache_control: { type: 'ephemeral' } },
        { ...chatFn('b', { parameters: 5, strict: false, description: '' }), defer_loading: true },
        chatFn('c', { defer_loading: true }),
        { function: { name: 'a.b c' } },
        { type: 'custom', custom: { name: 'p', description: 'Patches.', format: { type: 'grammar', grammar: { definition: 'start: "x"' } } } },
        { type: 'custom', custom: { name: 'q' } },
        { type: 'tool_search_tool_regex_20251119' },
      ],
    }),
    (contract: Loose, facts: Loose) => {
      const empty = { type: 'object', properties: {} }
      expect(contract.tools).toMatchObject([
        { name: 'a', description: 'A.', input_schema: empty, strict: true, cache_control: { type: 'ephemeral' } },
        { name: 'b', input_schema: empty, defer_loading: true },
        { name: 'c', defer_loading: true },
        { name: expect.stringMatching(/^a_b_c_\w{11}$/), input_schema: empty },
        { name: 'p', description: 'Patches.\n\nThe input must match this Lark grammar:\nstart: "x"', input_schema: { required: ['input'] } },
        { name: 'q', description: '' },
      ])
      expect(contract.tools[1]).not.toHaveProperty('strict')
      expect(facts.hidesSearches).toBe(true)
    },
  ],
  ...[
    ['required', { type: 'any' }],
    ['any', { type: 'any' }],
    ['none', { type: 'none' }],
    ['auto', undefined],
    [null, undefined],
    [chatFn('a'), { type: 'tool', name: 'a' }],
    [
      { type: 'custom', custom: { name: 'a' } },
      { type: 'tool', name: 'a' },
    ],
  ].map(
    ([tool_choice, expected]): Row => [
      `tool_choice ${JSON.stringify(tool_choice)}`,
      chat({ tools: two, tool_choice }),
      (made) => expect(made.tool_choice).toEqual(expected),
    ],
  ),
  ['calls one at a time', chat({ tools: two, parallel_tool_calls: false }), { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
  [
    'allowed tools',
    chat({ tools: two, parallel_tool_calls: false, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [chatFn('b')] } } }),
    (made, { terms }: Loose) => {
      expect(made.tools).toHaveLength(2)
      expect(made.tool_choice).toEqual({ type: 'any', disable_parallel_tool_use: true })
      expect([...terms.barred]).toEqual(['a'])
    },
  ],
  ['an unknown choice', chat({ tools: two, tool_choice: 'maybe' }), /^tool_choice: "maybe" is not known; send "auto"/],
  ['a choice that is no text', chat({ tools: two, tool_choice: 5 }), /^tool_choice: "5" is not known/],
  ['a choice without tools', chat({ tools: [], tool_choice: 'required' }), /^tool_choice: there are no tools/],
  ['a choice of no tool', chat({ tools: two, tool_choice: chatFn('zebra') }), /^tool_choice: there is no tool "zebra"/],
  [
    'none of the allowed tools',
    chat({ tools: two, tool_choice: { type: 'allowed_tools', allowed_tools: { tools: [chatFn('zebra')] } } }),
    /^tool_choice: none of the allowed tools/,
  ],
  ['no model', { messages: [hi] }, /"model", a string/],
  ['no messages', { model: 'm', messages: 'x' }, /"messages", a list/],
  ['tools in an object', chat({ tools: {} }), /^tools: send a list/],
  ['a function without a name', chat({ tools: [chatFn('')] }), /^tools: a function has no name/],
  ['another role', talk({ role: 'robot' }), /^messages: a message has the role "robot"; send user/],
  ['a result without an id', talk(hi, say('tool', 'x')), /^messages: .*no tool_call_id; send the id/],
  ...['input_audio', '__proto__', 'constructor'].map(
    (type): Row => [`a part ${type}`, talk({ role: 'user', content: [{ type }] }), new RegExp(`^messages: a content part of type "${type}" cannot`)],
  ),
  ['a file by its id', talk({ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }), /^messages: a file is given by its id \(f\).*file_data/],
  ['a temperature in words', chat({ temperature: 'warm' }), /^temperature: "warm" is not a number; send one/],
  ['a top_p in a list', chat({ top_p: [1] }), /^top_p: \[1\] is not a number/],
  ['a stop that is no text', chat({ stop: ['x', 1] }), /^stop: send a text or a list of texts/],
]

describe('a chat client asks with', () => {
  it.each(chats)('%s', (_, body, expected) => check('chat', body, expected))
})

const shellTools = [{ type: 'local_shell' }, { type: 'shell' }, { type: 'apply_patch' }]
const mail = {
  type: 'namespace',
  name: 'mail',
  description: ' Mail. ',
  tools: [fn('send'), fn('list', { defer_loading: true })],
}
const ran = [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 1 } }]
const search = (more: Loose) => ({ type: 'tool_search_call', execution: 'server', ...more })
const found = (more: Loose, ...tools: Loose[]) => ({
  type: 'tool_search_output',
  execution: 'server',
  status: 'completed',
  tools,
  ...more,
})
const spoken = (said: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: said }],
})
const rest = (expected: Loose) => (made: Loose) => expect(made.messages.slice(1)).toEqual(expected)
const namesOf = (made: Loose) => made.tools.map(({ name }: Loose) => name)
const OPENAI_ONLY = { type: 'web_search' }
const thought = (block: Loose) => ({
  type: 'reasoning',
  encrypted_content: `toolshelf-thinking.${Buffer.from(JSON.stringify(block)).toString('base64url')}`,
})

// biome-ignore format: a table, as few lines to a row as it takes
const others: readonly Row[] = [
  ['a text', { model: 'm', input: 'hi' }, { messages: [u('hi')] }],
  [
    'instructions and leading developer messages',
    { model: 'm', instructions: 'a', input: [say('developer', 'b'), hi] },
    { system: 'a\n\nb', messages: [u('hi')] },
  ],
  [
    'a developer message alone',
    {
      model: 'm',
      input: [
        say('system', 'a'),
        {
          role: 'developer',
          content: [
            { type: 'input_text', text: 'b' },
            { type: 'input_text', text: 'c' },
          ],
        },
      ],
    },
    { system: 'a', messages: [{ role: 'user', content: [text('b'), text('c')] }] },
  ],
  [
    'later developer messages',
    items(spoken('x'), say('developer', 'b'), say('developer', 'c'), hi),
    rest([a('x'), u('hi'), { role: 'system', content: [text('b'), text('c')] }]),
  ],
  [
    'a developer message between replies',
    items(spoken('x'), say('developer', 'b'), spoken('y')),
    rest([a('x'), u('<system-reminder>\nb\n</system-reminder>'), a('y')]),
  ],
  ['a conversation that the model begins', { model: 'm', input: [spoken('x'), hi] }, rest([a('x'), u('hi')])],
  [
    'parts of every kind',
    items({
      role: 'user',
      content: [
        { type: 'input_image', image_url: { url: 'https://a.example/a.png' } },
        { type: 'computer_screenshot', image_url: 'data:image/png;base64,QUJD' },
        { type: 'input_file', file_data: 'data:text/plain;base64,aGk=', filename: 'a.txt' },
        { type: 'input_file', file_url: 'https://a.example/b.pdf' },
        { type: 'input_file', file_data: 'QUJD' },
        { type: 'refusal', refusal: 'No.' },
        { type: 'summary_text', text: 's' },
      ],
    }),
    rest([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' }, title: 'a.txt' },
          { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QUJD' } },
          text('No.'),
          text('s'),
        ],
      },
    ]),
  ],
  ['the words of another agent', items({ type: 'agent_message', content: 'x' }), rest([u('x')])],
  [
    'parallel calls, in the order of their outputs',
    items(spoken('I look.'), call('a', 'f'), call('b', 'f', { arguments: '{"n":' }), output('b', [{ type: 'input_text', text: 'x' }]), output('a', ''), hi),
    rest([
      { role: 'assistant', content: [text('I look.'), use('a', 'f'), use('b', 'f', { invalid_arguments: '{"n":' })] },
      { role: 'user', content: [result('b', [text('x')]), result('a', null)] },
      u('hi'),
    ]),
  ],
  [
    'results that come late, and one that failed',
    items(call('a', 'f'), hi, output('a', { content: 'no', success: false }), output('a', 'twice')),
    rest([{ role: 'assistant', content: [use('a', 'f')] }, { role: 'user', content: [result('a', 'no', { is_error: true })] }, u('hi')]),
  ],
  ['a call without an output', items(call('a', 'f')), /^input: no output for the call "a"/],
  ['an output without a call', items(output('a')), /^input\[1\]: there is no call for the call_id "a"/],
  ['an id used twice', items(call('a', 'f'), call('a', 'f'), output('a')), /^input: two calls have the call_id "a"/],
  ['an output without an id', items(output('')), /^input\[1\]: a function_call_output has no call_id/],
  [
    'functions and namespaces',
    asked(
      {
        tools: [
          fn('a', { description: 'A.', parameters: { properties: {} }, strict: true }),
          fn('mail__send'),
          mail,
          { type: 'namespace', name: 'mcp__fax__', description: 'Tools in the mcp__fax__ namespace.', tools: [fn('dial')] },
          { type: 'namespace', name: 'functions', tools: [fn('a'), fn('b')] },
          fn('tool_search_tool_bm25'),
          fn('x'.repeat(129)),
        ],
      },
      call('c', 'send', { namespace: 'mail' }),
      call('d', 'b', { namespace: 'functions' }),
      call('e', 'b', { namespace: 'b' }),
      call('f', 'gone', { namespace: 'fax' }),
      ...['c', 'd', 'e', 'f'].map((id) => output(id)),
    ),
    (made) => {
      const names = namesOf(made)
      expect(names).toEqual([
        'a',
        'mail__send',
        expect.stringMatching(/^mail__send_\w+$/),
        'mail__list',
        'mcp__fax__dial',
        'b',
        expect.stringMatching(/^tool_search_tool_bm25_\w+$/),
        expect.stringMatching(/^x{116}_\w{11}$/),
      ])
      expect(made.tools[0]).toEqual({ name: 'a', description: 'A.', input_schema: { type: 'object', properties: {} }, strict: true })
      expect(made.tools[3]).toMatchObject({ defer_loading: true })
      expect(made.system).toBe('Groups of tools, by the start of their names:\n- mail: Mail.')
      expect(made.messages[1].content.map(({ name }: Loose) => name)).toEqual([names[2], 'b', 'b', 'fax__gone'])
    },
  ],
  [
    'freeform, shell and patch tools',
    asked(
      { tools: [{ type: 'custom', name: 'p', description: 'Patches.', format: { type: 'grammar', syntax: 'regex', definition: 'x+' } }, ...shellTools] },
      { type: 'custom_tool_call', call_id: 'a', name: 'p', input: '*** Begin' },
      { type: 'local_shell_call', id: 'l', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'shell_call', call_id: 's', action: { commands: ['ls'], timeout_ms: 5 } },
      { type: 'apply_patch_call', call_id: 'q', operation: { type: 'delete_file', path: 'a' } },
      { type: 'apply_patch_call', call_id: 'r', operation: {} },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'Done' },
      { type: 'local_shell_call_output', id: 'l', output: 'files' },
      { type: 'shell_call_output', call_id: 's', output: ran },
      { type: 'apply_patch_call_output', call_id: 'q', status: 'failed' },
      { type: 'apply_patch_call_output', call_id: 'r' },
    ),
    (made) => {
      expect(namesOf(made)).toEqual(['p', 'local_shell', 'shell', 'apply_patch'])
      expect(made.tools[0].description).toBe('Patches.\n\nThe input must match this regex grammar:\nx+')
      rest([
        {
          role: 'assistant',
          content: [
            use('a', 'p', { input: '*** Begin' }),
            use('l', 'local_shell', { command: ['ls'], env: {} }),
            use('s', 'shell', { commands: ['ls'], timeout_ms: 5 }),
            use('q', 'apply_patch', { type: 'delete_file', path: 'a' }),
            use('r', 'apply_patch'),
          ],
        },
        {
          role: 'user',
          content: [
            result('a', 'Done'),
            result('l', 'files'),
            result('s', JSON.stringify(ran)),
            result('q', 'The patch could not be applied.', { is_error: true }),
            result('r', 'Done.'),
          ],
        },
      ])(made)
    },
  ],
  [
    'tools that OpenAI runs',
    asked(
      {
        tools: [
          OPENAI_ONLY,
          OPENAI_ONLY,
          { type: 'shell', environment: { type: 'container_auto' } },
          { type: 'shell', name: 'other', environment: { type: 'local' } },
          fn('a'),
        ],
      },
      { type: 'web_search_call', id: 'ws' },
      spoken('So.'),
    ),
    (made, facts: Loose) => {
      expect(namesOf(made)).toEqual(['other', 'a'])
      expect([...facts.terms.tools.keys()]).toEqual(expect.arrayContaining(['web_search', 'a']))
      expect([facts.optional, facts.needsOwnApi]).toEqual(['web_search', 'tools: a tool of type "shell"'])
      expect(made.messages[1].content).toMatchObject([{ type: 'thinking', thinking: '' }, text('So.')])
    },
  ],
  ...[
    ['auto', undefined],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [null, undefined],
    [fn('a'), { type: 'tool', name: 'a' }],
    [fn('send', { namespace: 'mail' }), { type: 'tool', name: 'mail__send' }],
    [{ type: 'apply_patch' }, { type: 'tool', name: 'apply_patch' }],
  ].map(
    ([tool_choice, expected]): Row => [
      `tool_choice ${JSON.stringify(tool_choice)}`,
      asked({ tools: [fn('a'), mail, ...shellTools], tool_choice }),
      (made) => expect(made.tool_choice).toEqual(expected),
    ],
  ),
  ['calls one at a time', asked({ tools: [fn('a')], parallel_tool_calls: false }), { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
  [
    'allowed tools, but not deferred ones',
    asked({ tools: [fn('a'), fn('b'), fn('c', { defer_loading: true })], tool_choice: { type: 'allowed_tools', mode: 'required', tools: [fn('b')] } }),
    (made, { terms }: Loose) => expect([namesOf(made), [...terms.barred], made.tool_choice]).toEqual([['a', 'b', 'c'], ['a'], { type: 'any' }]),
  ],
  [
    'none of the allowed tools',
    asked({ tools: [fn('a')], tool_choice: { type: 'allowed_tools', tools: [fn('zebra')] } }),
    /^tool_choice: none of the allowed tools/,
  ],
  [
    'only allowed tools that OpenAI runs',
    asked({ tools: [fn('a'), OPENAI_ONLY], tool_choice: { type: 'allowed_tools', tools: [OPENAI_ONLY] } }),
    (_, { terms }: Loose) => expect([...terms.barred]).toEqual(['a']),
  ],
  [
    'a tool of OpenAI’s as choice',
    asked({ tools: [OPENAI_ONLY], tool_choice: OPENAI_ONLY }),
    (_, facts: Loose) => expect(facts.unconvertible).toBe('tool_choice: web_search, which only OpenAI runs'),
  ],
  [
    'wire 41: a search on the server',
    asked(
      { tools: [{ type: 'tool_search' }, fn('read'), fn('paint', { defer_loading: true })] },
      search({ id: 'tsc_7', arguments: { query: 'paint' } }),
      found({ id: 'tso_7' }, fn('paint')),
      call('c', 'paint'),
      output('c'),
    ),
    (made) => {
      expect(made.tools[0]).toEqual({ type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' })
      expect(made.messages[1].content).toEqual([
        { type: 'server_tool_use', id: 'srvtoolu_7', name: 'tool_search_tool_bm25', input: { query: 'paint' } },
        {
          type: 'tool_search_tool_result',
          tool_use_id: 'srvtoolu_7',
          content: { type: 'tool_search_tool_search_result', tool_references: [reference('paint')] },
        },
        use('c', 'paint'),
      ])
      expect(validateRequest({ max_tokens: 9, ...made })).toBeUndefined()
    },
  ],
  [
    'searches in any order, without ids, failed and lost',
    asked(
      { tools: [{ type: 'tool_search' }, mail] },
      ...['a', 'b', 'c'].map((id) => search({ id: `tsc_${id}`, arguments: { paths: [id, ''] } })),
      ...['tso_c', '', 'tso_b'].map((id) => found({ id })),
      search({ arguments: { query: 'x' } }),
      search({ arguments: { query: 'x' } }),
      found({}),
      found({ status: 'incomplete' }),
      hi,
      found({}, mail),
      hi,
    ),
    (made) => {
      const [, first, , lost] = made.messages
      expect(first.content[0].input).toEqual({ paths: ['a', ''], query: 'a' })
      expect(first.content.flatMap(({ tool_use_id: id }: Loose) => id ?? []).slice(0, 3)).toEqual(['srvtoolu_c', 'srvtoolu_a', 'srvtoolu_b'])
      expect(first.content.at(-1).content).toMatchObject({ error_code: 'unavailable' })
      expect(lost.content.map(({ type }: Loose) => type)).toEqual(['server_tool_use', 'tool_search_tool_result'])
    },
  ],
  [
    'tools that a search found whose call is missing, or is in an earlier reply',
    asked(
      { tools: [{ type: 'tool_search' }, fn('read'), fn('paint', { defer_loading: true })] },
      search({ id: 'tsc_7', arguments: { query: 'paint' } }),
      call('c', 'read'),
      output('c'),
      found({ id: 'tso_7' }, fn('paint')),
      found({ id: 'tso_8' }, fn('paint')),
      hi,
    ),
    (made) => {
      expect(made.messages[3].content.map(({ type, id, tool_use_id: of }: Loose) => [type, id ?? of])).toEqual([
        ['tool_search_tool_result', 'srvtoolu_7'],
        ['server_tool_use', 'srvtoolu_8'],
        ['tool_search_tool_result', 'srvtoolu_8'],
      ])
      expect(validateRequest({ max_tokens: 9, ...made })).toBeUndefined()
    },
  ],
  [
    'wire 41: a search that the client runs',
    asked(
      { tools: [{ type: 'tool_search', execution: 'client', description: 'Finds.' }, fn('tool_search')] },
      { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'mail' } },
      found({ call_id: 's', execution: 'client' }, mail, fn('late')),
      { type: 'tool_search_call', call_id: 't', execution: 'client', arguments: '{' },
      found({ call_id: 't', execution: 'client' }),
      call('c', 'send', { namespace: 'mail' }),
      output('c'),
    ),
    (made) => {
      expect(made.tools.map(({ name, defer_loading: isDeferred }: Loose) => [name, isDeferred])).toEqual([
        ['tool_search', false],
        ['mail__send', true],
        ['mail__list', true],
        ['late', true],
      ])
      expect(made.messages[1].content[0]).toEqual(use('s', 'tool_search', { query: 'mail' }))
      expect([2, 4].flatMap((at) => made.messages[at].content.slice(0, 1))).toEqual([
        result('s', ['mail__send', 'mail__list', 'late'].map(reference)),
        result('t', 'No tools were found.'),
      ])
    },
  ],
  [
    'tools that are added',
    {
      model: 'm',
      tools: [fn('read')],
      input: [
        { type: 'additional_tools', tools: [fn('a')] },
        hi,
        spoken('x'),
        say('developer', 'Now.'),
        { type: 'additional_tools', tools: [fn('b')] },
        { type: 'additional_tools', tools: [] },
      ],
    },
    (made) => {
      expect(made.tools.map(({ name, defer_loading: isDeferred }: Loose) => [name, isDeferred])).toEqual([
        ['read', undefined],
        ['a', undefined],
        ['b', true],
      ])
      expect(made.messages.at(-1).content).toEqual([result('additional_tools_1', [reference('b')])])
    },
  ],
  [
    'the search of a gateway',
    asked({ tools: [{ type: 'openrouter:tool_search' }, fn('a', { defer_loading: true })] }),
    (made, { hidesSearches }: Loose) => expect([hidesSearches, namesOf(made)]).toEqual([true, ['a']]),
  ],
  ...[
    [{ effort: 'medium' }, { type: 'adaptive' }, { effort: 'medium' }],
    [{ effort: 'none', summary: 'auto' }, { type: 'disabled' }, undefined],
    [{ summary: 'auto' }, { type: 'adaptive', display: 'summarized' }, undefined],
    [{ generate_summary: 'auto' }, { type: 'adaptive', display: 'summarized' }, undefined],
    [{ summary: 'none' }, undefined, undefined],
    [null, undefined, undefined],
  ].map(
    ([reasoning, thinking, output_config]): Row => [
      `reasoning ${JSON.stringify(reasoning)}`,
      asked({ reasoning }),
      (made) => expect([made.thinking, made.output_config]).toEqual([thinking, output_config]),
    ],
  ),
  [
    'settings',
    asked({ max_output_tokens: 50, temperature: 1.5, top_p: 0.5, user: 'u', safety_identifier: 'me', text: { format: { type: 'json_schema', schema: {} } } }),
    { max_tokens: 50, temperature: 1.5, top_p: 0.5, metadata: { user_id: 'me' }, output_config: { format: { type: 'json_schema', schema: {} } } },
  ],
  ['an object as reply', asked({ text: { format: { type: 'json_object' } } }), { system: 'Reply with one JSON object and nothing else.' }],
  [
    'reasoning of every origin, and none that nothing follows',
    items(
      thought({ type: 'thinking', thinking: 'a', signature: 's' }),
      thought({ type: 'redacted_thinking', data: 'd' }),
      thought({ type: 'thinking', thinking: 'a' }),
      thought({ type: 'text' }),
      { type: 'reasoning', encrypted_content: 'toolshelf-thinking.!' },
      { type: 'reasoning', summary: [] },
      { type: 'reasoning', id: 'r', summary: [{ text: 'S' }], encrypted_content: 'gAAA' },
      spoken('So.'),
      thought({ type: 'redacted_thinking', data: 'd' }),
      hi,
    ),
    (made: Loose) =>
      expect(made.messages[1].content).toEqual([
        { type: 'thinking', thinking: 'a', signature: 's' },
        { type: 'redacted_thinking', data: 'd' },
        { type: 'thinking', thinking: '', signature: expect.stringMatching(/^toolshelf\.item\./) },
        text('So.'),
      ]),
  ],
  ...[
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'c' }, 'conversation'],
    [{ prompt: { id: 'p' } }, 'prompt'],
    [{ background: true }, 'background'],
    [{ input: [hi, { type: 'item_reference', id: 'msg_1' }] }, 'input[1]: the item_reference "msg_1"'],
    [{ input: [{ id: 'msg_1' }] }, 'input[0]: the item_reference "msg_1"'],
    [{ input: [{ type: 'compaction', encrypted_content: 'x' }, hi] }, 'input[0]: compaction'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ include: ['message.output_text.logprobs'] }, 'top_logprobs'],
    [{ text: { format: { type: 'xml' } } }, 'text.format: the type "xml"'],
    [{ text: { format: { type: 'json_schema' } } }, 'text.format: a json_schema without a schema'],
    [{ input: [hi, { type: 'mcp_approval_response' }, spoken('x')] }, 'mcp_approval_response, the answer to a tool that only OpenAI runs'],
    [{ input: [{ role: 'user', content: [{ type: 'encrypted_content' }, { type: 'input_text', text: 'x' }] }] }, 'input[0]: content that only OpenAI can read'],
    [{ store: true }, undefined],
  ].map(
    ([more, unconvertible]): Row => [
      `what only OpenAI has: ${JSON.stringify(more)}`,
      asked(more as Loose),
      (_, facts: Loose) => expect(facts.unconvertible).toBe(unconvertible),
    ],
  ),
  [
    'a result of OpenAI’s tools',
    items({ type: 'image_generation_call', id: 'x' }, spoken('x')),
    (_, { needsOwnApi }: Loose) => expect(needsOwnApi).toBe('input[1]: an item of type "image_generation_call"'),
  ],
  ...(
    [
      [{ model: 5 }, /^model: /],
      [{ input: [] }, /^input: send a text/],
      [{ input: [{}] }, /^input\[0\]\.type: /],
      [{ input: [say('user', '')] }, /^input: there is nothing to answer/],
      [{ input: [say('king', 'x')] }, /^input: a message has the role "king"/],
      [{ input: [{ type: 'novelty' }] }, /^input: an item of type "novelty" cannot/],
      [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, /^input: a content part of type "input_audio" cannot/],
      [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f1' }] }] }, /^input: the image "f1" is given by its id/],
      [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f1' }] }] }, /^input: the file "f1" is given by its id/],
      [{ tools: 'all' }, /^tools: send a list/],
      [{ tools: [fn('')] }, /^tools: a tool of type "function" has no name/],
      [{ tools: [{ type: 'namespace' }] }, /^tools: a namespace has no name/],
      [{ tools: [{}] }, /^tools: a tool has no type/],
      [{ tool_choice: fn('gone') }, /^tool_choice: there is no tool "gone"/],
      [{ tool_choice: 'any' }, /^tool_choice: "any" is not known/],
      [{ max_output_tokens: 1.5 }, /^max_output_tokens: 1.5 is not a whole number above 0/],
      [{ temperature: 'warm' }, /^temperature: "warm" is not a number/],
    ] as const
  ).map(([more, expected]): Row => [`refused: ${JSON.stringify(more)}`, { model: 'm', input: 'hi', ...more }, expected]),
]

describe('a Responses client asks with', () => {
  it.each(others)('%s', (_, body, expected) => check('responses', body, expected))
})

it.each<[Loose, Loose]>([
  [{}, /"model" must be a string/],
  [{ model: 'm', messages: [5] }, /"messages" and "tools" lists of objects/],
  [{ model: 'm', messages: [hi], tools: [5] }, /"messages" and "tools" lists of objects/],
])('a Messages client asks with %j', async (body, expected) => {
  const { status, error } = await read('messages', body)
  expect([status, error.type]).toEqual([400, 'invalid_request_error'])
  expect(error.message).toMatch(expected)
})

it('more messages, calls and items than can be converted without holding up others are refused', async () => {
  const model = await openModel()
  const many = (count: number) => ({
    role: 'assistant',
    tool_calls: Array.from({ length: count }, () => ({ id: 'c', ...chatFn('a') })),
  })
  expect(await read('chat', talk(hi, many(19_998)), model)).toMatchObject({ status: 200 })
  expect((await read('chat', talk(hi, many(19_999)), model)).error).toMatchObject({
    param: 'messages',
    message: expect.stringMatching(/at most 20000 .* there are 20001/),
  })
  const long = (count: number) => ({ model: 'm', input: Array.from({ length: count }, () => hi) })
  expect((await read('responses', long(20_001), model)).error.message).toMatch(/^input: /)
})

it('arguments that are nested too deeply to be written again stay text', async () => {
  const json = `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`
  const tool_calls = [{ id: 'a', ...chatFn('f', { arguments: json }) }]
  const { contract } = await read(
    'chat',
    talk(hi, { role: 'assistant', tool_calls }, { role: 'tool', tool_call_id: 'a', content: 'x' }),
  )
  expect(contract.messages[1].content).toEqual([use('a', 'f', { invalid_arguments: json })])
})

it('what cannot be converted is refused with what to do, unless it can be forwarded', async () => {
  const model = await openModel()
  const [other, vendor] = [
    await openGateway(upstreamFor('messages', model.url)),
    await openVendor({ body: { choices: [{ message: { content: 'x' } }] } }),
  ]
  const own = await openGateway(upstreamFor('chat', vendor.url), 'auto')
  const odd = [
    { n: 3 },
    { logprobs: true },
    { modalities: ['audio'] },
    { audio: {} },
    { functions: [{}] },
    { web_search_options: {} },
    { tools: [{ type: 'web_search' }] },
    { response_format: { type: 'xml' } },
    { response_format: { type: 'json_schema' } },
  ]
  for (const more of odd) {
    const { status, body } = await ask(other, 'chat', chat(more))
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringMatching(/Leave it out, or use an upstream that speaks Chat Completions/),
    ])
    expect((await ask(own, 'chat', chat(more))).headers.get('x-toolshelf-mode')).toBe('pass')
    expect(vendor.last()).toEqual(chat(more))
  }
  for (const more of [
    { previous_response_id: 'x' },
    { tools: [{ type: 'code_interpreter' }] },
    { input: [hi, { type: 'item_reference', id: 'gone' }] },
  ])
    expect((await ask(other, 'responses', asked(more))).body.error.message).toMatch(
      /Responses|Send the whole conversation/,
    )
})

/** Requests with everything, to be changed in every single place. */
const rich: { readonly [api: string]: Loose } = {
  chat: {
    ...{
      model: 'm',
      max_completion_tokens: 50,
      temperature: 0.5,
      stop: ['END'],
      user: 'someone',
      reasoning_effort: 'low',
      parallel_tool_calls: false,
    },
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    tool_choice: chatFn('read'),
    tools: [
      chatFn('read', { description: 'reads', parameters: { type: 'object' }, strict: true }),
      {
        type: 'custom',
        custom: { name: 'p', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } },
      },
    ],
    messages: [
      say('system', 'Be brief.'),
      {
        role: 'user',
        content: [text('hi'), { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }],
      },
      {
        role: 'assistant',
        content: 'Well.',
        tool_calls: [{ id: 'a', ...chatFn('read', { arguments: '{"a":1}' }) }],
      },
      { role: 'tool', tool_call_id: 'a', content: [text('ran')] },
      say('system', 'Careful.'),
      { role: 'user', content: 'more', name: 'me' },
    ],
  },
  responses: {
    ...{
      model: 'm',
      instructions: 'Be brief.',
      max_output_tokens: 50,
      store: false,
      reasoning: { effort: 'low', summary: 'auto' },
      tool_choice: fn('read'),
    },
    text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } },
    tools: [
      fn('read', { parameters: { type: 'object' } }),
      { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      mail,
      { type: 'tool_search' },
    ],
    input: [
      say('developer', 'Be kind.'),
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi' },
          { type: 'input_image', image_url: 'https://a.example/a.png' },
        ],
      },
      {
        type: 'reasoning',
        id: 'r',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'e',
      },
      spoken('Well.'),
      call('a', 'read'),
      { type: 'custom_tool_call', call_id: 'b', name: 'p', input: 'x' },
      output('a'),
      { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'patched' }] },
      search({ call_id: 'ts', arguments: { query: 'mail' } }),
      found({ call_id: 'ts' }, mail),
      call('c', 'send', { namespace: 'mail' }),
      output('c'),
      say('user', 'more'),
    ],
  },
}

/** Whatever is asked for: a request that the API would take, or a refusal that says why. */
function isFair({ status, contract, facts, error }: Read): void {
  if (!contract) {
    expect(status).toBe(400)
    expect(error).toMatchObject({ message: expect.stringMatching(/\w.*\w/), type: 'invalid_request_error' })
    return
  }
  if (facts.unconvertible !== undefined) return
  const fault = validateRequest({ ...contract, max_tokens: 9 }, { isLenient: true })
  expect(fault?.body.error.message ?? '').not.toMatch(/tool_use|tool_result|thinking|content|Field required/)
}

describe.each(['chat', 'responses'] as const)('any request of %s', (api) => {
  it('without any one of its parts, or with another in its place, is read or refused', async () => {
    const model = await openModel()
    for (const { change, value } of variantsOf(rich[api])) {
      const made = await read(api, value, model)
      // A client of Chat Completions may leave out results and ids; the API says so itself.
      if (api === 'responses' || !/messages/.test(change)) isFair(made)
      else expect([200, 400]).toContain(made.status)
    }
  })

  it('is read again as if it were new, however it has grown', async () => {
    const model = await openModel()
    const list = api === 'chat' ? 'messages' : 'input'
    const rows = (api === 'chat' ? chats : others)
      .map(([, body]) => body)
      .filter((body) => Array.isArray(body[list]))
    for (const body of [rich[api], ...rows]) {
      const tools = Array.isArray(body.tools) ? body.tools : []
      const grown = [
        body,
        { ...body, [list]: [...body[list], hi] },
        { ...body, [list]: body[list].slice(0, -1) },
        { ...body, tools: [...tools, fn('more', { function: { name: 'more' } })] },
        body,
      ]
      const seen = []
      for (const turn of grown) seen.push(await read(api, turn, model))
      const fresh = await openModel()
      for (const [at, turn] of [...grown.entries()].reverse())
        expect((await read(api, turn, fresh)).contract).toEqual(seen[at]?.contract)
    }
  })

  it('of chance is read or refused', { timeout: 60_000 + TRIES * 300 }, async () => {
    const model = await openModel()
    await fc.assert(
      fc.asyncProperty(api === 'chat' ? anyChat : anyResponses, async (body) => {
        const made = await read(api, body, model)
        if (api === 'responses') isFair(made)
        else expect([200, 400], JSON.stringify(made.error)).toContain(made.status)
      }),
      { numRuns: TRIES, seed: SEED, endOnFailure },
    )
    expect(model.contracts.length).toBeGreaterThan(TRIES / 20)
  })
})

it('items that the gateway has written are found by their id, by whoever asked for them', async () => {
  const model = await openModel()
  const document = (await ask(model.url, 'responses', { model: 'm', input: 'hi' })).body
  const refer = items({ type: 'item_reference', id: document.output[0].id }, hi)
  expect((await read('responses', refer, model)).contract.messages[1]).toEqual(a('Fine.'))
  expect(model.facts.at(-1)).toMatchObject({ cannotPass: true })
  await ask(model.url, 'responses', refer, { authorization: 'Bearer other' })
  expect(model.facts.at(-1).unconvertible).toMatch(/item_reference/)
  const kept = (await ask(model.url, 'responses', { model: 'm', input: 'hi', store: false })).body
  await read('responses', items({ id: kept.output[0].id }), model)
  expect(model.facts.at(-1).remedy).toMatch(/does not know the item/)
})
