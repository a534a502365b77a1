// What vendors get for a request of the Messages API: each API, each server and each model in the form that it takes.
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { type Api, ask, openGateway, openVendor, sample, upstreamFor } from './servers.ts'

const text = (said: string) => ({ type: 'text', text: said })
const user = (...content: Loose[]) => ({ role: 'user', content })
const assistant = (...content: Loose[]) => ({ role: 'assistant', content })
const use = (id: string, name = 'read', input: Loose = {}) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: Loose = 'ok', more: Loose = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const tool = (name: string, more: Loose = {}) => ({
  name,
  description: 'x',
  input_schema: { type: 'object' },
  ...more,
})
const data = (type: string, more: Loose = {}) => ({
  type,
  source: { type: 'base64', media_type: 'image/png', data: 'QUJD', ...more },
})
const image = data('image')
const doc = (source: Loose, more: Loose = {}) => ({ type: 'document', source, ...more })
const url = 'https://a.example/a'
const imagePart = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }

const DONE: { readonly [api: string]: Loose } = {
  messages: { type: 'message', role: 'assistant', content: [text('Hi')], usage: {} },
  chat: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] },
  responses: {
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
  },
}

afterEach(() => vi.unstubAllEnvs())

/** What a vendor gets under its own host name, which the environment sends to this machine as to a proxy. */
async function sentTo(api: Api, request: Loose, host?: string, call: Loose = {}): Promise<Loose> {
  const vendor = await openVendor({ body: DONE[api] })
  if (host) vi.stubEnv('http_proxy', vendor.url.origin)
  const upstream = upstreamFor(api, host ? new URL(`http://${host}/v1`) : vendor.url)
  await sample(upstream, { model: 'm', max_tokens: 50, messages: [user(text('x'))], ...request }, call)
  return { ...vendor.last(), headers: vendor.sent.at(-1)!.headers, line: vendor.sent.at(-1)!.line }
}

/** Some fields have these values; those that are undefined are not there. */
function expectFields(actual: Loose, expected: Loose): void {
  expect(Object.fromEntries(Object.keys(expected).map((key) => [key, actual[key]]))).toEqual(expected)
}

const OPENAI = 'api.openai.com'
const chatOf = async (messages: Loose[], model = 'm', host?: string) =>
  (await sentTo('chat', { model, messages, tools: [tool('read')] }, host)).messages
const itemsOf = async (messages: Loose[], more: Loose = {}) =>
  (await sentTo('responses', { messages, tools: [tool('read')], ...more })).input

