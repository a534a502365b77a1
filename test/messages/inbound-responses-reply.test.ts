// Replies in the Responses API: the events of each kind of item, the response object, and the way back in.
import type OpenAI from 'openai'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { describe, expect, test } from 'vitest'
import { eventsOf } from '../../src/core/index.ts'
import { type Fields, fieldsOf, listOf, textOf } from '../../src/lib/index.ts'
import { responsesApi } from '../../src/messages/inbound/index.ts'

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
const mail = {
  type: 'namespace',
  name: 'mail',
  description: 'Mail.',
  tools: [fn('send', { defer_loading: true })],
}
const tools = [
  ...[fn('read'), mail, fn('paint', { defer_loading: true }), { type: 'custom', name: 'patch' }],
  ...[{ type: 'local_shell' }, { type: 'shell' }, { type: 'apply_patch' }, { type: 'tool_search' }],
]
const asked = { model: 'm', input: 'Hi', tools, reasoning: { summary: 'auto' }, instructions: 'Be kind.' }
const usage = {
  ...{ input_tokens: 10, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 7 },
}
const message = (content: readonly Fields[], extra: Fields = {}): Fields => ({
  ...{
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm-1',
    content,
    stop_reason: 'end_turn',
    usage,
  },
  ...extra,
})

/** The events that a client gets for a reply. */
function stream(reply: Fields, body: Fields = {}): Fields[] {
  const writer = responsesApi.read({ ...asked, ...body, stream: true }).reply()
  return parsed([...eventsOf(reply)].map(writer.add).join(''))
}

function parsed(text: string): Fields[] {
  const chunks = text.split('\n\n').filter((chunk) => chunk !== '' && !chunk.startsWith(':'))
  return chunks.map((chunk) => {
    const [, type = '', data = ''] = /^event: (.*)\ndata: (.*)$/s.exec(chunk) ?? []
    const event = JSON.parse(data)
    expect(event.type).toBe(type)
    return event
  })
}

/** The response object that a client gets, if it does not stream. */
function whole(reply: Fields, body: Fields = {}): Fields {
  const writer = responsesApi.read({ ...asked, ...body }).reply()
  for (const event of eventsOf(reply)) expect(writer.add(event)).toBe('')
  return JSON.parse(writer.document())
}

const outputOf = (content: readonly Fields[], body: Fields = {}) =>
  whole(message(content), body).output as Fields[]
const typesOf = (events: readonly Fields[]) => events.map(({ type }) => textOf(type).replace('response.', ''))

/** The reply of the model as the client sends it back. */
function backIn(items: readonly Fields[]): Fields | undefined {
  const calls = items.filter(({ type, execution }) => /_call$/.test(textOf(type)) && execution !== 'server')
  const outputs = calls.map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: 'x' }))
  const input = [{ role: 'user', content: 'Hi' }, ...items, ...outputs, { role: 'user', content: 'Go' }]
  return responsesApi.read({ ...asked, input }).request.messages[1]
}

const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string, name: string, input: Fields) => ({ type: 'tool_use', id, name, input })
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'sig' }
const every = [
  thought,
  { type: 'redacted_thinking', data: 'xyz' },
  text('Hello'),
  { type: 'server_tool_use', id: 'srvtoolu_9', name: 'tool_search_tool_bm25', input: { query: 'mail' } },
  {
    type: 'tool_search_tool_result',
    tool_use_id: 'srvtoolu_9',
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: ['mail__send', 'paint'].map((name) => ({ type: 'tool_reference', tool_name: name })),
    },
  },
  use('c1', 'read', { a: 1 }),
  use('c2', 'mail__send', {}),
  use('c3', 'patch', { input: '*** Begin\n"x"' }),
  use('c4', 'local_shell', { command: ['ls'], env: {} }),
  use('c5', 'shell', { commands: ['ls'], timeout_ms: 5, max_output_length: null }),
  use('c6', 'apply_patch', { type: 'delete_file', path: 'a' }),
]

/** A refusal as the gateway writes it inside. */
const errorAnswer = (status: number, type: string, message: string) => ({
  ...{ status, headers: {}, body: JSON.stringify({ type: 'error', error: { type, message } }) },
})

