// Requests of the Responses API in the Messages shape: what Codex and the SDKs send, and what cannot be done.
import { describe, expect, test } from 'vitest'
import { validateRequest } from '../../src/core/oracle/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { responsesApi } from '../../src/messages/inbound/index.ts'
import type { HttpAnswer } from '../../src/messages/index.ts'
import { stringifyExact } from '../../src/messages/json/index.ts'

const MODEL = 'claude-opus-5-5'
const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const developer = (text: string) => ({ ...user(text), role: 'developer' })
const spoken = (text: string) => ({
  ...{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
})
const fn = (name: string, extra: Fields = {}) => ({
  ...{ type: 'function', name, description: `Does ${name}.`, strict: false },
  parameters: { type: 'object', properties: { a: { type: 'string' } } },
  ...extra,
})
const call = (call_id: string, name: string, extra: Fields = {}) => ({
  ...{ type: 'function_call', call_id, name, arguments: '{"a":"b"}' },
  ...extra,
})
const output = (call_id: string, text: unknown = 'fine') => ({
  ...{ type: 'function_call_output', call_id, output: text },
})

const read = (body: Fields) => responsesApi.read({ model: MODEL, input: 'Hello', ...body })
const request = (body: Fields) => read(body).request
const messages = (...input: Fields[]) => request({ input }).messages
const use = (id: string, name: string, input: Fields = { a: 'b' }) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: unknown = 'fine') => ({ type: 'tool_result', tool_use_id: id, content })
const text = (value: string) => ({ type: 'text', text: value })

/** The error that a client gets. */
function refusal(body: Fields): Fields {
  try {
    read(body)
  } catch (error) {
    const { answer: refused } = error as { readonly answer?: HttpAnswer }
    if (!refused) throw error
    const answer = responsesApi.error(refused)
    expect(answer.status).toBe(400)
    return JSON.parse(answer.body).error
  }
  throw new Error('the request was accepted')
}

describe('messages', () => {
  test('a text is a message of the user', () => {
    expect(request({ input: 'Hi' })).toEqual({
      model: MODEL,
      messages: [{ role: 'user', content: [text('Hi')] }],
    })
  })

  test('instructions and leading developer messages are the system prompt', () => {
    const { system, messages } = request({
      instructions: 'Be kind.',
      input: [developer('Be brief.'), user('Hi')],
    })
    expect(system).toBe('Be kind.\n\nBe brief.')
    expect(messages).toEqual([{ role: 'user', content: [text('Hi')] }])
  })

  test('a developer message alone is what there is to answer', () => {
    expect(request({ input: [developer('Say hi.')] })).toEqual({
      model: MODEL,
      messages: [{ role: 'user', content: [text('Say hi.')] }],
    })
  })

  test('later developer messages come after the words of the user, where the Messages API takes them', () => {
    const said = messages(user('Hi'), spoken('Yes?'), developer('Plan mode.'), user('Go'))
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'system'])
    const { tools: _, ...rest } = request({
      input: [
        user('Hi'),
        spoken('Yes?'),
        developer('One.'),
        developer('Two.'),
        user('Go'),
        spoken('Ok'),
        user('!'),
      ],
    })
    expect(rest.messages[3]).toEqual({ role: 'system', content: [text('One.'), text('Two.')] })
    expect(validateRequest({ max_tokens: 9, ...rest })).toBeUndefined()
  })

  test('a developer message between two replies is a reminder', () => {
    const [, , reminder] = messages(user('Hi'), spoken('One'), developer('Note.'), spoken('Two'), user('Go'))
    expect(reminder).toEqual({
      role: 'user',
      content: [text('<system-reminder>\nNote.\n</system-reminder>')],
    })
  })

  test('a conversation that the model begins', () => {
    const said = messages(spoken('Welcome.'), user('Hi'))
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })

  test('images and files', () => {
    const parts = [
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      { type: 'input_image', image_url: 'https://example.com/a.png' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,aGk=' },
    ]
    expect(messages({ role: 'user', content: parts })[0]?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ...[
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
          title: 'a.pdf',
        },
      ],
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' }, title: 'a.txt' },
    ])
  })

  test('a refusal of the model is its text', () => {
    const item = { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }
    expect(messages(user('Hi'), item, user('Why?'))[1]).toEqual({ role: 'assistant', content: [text('No.')] })
  })
})

