// Histories of clients that know nothing of searches, case by case: ids, replies that say nothing, tools that are
// gone, and what the client changes in what it sends again.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { blocksOf } from '../../src/core/oracle/index.ts'
import { type Fields, textOf } from '../../src/lib/index.ts'
import type { MessagesRequest, StreamEvent, Upstream, UpstreamWire } from '../../src/messages/index.ts'
import { carriedBy, carry, codeNames } from '../../src/messages/shelve/carry.ts'
import { createSearchMemory, withoutCarried } from '../../src/messages/shelve/index.ts'
import { restore } from '../../src/messages/shelve/restore.ts'
import { assistant, type Json, refusal, result, text, tool, use, user } from '../oracle/requests.ts'
import { asking, clientTools, loadedIn, MODEL, openGateway } from './support/random-client.ts'

const NAMES = ['mail_send', 'mail_list', 'issue_open']
const nothing = () => []
const restoring = (remembered: Parameters<typeof restore>[1]['remembered'] = nothing) => ({
  ...{ names: codeNames(NAMES), deferred: new Set(NAMES), searchTool: 'ToolSearch', remembered },
  thinksByHand: false,
})
const find = (at: number, ...names: string[]) => ({ at, thoughts: 0, left: 0, names })

/** What each message says, in a word for each block. */
function outline(messages: readonly Fields[]): string[] {
  return messages.map(({ role, content }) => {
    const words = blocksOf(content).map((block) => {
      if (block.type === 'text') return textOf(block.text)
      if (block.type === 'tool_use') return `${block.name}()`
      return `→${blocksOf(block.content).map(({ tool_name: name, text: said }) => name ?? said)}`
    })
    return `${role}: ${words.join(' ')}`
  })
}

const anyBlock = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ minLength: 1 }) }),
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.string(),
    name: fc.constantFrom('Read', 'gone'),
    input: fc.constant({}),
  }),
  fc.record({
    type: fc.constant('tool_result'),
    tool_use_id: fc.string(),
    content: fc.oneof(fc.string(), fc.constant([text('x')])),
  }),
)
const anyMessage = fc.record({
  role: fc.constantFrom('user', 'assistant'),
  content: fc.oneof(fc.string({ minLength: 1 }), fc.array(anyBlock, { minLength: 1 })),
})

test('a history without searches is given back message by message, as the same objects', () => {
  fc.assert(
    fc.property(fc.array(anyMessage), (messages) => {
      const restored = restore(messages, restoring())
      expect(restored).toHaveLength(messages.length)
      for (const [index, message] of messages.entries()) expect(restored[index]).toBe(message)
    }),
  )
})

const anyId = fc.stringMatching(/^(toolu_|call-)?[a-z0-9_-]{0,12}(__shelf_[a-z0-9_-]{0,12})?$/)
const anySearch = fc.record({
  at: fc.nat(99),
  thoughts: fc.nat(99),
  left: fc.nat(9999),
  names: fc.subarray(NAMES, { minLength: 1 }),
})

test('an id gives back what it carries and the id that it was, whatever that looks like', () => {
  fc.assert(
    fc.property(anyId, fc.array(anySearch, { maxLength: 4 }), (id, searches) => {
      const carried = carry(id, searches)
      expect(withoutCarried(carried)).toBe(id)
      expect(carriedBy(carried, codeNames(NAMES))).toEqual(searches)
      expect(carried).toMatch(/^[a-zA-Z0-9_-]*$/)
    }),
  )
})

test('ids that look like ours and are not stay what they are', () => {
  const ids = ['a__shelf_x', 'a__shelf_', 'a__shelf_0_0_short', 'a__shelf_0_0-']
  const kept = ids.filter((id) => withoutCarried(id) === id)
  expect(kept).toEqual(['a__shelf_x', 'a__shelf_0_0_short', 'a__shelf_0_0-'])
})

