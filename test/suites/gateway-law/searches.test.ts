// Replies with searches in cases that chance does not reach: the last one, odd inputs, upstreams that are busy, what all of it costs.
import { describe, expect, it, test } from 'vitest'
import { assistant, text, use, user } from '../../../packages/testkit/src/blocks.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { validateRequest } from '../../doors.ts'
import { eventsIn, play, wires } from './gateways.ts'
import { callOf, loadedIn, toolFor } from './model.ts'

const MODEL = 'claude-sonnet-5'
const [SEND, LIST, OPEN] = ['mcp__mail__send', 'mcp__mail__list', 'mcp__file__open']
const BM25 = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
const REGEX = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
const deferred = (name: string) => ({ ...toolFor(name), defer_loading: true })
const named = (...names: string[]) => names.map(toolFor)
const asked = (tools: Loose[], ...messages: Loose[]): Loose => ({
  ...{ model: MODEL, max_tokens: 500, tools },
  messages: messages.length > 0 ? messages : [user(text('go'))],
})
const call = (name: string, input: Loose, id = `toolu_${name}`) => ({ type: 'tool_use', id, name, input })
const find = (query: string, id = 'toolu_s') => call('ToolSearch', { query }, id)
const namesIn = ({ tools = [] }: Loose): string[] => tools.map(({ name }: Loose) => name)
const done = [text('Done.')]
const sources = [toolFor('Read'), ...named(SEND, LIST)]

describe('a model that only searches', () => {
  it.each([
    [['Read'], 'native', 'mail'],
    [[], 'native', 'mail'],
    [['Read'], 'append', 'mail'],
    [[], 'bridge', 'mail'],
    [[], 'native', 'zzz qqq'],
  ] as const)('answers in the end, without the search (%j, %s, %s)', async (stay, wire, query) => {
    const says = (request: Loose, sampling: number) =>
      namesIn(request).includes('ToolSearch') && request.tool_choice?.type !== 'none'
        ? [find(sampling % 2 ? `vain${sampling}` : query, `toolu_${sampling}`)]
        : [text('There is none.')]
    const { ask, sent } = await play({ wire, says })
    const { body } = await ask(asked([...named(...stay), ...named(SEND, LIST)]))
    expect([body.content, body.stop_reason]).toEqual([[text('There is none.')], 'end_turn'])
    expect(sent()).toHaveLength(10)
    const last = JSON.stringify(sent().at(-1).messages.at(-1))
    expect(last).toMatch(/you searched for .*No more searches are possible/)
  })

  it.each(
    wires.flatMap((wire) => [
      [wire, 'shelve', 'zzz qqq', []] as const,
      [wire, 'shelve', 'mail', []] as const,
      [wire, 'shelve', 'zzz qqq', ['Read']] as const,
      [wire, 'emulate', 'zzz qqq', []] as const,
      [wire, 'emulate', 'mail', ['Read']] as const,
    ]),
  )('calls a tool in the end if it must (%s, %s, %s, %j)', async (wire, mode, query, stay) => {
    const own = [SEND, LIST, OPEN]
    const says = (request: Loose, sampling: number) => {
      const names = namesIn({ tools: request.tools.filter((tool: Loose) => !tool.defer_loading) })
      const name = names.find((one) => /search/i.test(one)) ?? names.at(-1) ?? 'none'
      const input = /search/i.test(name)
        ? { query }
        : name === 'CallTool'
          ? { name: SEND, arguments: {} }
          : {}
      return [call(name, input, `toolu_${sampling}`)]
    }
    const { ask, sent } = await play({ wire, mode, says, maxTools: 128 })
    const tools =
      mode === 'emulate' ? [BM25, ...named(...stay), ...own.map(deferred)] : named(...stay, ...own)
    const { body } = await ask({ ...asked(tools), tool_choice: { type: 'any' } })
    expect([body.stop_reason, sent().length]).toEqual(['tool_use', 10])
    expect([...stay, ...own]).toContain(body.content.at(-1).name)
  })

  it('wire 22 27 pauses its turn if the search is the client’s, and goes on from there', async () => {
    const says = (_: Loose, sampling: number) =>
      sampling < 10 ? [call(BM25.name, { query: 'mail' }, `toolu_${sampling}`)] : done
    const { ask } = await play({ wire: 'append', mode: 'emulate', says })
    const tools = [BM25, toolFor('Read'), deferred(SEND)]
    const { body } = await ask(asked(tools))
    expect([body.stop_reason, body.usage.output_tokens]).toEqual(['pause_turn', 65])
    expect(body.content).toHaveLength(20)
    const next = asked(tools, user(text('go')), assistant(...body.content))
    expect(validateRequest(next)).toBeUndefined()
    expect((await ask(next)).body.content).toEqual(done)
  })
})