describe('events', () => {
  test('text', () => {
    const events = stream(message([text('Hello')]))
    expect(typesOf(events)).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    ])
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, index) => index))
    expect(events[4]).toMatchObject({ item_id: 'msg_1_0', output_index: 0, content_index: 0, delta: 'Hello' })
  })

  test('calls, with the name and the namespace that the client knows', () => {
    const events = stream(message([use('c2', 'mail__send', { a: 1 })], { stop_reason: 'tool_use' }))
    expect(typesOf(events).slice(2)).toEqual([
      ...['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done'],
      ...['output_item.done', 'completed'],
    ])
    expect(events[5]?.item).toEqual({
      ...{
        id: 'fc_1_0',
        type: 'function_call',
        status: 'completed',
        call_id: 'c2',
        name: 'send',
        namespace: 'mail',
      },
      arguments: '{"a":1}',
    })
  })

  test('freeform calls', () => {
    const events = stream(message([use('c3', 'patch', { input: '*** Begin' })]))
    expect(typesOf(events).slice(2)).toEqual([
      ...['output_item.added', 'custom_tool_call_input.delta', 'custom_tool_call_input.done'],
      ...['output_item.done', 'completed'],
    ])
    expect(events[5]?.item).toMatchObject({ type: 'custom_tool_call', name: 'patch', input: '*** Begin' })
  })

  test('reasoning, with a summary only if the client asks for it', () => {
    const shown = stream(message([thought, text('Hello')]))
    expect(typesOf(shown).slice(2, 8)).toEqual([
      ...['output_item.added', 'reasoning_summary_part.added', 'reasoning_summary_text.delta'],
      ...['reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done'],
    ])
    const hidden = stream(message([thought, text('Hello')]), { reasoning: null })
    expect(typesOf(hidden).slice(2, 4)).toEqual(['output_item.added', 'output_item.done'])
    expect(JSON.stringify(hidden)).not.toContain('Hm.')
    expect(hidden[3]?.item).toMatchObject({
      type: 'reasoning',
      summary: [],
      encrypted_content: expect.any(String),
    })
  })

  test('a sign of life is an event as soon as there is a response', () => {
    const writer = responsesApi.read({ ...asked, stream: true }).reply()
    expect(writer.ping).toMatch(/^: /)
    const [start] = eventsOf(message([]))
    const said = writer.add(start!) + writer.ping + writer.ping
    expect(parsed(said).map(({ sequence_number: at }) => at)).toEqual([0, 1, 2, 3])
  })

  test('a stream says what the whole reply says, and the official SDK reads it', async () => {
    const reply = message(every, { stop_reason: 'tool_use' })
    const events = stream(reply)
    events.splice(5, 0, { type: 'keepalive', sequence_number: 5 })
    const lines = events.map((event) => JSON.stringify(event)).join('\n')
    const sdk = ResponseStream.fromReadableStream(new Blob([lines]).stream())
    const seen = (await sdk.finalResponse()) as unknown as Fields
    const { output, status } = whole(reply)
    expect(events.at(-1)?.response).toMatchObject({ output, status })
    expect(seen).toMatchObject({ status: 'completed', output_text: 'Hello' })
    expect(seen.output).toMatchObject(output as Fields[])
  })

  test('an error in the stream ends the response as failed', () => {
    const writer = responsesApi.read({ ...asked, stream: true }).reply()
    const [start] = eventsOf(message([]))
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    const [last, ...more] = parsed(writer.add(start!) + writer.add({ type: 'error', error })).reverse()
    expect(last).toMatchObject({
      ...{ type: 'response.failed', sequence_number: more.length },
      response: {
        id: 'resp_1',
        status: 'failed',
        error: { code: 'server_is_overloaded', message: 'Overloaded' },
      },
    })
    expect(writer.add({ type: 'message_stop' })).toBe('')
    expect(JSON.parse(writer.document())).toMatchObject({ status: 'failed', output: [], usage: null })
  })

  test('one in the middle of a call continues with the numbers and the id, and does not complete the call', () => {
    const writer = responsesApi.read({ ...asked, stream: true }).reply()
    const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { path: '/' } }
    const begun = [...eventsOf(message([text('Hm'), call]))].slice(0, -3)
    const answer = errorAnswer(502, 'api_error', 'it broke off')
    const events = parsed(begun.map(writer.add).join('') + writer.failure(answer))
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()])
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { id: 'resp_1', status: 'failed', error: { message: 'it broke off' } },
    })
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    expect(done.map(({ item }) => (item as Fields).type)).toEqual(['message'])
  })

  test('a stream that has only a failure has its beginning, too', () => {
    const answer = errorAnswer(400, 'invalid_request_error', 'prompt is too long: 9 tokens > 5 maximum')
    const writer = responsesApi.read({ ...asked, stream: true }).reply()
    const events = parsed(writer.failure(answer))
    expect(events.map(({ type }) => type)).toEqual([
      ...['response.created', 'response.in_progress', 'response.failed'],
    ])
    expect(events.at(-1)).toMatchObject({
      response: { status: 'failed', error: { code: 'context_length_exceeded' } },
    })
  })
})