test('a search stays between the same words when a client leaves out thinking', () => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }
  const searches = [find(1, 'mail_list'), { ...find(4, 'mail_send'), thoughts: 2 }]
  const id = carry('toolu_1', [{ ...searches[0]!, thoughts: 1 }, searches[1]!])
  const blocks = [thought, text('one'), thought, text('two'), text('three'), use(id, 'Read')]
  const restored = (content: readonly Json[]) =>
    outline(restore([assistant(...content), user(result(id, 'ran'))], restoring()))
  const isWord = ({ type }: Json) => type !== 'thinking'
  expect(restored(blocks.filter(isWord))).toEqual([
    ...['assistant: ToolSearch()', 'user: →mail_list', 'assistant: one two ToolSearch()'],
    ...['user: →mail_send', 'assistant: three Read()', 'user: →ran'],
  ])
  // With all of its thinking, or some of it, no search moves in front of what the model thought before it.
  expect(restored(blocks)).toEqual([
    ...['assistant: → ToolSearch()', 'user: →mail_list', 'assistant: one → two ToolSearch()'],
    ...['user: →mail_send', 'assistant: three Read()', 'user: →ran'],
  ])
  expect(restored(blocks.toSpliced(2, 1))).toEqual([
    ...['assistant: → ToolSearch()', 'user: →mail_list', 'assistant: one two ToolSearch()'],
    ...['user: →mail_send', 'assistant: three Read()', 'user: →ran'],
  ])
})

test('what is remembered of a reply does not depend on thoughts, breakpoints or spelling', () => {
  const memory = createSearchMemory()
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }
  const start = { role: 'user', content: 'hi' }
  memory.remember('me', [start, assistant(thought, text('Well.'))], [find(1, 'mail_send')])
  const recalled = (owner: string, ...messages: Json[]) => memory.recall(owner, messages)(1)
  expect(recalled('me', start, assistant(thought, text('Well.')))).toHaveLength(1)
  expect(recalled('me', user(text('hi')), assistant(text('Well.')))).toHaveLength(1)
  const marked = text('Well.', { cache_control: { type: 'ephemeral' } })
  expect(recalled('me', start, { role: 'assistant', content: [marked] })).toHaveLength(1)
  expect(recalled('me', start, { role: 'assistant', content: 'Well.' })).toHaveLength(1)
  expect(recalled('me', start, assistant(text('Other.')))).toEqual([])
  expect(recalled('you', start, assistant(text('Well.')))).toEqual([])
})

/** A model that gives these replies one after the other: blocks, of which text in place of input is no JSON. */
function saying(wire: UpstreamWire, ...replies: readonly Json[][]) {
  const requests: MessagesRequest[] = []
  async function* events(content: readonly Json[]): AsyncGenerator<StreamEvent> {
    yield { type: 'message_start', message: { role: 'assistant', content: [], usage: {} } }
    for (const [index, { input, ...block }] of content.entries()) {
      yield {
        type: 'content_block_start',
        index,
        content_block: input === undefined ? block : { ...block, input: {} },
      }
      const json = typeof input === 'string' ? input : JSON.stringify(input)
      if (input !== undefined)
        yield { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: json } }
      yield { type: 'content_block_stop', index }
    }
    const isCall = content.some(({ type }) => type === 'tool_use')
    yield { type: 'message_delta', delta: { stop_reason: isCall ? 'tool_use' : 'end_turn' }, usage: {} }
    yield { type: 'message_stop' }
  }
  const upstream: Upstream = {
    name: 'saying',
    api: 'messages',
    wireFor: () => ({ wire, why: 'asked for' }),
    async sample(request) {
      expect(refusal(request, { isOldProxy: wire !== 'native' })).toBeUndefined()
      requests.push(request)
      return { events: events(replies[requests.length - 1] ?? [text('Done.')]), headers: {} }
    },
    countTokens: async () => undefined,
    models: async () => ({ status: 200, headers: {}, body: '{}' }),
  }
  return { requests, ask: asking(openGateway(upstream)) }
}

const request = (...messages: Fields[]): MessagesRequest => ({
  ...{ model: MODEL, max_tokens: 100, tools: clientTools(20), messages },
})
const called = (name: string, input: unknown): Json => ({ type: 'tool_use', id: `id_${name}`, name, input })
const start = user(text('hi'))

test('reports to a search that its input is not JSON, and the client does not wait for a call', async () => {
  const { ask, requests } = saying('native', [called('ToolSearch', '{"query": "ma')])
  expect(await ask(request(start))).toMatchObject({ content: [text('Done.')], stop_reason: 'end_turn' })
  expect(requests).toHaveLength(2)
})

