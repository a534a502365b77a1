// Rows of the core: what a search, a fork, a compaction and the options do in cases that no random conversation reaches.
import { describe, expect, it } from 'vitest'
import { ask } from '../../packages/testkit/src/ask.ts'
import {
  assistant,
  ISSUE,
  result,
  SEND,
  search,
  sentOf,
  text,
  tools,
  use,
  user,
} from '../../packages/testkit/src/blocks.ts'
import {
  BOUND_MODEL,
  builtIn,
  exampleTools,
  type Loose,
  MODEL,
  mcp,
  quietShelf,
  Talk,
} from '../../packages/testkit/src/talk.ts'
import { createPureShelf, ShelfError } from '../doors.ts'

const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }
const hosted = (id: string) => ({
  ...{ type: 'server_tool_use', id, name: 'tool_search_tool_bm25' },
  input: { query: 'x' },
})
const hostedResult = (id: string, ...names: string[]) => ({
  type: 'tool_search_tool_result',
  tool_use_id: id,
  content: {
    type: 'tool_search_tool_search_result',
    tool_references: names.map((tool_name) => ({ type: 'tool_reference', tool_name })),
  },
})

describe('a search', () => {
  it('S10 of two names that differ by case, the deferred tool is meant first', async () => {
    const shelf = quietShelf({
      tools: [
        builtIn('FETCH'),
        builtIn('fetch_', { shouldDefer: true }),
        builtIn('Fetch', { shouldDefer: true }),
        builtIn('fETCH', { shouldDefer: true }),
      ],
    })
    expect((await ask(shelf, 'select:fetch')).names).toEqual(['Fetch'])
  })

  it('S15 a query longer than can be searched loses its end, and half a name with it', async () => {
    const query = `select:${SEND},${'x'.repeat(2_000)}`
    const { names, said } = await ask(quietShelf({ tools }), query)
    expect([names, said]).toEqual([
      [SEND],
      'Tool search: Only the first 2000 characters of the query were searched.',
    ])
    expect((await ask(quietShelf({ tools }), `slack ${' '.repeat(1_994)}`)).said).toBe('')
  })

  it('S17 a shortened hit counts as left over, as hits that were not shown do', async () => {
    const long = (name: string) => mcp('files', name, { description: `open ${'x '.repeat(800)}` })
    const shelf = quietShelf({ tools: ['a', 'b', 'c', 'd'].map(long), answerTokens: 900, maxResults: 3 })
    const { tools: whole, shortened, left } = await shelf.search({ query: 'open' })
    expect([whole.length + shortened.length, left]).toEqual([3, 1 + shortened.length])
    expect(shortened.length).toBeGreaterThan(0)
  })

  it('S7 a ranker may count wrong, name foreign tools or fail', async () => {
    const [first] = quietShelf({ tools }).partition().deferred
    const stranger = quietShelf({ tools: [mcp('x', 'y')] }).partition().deferred[0]!
    const notices: string[] = []
    const ranked = async (rank: Loose) => {
      const shelf = quietShelf({ tools, rank, notify: (message) => notices.push(message) })
      return shelf.search({ query: 'anything at all' })
    }
    const known = (list: Loose) => list.filter(({ name }: Loose) => name === first?.name)
    const odd = await ranked((all: Loose) => ({
      hits: [
        { tool: known(all)[0], score: 2 },
        { tool: stranger, score: 1 },
      ],
      matched: Number.NaN,
    }))
    expect([odd.tools.map(({ name }) => name), odd.left]).toEqual([[first?.name], 0])
    const unread = await ranked((all: Loose) => ({
      hits: [{ tool: all[0], score: 1 }],
      matched: 3,
      unread: 7,
    }))
    expect(unread.remark).toContain(
      '7 tools were not searched, because they are still being read; try again shortly.',
    )
    expect(unread.left).toBe(2)
    await ranked(() => {
      throw new Error('broken')
    })
    expect(notices).toEqual(['the ranker failed, so the classic one is used: Error: broken'])
  })
})