describe('the response', () => {
  test('usage counts cached tokens as input', () => {
    expect(whole(message([text('Hi')])).usage).toEqual({
      ...{
        input_tokens: 45,
        input_tokens_details: { cached_tokens: 30, cache_write_tokens: 5 },
        output_tokens: 7,
      },
      ...{ output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 52 },
    })
  })

  test.each([
    ['end_turn', 'completed', null],
    ['tool_use', 'completed', null],
    ['stop_sequence', 'completed', null],
    ['max_tokens', 'incomplete', { reason: 'max_output_tokens' }],
    ['refusal', 'incomplete', { reason: 'content_filter' }],
    ['pause_turn', 'incomplete', { reason: 'max_output_tokens' }],
  ])('stop reason %s: %s', (stop_reason, status, incomplete_details) => {
    const reply = message([text('Hi')], { stop_reason })
    expect(whole(reply)).toMatchObject({ status, incomplete_details })
    expect(stream(reply).at(-1)).toMatchObject({ type: `response.${status}`, response: { status } })
  })

  test('repeats the request, and says that nothing is stored', () => {
    const body = {
      store: true,
      temperature: 0.5,
      metadata: { a: 'b' },
      tool_choice: 'required',
      max_output_tokens: 9,
    }
    expect(whole(message([text('Hi')]), body)).toMatchObject({
      ...{
        ...body,
        store: false,
        id: 'resp_1',
        object: 'response',
        model: 'm-1',
        tools,
        instructions: 'Be kind.',
      },
      parallel_tool_calls: true,
    })
  })

  test('ids are unique, and the same for the same reply', () => {
    const [one, two] = [outputOf(every), outputOf(every)]
    expect(one).toEqual(two)
    expect(new Set(one.map(({ id }) => id)).size).toBe(one.length)
  })

  test('found tools come with the definitions of the client, the tools of a namespace together', () => {
    const output = outputOf(every).find(({ type }) => type === 'tool_search_output')
    expect(output).toEqual({
      ...{ id: 'tso_9', type: 'tool_search_output', call_id: null, execution: 'server', status: 'completed' },
      tools: [mail, tools[2]],
    })
  })

  test('numbers that JavaScript cannot represent keep their digits', () => {
    const search = { type: 'tool_search', execution: 'client', parameters: { type: 'object' } }
    const writer = responsesApi.read({ ...asked, tools: [search] }).reply()
    const index = 0
    const [start, ...end] = eventsOf(message([]))
    writer.add(start!)
    writer.add({ type: 'content_block_start', index, content_block: use('s1', 'tool_search', {}) })
    const partial_json = '{"number":12345678901234567890}'
    writer.add({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } })
    writer.add({ type: 'content_block_stop', index })
    for (const event of end) writer.add(event)
    expect(writer.document()).toContain('"number":12345678901234567890')
  })
})