describe('wire 40: settings', () => {
  it('are only those that Chat Completions knows, in one order', async () => {
    const vendor = await openVendor({ body: DONE.chat })
    await sample(upstreamFor('chat', vendor.url), {
      ...{
        model: 'm',
        max_tokens: 50,
        top_k: 5,
        container: 'c',
        metadata: { user_id: 'someone' },
        temperature: 0.5,
        top_p: 0.9,
      },
      ...{
        system: [text('x-anthropic-billing-header: a'), text('Be brief.')],
        stop_sequences: ['END'],
        output_config: { effort: 'high' },
        thinking: { type: 'enabled' },
      },
      messages: [user(text('x'))],
    })
    expect(vendor.sent[0]?.json).toBe(
      '{"model":"m","max_tokens":50,"temperature":0.5,"top_p":0.9,"stop":["END"],"user":"someone","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"x"}]}',
    )
  })

  const effort = (level: string) => ({ output_config: { effort: level } })
  const off = { thinking: { type: 'disabled' } }
  // biome-ignore format: a table, as few lines to a row as it takes
  it.each<[Api, string, string | undefined, Loose, Loose]>([
    [
      'chat',
      'qwen3',
      undefined,
      { temperature: 0, ...effort('low') },
      { max_tokens: 50, temperature: 0, reasoning_effort: undefined, max_completion_tokens: undefined },
    ],
    ['chat', 'gpt-4o', OPENAI, { temperature: 0 }, { max_completion_tokens: 50, temperature: 0, max_tokens: undefined }],
    ['chat', 'gpt-4o', 'me.openai.azure.com', {}, { max_completion_tokens: 50 }],
    ['chat', 'gpt-4o', 'xapi.openai.com.example', {}, { max_tokens: 50 }],
    [
      'chat',
      'openai/o4-mini',
      undefined,
      { temperature: 0, ...effort('max') },
      { max_completion_tokens: 50, temperature: undefined, reasoning_effort: 'high' },
    ],
    ['chat', 'gpt-5.2', undefined, { temperature: 0, ...effort('max') }, { temperature: undefined, reasoning_effort: 'xhigh' }],
    ['chat', 'gpt-5.10', undefined, { temperature: 0, ...off }, { temperature: 0, reasoning_effort: 'none' }],
    ['chat', 'gpt-5.1', undefined, { temperature: 0, ...off }, { temperature: undefined, reasoning_effort: undefined }],
    ['chat', 'gpt-oss:20b', undefined, effort('max'), { max_tokens: 50, reasoning_effort: 'high' }],
    ['chat', 'gemini-2.5-pro', 'generativelanguage.googleapis.com', effort('xhigh'), { reasoning_effort: 'high' }],
    [
      'chat',
      'deepseek-v4',
      'api.deepseek.com',
      { thinking: { type: 'enabled', budget_tokens: 20_000 } },
      { thinking: { type: 'enabled' }, reasoning_effort: 'high' },
    ],
    ['chat', 'deepseek-v4', 'api.deepseek.com', { thinking: { type: 'enabled', budget_tokens: 5000 } }, { reasoning_effort: 'medium' }],
    ['chat', 'kimi-k2', 'api.moonshot.ai', off, { thinking: { type: 'disabled' } }],
    ['chat', 'kimi-k2', undefined, off, { thinking: undefined }],
    ['chat', 'm', undefined, { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ['chat', 'm', undefined, { metadata: { user_id: 'a b' } }, { user: expect.stringMatching(/^user_\w{11}$/) }],
    [
      'chat',
      'm',
      undefined,
      { output_format: { type: 'json_schema', schema: { a: 1 } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: { a: 1 } } } },
    ],
    ['chat', 'm', undefined, { tools: [], tool_choice: { type: 'any' } }, { tools: undefined, tool_choice: undefined }],
    [
      'responses',
      'gpt-4o',
      undefined,
      { temperature: 0, max_tokens: 5, metadata: { user_id: 'u' }, system: 's', stop_sequences: ['x'] },
      {
        temperature: 0,
        max_output_tokens: 16,
        instructions: 's',
        store: false,
        stream: false,
        stop: undefined,
        include: undefined,
        safety_identifier: expect.stringMatching(/^[\da-f]{64}$/),
      },
    ],
    [
      'responses',
      'gpt-5.4',
      undefined,
      { temperature: 0, ...effort('high') },
      { temperature: undefined, reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'] },
    ],
    ['responses', 'gpt-5.4', undefined, { thinking: { type: 'adaptive' } }, { reasoning: { summary: 'auto' } }],
    ['responses', 'gpt-5.4', undefined, off, { reasoning: { effort: 'none' } }],
    [
      'responses',
      'm',
      undefined,
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      { text: { format: { type: 'json_schema', name: 'reply', schema: {}, strict: false } } },
    ],
  ])('of %s with %s at %s: %j', async (api, model, host, more, expected) => {
    expectFields(await sentTo(api, { model, ...more }, host), expected)
  })

  it.each<[string, Loose, Loose]>([
    [
      'claude-opus-5-5',
      { temperature: 0.5, reasoning_effort: 'high' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' }, max_tokens: 32_000 },
    ],
    [
      'claude-opus-4-5',
      { temperature: 1.7, top_p: 0.5, reasoning_effort: 'high' },
      { temperature: 1, top_p: undefined, thinking: undefined, output_config: undefined },
    ],
    ['claude-sonnet-4-6', { reasoning_effort: 'none' }, { thinking: undefined }],
    ['claude-sonnet-5', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-3-opus', { max_tokens: 9999 }, { max_tokens: 4096 }],
    ['claude-3.5-sonnet', { max_tokens: 9999 }, { max_tokens: 8192 }],
    ['claude-opus-4-1', { max_tokens: 99_999 }, { max_tokens: 32_000 }],
    [
      'other',
      { temperature: 0.5, reasoning_effort: 'max' },
      { temperature: undefined, thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    ],
    [
      'claude-sonnet-4-6',
      {
        reasoning_effort: 'high',
        tools: [{ type: 'function', function: { name: 'a' } }],
        tool_choice: 'required',
      },
      { thinking: undefined, tool_choice: { type: 'any' } },
    ],
  ])('of a chat client in front of %s: %j', async (model, more, expected) => {
    const vendor = await openVendor({ body: DONE.messages })
    const gateway = await openGateway(upstreamFor('messages', vendor.url))
    await ask(gateway, 'chat', { model, messages: [{ role: 'user', content: 'x' }], ...more })
    expectFields(vendor.last(), expected)
  })
})

describe('tools', () => {
  it('are functions with properties, and examples in words', async () => {
    const tools = [
      tool('read', { cache_control: {} }),
      { name: 'write', strict: true, input_examples: [{ a: 1 }] },
      { name: 'b.c', input_schema: 5 },
    ]
    const [read, write, odd] = (await sentTo('chat', { tools })).tools
    expect(read).toEqual({
      type: 'function',
      function: { name: 'read', description: 'x', parameters: { type: 'object', properties: {} } },
    })
    expect(write.function).toEqual({
      name: 'write',
      description: 'Examples of its input:\n{"a":1}',
      parameters: { type: 'object', properties: {} },
    })
    expect(odd.function.name).toMatch(/^b_c_\w{11}$/)
    expect((await sentTo('responses', { tools })).tools).toMatchObject([
      { type: 'function', name: 'read', parameters: { type: 'object', properties: {} }, strict: false },
      { name: 'write' },
      { name: odd.function.name, parameters: { type: 'object', properties: {} } },
    ])
  })

  it('a search tool of the API is OpenAI’s own, which cannot be forced; deferred tools wait', async () => {
    const hosted = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
    const tools = [
      hosted,
      tool('read'),
      tool('mail', { defer_loading: true }),
      tool('post', { defer_loading: true }),
    ]
    const sent = await sentTo('responses', {
      model: 'gpt-5.4',
      tools,
      tool_choice: { type: 'tool', name: 'mail' },
    })
    expect(sent.tools.map(({ type, name }: Loose) => name ?? type)).toEqual(['tool_search', 'read', 'mail'])
    expect(sent.tool_choice).toEqual({ type: 'function', name: 'mail' })
    const forced = await sentTo('responses', {
      model: 'gpt-5.4',
      tools,
      tool_choice: { type: 'tool', name: 'tool_search_tool_regex' },
    })
    expect(forced.tool_choice).toBe('required')
  })
})

describe('messages in Chat Completions', () => {
  it('answer each call directly after it and in order, before what else the user says', async () => {
    const messages = [
      user(text('Read')),
      assistant({ type: 'thinking', thinking: 'hm', signature: 's' }, text('I read'), use('a'), use('b')),
      user(text('Go on'), result('b', [text('x'), text('y')]), result('a', 'gone', { is_error: true })),
    ]
    expect(await chatOf(messages)).toEqual([
      { role: 'user', content: 'Read' },
      {
        role: 'assistant',
        content: 'I read',
        tool_calls: ['a', 'b'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'read', arguments: '{}' },
        })),
      },
      { role: 'tool', tool_call_id: 'a', content: 'Error: gone' },
      { role: 'tool', tool_call_id: 'b', content: 'x\n\ny' },
      { role: 'user', content: 'Go on' },
    ])
  })

  it('show images of a result in the message that follows', async () => {
    const [, , a, next] = await chatOf([
      user(text('x')),
      assistant(use('a')),
      user(result('a', [text('here'), image])),
    ])
    expect([a.content, next.content]).toEqual([
      'here\n\n(images or files of it: in the next message)',
      [text('From the result of a:'), imagePart],
    ])
  })

  it('cope with results that are empty, missing, said twice or asked for by nobody', async () => {
    const [, , a, b, rest] = await chatOf([
      user(text('x')),
      assistant(use('a'), use('b')),
      user(result('a', []), result('a', 'again'), result('z', 'stray')),
    ])
    expect([a.content, b.content]).toEqual(['(no text)', '(no result)'])
    expect(rest.content).toBe(
      'The result of an earlier call:\n\nagain\n\nThe result of an earlier call:\n\nstray',
    )
    expect(await chatOf([user(text('x')), assistant(use('a'))])).toHaveLength(3)
  })

  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'QUJD' }
  it('have content of every kind, and files where the server takes them', async () => {
    const blocks = [
      ...[text('x'), image, data('image', { type: 'url', url }), data('image', { type: 'file' })],
      ...[
        doc({ type: 'text', data: 'abc' }, { title: 'Notes', context: 'old' }),
        doc({ type: 'content', content: [text('def'), image, text('')] }),
        doc({ type: 'content', content: 'ghi' }),
      ],
      ...[doc(pdf, { title: 'a.pdf' }), doc({ type: 'url', url })],
      { type: 'search_result', title: 'T', source: 'S', content: [text('found')] },
      { type: 'novel', value: 1, cache_control: {} },
    ]
    const shown = (file: Loose) => [
      ...[
        text('x'),
        imagePart,
        { type: 'image_url', image_url: { url } },
        text('(an image that this model cannot be shown)'),
      ],
      ...['About Notes: old', 'Notes:\nabc', 'document:', 'def'].map(text),
      ...[
        imagePart,
        text('document:'),
        text('ghi'),
        file,
        text(`(document at ${url}: a file that this model cannot be shown)`),
      ],
      ...['T\nS\nfound', '{"type":"novel","value":1}'].map(text),
    ]
    expect((await chatOf([user(...blocks)]))[0].content).toEqual(
      shown(text('(a.pdf: a file that this model cannot be shown)')),
    )
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUJD' } }
    expect((await chatOf([user(...blocks)], 'gpt-4o', OPENAI))[0].content).toEqual(shown(file))
    expect((await chatOf([user(doc(pdf))], 'm', 'openrouter.ai'))[0].content).toMatchObject([
      { type: 'file' },
    ])
  })

  it('say a system message within the conversation in the form that the model takes', async () => {
    const messages = [
      user(text('One')),
      { role: 'system', content: [text('Careful'), { type: 'novel' }] },
      { role: 'system', content: [{ type: 'novel' }] },
    ]
    expect(await chatOf(messages)).toEqual([{ role: 'user', content: 'One\n\n<system>\nCareful\n</system>' }])
    expect(await chatOf(messages, 'gpt-4o', OPENAI)).toEqual([
      { role: 'user', content: 'One' },
      { role: 'system', content: 'Careful' },
    ])
  })

  it('leave out turns that say nothing, and take any', async () => {
    expect(
      await chatOf([
        user(text('One')),
        assistant({ type: 'thinking', thinking: 'hm', signature: '' }),
        user(text(''), text('Two')),
      ]),
    ).toEqual([{ role: 'user', content: 'One\n\nTwo' }])
    for (const message of [null, 'text', 7, {}, { role: 'user' }, user(null, 3, {})]) await chatOf([message])
  })

  it('shorten names and ids that OpenAI would refuse, always to the same', async () => {
    const name = `mcp__server__${'long_'.repeat(20)}`
    const messages = [user(text('x')), assistant(use('i'.repeat(41), name), use('i'.repeat(40), 'ä')), user()]
    const sent = await sentTo('chat', { tools: [tool(name)], tool_choice: { type: 'tool', name }, messages })
    const short = sent.tools[0].function.name
    expect(short).toHaveLength(64)
    expect(sent.tool_choice).toEqual({ type: 'function', function: { name: short } })
    expect(sent.messages[1].tool_calls).toMatchObject([
      { id: expect.stringMatching(/^call_\w{11}$/), function: { name: short } },
      { id: 'i'.repeat(40), function: { name: expect.stringMatching(/^__\w{11}$/) } },
    ])
    const nine = await chatOf(
      [user(text('x')), assistant(use('toolu_1'), use('abcdefgh1')), user(result('toolu_1'), text('y'))],
      'mistral-large',
    )
    expect(nine[1].tool_calls.map(({ id }: Loose) => id)).toEqual([
      expect.stringMatching(/^\w{9}$/),
      'abcdefgh1',
    ])
    expect(nine.slice(-2)).toEqual([
      { role: 'assistant', content: 'OK.' },
      { role: 'user', content: 'y' },
    ])
  })
})

// biome-ignore format: a table, as few lines to a row as it takes
it.each(['chat', 'responses'] as const)('wire 39: %s gets the same bytes twice, and a longer conversation begins with the shorter', async (api) => {
  const vendor = await openVendor({ body: DONE[api] })
  const upstream = upstreamFor(api, vendor.url)
  const short = { model: 'm', max_tokens: 9, system: 'S', tools: [tool('read')], messages: [user(text('x')), assistant(use('a')), user(result('a', [image]))] }
  for (const more of [[], [], [assistant(text('y')), user(text('z'))]]) await sample(upstream, { ...short, messages: [...short.messages, ...more] })
  const [first, second, longer] = vendor.sent.map(({ json }) => json)
  expect(second).toBe(first)
  const end = first!.lastIndexOf(']')
  expect(longer!.startsWith(first!.slice(0, api === 'chat' ? end : first!.indexOf('],"store"')))).toBe(true)
})

describe('messages in Responses', () => {
  it('are items, with outputs of every kind', async () => {
    const items = await itemsOf([
      user(text('x'), image),
      assistant(text('I read'), use('a'), use('b')),
      user(
        result('a', [text('one'), text('two')]),
        result('b', [text('see'), image], { is_error: true }),
        text('y'),
      ),
      { role: 'system', content: [text('Careful')] },
      { role: 'user', content: 'z' },
    ])
    const input = (said: string) => ({ type: 'input_text', text: said })
    const shown = { type: 'input_image', image_url: 'data:image/png;base64,QUJD', detail: 'auto' }
    expect(items).toEqual([
      { type: 'message', role: 'user', content: 'x' },
      { type: 'message', role: 'user', content: [shown] },
      { type: 'message', role: 'assistant', content: 'I read' },
      ...['a', 'b'].map((call_id) => ({ type: 'function_call', call_id, name: 'read', arguments: '{}' })),
      { type: 'function_call_output', call_id: 'a', output: 'one\ntwo' },
      { type: 'function_call_output', call_id: 'b', output: [input('Error:'), input('see'), shown] },
      { type: 'message', role: 'user', content: 'y' },
      { type: 'message', role: 'developer', content: 'Careful' },
      { type: 'message', role: 'user', content: 'z' },
    ])
  })

  it.each<[Loose, Loose]>([
    [
      doc({ type: 'base64', media_type: 'a/b', data: 'QUJD' }, { context: 'old' }),
      [
        { type: 'input_text', text: 'old' },
        { type: 'input_file', filename: 'document.pdf', file_data: 'data:a/b;base64,QUJD' },
      ],
    ],
    [
      doc({ type: 'url', url }, { title: 'a.pdf' }),
      [
        { type: 'input_text', text: 'a.pdf' },
        { type: 'input_file', file_url: url },
      ],
    ],
    [doc({ type: 'text', data: 'abc' }), [{ type: 'input_text', text: 'abc' }]],
    [
      doc({ type: 'content', content: [text('a'), text('b')] }),
      [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: 'b' },
      ],
    ],
    [
      { type: 'search_result', title: 'T', source: 'S', content: [text('a')] },
      [{ type: 'input_text', text: 'T\nS\na' }],
    ],
  ])('have %j', async (block, content) => {
    expect(await itemsOf([user(block)])).toEqual([{ type: 'message', role: 'user', content }])
  })

  const search = {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'tool_search_tool_regex',
    input: { pattern: 'x' },
  }
  const found = (content: Loose) => ({ type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content })
  const references = (...names: string[]) => names.map((tool_name) => ({ type: 'tool_reference', tool_name }))
  const change = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } })
  const waiting = {
    model: 'gpt-5.4',
    tools: [
      { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
      tool('read'),
      ...['mail', 'post'].map((name) => tool(name, { defer_loading: true })),
    ],
  }
  const mail = {
    type: 'function',
    name: 'mail',
    description: 'x',
    parameters: { type: 'object', properties: {} },
    strict: false,
  }

  it('wire 13, 14, 16, 20, 41: searches, additions and compactions bring definitions, later calls their namespace', async () => {
    const items = await itemsOf(
      [
        user(text('x')),
        assistant(
          search,
          found({ type: 'tool_search_tool_search_result', tool_references: references('mail') }),
          use('a', 'mail'),
        ),
        user(result('a')),
        assistant(
          search,
          found({ type: 'tool_search_tool_search_result', tool_references: references('mail') }),
          search,
          found({ type: 'tool_search_tool_result_error', error_code: 'unavailable' }),
          use('b', 'read'),
        ),
        user(result('b', references('mail', 'post'))),
        { role: 'system', content: [change('tool_removal', 'mail'), change('tool_addition', 'mail')] },
        assistant({
          type: 'compaction',
          content: 'So far.',
          tool_changes: [change('tool_addition', 'post')],
        }),
        user(text('y')),
      ],
      waiting,
    )
    const shown = items.map(({ type, role, name, namespace, tools, content, output }: Loose) =>
      [type, role, name, namespace, tools?.map((one: Loose) => one.name).join(), content ?? output]
        .filter(Boolean)
        .join(' '),
    )
    expect(shown).toMatchInlineSnapshot(`
      [
        "message user x",
        "tool_search_call",
        "tool_search_output mail",
        "function_call mail mail",
        "function_call_output ok",
        "tool_search_call",
        "tool_search_output",
        "message developer Tools loaded: mail. They are in your list of tools now.",
        "tool_search_call",
        "tool_search_output",
        "message developer The search failed (unavailable)",
        "function_call read",
        "function_call_output Tools loaded: mail, post. They are in your list of tools now.",
        "additional_tools developer post",
        "message developer No longer available: mail.",
        "additional_tools developer mail",
        "message assistant So far.",
        "message user y",
      ]
    `)
    expect(items[2]).toEqual({
      type: 'tool_search_output',
      call_id: 'srvtoolu_1',
      execution: 'client',
      status: 'completed',
      tools: [mail],
    })
  })
})