test.each(['native', 'append'] as const)(
  'a search that the client forces is made once (%s)',
  async (wire) => {
    const says = ({ tool_choice: choice }: Loose) =>
      choice?.type === 'tool' ? [call(BM25.name, { query: 'mail' })] : done
    const { ask, sent } = await play({ wire, mode: 'emulate', says })
    const { body } = await ask({
      ...asked([BM25, toolFor('Read'), deferred(SEND)]),
      tool_choice: { type: 'tool', name: BM25.name },
    })
    expect([body.stop_reason, sent().length]).toEqual(['end_turn', 2])
  },
)

test('a search that finds only loaded tools names them, and loads nothing twice', async () => {
  const { ask, sent } = await play({ says: (_, n) => (n < 2 ? [find('mail send', `toolu_${n}`)] : done) })
  await ask(asked([toolFor('Read'), toolFor(SEND)]))
  const last = JSON.stringify(sent().at(-1).messages.at(-1))
  expect(last).toContain(`can be called already: ${SEND}`)
  expect(last).not.toContain('tool_reference')
})

describe('a later sampling that is refused', () => {
  const refused = (headers: Loose, status = 529) => ({
    refused: {
      status,
      headers,
      body: '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}',
    },
  })
  it.each([
    [
      'again when it says',
      [refused({ 'retry-after': '7' }, 429), refused({ 'retry-after-ms': '250' })],
      [7000, 250],
    ],
    ['again after a while', [refused({}), refused({ 'retry-after': 'soon' }, 503)], [1000, 2000]],
    ['at a time of the past', [refused({ 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' })], [0]],
    ['not after an hour', [refused({ 'retry-after': '3600' }, 429)], undefined],
    ['not if it says so', [refused({ 'x-should-retry': 'false' })], undefined],
    ['not if it is broken', [refused({ 'retry-after': '0' }, 500)], undefined],
    ['four times at most', Array.from({ length: 4 }, () => refused({ 'retry-after': '0' })), undefined],
  ] as const)('is tried %s', async (_, refusals, expected) => {
    const waits: number[] = []
    const says = (__: Loose, n: number) => (n === 0 ? [find('mail')] : (refusals[n - 1] ?? done))
    const { ask, sent } = await play({ says, wait: async (milliseconds) => void waits.push(milliseconds) })
    const { status, body } = await ask(asked(sources))
    if (expected) expect([status, body.content, waits]).toEqual([200, done, expected])
    else expect([body.error.message, sent().length]).toEqual(['busy', 1 + refusals.length])
  })
})

test('wire 27 usage is the sum over the samplings, at every depth; what one does not count is that of the others', async () => {
  const usage = (input_tokens: number, more: Loose = {}) => ({
    ...{ input_tokens, output_tokens: 2, service_tier: 'standard', iterations: [input_tokens] },
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 1 },
    server_tool_use: { web_search_requests: 2 },
    ...more,
  })
  const says = (_: Loose, n: number) =>
    n === 0
      ? { content: [find('mail')], usage: usage(100) }
      : { content: done, usage: usage(200, { server_tool_use: null }) }
  const { ask } = await play({ says })
  const { body } = await ask(asked(sources))
  expect(body.usage).toMatchObject({
    ...{ input_tokens: 300, output_tokens: 4, service_tier: 'standard', iterations: [100, 200] },
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 2 },
    server_tool_use: { web_search_requests: 2 },
  })
})

describe('the words of a search', () => {
  it('that are no JSON are an error for the model, which may search again', async () => {
    const broken = { content: [{ ...find(''), input: '{"query": "ma' }] }
    const { ask, sent } = await play({ says: (_, n) => (n === 0 ? broken : done) })
    expect((await ask(asked(sources))).body).toMatchObject({ content: done, stop_reason: 'end_turn' })
    expect(sent()).toHaveLength(2)
  })

  it.each([
    ['wire 20 that are no JSON', BM25, '{"query": "ma', 'invalid_tool_input', 'tool_use'],
    ['wire 20 that are no words', BM25, { query: 5 }, 'invalid_tool_input', 'tool_use'],
    ['wire 21 with a limit that is none', BM25, { query: 'mail', limit: 11 }, [SEND, LIST], 'tool_use'],
    ['wire 20 that are no pattern', REGEX, { pattern: '(' }, 'invalid_tool_input', 'tool_use'],
    ['wire 20 that are too many', REGEX, { pattern: 'x'.repeat(600) }, 'invalid_tool_input', 'tool_use'],
    ['wire 21 that fit nothing', BM25, { query: 'zebra' }, [], 'tool_use'],
    ['wire 21 of a pattern', REGEX, { pattern: '__(send|list)$' }, [SEND, LIST], 'tool_use'],
    ['wire 21 with a limit', BM25, { query: 'mail', limit: 1 }, 1, 'tool_use'],
    ['wire 30 that end with the tokens', BM25, { query: 'send' }, [SEND], 'max_tokens'],
  ])(
    '%s are answered in the reply of a client that searches itself',
    async (_, tool, input, expected, stop) => {
      const first = { content: [call(tool.name, input)], stop_reason: stop }
      const { ask } = await play({
        wire: 'append',
        mode: 'emulate',
        says: (__, n) => (n === 0 ? first : done),
      })
      const tools = [tool, toolFor('Read'), deferred(SEND), deferred(LIST)]
      const { body } = await ask(asked(tools))
      const { content } = body.content[1]
      const found = content.tool_references?.map((one: Loose) => one.tool_name)
      expect(typeof expected === 'number' ? found.length : (content.error_code ?? found)).toEqual(expected)
      expect(body.stop_reason).toBe(stop === 'max_tokens' ? 'max_tokens' : 'end_turn')
      const next = asked(tools, user(text('go')), assistant(...body.content), user(text('go on')))
      expect(validateRequest(next)).toBeUndefined()
      expect((await ask(next)).body.content).toEqual(done)
    },
  )

  it('wire 24 28 beside a call are answered at the start of the next reply', async () => {
    const first = [call(BM25.name, { query: 'send' }, 'toolu_s'), call('Read', {}, 'toolu_r')]
    const { ask } = await play({ wire: 'append', mode: 'emulate', says: (_, n) => (n === 0 ? first : done) })
    const tools = [BM25, toolFor('Read'), deferred(SEND)]
    const { body } = await ask(asked(tools))
    expect(body.content.map(({ type }: Loose) => type)).toEqual(['server_tool_use', 'tool_use'])
    const results = user({ type: 'tool_result', tool_use_id: 'toolu_r', content: 'ran' })
    const next = { ...asked(tools, user(text('go')), assistant(...body.content), results), stream: true }
    const events = eventsIn((await ask(next)).text)
    const starts = events.flatMap(({ content_block: block }) => (block ? [block.type] : []))
    expect(starts).toEqual(['tool_search_tool_result', 'text'])
  })

  it('through CallTool are a search', async () => {
    const input = { name: 'ToolSearch', arguments: { query: `select:${SEND}` } }
    const { ask, sent } = await play({
      wire: 'bridge',
      says: (_, n) => (n === 0 ? [call('CallTool', input)] : done),
    })
    expect((await ask(asked(sources))).body.content).toEqual(done)
    expect(loadedIn(sent()[1])).toContain(SEND)
  })
})

test("a client's own CallTool is called by its name, on the bridge, too", async () => {
  const { ask, sent } = await play({
    wire: 'bridge',
    mode: 'emulate',
    says: () => [call('CallTool', { name: SEND })],
  })
  const { body, headers } = await ask(asked([BM25, toolFor('CallTool'), deferred(SEND)]))
  expect(body.content).toMatchObject([{ name: 'CallTool', input: { name: SEND } }])
  expect(headers.get('x-toolshelf-why')).toContain('the client has its own CallTool')
  expect(namesIn(sent()[0]).filter((name) => name === 'CallTool').length).toBeLessThan(2)
})

const many = (count: number) => Array.from({ length: count }, (_, index) => `tool_${index}`)

test('more tools than the upstream takes are shelved in auto, however few tokens they have', async () => {
  const { ask, sent } = await play({ wire: 'append', mode: 'auto', maxTools: 128, says: () => done })
  await ask(asked(named(...many(150))))
  await ask(asked(named(...many(100))))
  expect(sent().map((request) => namesIn(request).length)).toEqual([1, 100])
})

test('wire 39 loaded tools beyond the limit are called through CallTool; the list only grows at its end', async () => {
  const tools = [toolFor('Read'), ...many(12).map(deferred)]
  const says = (request: Loose) => [callOf('toolu_x', loadedIn(request).at(-1) ?? 'Read', request, { a: 1 })]
  const { ask, sent } = await play({ wire: 'append', mode: 'emulate', maxTools: 8, says })
  let before: string[] = []
  for (let count = 1; count <= 12; count++) {
    const turns = many(count).flatMap((name, index) => [
      assistant(use(`search_${index}`, 'my_search')),
      user({
        ...{ type: 'tool_result', tool_use_id: `search_${index}` },
        content: [{ type: 'tool_reference', tool_name: name }],
      }),
    ])
    const { body } = await ask(asked(tools, user(text('go')), ...turns))
    expect([body.content[0].name, body.content[0].input]).toEqual([`tool_${count - 1}`, { a: 1 }])
    const names = namesIn(sent().at(-1))
    expect(names.slice(0, before.length)).toEqual(before)
    before = names
  }
  expect(before).toEqual(['Read', ...many(6), 'CallTool'])
  const said = JSON.stringify(sent().at(-1).messages)
  expect(said).toContain('Tools loaded: tool_5. They are in your list of tools now.')
  expect(said).toContain('Tools loaded: tool_6. Call them with CallTool. Their definitions:')
})

test('newer fields of tools are left out only for a model that refuses them, and from then on', async () => {
  const fields = { strict: true, input_examples: [{ a: 1 }], eager_input_streaming: true }
  const { ask, model } = await play({ wire: 'append', mode: 'off', says: () => done })
  for (let turn = 0; turn < 2; turn++)
    expect((await ask(asked([{ ...toolFor('Read'), ...fields }]))).body.content).toEqual(done)
  expect(model.refusals).toEqual([expect.stringContaining('Extra inputs')])
  expect(model.samplings[1]?.request.tools[0].description).toContain('{"a":1}')
})

test.each(['append', 'bridge'] as const)(
  'S9 on %s the remark is inside the result of the search',
  async (wire) => {
    const names = Array.from({ length: 60 }, (_, index) => `mail_send_${index}`)
    const { ask, sent } = await play({ wire, says: (_, n) => (n === 0 ? [find('mail send')] : done) })
    await ask(asked(named('Read', ...names)))
    const [only, ...others] = sent()[1].messages.at(-1).content
    expect([only.type, others]).toEqual(['tool_result', []])
    expect(only.content.at(-1).text).toMatch(/^Tool search: \d+ more tools matched/)
  },
)
