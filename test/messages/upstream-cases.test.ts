// Upstreams in tables: calls by items of their own, addresses, credentials, names, errors, thoughts, wires and masks.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { toChatRequest } from '../../src/messages/upstream/chat-request.ts'
import { dialectOf } from '../../src/messages/upstream/dialects.ts'
import {
  ANTHROPIC,
  appendPath,
  callItemsIn,
  callItemsOf,
  citedRange,
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
  isKeptThought,
  itemIn,
  keepItem,
  maskHeaders,
  maskingStream,
  toolTypeOf,
  withoutSearchBetas,
  withPromptCache,
} from '../../src/messages/upstream/index.ts'
import { nativeTools, withJoinedNamespaces } from '../../src/messages/upstream/native-tools.ts'
import {
  addressOf,
  bearer,
  errorTextOf,
  namesOf,
  openaiOrigin,
  systemText,
  toMessagesError,
  toModels,
  traceContext,
} from '../../src/messages/upstream/openai.ts'
import { toMessageEvents } from '../../src/messages/upstream/responses-events.ts'
import { toResponses } from '../../src/messages/upstream/responses-request.ts'
import { thoughtsOf, withoutKeptThoughts } from '../../src/messages/upstream/thoughts.ts'
import { assistant, result, text, tool, use, user } from '../oracle/requests.ts'
import type { Loose } from '../support/talk.ts'
import { effects } from '../support/variants.ts'

const file = (name: string) => `./conversions/${name}.txt`
const show = (value: unknown) => JSON.stringify(value) ?? 'undefined'
const table = (rows: readonly (readonly [unknown, unknown])[]) =>
  rows.map(([given, made]) => `${show(given)} → ${show(made)}`).join('\n')

const image = { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }

it('wire 41 calls by items of their own are written and read in each form', async () => {
  const inputs: Fields[] = [
    {},
    { input: 'x' },
    { input: 5 },
    { command: 'ls -l', env: { A: '1' }, type: 'exec' },
    { command: ['ls'], commands: 'ls', timeout_ms: 5 },
    { commands: ['a', 'b'] },
    { type: 'create_file', path: 'a', diff: '+x' },
  ]
  const items: Fields[] = [
    {},
    { input: 'x', action: { type: 'exec', command: ['ls'] }, operation: { type: 'delete_file', path: 'a' } },
    { input: 5, action: 'x', operation: null },
    { output: 'text', status: 'completed' },
    { output: '', status: 'failed' },
    { output: [{ stdout: 'x' }], status: 'failed' },
    { output: null },
  ]
  const texts = ['', 'plain', '[]', '[{"stdout":"x"}]', '[1]', '{"a":1}', '[']
  const lines = ['custom', 'local_shell', 'shell', 'apply_patch', 'function', 'web_search'].flatMap(
    (type) => {
      const kind = callItemsOf(type)
      if (!kind) return [`${type}: none`]
      return [
        `${type}: ${kind.type} ${kind.idPrefix} ${toolTypeOf(kind)}`,
        `  ${callItemsIn(kind.type) === kind} ${callItemsIn(`${kind.type}_output`) === kind}`,
        ...inputs.map((input) => `  from ${show(input)}: ${show(kind.fromInput(input))}`),
        ...items.map(
          (item) => `  of ${show(item)}: ${show(kind.toInput(item))} ${show(kind.toResult(item))}`,
        ),
        ...texts.flatMap((said) =>
          [false, true].map((isError) => `  ${said} ${isError}: ${show(kind.fromResult(said, isError))}`),
        ),
      ]
    },
  )
  lines.push(show([callItemsIn('function_call'), callItemsIn('custom_tool_call_output_output')]))
  lines.push(show(toolTypeOf({ ...callItemsOf('shell') } as never)))
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file('call-items'))
})

/** The tools of a client that speaks Responses. */
const named = (type: string, name: string, more: Fields = {}) => ({ type, name, ...more })
const own = {
  read: named('function', 'read', { strict: true, defer_loading: true }),
  mail_send: named('namespace', 'mail', { tools: [named('function', 'send', { defer_loading: true })] }),
  mail_list: named('namespace', 'mail', { tools: [named('function', 'list')] }),
  patch: named('custom', 'patch', { format: { type: 'text' } }),
  local_shell: { type: 'local_shell' },
  shell: { type: 'shell' },
  apply_patch: { type: 'apply_patch' },
  find: { type: 'tool_search', execution: 'client' },
  web: { type: 'web_search' },
}
const calls = ['read', 'mail_send', 'patch', 'local_shell', 'shell', 'apply_patch', 'find', 'other']
const asked = {
  terms: { api: 'responses', settings: { seed: 5, include: ['x'], temperature: 0.1 }, tools: own },
  hasSearch: true,
  request: {
    model: 'gpt-5.4',
    max_tokens: 5,
    tools: [...Object.keys(own).filter((name) => name !== 'web'), 'other'].map((name) => tool(name)),
    tool_choice: { type: 'tool', name: 'patch' },
    messages: [
      user(text('hi'), image),
      assistant(
        ...calls.map((name, index) => ({ ...use(`c${index}`, name), input: { input: 'x', command: 'ls' } })),
      ),
      user(
        result('c0', [text('one'), image]),
        result('c1', 'two', { is_error: true }),
        result('c2', [text('three'), text('more')]),
        result('c3', [text('four'), image], { is_error: true }),
        result('c4', '[{"stdout":"x"}]'),
        result('c5', 'six', { is_error: true }),
        result('c6', [{ type: 'tool_reference', tool_name: 'mail_list' }]),
        result('c7', []),
      ),
    ],
  },
}

const thoughts = thoughtsOf('upstream', 'model')
const dialect = dialectOf(new URL('https://api.openai.com'), 'gpt-5.4')

function nativeOf({ terms, hasSearch }: Loose) {
  return nativeTools(terms && { ...terms, tools: new Map(Object.entries(terms.tools ?? {})) }, hasSearch)
}