describe('S8 a search while servers connect', () => {
  /** A timer that never ends, and whether the search went on without it. */
  async function isAtOnce(query: string, servers: object, more: readonly Loose[] = []): Promise<boolean> {
    let isWaiting = false
    let over = () => {}
    const timer = () => {
      isWaiting = true
      return {
        over: new Promise<void>((resolve) => {
          over = resolve
        }),
        cancel: () => {},
      }
    }
    const shelf = quietShelf({ tools: [...tools, ...more], servers: servers as never, timer })
    const searching = shelf.search({ query })
    for (let turn = 0; turn < 50 && !isWaiting; turn++) await Promise.resolve()
    over()
    await searching
    return !isWaiting
  }
  const slow = { slow: { state: 'pending' } }

  it.each<[string, boolean]>([
    ['slack send message', true],
    ['send', true],
    ['"send", (slack)', true],
    ['send-message', true],
    ['send-', true],
    ['sendMessage', false],
    [SEND, true],
    [`select:${SEND}`, true],
    [`select:${SEND},${ISSUE}`, true],
    [`select:${SEND},other`, false],
    ['slack zebra', false],
    ['send-zebra', false],
    ['zebra', false],
    ['"" ()', false],
    ['slow send', false],
    ['Slow: send', false],
    ['slower send', false],
    ['发送', true],
  ])('%j is answered at once: %j', async (query, isQuick) => {
    expect(await isAtOnce(query, slow, [mcp('chat', '发送')])).toBe(isQuick)
  })

  it('waits for nobody whose tools are known from before, nor for one that has settled', async () => {
    const known = { slack: { state: 'pending' } }
    expect(await isAtOnce('slack', known)).toBe(true)
    expect(await isAtOnce('zebra', known)).toBe(false)
    expect(await isAtOnce('zebra', { slow: { state: 'failed' } })).toBe(true)
  })

  it('continues as soon as the server that the query names has its tools', async () => {
    const timer = () => ({ over: new Promise<void>(() => {}), cancel: () => {} })
    const servers = { github2: { state: 'pending' }, slow: { state: 'pending' } } as const
    const shelf = quietShelf({ tools, servers, timer })
    const searching = shelf.search({ query: 'github2 zebras' })
    shelf.add([mcp('github2', 'count_zebras')])
    expect((await searching).tools.map(({ name }) => name)).toContain('mcp__github2__count_zebras')
  })

  it('says which servers have been searched since the last time', async () => {
    const shelf = quietShelf({
      tools,
      servers: { a: { state: 'pending' }, b: { state: 'pending' } },
      pendingWaitMs: 0,
    })
    const talk = new Talk(shelf)
    await talk.user().prepare()
    const first = await ask(shelf, 'slack')
    expect(first.said).toBe('Tool search: Not searched, still connecting: a, b; try again shortly.')
    shelf.add([mcp('a', 'x')])
    const second = await ask(shelf, 'slack')
    expect(second.said).toBe(
      'Tool search: Connected since your last search and searched now: a. Not searched, still connecting: b; try again shortly.',
    )
    const third = await ask(shelf, 'slack')
    expect(third.said).toBe('Tool search: Not searched, still connecting: b; try again shortly.')
  })
})

it('C1 C5 a history is cut where no result loses its call, however many messages are to stay', async () => {
  const messages = [
    user(text('go')),
    assistant(hosted('srvtoolu_1'), hostedResult('srvtoolu_1'), text('So.')),
    user(text('more')),
    assistant(hosted('srvtoolu_2'), use('toolu_1', 'find')),
    user(result('toolu_1')),
    assistant(hostedResult('srvtoolu_2'), text('Found.')),
    user(text('and?')),
    assistant(thought, use('toolu_2', 'find'), use('toolu_3', 'find')),
    user(result('toolu_2'), result('toolu_3'), text('well')),
    assistant(text('Done.')),
  ]
  const shelf = quietShelf({ tools: [] })
  const kept: number[] = []
  for (let keep = 0; keep <= messages.length + 1; keep++) {
    const compacted: Loose = await shelf.compact(messages as Loose, { summarize: 'before', keep })
    expect(compacted.slice(1)).toEqual(messages.slice(messages.length - compacted.length + 1))
    kept.push(compacted.length - 1)
  }
  expect(kept).toEqual([0, 1, 3, 3, 4, 7, 7, 7, 8, 9, 10, 10])
})

