// Replies of the Responses API as Messages streams: event orders as recorded, and what servers make of them.
import { describe, expect, test } from 'vitest'
import { createCollector } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { StreamEvent } from '../../src/messages/index.ts'
import { UpstreamError } from '../../src/messages/upstream/index.ts'
import { namesOf } from '../../src/messages/upstream/openai.ts'
import { toMessageEvents } from '../../src/messages/upstream/responses-events.ts'
import { thoughtsOf } from '../../src/messages/upstream/thoughts.ts'

const LONG = `mcp__${'warehouse'.repeat(8)}__count`
const names = namesOf([{ name: 'get_weather' }, { name: LONG }])
const asked = {
  model: 'gpt-5.4',
  names,
  searchName: 'tool_search_tool_regex',
  thoughts: thoughtsOf('r', 'm'),
}

async function translate(...events: Fields[]): Promise<StreamEvent[]> {
  async function* all() {
    yield* events
  }
  const translated: StreamEvent[] = []
  for await (const event of toMessageEvents(all(), asked)) translated.push(event)
  return translated
}

async function messageOf(...events: Fields[]): Promise<Fields> {
  const collector = createCollector()
  for (const event of await translate(...events)) collector.add(event)
  return collector.message()
}

const created = {
  type: 'response.created',
  response: { id: 'resp_1', model: 'gpt-5.4-2026-03-05', output: [] },
}
const usage = { input_tokens: 65, input_tokens_details: { cached_tokens: 40 }, output_tokens: 31 }
const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', usage } }
const added = (output_index: number, item: Fields) => ({
  type: 'response.output_item.added',
  output_index,
  item,
})
const done = (output_index: number, item: Fields) => ({
  type: 'response.output_item.done',
  output_index,
  item,
})
const textDelta = (output_index: number, delta: string) => ({
  type: 'response.output_text.delta',
  output_index,
  content_index: 0,
  delta,
})
const inputDelta = (output_index: number, delta: string) => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  delta,
})
const call = (call_id: string, name: string, args: string, more: Fields = {}) => ({
  type: 'function_call',
  call_id,
  name,
  arguments: args,
  ...more,
})
const said = (text: string) => ({ type: 'message', content: [{ type: 'output_text', text }] })

describe('a streamed reply', () => {
  test('text comes as Anthropic streams it, with the cached tokens counted apart', async () => {
    const part = { type: 'output_text', text: 'Hello' }
    const events = await translate(
      created,
      { type: 'response.in_progress', response: {} },
      added(0, { type: 'reasoning', summary: [] }),
      done(0, { type: 'reasoning', summary: [] }),
      added(1, { type: 'message', content: [] }),
      {
        type: 'response.content_part.added',
        output_index: 1,
        content_index: 0,
        part: { type: 'output_text' },
      },
      textDelta(1, 'Hel'),
      textDelta(1, 'lo'),
      { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'Hello' },
      { type: 'response.content_part.done', output_index: 1, content_index: 0, part },
      done(1, said('Hello')),
      completed,
    )
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'gpt-5.4-2026-03-05',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 0, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: {
          input_tokens: 25,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 40,
          output_tokens: 31,
        },
      },
      { type: 'message_stop' },
    ])
  })

  test('wire 24: parallel calls begin with an empty fragment, one block after the other', async () => {
    const events = await translate(
      created,
      added(0, call('call_a', 'get_weather', '')),
      inputDelta(0, '{"city":'),
      inputDelta(0, '"Rome"}'),
      done(0, call('call_a', 'get_weather', '{"city":"Rome"}')),
      added(1, call('call_b', 'get_weather', '')),
      inputDelta(1, '{}'),
      done(1, call('call_b', 'get_weather', '{}')),
      completed,
    )
    expect(events.slice(1, -2).map(({ type, index, delta }) => [type, index, delta])).toEqual([
      ['content_block_start', 0, undefined],
      ...['', '{"city":', '"Rome"}'].map((partial_json) => [
        'content_block_delta',
        0,
        { type: 'input_json_delta', partial_json },
      ]),
      ['content_block_stop', 0, undefined],
      ['content_block_start', 1, undefined],
      ...['', '{}'].map((partial_json) => [
        'content_block_delta',
        1,
        { type: 'input_json_delta', partial_json },
      ]),
      ['content_block_stop', 1, undefined],
    ])
    expect(events[1]?.content_block).toEqual({
      type: 'tool_use',
      id: 'call_a',
      name: 'get_weather',
      input: {},
    })
    expect(events.at(-2)?.delta).toMatchObject({ stop_reason: 'tool_use' })
  })

  test('items whose events are mixed come one after the other, nothing lost', async () => {
    const { content } = await messageOf(
      created,
      added(0, call('call_a', 'get_weather', '')),
      added(1, call('call_b', 'get_weather', '')),
      inputDelta(1, '{"city":"Oslo"}'),
      inputDelta(0, '{"city":'),
      done(1, call('call_b', 'get_weather', '{"city":"Oslo"}')),
      inputDelta(0, '"Rome"}'),
      done(0, call('call_a', 'get_weather', '{"city":"Rome"}')),
      completed,
    )
    expect(content).toMatchObject([
      { id: 'call_a', input: { city: 'Rome' } },
      { id: 'call_b', input: { city: 'Oslo' } },
    ])
  })

  test('wire 41: a client tool search is a call of the hosted tool, with the id of the finished item', async () => {
    const search = { type: 'tool_search_call', execution: 'client' }
    for (const args of [{ pattern: 'weather' }, '{"pattern":"weather"}']) {
      const { content, stop_reason } = await messageOf(
        created,
        added(0, { ...search, status: 'in_progress', call_id: 'call_early', arguments: {} }),
        done(0, { ...search, status: 'completed', call_id: 'call_late', arguments: args }),
        completed,
      )
      expect(stop_reason).toBe('tool_use')
      expect(content).toEqual([
        { type: 'tool_use', id: 'call_late', name: 'tool_search_tool_regex', input: { pattern: 'weather' } },
      ])
    }
  })

  test('wire 41: namespaces and short names are mapped back', async () => {
    const { content } = await messageOf(
      created,
      done(0, call('call_a', 'get_weather', '{}', { namespace: 'get_weather' })),
      done(1, call('call_b', 'functions.get_weather', '{}')),
      done(2, call('call_c', names.short(LONG), '{}')),
      completed,
    )
    expect(content).toMatchObject([{ name: 'get_weather' }, { name: 'get_weather' }, { name: LONG }])
  })

  test('a server that gives every item the same index loses none', async () => {
    const { content } = await messageOf(
      added(0, said('')),
      textDelta(0, 'one'),
      done(0, said('one')),
      added(0, said('')),
      textDelta(0, 'two'),
      done(0, said('two')),
      completed,
    )
    expect(content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ])
  })
})