it("wire 41 a client's own tools reach an upstream that speaks its API, every part of them", async () => {
  const write = (given: Loose) => {
    const made = toResponses(given.request, dialect, thoughts, nativeOf(given))
    const { tools, input, ...rest } = made.body as Loose
    return [show({ ...rest, search: made.searchName }), ...(tools ?? []).map(show), ...input.map(show)]
  }
  await expect(await effects(asked, write)).toMatchFileSnapshot(file('to-responses-own'))
  const choices = ['find', 'shell', 'mail_send', 'read', 'nothing'].map((name) => ({ type: 'tool', name }))
  const rows = [...choices, { type: 'any' }, { type: 'auto' }, { type: 'none' }, undefined].map(
    (choice): [unknown, unknown] => {
      const request = { ...asked.request, tool_choice: choice } as unknown as MessagesRequest
      const made: Loose = toResponses(request, dialect, thoughts, nativeOf(asked))
      return [choice, made.body.tool_choice]
    },
  )
  expect(table(rows)).toMatchInlineSnapshot(`
    "{"type":"tool","name":"find"} → {"type":"tool_search"}
    {"type":"tool","name":"shell"} → {"type":"shell"}
    {"type":"tool","name":"mail_send"} → {"type":"function","name":"send"}
    {"type":"tool","name":"read"} → {"type":"function","name":"read"}
    {"type":"tool","name":"nothing"} → {"type":"function","name":"nothing"}
    {"type":"any"} → "required"
    {"type":"auto"} → undefined
    {"type":"none"} → "none"
    undefined → undefined"
  `)
})

it("wire 41 calls of a client's own tools come back under its names, and items of the upstream's tools are kept", async () => {
  const item = (output_index: number, fields: Fields, type = 'done') => ({
    type: `response.output_item.${type}`,
    output_index,
    item: fields,
  })
  const call = (name: string, more: Fields = {}) => ({
    ...{ type: 'function_call', call_id: 'a', name, arguments: '{}' },
    ...more,
  })
  const stream = [
    item(0, call('send', { namespace: 'mail' }), 'added'),
    item(0, call('send', { namespace: 'mail' })),
    item(1, call('read', { namespace: 'read' })),
    item(2, call('list', { namespace: 'other' })),
    item(3, { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'x' }),
    item(4, { type: 'apply_patch_call', call_id: 'c', operation: { type: 'delete_file' } }),
    item(5, { type: 'web_search_call', id: 'ws', action: { query: 'x' } }),
    item(6, { type: 'shell_call_output', call_id: 'd' }),
    item(7, { type: 'tool_search_call', id: 'e', execution: 'client', status: 'completed', arguments: {} }),
    item(8, { type: 'tool_search_call', id: 'f', execution: 'server', status: 'completed' }),
    item(9, { type: 'tool_search_call', id: 'g', status: 'in_progress' }, 'added'),
    { type: 'response.completed', response: {} },
  ]
  const write = async ({ events, isNative }: { events: Fields[]; isNative: boolean }) => {
    const names = namesOf(Object.keys(own).map((name) => ({ name })))
    const native = isNative ? nativeOf(asked) : undefined
    async function* all() {
      yield* events
    }
    const lines: string[] = []
    const context = { model: 'm', names, searchName: native?.searchName, thoughts, native }
    try {
      for await (const event of toMessageEvents(all(), context)) lines.push(show(event))
    } catch (error) {
      lines.push((error as Error).message)
    }
    return lines
  }
  await expect(await effects({ events: stream, isNative: true }, write)).toMatchFileSnapshot(
    file('from-responses-own'),
  )
  const whole = [
    [{ type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } }],
    [{ type: 'response.incomplete', response: { incomplete_details: { reason: 'content_filter' } } }],
    [
      {
        type: 'response.completed',
        response: { output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }] },
      },
    ],
    [{ type: 'response.refusal.delta', output_index: 0, delta: '' }, { type: 'response.completed' }],
    [{ type: 'response.completed', response: { output: [call('read')] } }],
    [item(0, call('', {}), 'added'), { type: 'response.completed' }],
    [item(0, call('')), { type: 'response.completed' }],
    [item(0, { ...call('read'), call_id: '' }), { type: 'response.completed' }],
    [{ type: 'error', message: 'busy' }],
    [{ type: 'response.failed', response: { error: { message: 'broken' } } }],
    [{ type: 'response.failed' }],
    [{ type: 'response.created', response: { id: 'resp_1' } }],
    [],
    [{ type: 'response.completed' }, { type: 'error' }],
  ]
  const rows: [unknown, unknown][] = []
  for (const events of whole) {
    const lines = await write({ events, isNative: false })
    const after = lines.filter((line) => !line.includes('message_start'))
    rows.push([events.map(({ type }) => type), after.map((line) => line.slice(0, 110))])
  }
  expect(table(rows)).toMatchInlineSnapshot(`
    "["response.incomplete"] → ["{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"max_tokens\\",\\"stop_sequence\\":null},\\"usage\\":{\\"input_tokens\\":0,\\"c","{\\"type\\":\\"message_stop\\"}"]
    ["response.incomplete"] → ["{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"refusal\\",\\"stop_sequence\\":null},\\"usage\\":{\\"input_tokens\\":0,\\"cach","{\\"type\\":\\"message_stop\\"}"]
    ["response.completed"] → ["{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"refusal\\",\\"stop_sequence\\":null,\\"stop_details\\":{\\"type\\":\\"refusal\\"","{\\"type\\":\\"message_stop\\"}"]
    ["response.refusal.delta","response.completed"] → ["{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"refusal\\",\\"stop_sequence\\":null,\\"stop_details\\":{\\"type\\":\\"refusal\\"","{\\"type\\":\\"message_stop\\"}"]
    ["response.completed"] → ["{\\"type\\":\\"content_block_start\\",\\"index\\":0,\\"content_block\\":{\\"type\\":\\"tool_use\\",\\"id\\":\\"a\\",\\"name\\":\\"read\\",\\"input\\":{}}}","{\\"type\\":\\"content_block_delta\\",\\"index\\":0,\\"delta\\":{\\"type\\":\\"input_json_delta\\",\\"partial_json\\":\\"\\"}}","{\\"type\\":\\"content_block_delta\\",\\"index\\":0,\\"delta\\":{\\"type\\":\\"input_json_delta\\",\\"partial_json\\":\\"{}\\"}}","{\\"type\\":\\"content_block_stop\\",\\"index\\":0}","{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"tool_use\\",\\"stop_sequence\\":null},\\"usage\\":{\\"input_tokens\\":0,\\"cac","{\\"type\\":\\"message_stop\\"}"]
    ["response.output_item.added","response.completed"] → ["{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"end_turn\\",\\"stop_sequence\\":null},\\"usage\\":{\\"input_tokens\\":0,\\"cac","{\\"type\\":\\"message_stop\\"}"]
    ["response.output_item.done","response.completed"] → ["the upstream called a tool without a name or an id."]
    ["response.output_item.done","response.completed"] → ["the upstream called a tool without a name or an id."]
    ["error"] → ["the upstream ended its reply with an error: busy"]
    ["response.failed"] → ["the upstream ended its reply with an error: broken"]
    ["response.failed"] → ["the upstream ended its reply with an error"]
    ["response.created"] → ["the upstream ended its reply before it was complete. Try again."]
    [] → ["the upstream ended its reply before it was complete. Try again."]
    ["response.completed","error"] → ["{\\"type\\":\\"message_delta\\",\\"delta\\":{\\"stop_reason\\":\\"end_turn\\",\\"stop_sequence\\":null},\\"usage\\":{\\"input_tokens\\":0,\\"cac","{\\"type\\":\\"message_stop\\"}"]"
  `)
})

