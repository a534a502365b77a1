// The parts of shelving, each by itself: the client's tools, its conversations, long results, memory, thinking and traces.
import { expect, test } from 'vitest'
import type { Shelf, Trace } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import {
  createClientShelves,
  createConversations,
  createLongResults,
  createSearchMemory,
  hasTraces,
  isBound,
  withBindingBeta,
  withDroppedThinking,
  withoutCarriedIds,
} from '../../src/messages/shelve/index.ts'
import { startTimer } from '../../src/node/index.ts'
import { lexical } from '../../src/search/index.ts'
import { assistant, deferred, result, text, tool, use, user } from '../oracle/requests.ts'

const MODEL = 'claude-opus-4-5'
const asked = [user(text('hi'))]

const shelves = (keep: readonly string[] = [], contextWindow?: number) =>
  createClientShelves({ rank: lexical, keep, timer: startTimer, notify: () => {}, contextWindow })

async function opened(tools: readonly Fields[], keep: readonly string[] = [], contextWindow?: number) {
  const shelf = await shelves(keep, contextWindow).shelfFor(tools)
  if (typeof shelf === 'string') throw new Error(shelf)
  return shelf
}

test('which of a client’s tools wait on the shelf', async () => {
  const waiting = async (tools: readonly Fields[], keep?: readonly string[]) => [
    ...(await opened(tools, keep)).deferred,
  ]
  const named = (...names: string[]) => names.map((name) => tool(name))
  const plain = named(
    'Bash',
    'read_file',
    'Multi-Edit',
    'mail_send',
    'find_tools',
    'discoverDeferredTools',
    'x',
  )
  expect(await waiting(plain)).toEqual(['mail_send', 'x'])
  expect(await waiting(plain, ['mail_*'])).toEqual(['x'])
  // One MCP name is enough: then the names of MCP wait, and the client's own are in sight.
  expect(await waiting([...plain, tool('mcp__a__b'), tool('mcp__a__c')], ['mcp__a__c'])).toEqual([
    'mcp__a__b',
  ])
  // A client that defers chooses for itself.
  expect(await waiting([deferred('Bash'), deferred('kept'), ...named('mcp__a__b', 'x')], ['kept'])).toEqual([
    'Bash',
  ])
  expect(await waiting([tool('a', { defer_loading: false }), tool('b')])).toEqual(['a', 'b'])
})

test('tools of the API itself stay as they are but for marks that move; two of one name cannot be shelved', async () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const web = { type: 'web_search_20250305', name: 'web_search' }
  const custom = [tool('a', { type: 'custom' }), tool('b', { type: null })]
  const { own, deferred: waiting } = await opened([{ ...web, ...mark, defer_loading: true }, ...custom])
  expect([own, [...waiting]]).toEqual([[web], ['a', 'b']])
  const reasons = [
    await shelves().shelfFor([web, tool('web_search')]),
    await shelves().shelfFor([tool('a'), tool('a', { description: 'other' })]),
  ]
  expect(reasons[0]).toBe('the tools cannot be shelved: two tools are named "web_search"')
  expect(reasons[1]).toMatch(/^the tools cannot be shelved: .*"a"/)
})

test('the last breakpoint of a client’s tools is at the end of those in sight', async () => {
  const marked = (name: string, ttl: string) => tool(name, { cache_control: { type: 'ephemeral', ttl } })
  const sent = async (...tools: Fields[]) => {
    const { shelf } = await opened(tools)
    const { request } = await shelf
      .fork({ isSubAgent: false })
      .prepare({ model: MODEL, messages: asked as never })
    return (request.tools as Fields[]).flatMap(({ name, cache_control: control }) =>
      control ? [[name, (control as Fields).ttl]] : [],
    )
  }
  expect(await sent(marked('Read', '5m'), marked('x', '1h'), tool('y'))).toEqual([['Read', '1h']])
  expect(await sent(tool('Read'), tool('y'))).toEqual([])
})

test('a shelf is opened once for each list of tools', async () => {
  const { shelfFor } = shelves()
  const list = [tool('a'), tool('b')]
  const first = await shelfFor(list)
  expect(await shelfFor(list)).toBe(first)
  expect(await shelfFor(structuredClone(list))).toBe(first)
  expect(await shelfFor([...list].reverse())).not.toBe(first)
  const frozen = Object.freeze([tool('a'), tool('b')])
  expect(await shelfFor(frozen)).toBe(await shelfFor(frozen))
  // One that failed is tried again.
  let attempts = 0
  const failing = Object.freeze([
    {
      get name() {
        attempts++
        throw new TypeError('broken')
      },
    },
  ]) as never
  await expect(shelfFor(failing)).rejects.toThrow('broken')
  const before = attempts
  await expect(shelfFor(failing)).rejects.toThrow('broken')
  expect(attempts).toBeGreaterThan(before)
})