describe('calls', () => {
  test('parallel calls are one turn, and their results one message', () => {
    const said = messages(
      ...[user('Hi'), spoken('I look.'), call('c1', 'read'), call('c2', 'write')],
      ...[output('c2'), output('c1', [{ type: 'input_text', text: 'ok' }])],
      user('And?'),
    )
    expect(said.slice(1)).toEqual([
      { role: 'assistant', content: [text('I look.'), use('c1', 'read'), use('c2', 'write')] },
      { role: 'user', content: [result('c2'), result('c1', [text('ok')])] },
      { role: 'user', content: [text('And?')] },
    ])
  })

  test('results follow their calls at once, wherever the client has put them', () => {
    const said = messages(user('Hi'), call('c1', 'read'), user('Wait.'), output('c1'))
    expect(said.slice(1)).toEqual([
      { role: 'assistant', content: [use('c1', 'read')] },
      { role: 'user', content: [result('c1')] },
      { role: 'user', content: [text('Wait.')] },
    ])
  })

  test('arguments keep the digits of their numbers; invalid ones are shown to the model', () => {
    const [, long] = messages(
      user('Hi'),
      call('c1', 'read', { arguments: '{"n":12345678901234567890}' }),
      output('c1'),
    )
    expect(stringifyExact(long)).toContain('{"n":12345678901234567890}')
    const [, odd] = messages(user('Hi'), call('c1', 'read', { arguments: '{"n":' }), output('c1'))
    expect(odd?.content).toEqual([use('c1', 'read', { invalid_arguments: '{"n":' })])
  })

  test.each([
    ['a call without an output', [user('Hi'), call('c1', 'read')], /no output for the call "c1"/],
    ['an output without a call', [user('Hi'), output('c1')], /there is no call for the call_id "c1"/],
    [
      'an id used twice',
      [user('Hi'), call('c1', 'a'), call('c1', 'b'), output('c1')],
      /two calls have the call_id/,
    ],
    ['an output without an id', [user('Hi'), { type: 'function_call_output', output: '' }], /has no call_id/],
  ])('%s is refused, as OpenAI does', (_, input, reason) => {
    expect(refusal({ input })).toMatchObject({
      message: expect.stringMatching(reason),
      type: 'invalid_request_error',
    })
  })
})