test('a search through CallTool is a search', async () => {
  const input = { name: 'ToolSearch', arguments: { query: 'select:mail_send' } }
  const { ask, requests } = saying('bridge', [called('CallTool', input)])
  expect(await ask(request(start))).toMatchObject({ content: [text('Done.')], stop_reason: 'end_turn' })
  expect(loadedIn(requests[1] as MessagesRequest)).toEqual(['mail_send'])
})

test("a client's own CallTool is called by its name, on the bridge, too", async () => {
  const { ask, requests } = saying('bridge', [called('CallTool', { name: 'mail_send' })])
  const own = tool('CallTool', { description: 'places a phone call' })
  const given = request(start)
  const reply = await ask({ ...given, tools: [tool('Read'), own, ...(given.tools ?? []).slice(1)] })
  expect(reply.content).toMatchObject([{ name: 'CallTool', input: { name: 'mail_send' } }])
  expect(requests[0]?.tools?.filter(({ name }) => name === 'CallTool').length).toBeLessThan(2)
})

test('a model that only searches ends its reply, and the conversation continues after it', async () => {
  const names = clientTools(20).slice(1)
  const searches = names.map(({ name }) => [
    { ...called('ToolSearch', { query: `select:${name}` }), id: `id_${name}` },
  ])
  const { ask, requests } = saying('native', ...searches.slice(0, 10))
  const reply = await ask(request(start))
  expect(reply).toMatchObject({ content: [], stop_reason: 'end_turn' })
  await ask(request(start, assistant(), user(text('Well?'))))
  expect(requests).toHaveLength(11)
})

test('a thought before a hidden search does not end the reply that the API gets back', async () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 's' }
  const read = { type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }
  const answered = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] }
  for (const [content, left] of [
    [
      [thought, read, thought],
      [thought, read],
    ],
    [[thought], undefined],
  ] as const) {
    const { ask, requests } = saying('native')
    await ask(request(start, { role: 'assistant', content: [...content] }, left ? answered : start))
    const sent = requests[0] as MessagesRequest
    expect(sent.messages.find(({ role }) => role === 'assistant')?.content).toEqual(left)
    expect(refusal(sent)).toBeUndefined()
  }
})

test('words put into the mouth of the model stay the last message', async () => {
  const { ask, requests } = saying('native', [called('ToolSearch', { query: 'select:mail_send' })])
  const prefill = { role: 'assistant', content: 'I would' }
  await ask({ ...request(start, prefill), model: 'claude-opus-4-5' })
  expect(requests[0]?.messages.at(-1)).toEqual(prefill)
  expect(outline((requests[1] as MessagesRequest).messages).slice(2)).toEqual([
    'assistant: I would',
    'assistant: ToolSearch()',
    'user: →mail_send Tool loaded.',
  ])
})

test('a tool that the client forces is in sight, deferred or not', async () => {
  for (const wire of ['native', 'append', 'bridge'] as const) {
    const { ask, requests } = saying(wire)
    const choice = { type: 'tool', name: 'mail_send' }
    await ask({ ...request(start), tool_choice: choice })
    expect(requests[0]?.tool_choice).toEqual(choice)
    const forced = requests[0]?.tools?.find(({ name }) => name === 'mail_send')
    expect(forced).toEqual(clientTools(20).find(({ name }) => name === 'mail_send'))
  }
})

test('a client that writes ids of its own makes the gateway restore no more than a bounded number of searches', () => {
  const forged = (searches: number) =>
    carry(
      'toolu_1',
      Array.from({ length: searches }, () => find(0, 'mail_send')),
    )
  const turns = (ids: readonly string[]) =>
    ids.flatMap((id) => [assistant(use(id, 'Read')), user(result(id, 'ran'))])
  const most = restore(turns([forged(1000)]), restoring())
  expect(most).toHaveLength(2 + 2 * 50)
  // One that is too long to be ours is an id like any other.
  const tooLong = turns([forged(20_000)])
  expect(restore(tooLong, restoring())).toEqual(tooLong)
  const many = turns(Array.from({ length: 100 }, (_, index) => forged(45).replace('_1', `_${index}`)))
  expect(restore(many, restoring())).toHaveLength(200 + 2 * 2000)
})