it('tools of a namespace are joined at the place of the first', () => {
  const space = (name: string, ...tools: unknown[]) => ({ type: 'namespace', name, tools })
  const f = { type: 'function', name: 'mail' }
  expect(withJoinedNamespaces([space('mail', 1), f, space('other'), space('mail', 2, 3), f])).toEqual([
    ...[space('mail', 1, 2, 3), f, space('other'), f],
  ])
  const none = nativeTools(undefined)
  expect([none.isNative, none.definitionOf('a'), none.toolOf('a'), none.insideName('', 'a')]).toEqual([
    ...[false, undefined, undefined, undefined],
  ])
  expect(nativeTools({ api: 'chat', settings: { a: 1 }, tools: new Map() })).toBe(none)
})

describe('addresses and credentials', () => {
  const bases = [
    'http://a.example',
    'http://a.example/',
    'http://a.example/v1//',
    'http://a.example/x/v1?q=1',
  ]

  it('are made from any spelling of the base URL', () => {
    const paths = ['/v1/messages', '/v1/models?limit=2', '/messages', '/v1']
    const rows = bases.map((base): [unknown, unknown] => {
      const url = new URL(base)
      const messages = createMessagesUpstream({ url })
      return [
        base,
        [
          String(addressOf(url, 'models')),
          String(appendPath(url, '/x?y=1')),
          ...paths.flatMap((path) => [
            String(openaiOrigin(url, undefined).address(path)),
            String(messages.origin?.address(path)),
          ]),
        ],
      ]
    })
    expect(table(rows)).toMatchInlineSnapshot(`
      ""http://a.example" → ["http://a.example/models","http://a.example/x?y=1","http://a.example/messages","http://a.example/v1/messages","http://a.example/models?limit=2","http://a.example/v1/models?limit=2","http://a.example/messages","http://a.example/messages","http://a.example/v1","http://a.example/v1"]
      "http://a.example/" → ["http://a.example/models","http://a.example/x?y=1","http://a.example/messages","http://a.example/v1/messages","http://a.example/models?limit=2","http://a.example/v1/models?limit=2","http://a.example/messages","http://a.example/messages","http://a.example/v1","http://a.example/v1"]
      "http://a.example/v1//" → ["http://a.example/v1/models","http://a.example/v1/x?y=1","http://a.example/v1/messages","http://a.example/v1/messages","http://a.example/v1/models?limit=2","http://a.example/v1/models?limit=2","http://a.example/v1/messages","http://a.example/messages","http://a.example/v1/v1","http://a.example/v1"]
      "http://a.example/x/v1?q=1" → ["http://a.example/x/v1/models?q=1","http://a.example/x/v1/x?y=1","http://a.example/x/v1/messages","http://a.example/x/v1/messages","http://a.example/x/v1/models?limit=2","http://a.example/x/v1/models?limit=2","http://a.example/x/v1/messages","http://a.example/x/messages","http://a.example/x/v1/v1","http://a.example/x/v1"]"
    `)
  })

  it('are the key of the gateway, or those of the client', () => {
    const clients: Loose[] = [
      {},
      { authorization: 'Bearer own', 'x-api-key': 'k', other: 'o' },
      { 'x-api-key': 'k' },
      { authorization: 'Bearer sk-ant-1' },
      { authorization: 'bearer SK-ANT-1' },
      { 'x-api-key': 'sk-ant-2' },
      { authorization: 'Basic sk-ant-3' },
    ]
    const url = new URL('http://a.example')
    const anthropic = (options: object, base = url) =>
      createMessagesUpstream({ url: base, ...options }).origin
    const rows = clients.map((headers): [unknown, unknown] => [
      headers,
      [
        bearer(headers, undefined),
        bearer(headers, 'key'),
        openaiOrigin(url, 'key').credentials(headers),
        anthropic({ keyOtherwise: 'otherwise' })?.credentials(headers),
        anthropic({ key: 'key', keyOtherwise: 'otherwise' }, ANTHROPIC)?.credentials(headers),
        anthropic({})?.credentials(headers),
      ],
    ])
    expect(table(rows)).toMatchInlineSnapshot(`
      "{} → [{},{"authorization":"Bearer key"},{"authorization":"Bearer key"},{"x-api-key":"otherwise","authorization":"Bearer otherwise"},{"x-api-key":"key"},{}]
      {"authorization":"Bearer own","x-api-key":"k","other":"o"} → [{"authorization":"Bearer own"},{"authorization":"Bearer key"},{"other":"o","authorization":"Bearer key"},{"authorization":"Bearer own","x-api-key":"k","other":"o"},{"other":"o","x-api-key":"key"},{"authorization":"Bearer own","x-api-key":"k","other":"o"}]
      {"x-api-key":"k"} → [{"authorization":"Bearer k"},{"authorization":"Bearer key"},{"authorization":"Bearer key"},{"x-api-key":"k"},{"x-api-key":"key"},{"x-api-key":"k"}]
      {"authorization":"Bearer sk-ant-1"} → [{},{"authorization":"Bearer key"},{"authorization":"Bearer key"},{"authorization":"Bearer sk-ant-1"},{"x-api-key":"key"},{"authorization":"Bearer sk-ant-1"}]
      {"authorization":"bearer SK-ANT-1"} → [{},{"authorization":"Bearer key"},{"authorization":"Bearer key"},{"authorization":"bearer SK-ANT-1"},{"x-api-key":"key"},{"authorization":"bearer SK-ANT-1"}]
      {"x-api-key":"sk-ant-2"} → [{},{"authorization":"Bearer key"},{"authorization":"Bearer key"},{"x-api-key":"sk-ant-2"},{"x-api-key":"key"},{"x-api-key":"sk-ant-2"}]
      {"authorization":"Basic sk-ant-3"} → [{"authorization":"Basic sk-ant-3"},{"authorization":"Bearer key"},{"authorization":"Bearer key"},{"authorization":"Basic sk-ant-3"},{"x-api-key":"key"},{"authorization":"Basic sk-ant-3"}]"
    `)
    const parent = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'
    const contexts: Loose[] = [
      { traceparent: parent },
      { traceparent: parent, tracestate: 's', other: 'o' },
      { traceparent: 'x', tracestate: 's' },
      { tracestate: 's' },
    ]
    expect(contexts.map((headers) => Object.keys(traceContext(headers)).join())).toEqual([
      ...['traceparent', 'traceparent,tracestate', '', ''],
    ])
  })

  it('betas of tool search are left out', () => {
    const rows = [
      {},
      { 'anthropic-beta': 'a', x: 'y' },
      { 'anthropic-beta': 'tool-search-tool-2025-10-19, a ,advanced-tool-use-2025-11-20', x: 'y' },
      { 'anthropic-beta': 'mid-conversation-output-config-2026-07-01', x: 'y' },
    ].map((headers: Loose): [unknown, unknown] => [headers, withoutSearchBetas(headers)])
    expect(table(rows)).toMatchInlineSnapshot(`
      "{} → {}
      {"anthropic-beta":"a","x":"y"} → {"x":"y","anthropic-beta":"a"}
      {"anthropic-beta":"tool-search-tool-2025-10-19, a ,advanced-tool-use-2025-11-20","x":"y"} → {"x":"y","anthropic-beta":"a"}
      {"anthropic-beta":"mid-conversation-output-config-2026-07-01","x":"y"} → {"x":"y"}"
    `)
  })
})

