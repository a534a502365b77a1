// A reply as events and as a message: each is made from the other.
import { expect, it } from 'vitest'
import { blockEvents, createCollector, eventsOf, grow, inputOf } from '../packages/core/src/reply.ts'

const usage = { input_tokens: 3, output_tokens: 5 }
const content = [
  { type: 'thinking', thinking: 'hm', signature: 'sig' },
  { type: 'text', text: 'hello', citations: [{ url: 'a' }, { url: 'b' }] },
  { type: 'text', text: '' },
  { type: 'tool_use', id: 'toolu_1', name: 'run', input: { a: [1] } },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search', input: { query: 'x' } },
  { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content: { references: [] } },
]
const message = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'any' },
  ...{ content, stop_reason: 'tool_use', stop_sequence: null, usage },
}

it('a message is streamed and collected without a loss', () => {
  const { add, message: collected, isReadable } = createCollector()
  for (const event of eventsOf(message)) add(event)
  expect(collected()).toEqual(message)
  expect(isReadable()).toBe(true)
})

it('drops entries that are not blocks', () => {
  const { add, message: collected } = createCollector()
  for (const event of eventsOf({ ...message, content: [null, content[0], 'text', 5] })) add(event)
  expect(collected().content).toEqual([content[0]])
})

it('its events are those of the API', () => {
  const events = [...eventsOf({ ...message, content: content.slice(1, 4) })]
  expect(events[0]).toEqual({
    type: 'message_start',
    message: { ...message, content: [], stop_reason: null, stop_sequence: null },
  })
  const deltas = events.filter(({ type }) => type === 'content_block_delta')
  expect(deltas.map(({ index, delta }) => [index, delta])).toEqual([
    [0, { type: 'text_delta', text: 'hello' }],
    [0, { type: 'citations_delta', citation: { url: 'a' } }],
    [0, { type: 'citations_delta', citation: { url: 'b' } }],
    [2, { type: 'input_json_delta', partial_json: '' }],
    [2, { type: 'input_json_delta', partial_json: '{"a":[1]}' }],
  ])
  const starts = events.filter(({ type }) => type === 'content_block_start')
  expect(starts.map((event) => event.content_block)).toEqual([
    { type: 'text', text: '', citations: [] },
    { type: 'text', text: '' },
    { type: 'tool_use', id: 'toolu_1', name: 'run', input: {} },
  ])
  expect(events.slice(-2)).toEqual([
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ])
  expect([...eventsOf({})]).toEqual([
    { type: 'message_start', message: { content: [], stop_reason: null, stop_sequence: null } },
    { type: 'message_delta', delta: { stop_reason: null, stop_sequence: null }, usage: {} },
    { type: 'message_stop' },
  ])
  const [start, ...more] = blockEvents({ type: 'thinking' }, 4)
  expect(start).toEqual({
    type: 'content_block_start',
    index: 4,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  })
  expect(more).toHaveLength(3)
})

it('a block grows by every kind of fragment', () => {
  const making = { block: { type: 'x' }, json: '' }
  for (const delta of [
    { type: 'thinking_delta', thinking: 'a' },
    { type: 'thinking_delta', thinking: 'b' },
    { type: 'signature_delta', signature: 'c' },
    { type: 'signature_delta', signature: 'd' },
    { type: 'citations_delta', citation: 1 },
    { type: 'citations_delta', citation: 2 },
    { type: 'compaction_delta', content: 'e' },
    { type: 'unknown_delta', text: 'f' },
    { type: 'text_delta' },
  ])
    grow(making, delta)
  expect(making.block).toEqual({
    ...{ type: 'x', thinking: 'ab', signature: 'cd', citations: [1, 2], content: 'e', text: '' },
  })
})

it('an input is an object, or cannot be read', () => {
  expect(['', ' ', '{}', '{"a":1}', '[]', 'null', '1', '{'].map((json) => inputOf(json))).toEqual([
    ...[{}, {}, {}, { a: 1 }],
    ...[undefined, undefined, undefined, undefined],
  ])
})