it('N5 the sendable form leaves out thinking whose prefix changes, and nothing else', async () => {
  const messages = [
    user(text('hi')),
    assistant(thought),
    user(text('a')),
    assistant(thought, text('b')),
    user(text('c')),
    assistant(text('So.')),
    user(text('d')),
  ]
  for (const [model, kept] of [
    [BOUND_MODEL, [assistant(text('(thought)')), assistant(text('b'))]],
    [MODEL, [messages[1], messages[3]]],
  ] as const) {
    const shelf = quietShelf({ tools: exampleTools })
    expect(shelf.sendable(messages as Loose)).toEqual(messages)
    await shelf.prepare({ model, max_tokens: 100, messages } as Loose)
    const sent: Loose = shelf.sendable(messages as Loose)
    expect([sent[1], sent[3]]).toEqual(kept)
    expect([0, 2, 4, 5, 6].map((index) => sent[index])).toEqual(
      [0, 2, 4, 5, 6].map((index) => messages[index]),
    )
  }
})

it('S10 a fork has the tools and servers that nothing hides from it, and its own settings', async () => {
  const asked: string[] = []
  const related = async (query: string) => {
    asked.push(query)
    return []
  }
  const tools = [builtIn('Read'), builtIn('Bash'), mcp('a', 'one'), mcp('b', 'one'), mcp('b', 'two')]
  const shelf = quietShelf({ tools, servers: { a: {}, b: { state: 'failed' }, c: {}, bad: {} }, related })
  const hide = {
    server(name: string) {
      if (name === 'bad') throw new Error('no')
      return name === 'a'
    },
    tool: ({ name }: { name: string }) =>
      (name === 'Bash' ? Promise.resolve(false) : name.endsWith('two')) as boolean,
  }
  const nothing = { server: () => false, tool: () => false }
  const shown = (one: typeof shelf) => [one.tools().map(({ name }) => name), [...one.servers().keys()]]
  expect([shelf, shelf.fork({ hide }), shelf.fork({ hide: nothing }), shelf.fork()].map(shown)).toEqual([
    [
      ['Read', 'Bash', 'mcp__a__one', 'mcp__b__one', 'mcp__b__two'],
      ['a', 'b', 'c', 'bad'],
    ],
    [
      ['Read', 'mcp__b__one'],
      ['b', 'c'],
    ],
    [
      ['Read', 'Bash', 'mcp__a__one', 'mcp__b__one', 'mcp__b__two'],
      ['a', 'b', 'c', 'bad'],
    ],
    [
      ['Read', 'Bash', 'mcp__a__one', 'mcp__b__one', 'mcp__b__two'],
      ['a', 'b', 'c', 'bad'],
    ],
  ])
  const fork = shelf.fork({ hide })
  expect(fork.partition()).toBe(fork.partition())
  expect(shelf.fork({ hide: { ...hide } }).partition()).not.toBe(fork.partition())
  expect(shelf.fork({ hide: nothing }).partition().pool).toBe(shelf.partition().pool)
  expect(fork.resolve({ id: 'x', name: 'mcp__b__one', input: {} }).server).toBe('b')
  fork.add(mcp('b', 'three'))
  expect(shelf.tools().map(({ name }) => name)).toContain('mcp__b__three')
  await fork.search({ query: 'hidden' })
  await shelf.search({ query: 'plain' })
  expect(asked).toEqual(['plain'])
})

