// One rich request and one rich reply through each conversion between two APIs, and what every single change of them changes.
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import { chatApi, type InboundApi, responsesApi } from '../../src/messages/inbound/index.ts'
import type { MessagesRequest, StreamEvent } from '../../src/messages/index.ts'
import { createReply } from '../../src/messages/upstream/chat-events.ts'
import { toChatRequest } from '../../src/messages/upstream/chat-request.ts'
import { dialectOf } from '../../src/messages/upstream/dialects.ts'
import { readScript } from '../../src/messages/upstream/index.ts'
import { namesOf } from '../../src/messages/upstream/openai.ts'
import { toMessageEvents } from '../../src/messages/upstream/responses-events.ts'
import { toResponses } from '../../src/messages/upstream/responses-request.ts'
import { thoughtsOf } from '../../src/messages/upstream/thoughts.ts'
import { fromCallTool, lower } from '../../src/messages/wire/index.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { effects } from '../support/variants.ts'

const thoughts = thoughtsOf('upstream', 'model')
const signed = (kept: Fields, thinking = 'Hm.') => ({
  type: 'thinking',
  thinking,
  signature: thoughts.sign(kept),
})
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }
const pdf = { type: 'document', title: 'a.pdf', source: { type: 'url', url: 'https://example.com/a.pdf' } }

/** Ids and times differ from run to run. */
const steady = (line: string) =>
  line
    .replace(/\b([a-z]+_)[0-9a-f]{16,}/g, '$1…')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
const linesOf = ({ messages, input, tools, ...rest }: Fields): string[] => {
  const list = (name: string, items: unknown) =>
    Array.isArray(items) ? items.map((item) => `${name} ${JSON.stringify(item)}`) : []
  return [
    JSON.stringify(rest),
    ...list('tool', tools),
    ...list('message', messages),
    ...list('item', input),
  ].map(steady)
}

/** A request with everything that an agent sends. */
const contract = {
  model: 'model',
  max_tokens: 100,
  system: [text('Be brief.'), text('And kind.')],
  temperature: 0.5,
  stop_sequences: ['END'],
  thinking: { type: 'enabled', budget_tokens: 5000 },
  output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
  metadata: { user_id: 'someone-123' },
  tool_choice: { type: 'tool', name: 'read', disable_parallel_tool_use: true },
  tools: [tool('read'), { name: 'bare', input_schema: { type: 'object' } }],
  messages: [
    user(text('hi'), image, pdf),
    assistant(
      signed({ extra: { google: 'x' } }),
      text('Well.'),
      use('call_1', 'read'),
      use('call_2', 'read'),
    ),
    user(result('call_1', [text('one'), image]), result('call_2', 'two', { is_error: true }), text('and?')),
    assistant(signed({ reasoning: 'r' }), use('call_3', 'bare')),
    user(result('call_3', [])),
    system(text('Careful.')),
    assistant(text('Ends')),
  ],
}

/** The same with tools that a search found. */
const searched = {
  model: 'model',
  max_tokens: 100,
  tools: [
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    tool('read'),
    deferred('mail'),
    deferred('post'),
  ],
  messages: [
    user(text('hi')),
    assistant(text('Looking.'), search('srvtoolu_1'), found('srvtoolu_1', 'mail'), use('toolu_1', 'mail')),
    user(result('toolu_1', 'sent')),
    assistant(use('toolu_2', 'read')),
    user(result('toolu_2', [reference('post')], { note: 'Tool search: 2 more.' }), text('Tool loaded.')),
    system({ type: 'tool_removal', tool: { type: 'tool_reference', name: 'mail' } }),
    user(text('go on')),
  ],
}

