// The Responses API on both sides: what a client says reaches OpenAI as it was, and what OpenAI replies reaches the client.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCollector, eventsOf } from '../../src/core/index.ts'
import { visibleTools, walkRequest } from '../../src/core/oracle/index.ts'
import { type Fields, fieldsOf, listOf, textOf } from '../../src/lib/index.ts'
import { responsesApi } from '../../src/messages/inbound/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { dialectOf } from '../../src/messages/upstream/dialects.ts'
import { nativeTools } from '../../src/messages/upstream/native-tools.ts'
import { toMessageEvents } from '../../src/messages/upstream/responses-events.ts'
import { toResponses } from '../../src/messages/upstream/responses-request.ts'
import { thoughtsOf } from '../../src/messages/upstream/thoughts.ts'
import { runs, seedOr } from '../support/runs.ts'
import { anyMove, anySetup, requestsOf } from './support/random-contract.ts'

const tries = runs(60)
const seed = seedOr(20261117)
const MODEL = 'gpt-5.4'
const dialect = dialectOf(new URL('https://api.openai.com/v1'), MODEL)
const thoughts = thoughtsOf('responses', MODEL)

const fn = (name: string, extra: Fields = {}) => ({
  ...{
    type: 'function',
    name,
    description: name,
    strict: false,
    parameters: { type: 'object', properties: {} },
  },
  ...extra,
})
const tools = [
  fn('read', { strict: true }),
  { type: 'namespace', name: 'mcp__mail', description: 'Mail.', tools: [fn('send'), fn('list')] },
  { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
  ...[{ type: 'shell' }, { type: 'apply_patch' }, { type: 'web_search', external_web_access: true }],
]

/** What OpenAI gets for a client's request. */
function sent(body: Fields, hasSearch = false): Fields {
  const { request, terms } = responsesApi.read({ model: MODEL, ...body })
  const translated = toResponses(request, dialect, thoughts, nativeTools(terms, hasSearch))
  return JSON.parse(JSON.stringify(translated.body))
}

const user = (text: string) => ({ type: 'message', role: 'user', content: text })
const ran = [{ stdout: 'x', stderr: '', outcome: { type: 'exit', exit_code: 2 } }]

/** Every kind of item that agents send, as the upstream writes it. */
const history = [
  user('Hi'),
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'gAAAA',
  },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
  { type: 'message', role: 'assistant', content: 'I look.' },
  {
    type: 'function_call',
    call_id: 'c1',
    name: 'send',
    namespace: 'mcp__mail',
    arguments: '{"n":12345678901234567890}',
  },
  { type: 'function_call', call_id: 'c2', name: 'read', arguments: '{}' },
  { type: 'custom_tool_call', call_id: 'c3', name: 'patch', status: 'completed', input: '*** "Begin"\n' },
  {
    ...{ type: 'shell_call', call_id: 'c4', status: 'completed', environment: { type: 'local' } },
    action: { max_output_length: null, timeout_ms: 5, commands: ['ls'] },
  },
  {
    type: 'apply_patch_call',
    call_id: 'c5',
    status: 'completed',
    operation: { type: 'delete_file', path: 'a' },
  },
  { type: 'function_call_output', call_id: 'c1', output: 'sent' },
  {
    ...{ type: 'function_call_output', call_id: 'c2' },
    output: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }],
  },
  { type: 'custom_tool_call_output', call_id: 'c3', output: 'Done' },
  { type: 'shell_call_output', call_id: 'c4', output: ran },
  { type: 'apply_patch_call_output', call_id: 'c5', status: 'failed', output: 'no such file' },
  user('Go on'),
]