it('wires are chosen by the model and the host, or forced', () => {
  const models = [
    ...['gpt-3.5-turbo', 'gpt-35-turbo', 'gpt-4.9', 'gpt-5', 'gpt-5.3', 'gpt-5.4', 'gpt-5.10-mini', 'gpt-6'],
    ...['openai/gpt-5.4', 'gpt-4.1', 'my-gpt-5.4', 'ft:gpt-5.4:org', 'gpt-10', 'llama', ''],
  ]
  const responses = createResponsesUpstream({ url: new URL('http://a.example') })
  const chosen = models.map((model): [unknown, unknown] => [model, responses.wireFor(model).wire])
  expect(table(chosen)).toMatchInlineSnapshot(`
    ""gpt-3.5-turbo" → "append"
    "gpt-35-turbo" → "append"
    "gpt-4.9" → "append"
    "gpt-5" → "append"
    "gpt-5.3" → "append"
    "gpt-5.4" → "native"
    "gpt-5.10-mini" → "native"
    "gpt-6" → "native"
    "openai/gpt-5.4" → "native"
    "gpt-4.1" → "append"
    "my-gpt-5.4" → "append"
    "ft:gpt-5.4:org" → "native"
    "gpt-10" → "append"
    "llama" → "append"
    "" → "append""
  `)
  const openai = new URL('https://api.openai.com/v1')
  const others = [
    responses.wireFor('gpt-5.4'),
    createResponsesUpstream({ url: openai, wire: 'append' }).wireFor('gpt-5.4'),
    createResponsesUpstream({ url: openai }).wireFor('llama'),
    createChatUpstream({ url: openai, wire: 'bridge' }).wireFor('x'),
    createChatUpstream({ url: new URL('https://openrouter.ai') }).wireFor('llama'),
    createMessagesUpstream({ url: ANTHROPIC }).wireFor('claude-opus-4-6'),
    createMessagesUpstream({ url: ANTHROPIC }).wireFor('claude-3-5-haiku-20241022'),
    createMessagesUpstream({ url: openai }).wireFor('claude-opus-4-6'),
    createMessagesUpstream({ url: openai }).wireFor('claude-opus-5-5'),
    createMessagesUpstream({ url: openai, wire: 'native' }).wireFor('x'),
  ]
  expect(others).toMatchInlineSnapshot(`
    [
      {
        "maxTools": 128,
        "why": "has tool_search, as gpt-5.4 and later do",
        "wire": "native",
      },
      {
        "maxTools": 128,
        "why": "it is forced",
        "wire": "append",
      },
      {
        "maxTools": 128,
        "why": "tool_search needs gpt-5.4 or later",
        "wire": "append",
      },
      {
        "maxTools": 128,
        "why": "it is forced",
        "wire": "bridge",
      },
      {
        "searchesTools": true,
        "why": "Chat Completions has no tool references",
        "wire": "append",
      },
      {
        "why": "api.anthropic.com understands references",
        "wire": "native",
      },
      {
        "why": "claude-3-5-haiku-20241022 does not understand references",
        "wire": "append",
      },
      {
        "why": "api.openai.com is not known to understand references",
        "wire": "append",
      },
      {
        "why": "api.openai.com is not known to understand references",
        "wire": "bridge",
      },
      {
        "why": "forced",
        "wire": "native",
      },
    ]
  `)
})