/** Searches among other blocks, changes by the system, a compaction, and fields that older APIs do not know. */
const mixed = {
  model: 'model',
  max_tokens: 100,
  tool_choice: { type: 'tool', name: 'post' },
  tools: [
    { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    tool('read', { strict: true, input_examples: [{ a: 1 }], cache_control: { type: 'ephemeral' } }),
    deferred('mail', { allowed_callers: ['direct'] }),
    deferred('post', { cache_control: { type: 'ephemeral' } }),
    {
      type: 'mcp_toolset',
      mcp_server_name: 'box',
      default_config: { defer_loading: true, enabled: true },
      configs: { a: { defer_loading: false } },
    },
  ],
  messages: [
    assistant(
      {
        type: 'compaction',
        content: 'Before.',
        tool_changes: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'post' } }],
      },
      text('So.'),
    ),
    user(text('hi')),
    assistant(
      text('A'),
      search('srvtoolu_1', 'tool_search_tool_bm25'),
      search('x_srvtoolu_2', 'tool_search_tool_bm25'),
      { type: 'server_tool_use', id: 'srvtoolu_3', name: 'web_search', input: {} },
      { ...use('toolu_1', 'read'), caller: { type: 'direct' } },
      found('srvtoolu_1', 'mail'),
      text('B'),
      {
        type: 'tool_search_tool_result',
        tool_use_id: 'x_srvtoolu_2',
        content: { type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message: 'no' },
      },
      use('toolu_2', 'mail'),
      found('srvtoolu_1'),
    ),
    user(
      result('toolu_1', [text('one'), reference('mail', { cache_control: { type: 'ephemeral' } })]),
      result('toolu_2'),
      text('C'),
    ),
    { ...system(text('Now.')), clear_at: 'next_user_message' },
    system(
      { type: 'tool_removal', tool: { type: 'tool_reference', name: 'mail' } },
      { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('new') } },
      text('Later.'),
    ),
    assistant(use('toolu_3', 'new'), use('toolu_4', 'post')),
    user(result('toolu_3'), result('toolu_4', 'x')),
    { role: 'user', content: 'and text' },
  ],
}

const file = (name: string) => `./conversions/${name}.txt`

describe('a request to an upstream', () => {
  it.each([
    ['plain', 'http://localhost', 'llama'],
    ['deepseek', 'https://api.deepseek.com', 'deepseek-chat'],
    ['gemini', 'https://generativelanguage.googleapis.com', 'gemini-3-pro'],
    ['mistral', 'https://api.mistral.ai', 'mistral-large'],
  ])('of Chat Completions is converted, every part of it: %s', async (name, url, model) => {
    const dialect = dialectOf(new URL(url), model)
    const write = (request: MessagesRequest) => linesOf(toChatRequest(request, dialect, thoughts))
    const whole =
      name === 'plain' ? await effects(contract, write) : `${write(contract as never).join('\n')}\n`
    await expect(whole).toMatchFileSnapshot(file(`to-chat-${name}`))
  })

  it.each([
    ['contract', contract, 'gpt-5.4'],
    ['searched', searched, 'gpt-4o'],
  ])('of Responses is converted, every part of it: %s', async (name, request, model) => {
    const dialect = dialectOf(new URL('https://api.openai.com'), model)
    const write = (changed: MessagesRequest) => {
      const made = toResponses(changed, dialect, thoughts)
      return [...linesOf(made.body), String(made.searchName)]
    }
    await expect(await effects(request, write)).toMatchFileSnapshot(file(`to-responses-${name}`))
  })

  it.each([
    ['append', searched, { maxTools: 4 }],
    ['append', mixed, { keepsFields: true }],
    ['bridge', mixed, { maxTools: 9 }],
  ] as const)('without searches is lowered, every part of it: %s', async (wire, given, lowering) => {
    const write = (request: MessagesRequest) => linesOf(lower(request, wire, lowering) as unknown as Fields)
    const name = given === mixed ? `lowered-${wire}-mixed` : `lowered-${wire}`
    await expect(await effects(given, write)).toMatchFileSnapshot(file(name))
  })

  it('is lowered again as if it were new', () => {
    for (const given of [searched, mixed]) {
      const frozen = frozenCopy(given) as unknown as MessagesRequest
      const fresh = () => structuredClone(given) as unknown as MessagesRequest
      const ways = [
        ['append', {}],
        ['bridge', {}],
        ['append', { keepsFields: true }],
        ['append', { maxTools: 3 }],
      ] as const
      for (const [wire, lowering] of [...ways, ...ways.toReversed()]) {
        const again = lower(frozen, wire, lowering)
        expect(again).toEqual(lower(fresh(), wire, lowering))
        const same = lower(frozen, wire, lowering)
        for (const [index, one] of (again.tools ?? []).entries())
          if (Object.isFrozen(one)) expect(same.tools?.[index]).toBe(one)
      }
    }
  })

  it('calls through CallTool what it names, with arguments of any spelling', () => {
    const call = (name: string, input: unknown): Fields => ({ type: 'tool_use', id: 'a', name, input })
    const through = (input: unknown) => fromCallTool(call('CallTool', input))
    expect(through({ name: 'x', arguments: { a: 1 } })).toEqual(call('x', { a: 1 }))
    expect(through({ name: 'x', arguments: '{"a":1}' })).toEqual(call('x', { a: 1 }))
    for (const odd of ['{', '[1]', '5', 5, null, undefined])
      expect(through({ name: 'x', arguments: odd })).toEqual(call('x', {}))
    const misnamed = { name: 'x', input: { a: 1 } }
    for (const wrong of [{ name: '', arguments: {} }, { arguments: {} }, {}, null, misnamed])
      expect(through(wrong)).toEqual(call('CallTool', wrong))
  })
})