/** What OpenAI gets from a client that speaks its API, through the gateway. */
async function throughResponses(body: Loose, model = 'gpt-4o', answer: Loose = DONE.responses) {
  const vendor = await openVendor({ body: answer })
  const gateway = await openGateway(upstreamFor('responses', vendor.url))
  const got = await ask(gateway, 'responses', { model, input: 'Hi', ...body })
  expect(got.status, got.text).toBe(200)
  return { sent: vendor.last(), got: got.body, vendor, gateway }
}

describe('wire 41: a client of Responses in front of OpenAI', () => {
  const fn = (name: string, more: Loose = {}) => ({
    type: 'function',
    name,
    description: name,
    strict: false,
    parameters: { type: 'object', properties: {} },
    ...more,
  })
  const tools = [
    fn('read', { strict: true }),
    { type: 'namespace', name: 'mcp__mail', description: 'Mail.', tools: [fn('send'), fn('list')] },
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
    ...[
      { type: 'shell' },
      { type: 'apply_patch' },
      { type: 'local_shell' },
      { type: 'web_search', external_web_access: true },
    ],
  ]
  const done = { status: 'completed' }
  const said = (role: string, content: string) => ({ type: 'message', role, content })
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }
  const ran = [{ stdout: 'x', stderr: '', outcome: { type: 'exit', exit_code: 2 } }]
  const history = [
    said('user', 'Hi'),
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'gAAAA',
    },
    { type: 'web_search_call', id: 'ws_1', ...done, action: { type: 'search', query: 'x' } },
    said('assistant', 'I look.'),
    {
      type: 'function_call',
      call_id: 'c1',
      name: 'send',
      namespace: 'mcp__mail',
      arguments: '{"n":12345678901234567890}',
    },
    { type: 'function_call', call_id: 'c2', name: 'read', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'c3', name: 'patch', ...done, input: '*** "Begin"\n' },
    {
      type: 'shell_call',
      call_id: 'c4',
      ...done,
      environment: { type: 'local' },
      action: { max_output_length: null, timeout_ms: 5, commands: ['ls'] },
    },
    { type: 'apply_patch_call', call_id: 'c5', ...done, operation: { type: 'delete_file', path: 'a' } },
    { type: 'local_shell_call', call_id: 'c6', ...done, action: { type: 'exec', env: {}, command: ['ls'] } },
    { type: 'function_call_output', call_id: 'c1', output: 'sent' },
    { type: 'function_call_output', call_id: 'c2', output: [image] },
    { type: 'custom_tool_call_output', call_id: 'c3', output: [{ type: 'input_text', text: 'Done' }, image] },
    { type: 'shell_call_output', call_id: 'c4', output: ran },
    { type: 'apply_patch_call_output', call_id: 'c5', status: 'failed', output: 'no such file' },
    { type: 'local_shell_call_output', call_id: 'c6', output: 'files' },
    said('user', 'Go on'),
  ]

  it('tools and items of every kind arrive as they were', async () => {
    const { sent, vendor } = await throughResponses({ input: history, tools })
    expect(sent).toMatchObject({ tools, input: JSON.parse(JSON.stringify(history)) })
    expect(vendor.sent[0]?.json).toContain('12345678901234567890')
  })

  it('settings survive too', async () => {
    const settings = {
      ...{
        instructions: 'Be kind.',
        reasoning: { effort: 'xhigh', summary: 'detailed' },
        temperature: 1.7,
        max_output_tokens: 50,
        prompt_cache_key: 'k',
      },
      ...{
        text: { verbosity: 'low', format: { type: 'json_object' } },
        metadata: { a: 'b' },
        service_tier: 'flex',
        truncation: 'auto',
      },
      ...{ parallel_tool_calls: false, store: false },
    }
    expect((await throughResponses({ ...settings, tools })).sent).toMatchObject(settings)
    expect((await throughResponses({ include: ['x'] }, 'gpt-5.2')).sent.include).toEqual([
      'x',
      'reasoning.encrypted_content',
    ])
  })

  const allowed = {
    type: 'allowed_tools',
    mode: 'required',
    tools: [
      { type: 'function', name: 'read' },
      { type: 'custom', name: 'patch' },
    ],
  }
  it.each<[Loose, Loose]>([
    ...[
      'required',
      'none',
      { type: 'function', name: 'read' },
      { type: 'custom', name: 'patch' },
      { type: 'apply_patch' },
      allowed,
    ].map((choice): [Loose, Loose] => [choice, choice]),
    [
      { type: 'function', name: 'send', namespace: 'mcp__mail' },
      { type: 'function', name: 'send' },
    ],
  ])('so does tool_choice %j', async (tool_choice, expected) => {
    expect((await throughResponses({ tools, tool_choice })).sent.tool_choice).toEqual(expected)
  })

  it('replies come back with their items, whatever the gateway calls the tools, and go back as they came', async () => {
    const output = [
      ...history.slice(1, 3),
      ...history.slice(4, 10),
      { type: 'function_call', call_id: 'c7', name: 'read', namespace: 'read', arguments: '{}' },
    ]
    const { got, vendor, gateway } = await throughResponses(
      { tools, reasoning: { summary: 'auto' } },
      'gpt-5.2',
      { id: 'resp_9', ...done, output, usage: {} },
    )
    for (const [at, { id: _, encrypted_content: __, ...item }] of (output.slice(0, -1) as Loose[]).entries())
      expect(got.output[at]).toMatchObject(item)
    expect(got.output[1]).toEqual(output[1])
    const outputs = got.output
      .filter(({ call_id }: Loose) => call_id)
      .map(({ type, call_id }: Loose) => ({ type: `${type}_output`, call_id, output: 'x' }))
    await ask(gateway, 'responses', {
      model: 'gpt-5.2',
      tools,
      input: [said('user', 'Hi'), ...got.output, ...outputs],
    })
    expect(vendor.last().input.slice(1, 3)).toEqual(history.slice(1, 3))
  })

  it('a search that the client runs, with the tools that it loads', async () => {
    const search = {
      type: 'tool_search',
      execution: 'client',
      description: 'Search.',
      parameters: { type: 'object', properties: { query: { type: 'string' } } },
    }
    const call = { call_id: 's1', execution: 'client', ...done }
    const input = [
      said('user', 'Hi'),
      { type: 'tool_search_call', ...call, arguments: { query: 'crm' } },
      {
        type: 'tool_search_output',
        ...call,
        tools: [{ type: 'namespace', name: 'crm', description: 'CRM.', tools: [fn('find')] }, fn('alone')],
      },
      { type: 'function_call', call_id: 'c1', name: 'find', namespace: 'crm', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'alone', namespace: 'alone', arguments: '{}' },
      ...['c1', 'c2'].map((call_id) => ({ type: 'function_call_output', call_id, output: 'ok' })),
    ]
    const vendor = await openVendor({
      body: {
        ...DONE.responses,
        output: [{ type: 'tool_search_call', call_id: 's2', status: 'completed', arguments: { query: 'x' } }],
      },
    })
    const gateway = await openGateway(upstreamFor('responses', vendor.url), 'emulate')
    const got = await ask(gateway, 'responses', { model: 'gpt-5.4', input, tools: [search, fn('read')] })
    expect(vendor.last()).toMatchObject({ tools: [search, fn('read')], input })
    expect(got.body.output).toMatchObject([
      { type: 'tool_search_call', call_id: 's2', execution: 'client', arguments: { query: 'x' } },
    ])
  })
})