it('servers and models differ as the table says', async () => {
  const hosts = [
    ...['localhost', 'api.openai.com', 'xapi.openai.com', 'me.openai.azure.com', 'openrouter.ai'],
    ...['model.baseten.co', 'orq.ai', 'xorq.ai', 'api.deepseek.com', 'api.moonshot.cn', 'api.z.ai', 'xz.ai'],
    ...['open.bigmodel.cn', 'kimi.com', 'generativelanguage.googleapis.com', 'x-aiplatform.googleapis.com'],
    ...['xaiplatform.googleapis.com', 'api.mistral.ai', 'localhost.mistral.ai.example'],
  ]
  const models = [
    ...['gpt-4o', 'openai/gpt-4o', 'chatgpt-4o', 'gpt-oss-20b', 'o3', 'o3-mini', 'oo3', 'gpt-5', 'gpt-5.1'],
    ...['gpt-5.2', 'gpt-5.10', 'gpt-6', 'gpt-10', 'mygpt-5', 'DeepSeek-V3', 'kimi-k2', 'glm-4', 'glm'],
    ...['Gemini-2.5', 'gemini-3', 'gemini-10', 'Mistral-7B', 'ministral', 'magistral', 'devstral', 'pixtral'],
    ...['mixtral', 'codestral', 'tral', 'llama'],
  ]
  const plain: Fields = dialectOf(new URL('http://localhost'), 'llama')
  const differing = (one: Fields) =>
    show(Object.fromEntries(Object.entries(one).filter(([key, value]) => value !== plain[key])))
  const lines = [
    show(plain),
    ...hosts.map((host) => `${host} ${differing(dialectOf(new URL(`https://${host}`), 'llama'))}`),
    ...models.map((model) => `${model} ${differing(dialectOf(new URL('http://localhost'), model))}`),
    `both ${differing(dialectOf(new URL('https://api.openai.com'), 'gpt-5.4'))}`,
  ]
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file('dialects'))
})

describe('answers of other APIs', () => {
  it('errors are converted, whatever their form', () => {
    const bodies: unknown[] = [
      ...[
        { error: { message: 'm', code: 1 } },
        { error: 'e' },
        { message: 'm', detail: 'd' },
        { detail: [1] },
      ],
      ...[{ error: {} }, { error: { code: 5 } }, { error: null, message: 'later' }, {}, [], 'text', 5, null],
      ...[[{ error: { message: 'first' } }], { detail: false }, { error: { error: { message: 'deep' } } }],
    ]
    expect(table(bodies.map((body) => [body, errorTextOf(body)]))).toMatchInlineSnapshot(`
      "{"error":{"message":"m","code":1}} → "m"
      {"error":"e"} → "e"
      {"message":"m","detail":"d"} → "m"
      {"detail":[1]} → "[1]"
      {"error":{}} → "{}"
      {"error":{"code":5}} → "{\\"code\\":5}"
      {"error":null,"message":"later"} → "later"
      {} → ""
      [] → ""
      "text" → "text"
      5 → ""
      null → ""
      [{"error":{"message":"first"}}] → "first"
      {"detail":false} → ""
      {"error":{"error":{"message":"deep"}}} → "deep""
    `)
    const answers: Loose[] = [
      ...[301, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503, 504, 529].map((status) => ({
        status,
      })),
      { status: 400, body: ' <p>no</p> ' },
      { status: 400, body: 'x'.repeat(501) },
      {
        status: 400,
        body: '{"error":{"message":"m"}}',
        headers: { 'request-id': 'r', location: 'l', a: 'b' },
      },
      { status: 400, body: '{"a":1}', headers: { 'request-id': 'r', 'x-request-id': 'x' } },
    ]
    const converted = answers.map((answer): [unknown, unknown] => {
      const { status, headers, body } = toMessagesError({ headers: {}, body: '', ...answer })
      const { type, error, request_id } = JSON.parse(body)
      return [
        answer.status,
        [status, headers, type, error.type, error.message.slice(0, 80), error.message.length, request_id],
      ]
    })
    expect(table(converted)).toMatchInlineSnapshot(`
      "301 → [502,{"content-type":"application/json"},"error","api_error","the upstream answered with status 301 and gave no reason",56,null]
      400 → [400,{"content-type":"application/json"},"error","invalid_request_error","the upstream answered with status 400 and gave no reason",56,null]
      401 → [401,{"content-type":"application/json"},"error","authentication_error","the upstream answered with status 401 and gave no reason",56,null]
      402 → [402,{"content-type":"application/json"},"error","billing_error","the upstream answered with status 402 and gave no reason",56,null]
      403 → [403,{"content-type":"application/json"},"error","permission_error","the upstream answered with status 403 and gave no reason",56,null]
      404 → [404,{"content-type":"application/json"},"error","not_found_error","the upstream answered with status 404 and gave no reason",56,null]
      408 → [408,{"content-type":"application/json"},"error","timeout_error","the upstream answered with status 408 and gave no reason",56,null]
      409 → [409,{"content-type":"application/json"},"error","invalid_request_error","the upstream answered with status 409 and gave no reason",56,null]
      413 → [413,{"content-type":"application/json"},"error","request_too_large","the upstream answered with status 413 and gave no reason",56,null]
      422 → [422,{"content-type":"application/json"},"error","invalid_request_error","the upstream answered with status 422 and gave no reason",56,null]
      429 → [429,{"content-type":"application/json"},"error","rate_limit_error","the upstream answered with status 429 and gave no reason",56,null]
      500 → [500,{"content-type":"application/json"},"error","api_error","the upstream answered with status 500 and gave no reason",56,null]
      503 → [503,{"content-type":"application/json"},"error","overloaded_error","the upstream answered with status 503 and gave no reason",56,null]
      504 → [504,{"content-type":"application/json"},"error","timeout_error","the upstream answered with status 504 and gave no reason",56,null]
      529 → [529,{"content-type":"application/json"},"error","overloaded_error","the upstream answered with status 529 and gave no reason",56,null]
      400 → [400,{"content-type":"application/json"},"error","invalid_request_error","<p>no</p>",9,null]
      400 → [400,{"content-type":"application/json"},"error","invalid_request_error","xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",500,null]
      400 → [400,{"request-id":"r","a":"b","content-type":"application/json"},"error","invalid_request_error","m",1,"r"]
      400 → [400,{"request-id":"r","x-request-id":"x","content-type":"application/json"},"error","invalid_request_error","the upstream answered with status 400 and gave no reason",56,"x"]"
    `)
  })

  it('lists of models are converted', () => {
    const lists: unknown[] = [
      { data: [{ id: 'a', created: 1 }, { id: 'b', name: 'B', created: 'x' }, { id: '' }, 5] },
      [{ id: 'c', created: 1e300 }],
      { data: [] },
      { data: {} },
      'x',
    ]
    const rows = lists.map((list): [unknown, unknown] => {
      const { status, body } = toModels({ status: 200, headers: { a: 'b' }, body: JSON.stringify(list) })
      return [list, [status, JSON.parse(body)]]
    })
    expect(table(rows)).toMatchInlineSnapshot(`
      "{"data":[{"id":"a","created":1},{"id":"b","name":"B","created":"x"},{"id":""},5]} → [200,{"data":[{"type":"model","id":"a","display_name":"a","created_at":"1970-01-01T00:00:01.000Z"},{"type":"model","id":"b","display_name":"B","created_at":"1970-01-01T00:00:00.000Z"}],"has_more":false,"first_id":"a","last_id":"b"}]
      [{"id":"c","created":1e+300}] → [200,{"data":[{"type":"model","id":"c","display_name":"c","created_at":"1970-01-01T00:00:00.000Z"}],"has_more":false,"first_id":"c","last_id":"c"}]
      {"data":[]} → [200,{"data":[],"has_more":false,"first_id":null,"last_id":null}]
      {"data":{}} → [502,{"type":"error","error":{"type":"api_error","message":"the upstream did not answer with a list of models. Check the path of its URL; most end in /v1."}}]
      "x" → [502,{"type":"error","error":{"type":"api_error","message":"the upstream did not answer with a list of models. Check the path of its URL; most end in /v1."}}]"
    `)
    expect(toModels({ status: 401, headers: {}, body: '{"error":"no"}' })).toMatchObject({ status: 401 })
  })

  it('names are shortened and found again, and prompts are text', () => {
    const long = 'x'.repeat(65)
    const names = namesOf([{ name: 'a.b' }, { name: long }, { name: 'x'.repeat(64) }, 5])
    const shorts = ['a.b', long, 'x'.repeat(64), 'ok_-9', 'ä', ''].map(names.short)
    expect(shorts).toMatchInlineSnapshot(`
      [
        "a_b_0mfnbzp6puf",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_0b72ts0zynz",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ok_-9",
        "__0x7igtkhtdj",
        "",
      ]
    `)
    expect(shorts.map(names.long).slice(0, 3)).toEqual(['a.b', long, 'x'.repeat(64)])
    expect(names.long('unknown')).toBe('unknown')
    const header = 'x-anthropic-billing-header: a=1\n\n'
    const prompts = [
      undefined,
      'a',
      `${header}b`,
      `b\n${header}`,
      [text('a'), text(''), text(header), text('b')],
      [5],
    ]
    expect(prompts.map(systemText)).toEqual(['', 'a', 'b', `b\n${header}`, 'a\n\nb', ''])
  })
})