describe('tools', () => {
  test('functions', () => {
    const { tools } = request({ tools: [fn('read'), fn('write', { defer_loading: true, strict: true })] })
    const input_schema = { type: 'object', properties: { a: { type: 'string' } } }
    expect(tools).toEqual([
      { name: 'read', description: 'Does read.', input_schema },
      { name: 'write', description: 'Does write.', input_schema, strict: true, defer_loading: true },
    ])
  })

  test('namespaces are part of the names, and described once', () => {
    const tools = [
      { type: 'namespace', name: 'mcp__mail', description: 'Mail of the team.', tools: [fn('send')] },
      {
        type: 'namespace',
        name: 'mcp__files__',
        description: 'Tools in the mcp__files__ namespace.',
        tools: [fn('send')],
      },
      { type: 'namespace', name: 'functions', description: '', tools: [fn('send')] },
    ]
    const given = request({
      tools,
      input: [user('Hi'), call('c1', 'send', { namespace: 'mcp__mail' }), output('c1')],
    })
    expect(given.tools?.map(({ name }) => name)).toEqual(['mcp__mail__send', 'mcp__files__send', 'send'])
    expect(given.system).toBe('Groups of tools, by the start of their names:\n- mcp__mail: Mail of the team.')
    expect(given.messages[1]?.content).toEqual([use('c1', 'mcp__mail__send')])
  })

  test('names that clash or that the Messages API does not allow are unique, valid and stable', () => {
    const tools = [
      fn('a__b'),
      { type: 'namespace', name: 'a', description: '', tools: [fn('b'), fn(`${'x'.repeat(200)}.y`)] },
      fn('tool_search_tool_bm25'),
    ]
    const input = [user('Hi'), call('c1', 'b', { namespace: 'a' }), output('c1')]
    const names = request({ tools }).tools?.map(({ name }) => String(name)) ?? []
    expect(new Set(names).size).toBe(4)
    expect(names.every((name) => /^[\w-]{1,128}$/.test(name))).toBe(true)
    expect(names[0]).toBe('a__b')
    expect(names).not.toContain('tool_search_tool_bm25')
    expect(request({ tools, input }).messages[1]?.content).toEqual([use('c1', names[1]!)])
    expect(request({ tools: structuredClone(tools) }).tools?.map(({ name }) => name)).toEqual(names)
  })

  test('freeform tools have one text as input', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const { tools, messages } = request({
      tools: [{ type: 'custom', name: 'patch', description: 'Patches.', format }],
      input: [
        ...[user('Hi'), { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: '*** Begin' }],
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'Done' },
      ],
    })
    expect(tools?.[0]).toMatchObject({ name: 'patch', input_schema: { required: ['input'] } })
    expect(tools?.[0]?.description).toContain('start: "x"')
    expect(messages.slice(1)).toEqual([
      { role: 'assistant', content: [use('c1', 'patch', { input: '*** Begin' })] },
      { role: 'user', content: [result('c1', 'Done')] },
    ])
  })

  test('shell and patch tools of OpenAI', () => {
    const operation = { type: 'delete_file', path: 'a' }
    const ran = [{ stdout: 'x', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]
    const { tools, messages } = request({
      tools: [{ type: 'local_shell' }, { type: 'shell' }, { type: 'apply_patch' }],
      input: [
        user('Hi'),
        {
          type: 'local_shell_call',
          id: 'l1',
          call_id: 'c1',
          action: { type: 'exec', command: ['ls'], env: {} },
        },
        {
          type: 'shell_call',
          call_id: 'c2',
          action: { commands: ['ls'], timeout_ms: 5 },
          status: 'completed',
        },
        { type: 'apply_patch_call', call_id: 'c3', operation, status: 'completed' },
        { type: 'local_shell_call_output', call_id: 'c1', output: 'a b' },
        { type: 'shell_call_output', call_id: 'c2', output: ran },
        { type: 'apply_patch_call_output', call_id: 'c3', status: 'failed', output: 'no such file' },
      ],
    })
    expect(tools?.map(({ name }) => name)).toEqual(['local_shell', 'shell', 'apply_patch'])
    expect(messages[1]?.content).toEqual([
      use('c1', 'local_shell', { command: ['ls'], env: {} }),
      use('c2', 'shell', { commands: ['ls'], timeout_ms: 5 }),
      use('c3', 'apply_patch', operation),
    ])
    expect(messages[2]?.content).toEqual([
      result('c1', 'a b'),
      result('c2', JSON.stringify(ran)),
      { ...result('c3', 'no such file'), is_error: true },
    ])
  })

  test('tools that OpenAI runs go only to OpenAI', () => {
    const web = { type: 'web_search', external_web_access: false }
    const found = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'x' },
    }
    const { request, terms } = read({
      tools: [web, fn('read')],
      input: [user('Hi'), found, spoken('So.'), user('?')],
    })
    expect(request.tools?.map(({ name }) => name)).toEqual(['read'])
    expect(terms?.tools.get('web_search')).toBe(web)
    expect(JSON.stringify(request.messages)).not.toContain('web_search')
  })

  test.each([
    ['auto', undefined],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [
      { type: 'function', name: 'read' },
      { type: 'tool', name: 'read' },
    ],
    [
      { type: 'custom', name: 'patch' },
      { type: 'tool', name: 'patch' },
    ],
    [{ type: 'apply_patch' }, { type: 'tool', name: 'apply_patch' }],
  ])('tool_choice %j', (tool_choice, expected) => {
    const tools = [fn('read'), { type: 'custom', name: 'patch' }, { type: 'apply_patch' }]
    expect(request({ tools, tool_choice }).tool_choice).toEqual(expected)
    const single = request({ tools, tool_choice, parallel_tool_calls: false }).tool_choice
    const isNone = tool_choice === 'none'
    expect(single).toEqual(
      isNone ? expected : { ...(expected ?? { type: 'auto' }), disable_parallel_tool_use: true },
    )
  })

  test('a list of allowed tools leaves out the others, but not deferred ones', () => {
    const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] }
    const given = read({ tools: [fn('a'), fn('b'), fn('c', { defer_loading: true })], tool_choice })
    expect(given.request.tools?.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect([...(given.terms?.barred ?? [])]).toEqual(['a'])
    expect(given.request.tool_choice).toEqual({ type: 'any' })
  })

  test('a list of allowed tools of which none is there is refused', () => {
    const tool_choice = {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'zebra' }],
    }
    expect(() => read({ tools: [fn('a')], tool_choice })).toThrow('answered with status 400')
    expect(() => read({ tools: [fn('a'), { type: 'web_search' }], tool_choice })).not.toThrow()
  })

  test('a tool that OpenAI runs cannot be forced elsewhere', () => {
    const web = { type: 'web_search' }
    expect(read({ tools: [web], tool_choice: web }).unconvertible).toMatch(/tool_choice: web_search/)
  })
})