it('C5 a search of the API that can have no result any more is not sent', async () => {
  const rest = [user(text('y')), assistant(text('z')), user(text('w'))]
  expect(await sentOf([assistant(hosted('srvtoolu_1'), text('x')), ...rest])).toEqual([
    assistant(text('x')),
    ...rest,
  ])
})

it('L1 an answer by the model itself loads nothing, and one that repeats a tool loads it once', async () => {
  const reference = { type: 'tool_reference', tool_name: SEND }
  const loadedBy = async (answer: Loose) => {
    const messages = [user(text('go')), search('1'), answer] as Loose
    return (await quietShelf({ tools }).prepare({ model: MODEL, messages })).loaded
  }
  expect(await loadedBy(assistant(result('1', reference)))).toEqual([])
  expect(await loadedBy(user(result('1', reference, reference)))).toEqual([SEND])
})

describe('options', () => {
  const method = () => {}
  const store = { put: method, get: method, drop: method }
  const results = { store, budget: 0, idOf: method, newOwner: method }

  it.each<[string, readonly unknown[], readonly unknown[]]>([
    ['wire', ['bridge'], ['other', 5, null]],
    ['strategy', ['staged'], ['', true]],
    ['announce', ['prepend'], ['append']],
    ['unloadedCalls', ['refuse'], ['load all']],
    ['contextWindow', [1, 200], [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5']],
    ['announceShare', [0, 0.5], [-1, null]],
    ['definitionLimit', [1000], [999]],
    ['answerTokens', [200], [199]],
    ['tombstones', [false], [0, 'yes']],
    ['cacheControl', [{ type: 'ephemeral' }], [null, 'x']],
    ['rank', [method], ['bm25', {}]],
    ['toolSearch', [true, 'auto'], [1, {}]],
    ['namePrefix', ['', 'A-z_09'], ['a b', 'ä', 'a\n', 'n'.repeat(17)]],
    ['searchTool', ['Find', 'n'.repeat(64)], ['', 'a b', 'n'.repeat(65), 'CallTool']],
    [
      'results',
      [results],
      [
        { ...results, budget: -1 },
        { ...results, store: undefined },
        { ...results, idOf: null },
      ],
    ],
    ['state', [], [5, {}, { betas: [] }]],
    ['servers', [{ a: {} }, { a: { state: 'failed' } }], ['x', null, { a: null }, { a: { state: 'odd' } }]],
    ['tools', [[]], [{}, null, [null], [{}], [{ name: '' }], [{ name: 5 }]]],
    ['toolSerach', [], [true]],
  ])('the option %s takes what it should, and says what is wrong with the rest', (name, good, bad) => {
    for (const value of good) expect(() => createPureShelf({ [name]: value } as Loose)).not.toThrow()
    for (const value of bad) {
      let error: unknown
      try {
        createPureShelf({ [name]: value } as Loose)
      } catch (thrown) {
        error = thrown
      }
      expect(error).toBeInstanceOf(ShelfError)
      expect((error as Error).message).toMatch(/option "|a tool must be/)
    }
  })

  it('an unknown option is named with the nearest ones', () => {
    expect(() => createPureShelf({ toolSerach: true } as Loose)).toThrow(
      /"toolSerach".*nearest: .*toolSearch/,
    )
  })

  it('results bring a tool of their own, whose name is taken', () => {
    const named = (more: object) => () =>
      createPureShelf({ results, tools: [{ name: 'ReadResult', ...more }] } as Loose)
    expect(named({})).toThrow('use another name for this tool')
    expect(named({ server: 'a' })).not.toThrow()
  })

  it.each([undefined, null, {}, { model: 5, messages: [] }, { model: 'm' }, { model: 'm', messages: {} }])(
    'a request without its fields is refused: %j',
    async (request) => {
      await expect(createPureShelf().prepare(request as Loose)).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    },
  )
})