describe('thoughts', () => {
  const other = thoughtsOf('upstream', 'other')
  const signature = thoughts.sign({ a: 1 })
  const listed = Buffer.from('[1]').toString('base64url')
  const start = signature.slice(0, signature.lastIndexOf('.') + 1)
  const item = keepItem({ type: 'x', id: 'y' })
  const blocks: Fields[] = [
    { type: 'thinking', signature },
    { type: 'text', signature },
    { type: 'thinking', signature: `x${signature}` },
    { type: 'thinking', signature: `${start}${listed}` },
    { type: 'thinking', signature: `${start}{` },
    { type: 'thinking', signature: 5 },
    item,
    { ...item, type: 'text' },
    { type: 'thinking', signature: `toolshelf.item.${listed}` },
    { type: 'thinking', signature: other.sign({}) },
  ]

  it('are read by the model that had them, and distinguished from those of others', () => {
    const rows = blocks.map((block) =>
      [thoughts.keptIn(block), itemIn(block), isKeptThought(block)].map(show).join(' '),
    )
    expect(rows).toMatchInlineSnapshot(`
      [
        "{"a":1} undefined true",
        "undefined undefined false",
        "undefined undefined false",
        "undefined undefined true",
        "undefined undefined true",
        "undefined undefined false",
        "undefined {"type":"x","id":"y"} true",
        "undefined undefined false",
        "undefined undefined true",
        "undefined undefined true",
      ]
    `)
  })

  it('are left out for Anthropic, with citations of others, and nothing else', () => {
    const cited = (...indexes: unknown[]) => ({
      ...text('x'),
      citations: indexes.map((encrypted_index) => ({ encrypted_index })),
    })
    const messages: Loose[] = [
      user(blocks[0]),
      assistant(blocks[0]),
      assistant(blocks[0], text('a')),
      assistant(text('b')),
      assistant(cited('toolshelf.cited.0-1'), cited('toolshelf.cited.0-1', 'own'), cited('own'), 'odd'),
      { role: 'assistant', content: 'text' },
      assistant(),
    ]
    const request = { model: 'm', messages } as unknown as MessagesRequest
    const made = withoutKeptThoughts(request).messages as Loose[]
    expect(made.map(show)).toMatchInlineSnapshot(`
      [
        "{"role":"user","content":[{"type":"thinking","signature":"toolshelf.2f0vk44wwvg.eyJhIjoxfQ"}]}",
        "{"role":"assistant","content":[{"type":"text","text":"a"}]}",
        "{"role":"assistant","content":[{"type":"text","text":"b"}]}",
        "{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"text","text":"x","citations":[{"encrypted_index":"own"}]},{"type":"text","text":"x","citations":[{"encrypted_index":"own"}]},"odd"]}",
        "{"role":"assistant","content":"text"}",
        "{"role":"assistant","content":[]}",
      ]
    `)
    expect(made[2]).toBe(messages[3])
    const untouched = { ...request, messages: [messages[3], messages[6]] } as unknown as MessagesRequest
    expect(withoutKeptThoughts(untouched)).toBe(untouched)
    const frozen = Object.freeze(assistant(blocks[0], text('a')))
    const twice = [1, 2].map(
      () => withoutKeptThoughts({ ...request, messages: [frozen] } as never).messages[0],
    )
    expect(twice[0]).toBe(twice[1])
    expect(
      ['toolshelf.cited.3-12', 'toolshelf.cited.3-', 'xtoolshelf.cited.3-4', 'toolshelf.cited.3-4x', 5].map(
        (encrypted_index) => citedRange({ encrypted_index }),
      ),
    ).toEqual([[3, 12], undefined, undefined, undefined, undefined])
  })
})