it('a client of Chat Completions keeps its own settings and definitions in front of a server of the same API', async () => {
  const vendor = await openVendor({ body: DONE.chat })
  const gateway = await openGateway(upstreamFor('chat', vendor.url))
  const tools = ['a', 'b'].map((name) => ({
    type: 'function',
    'x-own': 1,
    function: { name, strict: true, parameters: { type: 'object', properties: {} } },
  }))
  const allowed = {
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'a' } }] },
  }
  const settings = { seed: 1, chat_template_kwargs: { a: 1 }, max_tokens: 3, temperature: 2 }
  await ask(gateway, 'chat', {
    model: 'm',
    messages: [{ role: 'user', content: 'x' }],
    tools,
    tool_choice: allowed,
    ...settings,
  })
  expect(vendor.last()).toMatchObject({ tools, tool_choice: allowed, ...settings })
})

describe('connections', () => {
  // biome-ignore format: a table, as few lines to a row as it takes
  it.each<[Api, Loose, Loose, Loose]>([
    ['chat', {}, { 'x-api-key': 'k' }, { authorization: 'Bearer k' }],
    ['chat', { key: 'up' }, { authorization: 'Bearer own' }, { authorization: 'Bearer up' }],
    ['chat', {}, { authorization: 'Bearer sk-ant-1', 'anthropic-version': 'v', 'x-other': 'o' }, {}],
    [
      'responses',
      {},
      { authorization: 'Bearer own', traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01', tracestate: 's' },
      { authorization: 'Bearer own', traceparent: expect.any(String), tracestate: 's' },
    ],
    ['responses', {}, { traceparent: 'x', tracestate: 's' }, {}],
    ['messages', {}, { 'x-api-key': 'k' }, { 'x-api-key': 'k' }],
    ['messages', { key: 'up' }, { authorization: 'Bearer own' }, { 'x-api-key': 'up', authorization: 'Bearer up' }],
    ['messages', { keyOtherwise: 'else' }, {}, { 'x-api-key': 'else', authorization: 'Bearer else' }],
    ['messages', { keyOtherwise: 'else' }, { 'x-api-key': 'k' }, { 'x-api-key': 'k' }],
  ])('%s with %j and %j', async (api, options, headers, expected) => {
    const vendor = await openVendor({ body: DONE[api] })
    await sample(upstreamFor(api, vendor.url, options), { model: 'm', messages: [] }, { headers })
    const { authorization, 'x-api-key': key, traceparent, tracestate, 'x-other': other, 'anthropic-version': version } = vendor.sent[0]!.headers
    expect(JSON.parse(JSON.stringify({ authorization, 'x-api-key': key, traceparent, tracestate, other, version }))).toEqual(expected)
  })

  it.each(['', '/', '/v1', '/v1//', '/x/v1'])(
    'have their addresses below a base that ends in "%s"',
    async (end) => {
      const vendor = await openVendor(({ line }) => ({
        body: line.startsWith('GET') ? { data: [] } : { choices: [{}], content: [], output: [] },
      }))
      for (const api of ['chat', 'responses', 'messages'] as const) {
        const upstream = upstreamFor(api, new URL(vendor.url.origin + end))
        await sample(upstream, { model: 'm', messages: [] })
        await upstream.models({ headers: {}, signal: new AbortController().signal })
      }
      const base = end.replace(/\/+$/, '')
      const bare = base.replace(/\/v1$/, '')
      expect(vendor.sent.map(({ line }) => line.split(' ')[1])).toEqual([
        `${base}/chat/completions`,
        `${base}/models`,
        `${base}/responses`,
        `${base}/models`,
        `${bare}/v1/messages`,
        `${bare}/v1/models`,
      ])
    },
  )

  it('of an OpenAI client to Anthropic have its key, a version, a limit and a prompt cache', async () => {
    const vendor = await openVendor({ body: DONE.messages })
    vi.stubEnv('http_proxy', vendor.url.origin)
    const gateway = await openGateway(upstreamFor('messages', new URL('http://api.anthropic.com')))
    const tools = [{ type: 'function', function: { name: 'a' } }]
    const marked = [
      { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
    ]
    const asked = { model: 'claude-opus-4-5', messages: [{ role: 'user', content: 'x' }], tools }
    await ask(gateway, 'chat', asked, { authorization: 'Bearer sk-own', 'anthropic-beta': 'x' })
    expect(vendor.sent[0]?.headers).toMatchObject({
      'x-api-key': 'sk-own',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'x',
    })
    expect(vendor.last()).toMatchObject({ max_tokens: 32_000, cache_control: { type: 'ephemeral' } })
    await ask(gateway, 'chat', { ...asked, messages: marked }, { authorization: 'Bearer sk-ant-oat-1' })
    expect(vendor.sent[1]?.headers).toMatchObject({ authorization: 'Bearer sk-ant-oat-1' })
    expect(vendor.last()).not.toHaveProperty('cache_control')
  })

  it('are offered without the fields that a server names, one after the other', async () => {
    const refused = (message: string) => ({ status: 400, body: { error: { message } } })
    const vendor = await openVendor(({ body }) =>
      body.temperature !== undefined
        ? refused('temperature is not supported')
        : body.user
          ? refused('Unknown field: user')
          : { body: DONE.chat },
    )
    const request = {
      model: 'm',
      max_tokens: 9,
      temperature: 1,
      metadata: { user_id: 'someone' },
      messages: [user(text('x'))],
    }
    await sample(upstreamFor('chat', vendor.url), request)
    expect(vendor.sent).toHaveLength(3)
    vendor.answer = refused('messages are wrong')
    await expect(sample(upstreamFor('chat', vendor.url), request)).rejects.toThrow('400 messages are wrong')
  })

  it('with a wire for each model, or a forced one', () => {
    const at = new URL('http://a.example/v1')
    const wires = (models: string) =>
      models.split(' ').map((model) => upstreamFor('responses', at).wireFor(model).wire)
    expect(
      new Set(wires('gpt-3.5-turbo gpt-35-turbo gpt-4.9 gpt-5 gpt-5.3 my-gpt-5.4 gpt-10 llama')),
    ).toEqual(new Set(['append']))
    expect(new Set(wires('gpt-5.4 gpt-5.10-mini gpt-6 openai/gpt-5.4 ft:gpt-5.4:org'))).toEqual(
      new Set(['native']),
    )
    const wireOf = (api: Api, model: string, host: string, more: Loose = {}) =>
      upstreamFor(api, new URL(`https://${host}/v1`), more).wireFor(model)
    expect(wireOf('responses', 'gpt-5.4', OPENAI, { wire: 'bridge' })).toMatchObject({
      wire: 'bridge',
      maxTools: 128,
    })
    expect(wireOf('chat', 'llama', 'openrouter.ai')).toMatchObject({ wire: 'append', searchesTools: true })
    expect(wireOf('chat', 'llama', 'model.baseten.co', { wire: 'bridge' })).toMatchObject({
      wire: 'bridge',
      searchesTools: true,
    })
    expect(wireOf('chat', 'gpt-4o', 'a.example')).toMatchObject({ maxTools: 128 })
    expect(wireOf('messages', 'claude-opus-4-6', 'api.anthropic.com').wire).toBe('native')
    expect(wireOf('messages', 'claude-3-5-haiku-20241022', 'api.anthropic.com').wire).toBe('append')
    expect(wireOf('messages', 'claude-opus-4-6', 'a.example').wire).toBe('append')
    expect(wireOf('messages', 'claude-opus-5-5', 'a.example').wire).toBe('bridge')
    expect(wireOf('messages', 'x', 'a.example', { wire: 'native' }).wire).toBe('native')
    expect(() => upstreamFor('chat', at, { wire: 'native' })).toThrow(/cannot speak the native wire/)
  })
})