test('whether tools reach a share of the window, which is the model’s unless one is given', async () => {
  const tools = [tool('x', { description: 'word '.repeat(2000) })]
  const reaches = async (contextWindow?: number) => {
    const { reachesShare } = await opened(tools, [], contextWindow)
    return [0, 1, 5, 100].map((percent) => reachesShare(MODEL, percent))
  }
  expect(await reaches()).toEqual([true, true, false, false])
  expect(await reaches(10_000)).toEqual([true, true, true, false])
  const many = Array.from({ length: 300 }, (_, index) => tool(`mail_tool_number_${index}`))
  const announced = async (contextWindow?: number) => {
    const { shelf } = await opened(many, [], contextWindow)
    const { request } = await shelf
      .fork({ isSubAgent: false })
      .prepare({ model: MODEL, messages: asked as never })
    return JSON.stringify(request.messages).length
  }
  expect(await announced(10_000)).toBeLessThan(await announced())
})

test('a request with the same tools and model continues its conversation', () => {
  const { forkFor, keep } = createConversations()
  const forks = new Map<Shelf, unknown>()
  const shelf = () =>
    ({
      fork(options: unknown) {
        const made = {} as Shelf
        forks.set(made, options)
        return made
      },
    }) as unknown as Shelf
  const [tools, others] = [shelf(), shelf()]
  const said = Array.from({ length: 12 }, (_, index) => Object.freeze(user(text(String(index)))))
  const place = (count: number, more: object = {}) => {
    const messages = said.slice(0, count)
    return { tools, model: MODEL, clientMessages: messages, messages, ...more }
  }
  const trace = () => {}
  const fork = forkFor(place(2), trace)
  expect(forks.get(fork)).toEqual({ isSubAgent: false, trace })
  keep(fork, place(2))
  const isFound = (where: Parameters<typeof forkFor>[0]) => forkFor(where) === fork
  expect([2, 3, 9, 10, 1].map((count) => isFound(place(count)))).toEqual([true, true, true, false, false])
  expect(isFound(place(3, { tools: others }))).toBe(false)
  expect(isFound(place(3, { model: 'other' }))).toBe(false)
  const edited = [user(text('edited')), ...said.slice(1, 3)]
  expect(isFound(place(3, { messages: edited }))).toBe(false)
  expect(isFound(place(3, { messages: said.slice(0, 1) }))).toBe(false)
  // One that went on is found at its new end only.
  keep(fork, place(4))
  expect([2, 4].map((count) => isFound(place(count)))).toEqual([false, true])
  keep(fork, place(4))
  expect(isFound(place(4))).toBe(true)
  // Nor is one found whose end may still change.
  keep(fork, place(5, { clientMessages: [...said.slice(0, 4), user(text('loose'))] }))
  expect(isFound(place(4))).toBe(false)
  // Another fork may have taken its place.
  const other = forkFor(place(6))
  keep(fork, place(6))
  keep(other, place(6))
  keep(fork, place(7))
  expect(forkFor(place(6))).toBe(other)
  keep(fork, place(0))
})

test('long results: what is replaced, reported and read', async () => {
  const { tool: reading, replaceIn, report, read } = createLongResults(1000)
  const long = 'line of a log\n'.repeat(100)
  const image = { type: 'image', source: {} }
  const history = [
    user(text(long), result('short', 'x'.repeat(1000)), result('failed', long, { is_error: true })),
    assistant(use('one', 'Logs'), use('two', 'Other'), text(long)),
    user(result('one', [text(long), image, text('end')]), result('two', [text('x'.repeat(999)), text('y')])),
  ]
  expect(reading).toMatchObject({ name: 'ReadResult', input_schema: { type: 'object' } })
  const replaced = replaceIn(history)
  expect([replaced[0], replaced[1]]).toEqual([history[0], history[1]])
  expect(replaced[0]).toBe(history[0])
  const [first, second] = (replaced[2]?.content ?? []) as Fields[]
  expect(second).toEqual((history[2]!.content as Fields[])[1])
  const shown = first?.content as Fields[]
  expect(shown.map(({ type }) => type)).toEqual(['text', 'text', 'image'])
  expect([first?.tool_use_id, Object.isFrozen(replaced[2])]).toEqual(['one', true])
  const handle = /result_[a-z0-9]{16}/.exec(String(shown[0]?.text))?.[0]
  const [heading, body] = await read(history, { handle, lines: '100-102' })
  expect([heading, body?.split('\n').at(-1)]).toEqual([expect.stringContaining('of 102'), 'end'])
  expect(await read(history, { handle, lines: 'x' })).toHaveLength(1)
  expect(await read(history, { handle: 'result_0123456789abcdef' })).toEqual([
    expect.stringContaining('result_0123456789abcdef'),
  ])
  expect(await read(history, undefined)).toHaveLength(1)
  const events: Trace[] = []
  const trace = (event: Trace) => void events.push(event)
  report(history, trace)
  report(history.slice(0, 2), trace)
  report([], trace)
  report(history, undefined)
  const size = long.length + 1 + 3
  const sum = shown.slice(0, 2).reduce((total, one) => total + String(one.text).length, 0)
  expect(events).toEqual([
    { type: 'shelved', id: 'one', name: 'Logs', kind: expect.any(String), size, shown: sum },
  ])
  events.length = 0
  report([assistant(text('one')), history[2]!], trace)
  expect(events).toMatchObject([{ name: '' }])
})