describe('a client of Responses in front of OpenAI', () => {
  test('tools and items of every kind arrive as they were', () => {
    const body = sent({ input: history, tools })
    expect(body.tools).toEqual(tools)
    expect(body.input).toEqual(history)
  })

  test('settings survive too', () => {
    const settings = {
      ...{ instructions: 'Be kind.', reasoning: { effort: 'xhigh', summary: 'detailed' }, temperature: 1.7 },
      ...{
        text: { verbosity: 'low', format: { type: 'json_object' } },
        prompt_cache_key: 'k',
        max_output_tokens: 50,
      },
      ...{ metadata: { a: 'b' }, service_tier: 'flex', truncation: 'auto', client_metadata: { c: 'd' } },
      ...{ parallel_tool_calls: false, stream: true, store: false },
    }
    const body = sent({ ...settings, input: 'Hi', tools })
    expect(body).toMatchObject({ ...settings, include: ['reasoning.encrypted_content'] })
  })

  test.each([
    ['required', 'required'],
    [
      { type: 'function', name: 'read' },
      { type: 'function', name: 'read' },
    ],
    [
      { type: 'custom', name: 'patch' },
      { type: 'custom', name: 'patch' },
    ],
    [{ type: 'apply_patch' }, { type: 'apply_patch' }],
  ])('so does tool_choice %j', (tool_choice, expected) => {
    expect(sent({ input: 'Hi', tools, tool_choice }).tool_choice).toEqual(expected)
  })

  test('a search that the client runs, with the tools that it loads', () => {
    const found = { type: 'namespace', name: 'crm', description: 'CRM.', tools: [fn('find')] }
    const search = {
      ...{ type: 'tool_search', execution: 'client', description: 'Search.' },
      parameters: { type: 'object', properties: { query: { type: 'string' } } },
    }
    const call = { call_id: 's1', execution: 'client', status: 'completed' }
    const input = [
      user('Hi'),
      { type: 'tool_search_call', ...call, arguments: { query: 'crm' } },
      { type: 'tool_search_output', ...call, tools: [found, fn('alone')] },
      { type: 'function_call', call_id: 'c1', name: 'find', namespace: 'crm', arguments: '{}' },
      // OpenAI puts a loaded tool in a namespace of its own name.
      { type: 'function_call', call_id: 'c2', name: 'alone', namespace: 'alone', arguments: '{}' },
      ...['c1', 'c2'].map((call_id) => ({ type: 'function_call_output', call_id, output: 'ok' })),
    ]
    const body = sent({ input, tools: [search, fn('read')] }, true)
    expect(body.tools).toEqual([search, fn('read')])
    expect(body.input).toEqual(input)
  })

  test('replies come back with their items, whatever the gateway calls the tools', async () => {
    const { request, terms, reply } = responsesApi.read({
      ...{ model: MODEL, tools, input: 'Hi', stream: false, reasoning: { summary: 'auto' } },
    })
    const native = nativeTools(terms)
    const translated = toResponses(request, dialect, thoughts, native)
    const { names, searchName } = translated
    const output = [...history.slice(1, 3), ...history.slice(4, 9)]
    const context = { model: MODEL, names, searchName, thoughts, native }
    const writer = reply()
    const response = { id: 'resp_9', model: MODEL, status: 'completed', output, usage: {} }
    for await (const event of toMessageEvents(once({ type: 'response.completed', response }), context))
      writer.add(event)
    const got = listOf(JSON.parse(writer.document()).output).map(fieldsOf)
    // Items have ids and a status of ours; what was asked for is the same.
    for (const [index, item] of output.entries()) {
      const { id: _, encrypted_content: __, ...rest } = item as Fields
      expect(got[index]).toMatchObject(rest)
    }
    expect(got[1]).toEqual(output[1])
    // And once more around, OpenAI gets its own reasoning back.
    const outputs = got
      .filter(({ call_id: id }) => id !== undefined)
      .map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: 'x' }))
    const again = sent({ tools, input: [user('Hi'), ...got, ...outputs] })
    expect(listOf(again.input)[1]).toEqual(history[1])
    expect(listOf(again.input)[2]).toEqual(history[2])
  })
})

async function* once(event: Fields): AsyncGenerator<Fields> {
  yield event
}

/** What a model sees of a conversation: who said what, and which calls were made. */
function told(request: MessagesRequest): string[] {
  return walkRequest(request).steps.flatMap(({ block, role }) => {
    if (block.type === 'text') return [`${role}: ${textOf(block.text)}`]
    if (block.type === 'tool_use') return [`call ${textOf(block.name)} ${JSON.stringify(block.input)}`]
    return []
  })
}

