// A reply of several samplings: the last one, refusals on the way, what all of them cost, and how many tools fit.
import { expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf, textOf } from '../../src/lib/index.ts'
import type { HttpAnswer, MessagesRequest, Wait } from '../../src/messages/index.ts'
import { assistant, deferred, refusal, result, text, tool, use, user } from '../oracle/requests.ts'
import { ask } from './support/gateways.ts'
import { modelOf, namesIn, replyOf, searching, type Turn } from './support/played-model.ts'

const busy = (headers: HttpAnswer['headers'], status = 529): Turn => ({
  refused: { status, headers, body: '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}' },
})

test.each([
  ['tools that stay', ['Read'], 'native'],
  ['tools that were found', [], 'native'],
  ['tools that stay', ['Read'], 'append'],
  ['tools that were found', [], 'bridge'],
] as const)(
  'a model that only searches gets a last sampling without the search, but with %s (%s, %s)',
  async (_, stay, wire) => {
    const tools = [...stay.map((name) => tool(name)), tool('mcp__mail__send'), tool('mcp__mail__list')]
    const model = modelOf(
      (request, sampling) =>
        namesIn(request).includes('ToolSearch')
          ? { content: [searching(sampling % 2 === 0 ? `vain${sampling}` : 'mail', `toolu_${sampling}`)] }
          : { content: [text('There is no such tool.')] },
      { wire },
    )
    const { content, stop_reason: why } = await replyOf(model.upstream, ask(tools))
    expect([content, why]).toEqual([[text('There is no such tool.')], 'end_turn'])
    expect(model.requests).toHaveLength(10)
    const last = model.requests.at(-1) as MessagesRequest
    expect(JSON.stringify(last.messages.at(-1))).toContain('vain8')
  },
)

test('a model that only searches in vain, and has nothing else, must answer', async () => {
  const model = modelOf(({ tool_choice: choice }, sampling) =>
    fieldsOf(choice).type === 'none'
      ? { content: [text('I cannot.')] }
      : { content: [searching('zzz qqq', `toolu_${sampling}`)] },
  )
  const { content } = await replyOf(model.upstream, ask([tool('mcp__mail__send')]))
  expect(content).toEqual([text('I cannot.')])
})

test.each([
  ...(['native', 'append', 'bridge'] as const).flatMap((wire) => [
    ['shelve', wire, 'zzz qqq', []] as const,
    ['shelve', wire, 'mail', []] as const,
    ['shelve', wire, 'zzz qqq', ['Read']] as const,
  ]),
  ...(['append', 'bridge'] as const).flatMap((wire) => [
    ['emulate', wire, 'zzz qqq', []] as const,
    ['emulate', wire, 'mail', ['Read']] as const,
  ]),
])(
  'a model that must call a tool and only searches calls one in the end (%s, %s, %s, %j)',
  async (mode, wire, query, stay) => {
    const search = { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }
    const own = ['mcp__mail__send', 'mcp__mail__list', 'mcp__file__open']
    const tools = [
      ...stay.map((name) => tool(name)),
      ...(mode === 'emulate'
        ? [search, ...own.map((name) => deferred(name))]
        : own.map((name) => tool(name))),
    ]
    const model = modelOf(
      (request, sampling) => {
        const names = namesIn({ ...request, tools: request.tools?.filter((one) => !one.defer_loading) ?? [] })
        const name = names.find((one) => one === 'ToolSearch' || one === search.name) ?? names.at(-1)
        const called = { name: 'mcp__mail__send', arguments: {} }
        const input = /search/i.test(name!) ? { query } : name === 'CallTool' ? called : {}
        if (fieldsOf(request.tool_choice).type !== 'any') return { content: [text('No.')] }
        return { content: [{ type: 'tool_use', id: `toolu_${sampling}`, name, input }] }
      },
      { wire, maxTools: 128 },
    )
    const asked = { ...ask(tools), tool_choice: { type: 'any' } }
    const { content, stop_reason: why } = await replyOf(model.upstream, asked, mode)
    const call = (content as Fields[]).at(-1)
    expect([call?.type, why, model.requests.length]).toEqual(['tool_use', 'tool_use', 10])
    expect([...stay, ...own]).toContain(call?.name)
  },
)