test('what is remembered of replies is theirs alone', () => {
  const { remember, recall } = createSearchMemory()
  const found = [{ at: 0, thoughts: 0, left: 0, names: ['a'] }]
  const messages = [user(text('hi')), assistant(text('Well.')), user(text('and?'))].map((one) =>
    Object.freeze(one),
  )
  const known = (owner: string, history: readonly Fields[]) => {
    const at = recall(owner, history)
    return [0, 1, 2, 3].filter((index) => at(index).length > 0)
  }
  remember('me', [], found)
  remember('me', messages.slice(0, 2), [])
  expect(known('me', messages)).toEqual([])
  remember('me', messages.slice(0, 2), found)
  expect(known('me', messages)).toEqual([1])
  // The same objects in another conversation, and of another owner.
  expect(known('me', messages.slice(1))).toEqual([])
  expect(known('you', messages)).toEqual([])
  expect(known('me', messages)).toEqual([1])
  const replies = [
    user(text('Well.')),
    assistant(use('Well.')),
    assistant(text('Well.'), text('')),
    assistant(result('Well.')),
  ]
  for (const reply of replies) expect(known('me', [messages[0]!, reply])).toEqual([])
  const calls = ['a', 'b'].map((id) => [messages[0]!, assistant(use(id))])
  const results = ['a', 'b'].map((id) => [user(result(id))])
  for (const [one, other] of [calls, results]) {
    remember('me', one!, found)
    expect([known('me', one!).length, known('me', other!).length]).toEqual([1, 0])
  }
})

test('models that bind thinking are asked to drop what does not fit', () => {
  const bound = (model: string, thinking?: unknown) =>
    isBound({ model, thinking } as unknown as MessagesRequest)
  const BOUND = 'claude-opus-5-5'
  const kinds = [{ type: 'enabled' }, { type: 'adaptive' }, { type: 'disabled' }, undefined]
  const binding = { prefix_mismatch_behavior: 'drop_block' }
  expect(kinds.map((thinking) => bound(MODEL, thinking))).toEqual([false, false, false, false])
  expect(kinds.map((thinking) => bound(BOUND, thinking))).toEqual([true, true, false, false])
  const dropped = (thinking: unknown) =>
    withDroppedThinking({ model: BOUND, thinking } as unknown as MessagesRequest).thinking
  expect(dropped({ type: 'enabled' })).toEqual({ type: 'enabled', block_binding: binding })
  expect(dropped({ block_binding: 'own' })).toEqual({ block_binding: 'own' })
  const { 'anthropic-beta': betas } = withBindingBeta({ 'anthropic-beta': 'a, b', other: 'x' })
  expect(betas).toMatch(/^a,b,[a-z0-9-]+$/)
  expect(withBindingBeta({ 'anthropic-beta': String(betas), other: 'x' })).toEqual({
    'anthropic-beta': betas,
    other: 'x',
  })
})

test('what only this gateway wrote is found in a history, and ids become the model’s own', () => {
  const request = (...messages: Fields[]) => ({ model: MODEL, max_tokens: 5, messages }) as MessagesRequest
  const carried = 'toolu_1__shelf_0_0'
  const plain = request(user(text(carried)), assistant(use('a__shelf_x')), { role: 'user', content: carried })
  expect(hasTraces(plain)).toBe(false)
  expect(withoutCarriedIds(plain)).toBe(plain)
  const called = request(user(text('hi')), assistant(text('x'), use(carried)), user(result(carried)))
  expect(hasTraces(called)).toBe(true)
  expect(withoutCarriedIds(called)).toEqual(
    request(user(text('hi')), assistant(text('x'), use('toolu_1')), user(result('toolu_1'))),
  )
  expect(withoutCarriedIds(called).messages[0]).toBe(called.messages[0])
  const callers = request(assistant(text('x'), { ...use('toolu_1'), caller: {} }))
  expect([hasTraces(callers), withoutCarriedIds(callers)]).toEqual([true, callers])
})