describe('a conversation of the contract', () => {
  test('sent to OpenAI and read again as a client would send it: the same tools are visible', () => {
    fc.assert(
      fc.property(anySetup, fc.array(anyMove, { minLength: 1, maxLength: 6 }), (setup, moves) => {
        for (const request of requestsOf(setup, moves)) {
          const translated = toResponses(request, dialect, thoughts)
          const { request: again } = responsesApi.read(JSON.parse(JSON.stringify(translated.body)))
          const before = visibleTools(request).filter((name) => !/^tool_search/.test(name))
          const after = visibleTools(again).filter((name) => !/^tool_search/.test(name))
          // A removal is sent as text, so the tool stays visible.
          const isRemoving = moves.some(({ kind }) => kind === 'change' || kind === 'compact')
          if (isRemoving) expect(after).toEqual(expect.arrayContaining(before))
          else expect(after.toSorted()).toEqual(before.toSorted())
        }
      }),
      { numRuns: tries, seed },
    )
  })

  test('without deferral: the same words and calls', () => {
    const names = ['read', 'write']
    const anyText = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.trim() !== '')
    const anyTurn = fc.record({
      said: anyText,
      calls: fc.array(
        fc.record({
          name: fc.constantFrom(...names),
          input: fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 })),
        }),
        { maxLength: 3 },
      ),
      reply: anyText,
    })
    fc.assert(
      fc.property(fc.array(anyTurn, { minLength: 1, maxLength: 5 }), (turns) => {
        let ids = 0
        const messages = turns.flatMap(({ said, calls, reply }) => {
          const uses = calls.map((call) => ({ type: 'tool_use', id: `c${++ids}`, ...call }))
          const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: id }))
          return [
            { role: 'user', content: [{ type: 'text', text: said }] },
            { role: 'assistant', content: [{ type: 'text', text: reply }, ...uses] },
            ...(results.length > 0 ? [{ role: 'user', content: results }] : []),
          ]
        })
        const input_schema = { type: 'object', properties: {} }
        const request = {
          ...{ model: MODEL, max_tokens: 99, system: 'Be kind.', stream: true },
          ...{ tools: names.map((name) => ({ name, description: name, input_schema })), messages },
        }
        const translated = toResponses(request, dialect, thoughts)
        const { request: again } = responsesApi.read(JSON.parse(JSON.stringify(translated.body)))
        expect(again).toEqual(request)
        expect(told(again)).toEqual(told(request))
      }),
      { numRuns: tries, seed },
    )
  })

  test('a reply written for a client and read as an upstream reads it is the same reply', async () => {
    const names = ['read', 'write']
    const anyText = fc.string({ minLength: 1, maxLength: 20 })
    const anyBlock = fc.oneof(
      fc.record({ type: fc.constant('text'), text: anyText }),
      fc.record({
        type: fc.constant('tool_use'),
        name: fc.constantFrom(...names),
        input: fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 })),
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(anyBlock, { maxLength: 5 }), fc.boolean(), async (blocks, isCut) => {
        const content = blocks.map((block, at) =>
          block.type === 'text' ? block : { ...block, id: `c${at}` },
        )
        const hasCalled = blocks.some(({ type }) => type === 'tool_use')
        const stop_reason = isCut ? 'max_tokens' : hasCalled ? 'tool_use' : 'end_turn'
        const usage = {
          ...{
            input_tokens: 3,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 4,
            output_tokens: 5,
          },
        }
        const message = {
          ...{ id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, content },
          ...{ stop_reason, stop_sequence: null, usage },
        }
        const { names: spelled, searchName } = toResponses(
          { model: MODEL, messages: [] },
          dialect,
          thoughts,
        ) as never
        const writer = responsesApi
          .read({ model: MODEL, input: 'Hi', stream: true, tools: names.map((name) => fn(name)) })
          .reply()
        const events = [...eventsOf(message)].map(writer.add).join('')
        const collector = createCollector()
        const context = { model: MODEL, names: spelled, searchName, thoughts }
        for await (const event of toMessageEvents(parsed(events), context)) collector.add(event)
        expect(JSON.stringify(collector.message().content)).toBe(JSON.stringify(contentOf(content)))
        expect(collector.message()).toMatchObject({ id: 'msg_1', model: MODEL, stop_reason, usage })
      }),
      { numRuns: tries, seed },
    )
  })
})

/** The order of a call's fields, as replies have it. */
function contentOf(content: readonly Fields[]): Fields[] {
  return content.map(({ type, text, id, name, input }) =>
    type === 'text' ? { type, text } : { type, id, name, input },
  )
}

async function* parsed(text: string): AsyncGenerator<Fields> {
  for (const chunk of text.split('\n\n')) {
    const data = chunk.split('\n').find((line) => line.startsWith('data: '))
    if (data) yield JSON.parse(data.slice(6))
  }
}