describe('deferral', () => {
  test("OpenAI's search on the server is the search of the gateway", () => {
    const tools = [{ type: 'tool_search' }, fn('read'), fn('paint', { defer_loading: true })]
    const input = [
      user('Hi'),
      {
        type: 'tool_search_call',
        id: 'tsc_7',
        call_id: null,
        execution: 'server',
        arguments: { query: 'paint' },
      },
      { type: 'tool_search_output', id: 'tso_7', call_id: null, execution: 'server', tools: [tools[2]] },
      ...[call('c1', 'paint'), output('c1')],
    ]
    const given = request({ tools, input })
    expect(given.tools?.[0]).toEqual({
      type: 'tool_search_tool_bm25_20251119',
      name: 'tool_search_tool_bm25',
    })
    expect(given.messages[1]?.content).toEqual([
      { type: 'server_tool_use', id: 'srvtoolu_7', name: 'tool_search_tool_bm25', input: { query: 'paint' } },
      {
        type: 'tool_search_tool_result',
        tool_use_id: 'srvtoolu_7',
        content: {
          type: 'tool_search_tool_search_result',
          tool_references: [{ type: 'tool_reference', tool_name: 'paint' }],
        },
      },
      use('c1', 'paint'),
    ])
    expect(validateRequest({ max_tokens: 9, ...given })).toBeUndefined()
  })

  test('a search that the client runs loads the definitions that it returns', () => {
    const tools = [
      { type: 'tool_search', execution: 'client', description: 'Search.', parameters: { type: 'object' } },
    ]
    const found = { type: 'namespace', name: 'mail', description: '', tools: [fn('send')] }
    const given = request({
      tools,
      input: [
        user('Hi'),
        { type: 'tool_search_call', call_id: 's1', execution: 'client', arguments: { query: 'mail' } },
        {
          type: 'tool_search_output',
          call_id: 's1',
          execution: 'client',
          status: 'completed',
          tools: [found, fn('x')],
        },
        ...[call('c1', 'send', { namespace: 'mail' }), output('c1'), user('Go')],
      ],
    })
    expect(given.tools?.map(({ name, defer_loading: isDeferred }) => [name, isDeferred])).toEqual([
      ['tool_search', false],
      ['mail__send', true],
      ['x', true],
    ])
    expect(given.messages[1]?.content).toEqual([use('s1', 'tool_search', { query: 'mail' })])
    expect(given.messages[2]?.content).toEqual([
      result('s1', [
        { type: 'tool_reference', tool_name: 'mail__send' },
        { type: 'tool_reference', tool_name: 'x' },
      ]),
    ])
    expect(validateRequest({ max_tokens: 9, ...given })).toBeUndefined()
  })

  test('tools that are added at the start are tools; those added later leave the list before them as it was', () => {
    const early = { type: 'additional_tools', role: 'developer', tools: [fn('a')] }
    const late = { type: 'additional_tools', role: 'developer', tools: [fn('b')] }
    const given = request({
      tools: [fn('read')],
      input: [early, developer('Hi'), user('Hi'), spoken('Yes'), user('Go'), late],
    })
    expect(given.tools?.map(({ name, defer_loading: isDeferred }) => [name, isDeferred])).toEqual([
      ['read', undefined],
      ['a', undefined],
      ['b', true],
    ])
    expect(given.messages.at(-1)?.content).toEqual([
      result('additional_tools_1', [{ type: 'tool_reference', tool_name: 'b' }]),
    ])
    expect(validateRequest({ max_tokens: 9, ...given })).toBeUndefined()
  })

  test("the search tools of gateways ask for hidden searches, as their clients know no others' items", () => {
    const tools = [{ type: 'openrouter:tool_search' }, fn('paint', { defer_loading: true })]
    const { request, hidesSearches } = read({ tools })
    expect(hidesSearches).toBe(true)
    expect(request.tools?.map(({ name }) => name)).toEqual(['paint'])
  })
})