describe('how a reply ends', () => {
  const incomplete = (reason: string) => ({
    type: 'response.incomplete',
    response: { incomplete_details: { reason }, usage },
  })
  const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }

  test.each([
    ['max_tokens', [textDelta(0, 'cut o'), incomplete('max_output_tokens')]],
    ['max_tokens', [added(0, call('a', 'get_weather', '')), incomplete('max_output_tokens')]],
    ['refusal', [incomplete('content_filter')]],
    ['refusal', [done(0, refusal), completed]],
    ['refusal', [{ type: 'response.completed', response: { output: [refusal] } }]],
    ['end_turn', [completed]],
  ])('%s', async (reason, events) => {
    const translated = await translate(created, ...events)
    expect(translated.at(-2)?.delta).toMatchObject({ stop_reason: reason })
    const starts = translated.filter(({ type }) => type === 'content_block_start').length
    expect(translated.filter(({ type }) => type === 'content_block_stop')).toHaveLength(starts)
  })

  test.each([
    [{ type: 'error', message: 'out of quota' }],
    [{ type: 'error', error: { code: 'insufficient_quota', message: 'out of quota' } }],
    [{ type: 'response.failed', response: { status: 'failed', error: { message: 'out of quota' } } }],
  ])('an error says what the upstream said', async (failure) => {
    const reading = translate(created, textDelta(0, 'Hel'), failure)
    await expect(reading).rejects.toThrow(UpstreamError)
    await expect(reading).rejects.toThrow('out of quota')
  })

  test('a stream that just ends is an error', async () => {
    await expect(translate(created, textDelta(0, 'Hel'))).rejects.toThrow(/before it was complete/)
  })

  test.each<[Fields[]]>([
    [[{ type: 'response.output_item.done', item: null }]],
    [
      [
        {
          type: 'response.output_item.done',
          output_index: 'x',
          item: { type: 'message', content: [null, 7] },
        },
      ],
    ],
    [[{ type: 'response.output_text.delta', delta: null }]],
    [[{ type: 'response.function_call_arguments.delta', delta: {} }]],
    [[{}, { type: 7 }]],
  ])('nonsense in between does no harm: %j', async (nonsense) => {
    const { stop_reason } = await messageOf(...nonsense, {
      type: 'response.completed',
      response: { usage: 'none', incomplete_details: 3 },
    })
    expect(stop_reason).toBe('end_turn')
  })

  test('a call without an id is an error that says so', async () => {
    await expect(
      translate(done(0, { type: 'function_call', name: 'get_weather' }), completed),
    ).rejects.toThrow(/without a name or an id/)
  })
})