test('a search that the client forces is made once', async () => {
  const name = 'tool_search_tool_bm25'
  const model = modelOf(
    ({ tool_choice: choice }, sampling) => ({
      content: [
        fieldsOf(choice).type === 'tool'
          ? { type: 'tool_use', id: `toolu_${sampling}`, name, input: { query: 'mail' } }
          : text('Done.'),
      ],
    }),
    { wire: 'append' },
  )
  const asked = ask([{ type: name, name }, tool('Read'), deferred('mcp__mail__send')])
  const { stop_reason: why } = await replyOf(
    model.upstream,
    { ...asked, tool_choice: { type: 'tool', name } },
    'emulate',
  )
  expect([why, model.requests.length]).toEqual(['end_turn', 2])
})

test('a search that finds only loaded tools names them, and loads nothing twice', async () => {
  const model = modelOf((_, sampling) =>
    sampling < 3 ? { content: [searching('mail send', `toolu_${sampling}`)] } : { content: [text('Done.')] },
  )
  await replyOf(model.upstream, ask([tool('Read'), tool('mcp__mail__send')]))
  const last = JSON.stringify(model.requests.at(-1)?.messages.at(-1))
  expect(last).toContain('can be called already: mcp__mail__send')
  expect(last).not.toContain('tool_reference')
})

test('a later sampling that is refused for now is tried again when the upstream says', async () => {
  const waits: number[] = []
  const model = modelOf((_, sampling) => {
    if (sampling === 1) return { content: [searching('mail send')] }
    if (sampling === 2) return busy({ 'retry-after': '7' }, 429)
    if (sampling === 3) return busy({ 'retry-after-ms': '250' })
    return sampling === 4 ? busy({}) : { content: [text('Done.')] }
  })
  const wait: Wait = async (milliseconds) => void waits.push(milliseconds)
  const { content } = await replyOf(
    model.upstream,
    ask([tool('Read'), tool('mcp__mail__send')]),
    'shelve',
    wait,
  )
  expect(content).toEqual([text('Done.')])
  expect(waits).toEqual([7000, 250, 4000])
})

test.each([
  ['asks for too long a wait', busy({ 'retry-after': '3600' }, 429), 2],
  ['says not to try again', busy({ 'x-should-retry': 'false' }), 2],
  ['stays busy', busy({ 'retry-after': '0' }), 5],
  ['is broken', busy({ 'retry-after': '0' }, 500), 2],
] as const)('an upstream that %s is not asked forever', async (_, turn, requests) => {
  const model = modelOf((__, sampling) => (sampling === 1 ? { content: [searching('mail')] } : turn))
  const asked = replyOf(
    model.upstream,
    ask([tool('Read'), tool('mcp__mail__send')]),
    'shelve',
    async () => {},
  )
  await expect(asked).rejects.toThrow('refused to continue')
  expect(model.requests).toHaveLength(requests)
})

test('wire 27 usage is the sum over the samplings, at every depth', async () => {
  const usage = (input: number, more: Fields = {}): Fields => ({
    ...{ input_tokens: input, output_tokens: 2, service_tier: 'standard' },
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 1 },
    server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
    ...more,
  })
  const model = modelOf((_, sampling) =>
    sampling === 1
      ? { content: [searching('mail')], usage: usage(100) }
      : { content: [text('Done.')], usage: usage(200, { server_tool_use: null }) },
  )
  const { usage: total } = await replyOf(model.upstream, ask([tool('Read'), tool('mcp__mail__send')]))
  expect(total).toMatchObject({
    ...{ input_tokens: 300, output_tokens: 4, service_tier: 'standard' },
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 2 },
    server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
  })
})

const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`tool_${index}`))