describe('settings', () => {
  test.each([
    [{ effort: 'medium' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }],
    [{ effort: 'none' }, { thinking: { type: 'disabled' } }],
    [{ effort: 'minimal' }, { thinking: { type: 'disabled' } }],
    [{ summary: 'auto' }, { thinking: { type: 'adaptive', display: 'summarized' } }],
    [{ summary: 'none' }, {}],
    [null, {}],
  ])('reasoning %j', (reasoning, expected) => {
    const { thinking, output_config } = request({ reasoning })
    expect({ thinking, output_config }).toEqual({
      thinking: undefined,
      output_config: undefined,
      ...expected,
    })
  })

  test('sampling, limits and formats', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    expect(
      request({
        ...{ max_output_tokens: 50, temperature: 1.5, top_p: 0.5, safety_identifier: 'me', stream: true },
        text: { format: { type: 'json_schema', name: 'x', schema }, verbosity: 'low' },
      }),
    ).toMatchObject({
      ...{ max_tokens: 50, temperature: 1.5, top_p: 0.5, metadata: { user_id: 'me' }, stream: true },
      output_config: { format: { type: 'json_schema', schema } },
    })
    expect(request({ text: { format: { type: 'json_object' } } }).system).toMatch(/JSON object/)
  })

  test("the terms hold OpenAI's own settings, and the instructions without our note", () => {
    const { terms } = read({
      ...{
        instructions: 'Be kind.',
        store: false,
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: 'k',
      },
      tools: [{ type: 'namespace', name: 'mail', description: 'Mail.', tools: [fn('send')] }],
    })
    expect(terms?.settings).toEqual({
      ...{ instructions: 'Be kind.', include: ['reasoning.encrypted_content'], prompt_cache_key: 'k' },
    })
    expect(terms?.tools.get('mail__send')).toMatchObject({
      type: 'namespace',
      name: 'mail',
      tools: [fn('send')],
    })
  })

  test.each([
    [{ previous_response_id: 'resp_1' }, /^previous_response_id$/],
    [{ conversation: 'conv_1' }, /^conversation$/],
    [{ prompt: { id: 'p' } }, /^prompt$/],
    [{ background: true }, /^background$/],
    [
      { input: [user('Hi'), { type: 'item_reference', id: 'msg_1' }] },
      /^input\[1\]: the item_reference "msg_1"$/,
    ],
    [{ input: [{ id: 'msg_1' }] }, /^input\[0\]: the item_reference "msg_1"$/],
    [{ input: [{ type: 'compaction', encrypted_content: 'x' }, user('Hi')] }, /^input\[0\]: compaction$/],
    [{ top_logprobs: 3 }, /^top_logprobs$/],
    [{ text: { format: { type: 'xml' } } }, /^text\.format: the type "xml"$/],
    [{ text: { format: { type: 'json_schema' } } }, /^text\.format: a json_schema without a schema$/],
  ])('%j can only be forwarded', (body, what) => {
    expect(read(body).unconvertible).toMatch(what)
  })

  test('store is accepted, though nothing is stored', () => {
    expect(read({ store: true }).unconvertible).toBeUndefined()
  })

  test.each([
    [{ model: 5 }, 'model'],
    [{ input: [] }, 'input'],
    [{ input: [{}] }, 'input[0].type'],
    [{ input: [{ type: 'message', role: 'user', content: '' }] }, 'input'],
    [{ input: [{ type: 'message', role: 'king', content: 'x' }] }, 'input'],
    [{ input: [{ type: 'novelty' }] }, 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f1' }] }] }, 'input'],
    [{ tools: 'all' }, 'tools'],
    [{ tools: [{ type: 'function' }] }, 'tools'],
    [{ tools: [{}] }, 'tools'],
    [{ tool_choice: { type: 'function', name: 'gone' } }, 'tool_choice'],
    [{ tool_choice: 'any' }, 'tool_choice'],
    [{ max_output_tokens: -1 }, 'max_output_tokens'],
    [{ temperature: 'warm' }, 'temperature'],
    [{ top_p: {} }, 'top_p'],
  ])('%j is refused, with the parameter', (body, param) => {
    const { message, ...error } = refusal(body)
    expect(error).toEqual({ type: 'invalid_request_error', param, code: null })
    expect(message).toMatch(/send|leave|is no/)
  })
})