it('a prompt cache is asked for where no one else does', () => {
  const marked = { cache_control: { type: 'ephemeral' } }
  const terms = { api: 'chat', settings: {}, tools: new Map() }
  const base = { model: 'm', tools: [tool('a')], messages: [user(text('x'))] }
  const requests: Loose[] = [
    base,
    { ...base, tools: [] },
    { ...base, tools: undefined },
    { ...base, tools: [tool('a', marked)] },
    { ...base, system: [text('s', marked)] },
    { ...base, system: 's' },
    { ...base, messages: [user(text('x', marked))] },
    { ...base, messages: [{ role: 'user', content: 'x' }] },
    { ...base, cache_control: {} },
    { ...base, cache_control: null },
  ]
  const isAsked = (request: Loose, call: Loose, url: URL) => {
    const made = withPromptCache(request, call, url)
    return made === request ? 'same' : show(made.cache_control)
  }
  expect(requests.map((request) => isAsked(request, { terms }, ANTHROPIC))).toMatchInlineSnapshot(`
    [
      "{"type":"ephemeral"}",
      "same",
      "same",
      "same",
      "same",
      "{"type":"ephemeral"}",
      "same",
      "{"type":"ephemeral"}",
      "same",
      "{"type":"ephemeral"}",
    ]
  `)
  expect([isAsked(base, {}, ANTHROPIC), isAsked(base, { terms }, new URL('http://a.example'))]).toEqual([
    ...['same', 'same'],
  ])
})