describe('the way back', () => {
  test('every kind of block comes back as it was', () => {
    expect(backIn(outputOf(every))?.content).toEqual(every)
  })

  test('without ids, as some clients send items back', () => {
    const items = outputOf(every).map(({ id: _, ...item }) => item)
    const search = (blocks: unknown) =>
      (blocks as Fields[]).filter(
        ({ type }) => !/^(server_tool_use|tool_search_tool_result)$/.test(textOf(type)),
      )
    expect(search(backIn(items)?.content)).toEqual(search(every))
  })

  test('a client-run search is called as such', () => {
    const tool = { type: 'tool_search', execution: 'client', parameters: { type: 'object' } }
    const [item] = outputOf([use('s1', 'tool_search', { query: 'mail' })], { tools: [tool] })
    expect(item).toMatchObject({
      ...{ type: 'tool_search_call', call_id: 's1', execution: 'client', status: 'completed' },
      arguments: { query: 'mail' },
    })
  })

  test('a failed search', () => {
    const content = { type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message: null }
    const blocks = [
      every[3]!,
      { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_9', content },
      text('Oh'),
    ]
    expect(backIn(outputOf(blocks))?.content).toEqual(blocks)
  })

  test('reasoning of OpenAI goes back as it came, and thinking at the end is dropped', () => {
    const item = { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'gAAAAABo' }
    const said = backIn([item, ...outputOf([text('Hi'), thought])])
    const blocks = listOf(said?.content).map(fieldsOf)
    expect(blocks.map(({ type }) => type)).toEqual(['thinking', 'text'])
    expect(outputOf(blocks)[0]).toEqual(item)
  })

  test('reasoning whose content was lost is dropped', () => {
    const lost = outputOf([thought, text('Hi')]).map((item) => ({ ...item, encrypted_content: null }))
    expect(backIn(lost)?.content).toEqual([text('Hi')])
  })
})

/** What the SDK calls a response: our documents have all of its fields. */
test('a whole reply has the fields that the SDK declares', () => {
  const response = whole(message([text('Hi')])) as unknown as OpenAI.Responses.Response
  const { created_at, error, incomplete_details, metadata, temperature, top_p, tool_choice } = response
  expect({ error, incomplete_details, metadata, temperature, top_p, tool_choice }).toEqual({
    ...{ error: null, incomplete_details: null, metadata: {}, temperature: 1, top_p: 1, tool_choice: 'auto' },
  })
  expect(created_at).toBeGreaterThan(1_700_000_000)
})

describe('the input of a freeform tool', () => {
  const TEXT = '*** Begin "Patch"\n\\\t€ 🦓 é \u0007 end'

  /** Streams a call whose JSON comes in pieces. */
  function streamed(pieces: readonly string[]) {
    const writer = responsesApi.read({ ...asked, stream: true }).reply()
    const call = { type: 'tool_use', id: 'toolu_1', name: 'patch', input: {} }
    const events = [
      { type: 'message_start', message: message([]) },
      { type: 'content_block_start', index: 0, content_block: call },
      ...pieces.map((partial_json) => ({
        ...{ type: 'content_block_delta', index: 0 },
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
    ]
    const written = parsed(events.map((event) => writer.add(event)).join(''))
    const deltas = written.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
    const done = written.find(({ type }) => type === 'response.custom_tool_call_input.done')
    return { deltas: deltas.map(({ delta }) => textOf(delta)), input: done?.input }
  }

  const escaped = (text: string) =>
    JSON.stringify({ input: text }).replace(
      /[^\x20-\x7e]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )

  test.each([
    ['as it is', JSON.stringify({ input: TEXT })],
    ['escaped', escaped(TEXT)],
    ['spaced', ` { "input" : ${JSON.stringify(TEXT)} } `],
  ])('is streamed as it comes, %s, and no character is split', (_, json) => {
    for (const size of [1, 2, 3, 5, 1000]) {
      const units = json.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      const { deltas, input } = streamed(units)
      expect(input).toBe(TEXT)
      expect(deltas.join('')).toBe(TEXT)
      for (const delta of deltas) expect(delta.isWellFormed()).toBe(true)
      if (size < 5) expect(deltas.length).toBeGreaterThan(5)
    }
  })

  test.each([
    ['without the field', ['{"text":', '"a"}'], '{"text":"a"}'],
    ['with a line break that is not JSON', ['{"input":"a\nb', '"}'], 'a\nb'],
    ['that is not JSON', ['{"input":"a "b', '" c"}'], 'a "b" c"}'],
    [
      'with an escape that JSON does not have',
      ['{"input":"a\\d', ' is more than one"}'],
      'a\\d is more than one"}',
    ],
    ['that breaks off', ['{"input":"ab', 'c\\u00'], 'abc'],
  ])('%s is complete at the end', (_, pieces, input) => {
    expect(streamed(pieces).input).toBe(input)
  })
})