describe('cost', () => {
  test('items that were known before are the same messages again', () => {
    const items = [user('Hi'), spoken('I look.'), call('c1', 'read'), output('c1'), user('Go')].map((item) =>
      Object.freeze(item),
    )
    const tools = Object.freeze([Object.freeze(fn('read'))])
    const [first, second] = [
      request({ tools, input: items }),
      request({ tools, input: [...items, spoken('Ok'), user('!')] }),
    ]
    expect(first.tools).toBe(second.tools)
    for (const [index, message] of first.messages.entries()) expect(second.messages[index]).toBe(message)
  })

  test('more items than can be converted without holding up others are refused', () => {
    const items = (count: number) => Array.from({ length: count }, () => user('x'))
    expect(() => read({ input: items(20_000) })).not.toThrow()
    expect(refusal({ input: items(20_001) }).message).toMatch(/^input: at most 20000 .* there are 20001/)
  })

  test('outputs of searches find their own search in any order, and without ids the earliest', () => {
    const search = (id: string) => ({
      type: 'tool_search_call',
      id,
      execution: 'server',
      arguments: { query: id },
    })
    const output = (id: string) => ({ type: 'tool_search_output', id, execution: 'server', tools: [] })
    const items = [
      user('x'),
      ...['tsc_a', 'tsc_b', 'tsc_c'].map(search),
      ...['tso_c', '', 'tso_b'].map(output),
    ]
    const { messages } = request({ tools: [{ type: 'tool_search' }], input: [...items, user('y')] })
    const ids = (messages[1]!.content as Fields[]).flatMap(({ tool_use_id: id }) => id ?? [])
    expect(ids).toEqual(['srvtoolu_c', 'srvtoolu_a', 'srvtoolu_b'])
  })

  test('an item is looked at equally often, however long the conversation is', () => {
    const looksAt = (turns: number): number => {
      let looks = 0
      const counted = (item: Fields) =>
        Object.defineProperty({ ...item }, 'type', {
          enumerable: true,
          get() {
            looks++
            return item.type
          },
        })
      const input = Array.from({ length: turns }, (_, at) => [
        ...[user(`${at}`), call(`c${at}`, 'read'), output(`c${at}`)].map(counted),
      ]).flat()
      read({ input, tools: [fn('read')] })
      return looks
    }
    expect(looksAt(2000)).toBeLessThanOrEqual(looksAt(200) * 10)
    expect(looksAt(10)).toBeGreaterThan(10)
  })
})