describe('masks', () => {
  const secrets = ['secret-1', 'secret-1-longer', 'abcabd', 'abdull']

  it('hide secrets in a stream, wherever it is cut, and hold back only what may be one', async () => {
    const whole = 'a secret-1 b sec c abcabcabd ä secret-1-long abcab secret-1-longer abcabdull secret-1'
    const expected = 'a [redacte b sec c abc[redac ä [redacte-long abcab [redacted]***** [redacted [redacte'
    const bytes = Buffer.from(whole)
    for (let first = 0; first <= bytes.length; first += 3)
      for (const second of [first, first + 1, first + 7]) {
        const stream = maskingStream(secrets)
        const parts: Buffer[] = []
        stream.on('data', (part: Buffer) => parts.push(part))
        stream.write(bytes.subarray(0, first))
        stream.write(bytes.subarray(first, second))
        stream.end(bytes.subarray(second))
        await new Promise((resolve) => stream.on('end', resolve))
        expect(Buffer.concat(parts).toString()).toBe(expected)
      }
    const held = (said: string) => {
      const stream = maskingStream(secrets)
      stream.write(said)
      return said.length - String(stream.read() ?? '').length
    }
    expect(['x', 'xs', 'xsecret', 'abcab', 'abcabc', 'zz secret-', ''].map(held)).toEqual([
      ...[0, 1, 6, 5, 3, 7, 0],
    ])
    expect(maskHeaders({ a: 'is secret-1', b: 'abcabd' }, secrets)).toEqual({
      a: 'is [redacte',
      b: '[redac',
    })
  })

  it('hide the keys of the operator in errors and documents of an upstream', async () => {
    const server = createServer((request, response) => {
      const key = `${request.headers['x-api-key']} ${request.headers.authorization}`
      response.writeHead(request.url === '/v1/models' ? 200 : 400, { 'x-echo': key })
      response.end(JSON.stringify({ error: { message: `no ${key}` } }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const call = { headers: {}, signal: new AbortController().signal }
    const request = { model: 'm', max_tokens: 1, messages: [] } as unknown as MessagesRequest
    const lines: string[] = []
    for (const key of ['short', 'longer-key']) {
      const upstream = createMessagesUpstream({ url, key })
      const sampled: Loose = await upstream.sample(request, call)
      const answers = [
        sampled.refused,
        await upstream.countTokens(request, call),
        await upstream.models(call),
      ]
      for (const answer of answers) lines.push(`${answer?.headers['x-echo']} ${answer?.body}`)
      lines.push(show(upstream.origin?.secrets))
    }
    server.close()
    expect(lines).toMatchInlineSnapshot(`
      [
        "short Bearer short {"error":{"message":"no short Bearer short"}}",
        "short Bearer short {"error":{"message":"no short Bearer short"}}",
        "short Bearer short {"error":{"message":"no short Bearer short"}}",
        "undefined",
        "[redacted] Bearer [redacted] {"error":{"message":"no [redacted] Bearer [redacted]"}}",
        "[redacted] Bearer [redacted] {"error":{"message":"no [redacted] Bearer [redacted]"}}",
        "[redacted] Bearer [redacted] {"error":{"message":"no [redacted] Bearer [redacted]"}}",
        "["longer-key"]",
      ]
    `)
  })
})

it('events of a stream are read byte by byte', async () => {
  const said = [
    ...[': a comment', 'event: x', 'data: {"type":"ä€😀"}', '', 'data:{"type":"no space"}', 'id: 5', '', ''],
    ...['data: {"type":', 'data: "two lines"}', '', 'event: empty', '', 'data', 'data: {"type":"y"}', ''],
    ...['data: {"no":"type"}', '', 'data: {"type":"unfinished"}'],
  ]
  const types: string[][] = []
  for (const end of ['\n', '\r\n', '\r']) {
    const server = createServer(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.socket?.setNoDelay()
      for (const byte of Buffer.from(said.join(end))) {
        response.write(Buffer.of(byte))
        await new Promise((resolve) => setImmediate(resolve))
      }
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const request = { model: 'm', max_tokens: 1, messages: [], stream: true } as unknown as MessagesRequest
    const call = { headers: {}, signal: new AbortController().signal }
    const sampled = await createMessagesUpstream({ url }).sample(request, call)
    if (!('events' in sampled)) throw new Error('refused')
    const read: string[] = []
    for await (const { type } of sampled.events) read.push(type)
    types.push(read)
    server.close()
  }
  expect(types).toEqual(Array(3).fill(['ä€😀', 'no space', 'two lines', 'y']))
})

describe('requests to other APIs', () => {
  const dialects = [
    dialectOf(new URL('http://localhost'), 'llama'),
    dialectOf(new URL('https://api.openai.com'), 'gpt-5.4'),
    dialectOf(new URL('https://api.openai.com'), 'o3'),
    dialectOf(new URL('https://api.deepseek.com'), 'deepseek-chat'),
    dialectOf(new URL('https://api.mistral.ai'), 'mistral-large'),
  ]
  const both = (request: Loose) =>
    dialects.map((one) => {
      const { messages, ...chat } = toChatRequest(request, one, thoughts)
      const made: Loose = toResponses(request, one, thoughts)
      const { input, ...rest } = made.body
      return { messages, chat, input, rest }
    })

  it('have the settings that each server takes', async () => {
    const settings: Loose[] = [
      {},
      ...['disabled', 'adaptive', 'enabled', 'odd'].map((type) => ({ thinking: { type } })),
      { thinking: { type: 'enabled', budget_tokens: 20_000 } },
      { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
      ...['low', 'xhigh', 'max', 'odd'].map((effort) => ({ output_config: { effort } })),
      { output_format: { type: 'json_schema', schema: {} } },
      { output_config: { format: { type: 'text' } } },
      ...['short', 'sixsix', 'x'.repeat(64), 'x'.repeat(65), 'a b c d', ''].map((user_id) => ({
        metadata: { user_id },
      })),
      ...[1, 0].map((temperature) => ({ temperature, top_p: 0.5, stop_sequences: ['a'] })),
      ...[15, 16, 17].map((max_tokens) => ({ max_tokens, stream: true, stop_sequences: [] })),
      ...['auto', 'any', 'none', 'tool'].map((type) => ({
        tools: [tool('a'), { name: 'b.c', description: '', input_schema: 5 }],
        tool_choice: { type, name: 'b.c', disable_parallel_tool_use: type === 'any' },
      })),
      { tools: [], tool_choice: { type: 'any' }, system: 'Be.' },
    ]
    const lines = settings.flatMap((more) => [
      show(more),
      ...new Set(
        both({ model: 'm', max_tokens: 50, messages: [user(text('x'))], ...more }).map(
          ({ chat, rest }) => `  ${show(chat)} | ${show(rest)}`,
        ),
      ),
    ])
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file('settings'))
  })

  it('have content of every kind in the form that each server takes', async () => {
    const source = (type: string, more: Fields = {}) => ({ source: { type, ...more } })
    const data = { media_type: 'a/b', data: 'QUJD' }
    const blocks: Fields[] = [
      ...[
        text(''),
        text('x'),
        { type: 'image', ...source('base64', data) },
        { type: 'image', ...source('file') },
      ],
      ...['text', 'base64', 'url', 'file'].map((type) => ({
        type: 'document',
        ...source(type, { ...data, url: 'u' }),
      })),
      { type: 'document', title: 't', ...source('base64', data) },
      { type: 'document', ...source('content', { content: [text('a'), text(''), image, { type: 'odd' }] }) },
      { type: 'document', ...source('content', { content: 'plain' }) },
      { type: 'search_result', title: 't', source: 's', content: [text('a'), text('b')] },
      { type: 'search_result', source: 's', content: [] },
      { type: 'odd', a: 1 },
    ]
    const id = (length: number) => 'c'.repeat(length)
    const histories: Loose[][] = [
      ...blocks.map((block) => [user(block)]),
      ...blocks.map((block) => [assistant(use('c1', 'a')), user(result('c1', [block]))]),
      ...[9, 10, 40, 41].map((length) => [assistant(use(id(length), 'a')), user(result(id(length), 'x'))]),
      [
        assistant(use('c1', 'a'), use('c2', 'a')),
        user(result('c2'), result('c2', 'again'), result('c3'), text('t')),
      ],
      [assistant(use('c1', 'a')), assistant(text('b')), user(text('c')), user(text('d'))],
      [assistant(use('c1', 'a')), user(result('c1', [], { is_error: true }))],
      [assistant({ type: 'thinking', thinking: 'Hm.', signature: thoughts.sign({ a: 1 }) }, use('c1', 'a'))],
      [assistant({ type: 'thinking', thinking: 'Hm.', signature: 'other' }), user(text('x'))],
      [user(text('a')), { role: 'system', content: [text('s'), image] }, user(text('b'))],
      [
        { role: 'system', content: [image] },
        { role: 'system', content: 's' },
        { role: 'user', content: 'u' },
      ],
    ]
    const lines = histories.flatMap((messages) => [
      show(messages),
      ...new Set(
        both({ model: 'm', max_tokens: 50, tools: [tool('a')], messages }).flatMap((made) => [
          `  ${show(made.messages)}`,
          `  ${show(made.input)}`,
        ]),
      ),
    ])
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file('contents'))
  })
})