function frozenCopy<Value extends object>(value: Value): Value {
  const inside = (inner: unknown) => (typeof inner === 'object' && inner !== null ? frozenCopy(inner) : inner)
  const copy = Array.isArray(value)
    ? value.map(inside)
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(inner)]))
  return Object.freeze(copy) as Value
}

describe('a reply of an upstream', () => {
  const chunk = (delta: Fields, more: Fields = {}) => ({ model: 'm-1', choices: [{ delta, ...more }] })
  const part = (fields: Fields, called: Fields) => ({ tool_calls: [{ ...fields, function: called }] })
  const chunks = [
    chunk({ role: 'assistant', content: '', reasoning_content: 'Hm' }),
    chunk({
      reasoning: ' m.',
      content: [
        { type: 'text', text: 'Hel' },
        { type: 'text', text: 'lo' },
      ],
    }),
    chunk({
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://a.example', title: 'A', start_index: 1, end_index: 3 },
        },
      ],
    }),
    chunk(part({ index: 0, id: 'call_a', extra_content: { google: 'x' } }, { name: 'read', arguments: '' })),
    chunk(part({ index: 1, id: 'call_b' }, { name: 'read', arguments: '{"p":' })),
    chunk(part({ index: 0 }, { arguments: '{"a":1}' })),
    chunk(part({ index: 1 }, { arguments: '2}' })),
    chunk(part({ index: 1, id: 'call_b' }, { name: 'read', arguments: '{"p":2}' })),
    chunk(part({ id: 'call_1' }, { name: 'bare', arguments: { x: 1 } })),
    chunk({ content: 'Bye.', refusal: 'No.' }, { finish_reason: 'stop', stop_reason: 'END' }),
    {
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 5 } },
    },
  ]

  it.each(['llama', 'gemini-3', 'deepseek-chat'])(
    'in Chat Completions is converted, every part of it: %s',
    async (model) => {
      const dialect = dialectOf(new URL('http://localhost'), model)
      const write = (stream: unknown[]) => {
        const reply = createReply(contract as unknown as MessagesRequest, dialect, thoughts)
        const events = [...stream.flatMap((one) => [...reply.add(one)]), ...reply.end(stream.length > 10)]
        return events.map((event) => steady(JSON.stringify(event)))
      }
      const whole = model === 'llama' ? await effects(chunks, write) : `${write(chunks).join('\n')}\n`
      await expect(whole).toMatchFileSnapshot(file(`from-chat-${model}`))
    },
  )

  const item = (type: string, output_index: number, fields: Fields) => ({
    type: `response.output_item.${type}`,
    output_index,
    item: fields,
  })
  const said = {
    type: 'output_text',
    text: 'Hello.',
    annotations: [{ type: 'url_citation', url: 'https://a.example', start_index: 0, end_index: 5 }],
  }
  const events = [
    { type: 'response.created', response: { id: 'resp_1', model: 'gpt-1' } },
    item('done', 0, {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'e',
    }),
    item('added', 1, { type: 'message', content: [] }),
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hel' },
    item('added', 2, { type: 'function_call', call_id: 'call_1', name: 'ns.read', arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a"' },
    { type: 'response.content_part.done', output_index: 1, content_index: 0, part: said },
    item('done', 1, { type: 'message', content: [said, { type: 'refusal', refusal: 'No.' }] }),
    item('done', 2, { type: 'function_call', call_id: 'call_1', name: 'ns.read', arguments: '{"a":1}' }),
    item('added', 3, { type: 'function_call', id: 'fc_2', name: 'read', arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 3, delta: '{}' },
    item('done', 3, { type: 'function_call', id: 'fc_2', name: 'read', arguments: '{}' }),
    item('done', 4, {
      type: 'tool_search_call',
      call_id: 'ts_1',
      status: 'completed',
      arguments: { query: 'x' },
    }),
    item('done', 5, { type: 'local_shell_call', call_id: 'ls_1', action: { command: ['ls'] } }),
    item('done', 6, { type: 'web_search_call', id: 'ws_1' }),
    {
      type: 'response.completed',
      response: { usage: { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 3 } },
    },
  ]

  it('in Responses is converted, every part of it', async () => {
    const context = { model: 'asked', names: namesOf([{ name: 'read' }]), searchName: undefined, thoughts }
    const write = async (stream: Fields[]) => {
      const made: string[] = []
      async function* all() {
        yield* stream
      }
      try {
        for await (const event of toMessageEvents(all(), context)) made.push(steady(JSON.stringify(event)))
      } catch (error) {
        made.push(`throws ${(error as Error).message}`)
      }
      return made
    }
    await expect(await effects(events, write)).toMatchFileSnapshot(file('from-responses'))
  })
})

describe('a request of a client', () => {
  const functions = [
    {
      type: 'function',
      function: { name: 'read', description: 'reads', parameters: { type: 'object' }, strict: true },
    },
  ]
  const chat = {
    model: 'model',
    max_completion_tokens: 50,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END', 'STOP'],
    user: 'someone',
    reasoning_effort: 'low',
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    stream: true,
    stream_options: { include_usage: true },
    parallel_tool_calls: false,
    tool_choice: { type: 'function', function: { name: 'read' } },
    tools: functions,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'And kind.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Well.',
        refusal: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'ran' },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], reasoning_content: 'Hm.' },
      { role: 'system', content: 'Careful.' },
      { role: 'user', content: 'more', name: 'me' },
    ],
  }
  const responses = {
    model: 'model',
    instructions: 'Be brief.',
    max_output_tokens: 50,
    temperature: 0.5,
    store: false,
    stream: true,
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } },
    parallel_tool_calls: false,
    tool_choice: { type: 'function', name: 'read' },
    metadata: { a: 'b' },
    tools: [
      { type: 'function', name: 'read', description: 'reads', parameters: { type: 'object' }, strict: false },
      {
        type: 'custom',
        name: 'patch',
        description: 'patches',
        format: { type: 'grammar', syntax: 'lark', definition: 'x' },
      },
      {
        type: 'namespace',
        name: 'mail',
        description: 'mails',
        tools: [{ type: 'function', name: 'send', parameters: {}, defer_loading: true }],
      },
      { type: 'tool_search' },
    ],
    input: [
      { role: 'developer', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi' },
          { type: 'input_image', image_url: 'https://a.example/a.png' },
        ],
      },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'e',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well.' }] },
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"a":1}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: 'x' },
      { type: 'function_call_output', call_id: 'call_1', output: 'ran' },
      {
        type: 'custom_tool_call_output',
        call_id: 'call_2',
        output: [{ type: 'input_text', text: 'patched' }],
      },
      {
        type: 'tool_search_call',
        call_id: 'ts_1',
        execution: 'server',
        status: 'completed',
        arguments: { query: 'mail' },
      },
      {
        type: 'tool_search_output',
        call_id: 'ts_1',
        execution: 'server',
        status: 'completed',
        tools: [
          { type: 'namespace', name: 'mail', tools: [{ type: 'function', name: 'send', parameters: {} }] },
        ],
      },
      { type: 'function_call', call_id: 'call_3', name: 'send', namespace: 'mail', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_3', output: 'sent' },
      { role: 'user', content: 'more' },
    ],
  }

  /** A request as it is read, or why it is refused. */
  function readBy(api: InboundApi, body: Fields): string[] {
    try {
      const { request, terms, unconvertible, remedy, hidesSearches } = api.read(body)
      const { tools, ...own } = terms ?? { tools: new Map() }
      const rest = JSON.stringify({ ...own, unconvertible, remedy, hidesSearches, own: [...tools] })
      return [...linesOf(request as unknown as Fields), steady(rest)]
    } catch (error) {
      const { answer } = error as { answer?: { status: number; body: string } }
      if (!answer) throw error
      return [`refused with ${answer.status}: ${JSON.parse(answer.body).error.message}`]
    }
  }

  it.each<[InboundApi, unknown]>([
    [chatApi, chat],
    [responsesApi, responses],
  ])('is read, every part of it: $name', async (api, body) => {
    const write = (changed: Fields) => readBy(api, changed)
    await expect(await effects(body, write)).toMatchFileSnapshot(file(`read-${api.name}`))
  })

  it('is read in every other spelling, or refused with a reason', async () => {
    const said = { model: 'claude-sonnet-5', messages: [{ role: 'user', content: 'hi' }] }
    const parts = (...content: Fields[]) => ({ model: 'm', messages: [{ role: 'user', content }] })
    const asked = (...input: Fields[]) => ({ model: 'm', input })
    const long = 'x'.repeat(80)
    const chats: Fields[] = [
      ...[{ type: 'enabled' }, { type: 'disabled' }, { type: 'odd' }].map((thinking) => ({
        ...said,
        thinking,
      })),
      ...[{ enabled: true }, { enabled: false }, { max_tokens: 2000 }, { effort: 'high' }, {}].map(
        (reasoning) => ({ ...said, reasoning }),
      ),
      ...['none', 'minimal', 'xhigh', 'odd'].map((reasoning_effort) => ({ ...said, reasoning_effort })),
      {
        ...said,
        stop: 'END',
        temperature: 1.7,
        max_tokens: 5,
        safety_identifier: 's',
        response_format: { type: 'json_object' },
      },
      { ...said, functions: [{ name: 'a' }], function_call: 'auto' },
      {
        ...said,
        tools: [
          { type: 'web_search' },
          { type: 'openrouter:tool_search' },
          { type: 'custom', custom: { name: 'p', format: { type: 'text' } } },
          { function: { name: 'a.b c' } },
        ],
      },
      ...[
        'auto',
        'none',
        'required',
        {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'a' } }] },
        },
        { type: 'odd' },
      ].map((tool_choice) => ({
        ...said,
        tools: [{ type: 'function', function: { name: 'a' } }],
        tool_choice,
      })),
      { ...said, n: 2 },
      { ...said, logprobs: true },
      { ...said, modalities: ['audio'] },
      { ...said, audio: {} },
      parts(
        { type: 'image_url', image_url: 'https://a.example/x.png' },
        { type: 'file', file: { file_data: 'QUJD', filename: 'a.pdf' } },
      ),
      parts({ type: 'input_audio', input_audio: {} }),
      parts({ type: 'file', file: { file_id: long } }),
      parts({ type: long }),
      { model: 'm', messages: [] },
      { model: 'm', messages: [{ role: 'odd', content: 'x' }] },
      { model: '', messages: [] },
      {},
      {
        model: 'm',
        messages: [
          { role: 'assistant', content: 'I' },
          { role: 'tool', tool_call_id: 'lost', content: [{ type: 'text', text: 'x' }] },
          { role: 'function', name: 'f', content: 'y' },
        ],
      },
    ]
    const others: Fields[] = [
      { model: 'm', input: 'hi', previous_response_id: 'resp_1' },
      { model: 'm', input: 'hi', conversation: 'c' },
      { model: 'm', input: 'hi', background: true },
      { model: 'm', input: 'hi', store: true, truncation: 'auto' },
      ...[
        'none',
        'required',
        { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'a' }] },
        { type: 'custom', name: 'p' },
        { type: 'web_search' },
      ].map((tool_choice) => ({
        model: 'm',
        input: 'hi',
        tools: [{ type: 'function', name: 'a' }, { type: 'custom', name: 'p' }, { type: 'web_search' }],
        tool_choice,
      })),
      asked({
        role: 'user',
        content: [
          { type: 'input_file', file_data: 'data:text/plain;base64,QUJD', filename: 'a.txt' },
          { type: 'input_file', file_url: 'https://a.example/b.pdf' },
          { type: 'input_file', file_data: 'QUJD' },
          { type: 'refusal', refusal: 'No.' },
        ],
      }),
      asked({ role: 'user', content: [{ type: 'input_file', file_id: long }] }),
      asked({ role: 'user', content: [{ type: 'input_image', file_id: long }] }),
      asked({ role: 'user', content: [{ type: long }] }),
      asked({ role: 'user', content: 'x' }, { type: 'item_reference', id: 'rs_1' }),
      asked({ type: 'odd', id: 'x' }),
      asked(),
      { model: 'm' },
      { model: 5, input: 'x' },
      {},
      asked(
        { role: 'user', content: 'x' },
        { type: 'local_shell_call', call_id: 'l', action: { command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: 'l', output: 'y' },
        { type: 'web_search_call', id: 'ws', action: {} },
      ),
      asked(
        { role: 'user', content: 'x' },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{' },
        { type: 'function_call_output', call_id: 'b', output: 'y' },
        { type: 'mcp_call', id: 'm' },
        { type: 'compaction', encrypted_content: 'e' },
      ),
      asked(
        { type: 'additional_tools', tools: [{ type: 'function', name: 'late', parameters: {} }] },
        { role: 'user', content: 'x' },
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'function', name: 'later', parameters: {} }],
        },
      ),
    ]
    const lines = [
      ...chats.map((body) => [chatApi, body] as const),
      ...others.map((body) => [responsesApi, body] as const),
    ].flatMap(([api, body]) => [
      JSON.stringify(body).replaceAll(long, '<80>'),
      ...readBy(api, body).map((line) => `  ${line}`),
    ])
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file('read-others'))
  })

  /** A reply of the model, block after block. */
  const reply: StreamEvent[] = [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        model: 'claude',
        usage: { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: null },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Well.' } },
    { type: 'ping' },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'content_block_start',
      index: 3,
      content_block: { type: 'tool_use', id: 'toolu_2', name: 'patch', input: {} },
    },
    {
      type: 'content_block_delta',
      index: 3,
      delta: { type: 'input_json_delta', partial_json: '{"input":"a\\nb"}' },
    },
    { type: 'content_block_stop', index: 3 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]

  it.each([
    ['chat', chatApi, chat, true],
    ['chat-whole', chatApi, chat, false],
    ['responses', responsesApi, responses, true],
    ['responses-whole', responsesApi, responses, false],
  ] as const)('is answered, every part of the reply: %s', async (name, api, body, stream) => {
    const write = (events: StreamEvent[]) => {
      const writer = api.read({ ...body, stream }).reply()
      const sent = events.map((event) => writer.add(event)).join('')
      const lines = sent.split('\n').filter((line) => line !== '' && !line.startsWith('event: '))
      const refused = {
        status: 529,
        headers: {},
        body: '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}',
      }
      return [...lines, ...(stream ? [writer.failure(refused)] : [writer.document()])].map(steady)
    }
    await expect(await effects(reply, write)).toMatchFileSnapshot(file(`written-${name}`))
  })
})

it('a script is read, every part of it', async () => {
  const script = {
    model: ['a', 'b'],
    api: 'old',
    boundThinking: true,
    delay: 5,
    otherwise: 'Pardon?',
    rules: [
      {
        when: '(mail) to (?<who>\\w+)',
        do: [
          { think: 'Hm, $1.' },
          { call: 'send', input: { to: '$who' }, search: 'mail $1' },
          { calls: [{ call: 'read', input: '{"a":1}' }, { search: 'fax' }] },
          { fail: { status: 529, times: 2, message: 'busy', type: 'overloaded_error' } },
          { say: 'Done $result.' },
        ],
      },
      { do: [{ search: 'x' }, { stop: 'max_tokens' }, { cut: true }] },
    ],
  }
  const write = (changed: unknown) => [
    JSON.stringify(readScript(changed), (_, value) => (value instanceof RegExp ? String(value) : value)),
  ]
  await expect(await effects(script, write)).toMatchFileSnapshot(file('script'))
})