test('more tools than the upstream takes are shelved in auto, however few tokens they have', async () => {
  const model = modelOf(() => ({ content: [text('Hi.')] }), { wire: 'append', maxTools: 128 })
  await replyOf(model.upstream, { ...ask(many(150)), model: 'claude-sonnet-5' }, 'auto')
  expect(namesIn(model.requests[0] as MessagesRequest)).toEqual(['ToolSearch'])
  await replyOf(model.upstream, { ...ask(many(100)), model: 'claude-sonnet-5' }, 'auto')
  expect(namesIn(model.requests[1] as MessagesRequest)).toHaveLength(100)
})

test('wire 39 loaded tools beyond the limit are called through CallTool; the list only grows at its end', async () => {
  const tools = [tool('Read'), ...many(12).map(({ name }) => deferred(textOf(name)))]
  const model = modelOf(
    (request) => {
      const wanted = namesIn(request).includes('CallTool') ? 'CallTool' : `tool_${loadedIn(request) - 1}`
      const input = wanted === 'CallTool' ? { name: 'tool_11', arguments: { a: 1 } } : {}
      return { content: [{ type: 'tool_use', id: `toolu_${loadedIn(request)}`, name: wanted, input }] }
    },
    { wire: 'append', maxTools: 8 },
  )
  const loadedIn = ({ messages }: MessagesRequest) =>
    messages
      .flatMap(({ content }) => listOf(content))
      .filter((block) => fieldsOf(block).type === 'tool_result').length
  let before: string[] = []
  for (let count = 1; count <= 12; count++) {
    const turns = many(count).flatMap(({ name }, index) => [
      assistant(use(`search_${index}`, 'my_search')),
      user(result(`search_${index}`, [{ type: 'tool_reference', tool_name: name }])),
    ])
    const { content } = await replyOf(model.upstream, ask(tools, user(text('go')), ...turns), 'emulate')
    const sent = model.requests.at(-1) as MessagesRequest
    const names = namesIn(sent)
    expect(names.length).toBeLessThanOrEqual(8)
    expect(names.slice(0, before.length)).toEqual(before)
    before = names
    const [call] = content as Fields[]
    expect([call?.name, call?.input]).toEqual(count < 7 ? [`tool_${count - 1}`, {}] : ['tool_11', { a: 1 }])
  }
  expect(before).toEqual(['Read', 'tool_0', 'tool_1', 'tool_2', 'tool_3', 'tool_4', 'tool_5', 'CallTool'])
  const said = JSON.stringify(model.requests.at(-1)?.messages)
  expect(said).toContain('Tools loaded: tool_5. They are in your list of tools now.')
  expect(said).toContain('Tools loaded: tool_6. Call them with CallTool. Their definitions:')
})

test('fields of tools reach an upstream that is not known, and are left out only where it refuses them', async () => {
  const fields = { strict: true, input_examples: [{ a: 1 }], eager_input_streaming: true }
  const asked = { ...ask([tool('Read', fields)]), model: 'm' }
  const modern = modelOf(() => ({ content: [text('Hi.')] }), { wire: 'append' })
  const kept = modelOf(
    (request, sampling) => {
      const fault = refusal(request, { isOldProxy: true })
      const body = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: fault } })
      if (sampling === 1 && !fault) throw new Error('the first request has no newer field')
      return fault ? { refused: { status: 400, headers: {}, body } } : { content: [text('Hi.')] }
    },
    { wire: 'append' },
  )
  await expect(replyOf(modern.upstream, asked, 'off')).rejects.toThrow('Extra inputs')
  expect(modern.requests[0]?.tools?.[0]).toMatchObject(fields)
  await replyOf(kept.upstream, asked, 'off')
  await replyOf(kept.upstream, asked, 'off')
  const sent = kept.requests.map(({ tools }) => Object.keys(fieldsOf(tools?.[0])).includes('strict'))
  expect(sent).toEqual([true, false, false])
  expect(textOf(kept.requests[1]?.tools?.[0]?.description)).toContain('{"a":1}')
})
