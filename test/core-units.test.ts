// Small parts of the core in tables: where a history may be cut and how a pool is described in events.
import { expect, it } from 'vitest'
import { describePool, presentMessages, type Trace } from '../src/core/index.ts'
import { assistant, found, result, search, text, use, user } from './oracle/requests.ts'
import {
  BOUND_MODEL,
  builtIn,
  exampleTools,
  type Loose,
  MODEL,
  mcp,
  quietShelf,
  Talk,
} from './support/talk.ts'

const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }

it('a history is cut where no result loses its call, however many messages are to stay', async () => {
  const messages = [
    user(text('go')),
    assistant(search('srvtoolu_1'), found('srvtoolu_1'), text('So.')),
    user(text('more')),
    assistant(search('srvtoolu_2'), use('toolu_1', 'find')),
    user(result('toolu_1')),
    assistant(found('srvtoolu_2'), text('Found.')),
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
  expect(kept).toMatchInlineSnapshot(`
    [
      0,
      1,
      3,
      3,
      4,
      7,
      7,
      7,
      8,
      9,
      10,
      10,
    ]
  `)
})

it('a pool is described by server, immediate tools first, in parts that are not too long', () => {
  const one = (name: string, server?: string, size = 40) => ({ name, server, json: 'x'.repeat(size) })
  const [read, send, list, own] = [one('Read'), one('send', 'mail', 400), one('list', 'mail'), one('own')]
  const partition = { immediate: [read, list], deferred: [send, own] }
  const { id, events } = describePool(partition)
  expect(describePool(partition).events).toBe(events)
  expect(events.map((event) => ({ ...event, id: '', parts: undefined }))).toMatchInlineSnapshot(`
    [
      {
        "deferred": [
          "own",
        ],
        "id": "",
        "immediate": [
          "Read",
        ],
        "parts": undefined,
        "server": undefined,
        "tokens": [
          14,
          14,
        ],
        "type": "tools",
      },
      {
        "deferred": [
          "send",
        ],
        "id": "",
        "immediate": [
          "list",
        ],
        "parts": undefined,
        "server": "mail",
        "tokens": [
          14,
          138,
        ],
        "type": "tools",
      },
      {
        "id": "",
        "immediate": 2,
        "parts": undefined,
        "tokens": 180,
        "total": 4,
        "type": "pool",
      },
    ]
  `)
  expect(events.at(-1)).toMatchObject({
    id,
    parts: events.slice(0, -1).map((event) => 'id' in event && event.id),
  })
  expect(describePool({ immediate: [read, list], deferred: [own, send] }).id).toBe(id)
  expect(describePool({ immediate: [read, list, own], deferred: [send] }).id).not.toBe(id)
  const many = Array.from({ length: 2000 }, (_, index) => one(`tool_${index}`.padEnd(60, '_'), 'big'))
  const parts = describePool({ immediate: [], deferred: many }).events.slice(0, -1)
  const names = parts.flatMap((event) => ('deferred' in event ? event.deferred : []))
  expect(names).toEqual(many.map(({ name }) => name))
  expect(parts.map((event) => 'deferred' in event && event.deferred.length)).toMatchInlineSnapshot(`
    [
      347,
      347,
      347,
      347,
      347,
      265,
    ]
  `)
})

it('the request leaves out thinking whose prefix changes, and nothing else', async () => {
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

it.each(['append', undefined] as const)(
  'the model sees the tools of its list and loaded ones, each once: wire %s',
  async (wire) => {
    const shown: unknown[] = []
    const trace = (event: Trace) => {
      if (event.type === 'decision') shown.push(event.tools?.visible)
    }
    const talk = new Talk(
      quietShelf({ tools: [builtIn('Read'), ...exampleTools], trace, ...(wire ? { wire } : {}) }),
    ).user('go')
    await talk.prepare()
    await talk.search('select:mcp__slack__send_message')
    await talk.prepare()
    expect(shown).toEqual([1, 2])
  },
)

it('K2 reports each cause of a broken prefix with what it changed', async () => {
  const events: Loose[] = []
  const trace = (event: Trace) => {
    if (event.type === 'prefix') events.push(event)
  }
  const shelf = quietShelf({ tools: [], trace })
  const [a, b, later] = [builtIn('a'), builtIn('b'), { ...builtIn('later'), defer_loading: true }]
  const prepare = (more: object) =>
    shelf.prepare({ model: MODEL, messages: [user(text('hi')), user(text('ho'))], ...more } as Loose)
  await prepare({ tools: [a, b] })
  await prepare({ tools: [b, a] })
  await prepare({ tools: [b, a, later] })
  await prepare({ tools: [later, { ...a, description: 'new' }] })
  await prepare({ tools: [a], model: 'other', system: 'Be brief.', messages: [user(text('hi'))] })
  const named = (value: Loose): unknown =>
    Array.isArray(value) ? value.map(named) : (value?.name ?? JSON.stringify(value))
  const lines = events.map(({ causes, content, left, isKept }) => [
    `${isKept} ${left}`,
    ...causes.map((cause: Loose, at: number) => {
      const { before, after } = content[at]
      return `${Object.values(cause).join(' ')}: ${named(before)} → ${named(after)}`
    }),
  ])
  expect(lines).toMatchInlineSnapshot(`
    [
      [
        "false 0",
        "tools-reordered: "a","b" → "b","a"",
      ],
      [
        "false 0",
        "tool-added later: undefined → later",
      ],
      [
        "false 0",
        "tool-removed b: b → undefined",
        "tool-changed a: a → a",
      ],
      [
        "false 0",
        "model: "claude-opus-4-6" → "other"",
        "tool-removed later: later → undefined",
        "tool-changed a: a → a",
        "system: undefined → "Be brief."",
        "message-edited 1: {"role":"user","content":[{"type":"text","text":"ho"}]} → undefined",
      ],
    ]
  `)
})

it('a loaded tool that was removed is not reported as loaded', async () => {
  const loaded: unknown[] = []
  const trace = (event: Trace) => {
    if (event.type === 'decision') loaded.push(event.loaded)
  }
  const talk = new Talk(quietShelf({ tools: exampleTools, trace })).user('go')
  await talk.prepare()
  const SEND = 'mcp__slack__send_message'
  await talk.search(`select:${SEND}`)
  await talk.prepare()
  talk.shelf.remove(SEND)
  await talk.prepare()
  expect(loaded).toEqual([[], [SEND], []])
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

it('P2 shows the result of a call by its id, and none for a call without one', () => {
  const messages = [
    assistant(use('one', 'Read'), { type: 'tool_use', name: 'Edit' }, { type: 'other', content: 'not it' }),
    user(result('one', 'found'), { type: 'tool_result', content: 'nor this' }),
    assistant({ type: 'text' }),
    null,
  ] as Loose[]
  const shown = (verbose?: boolean) =>
    presentMessages(messages, { searchTool: 'ToolSearch', ...(verbose ? { verbose } : {}) })
  expect(shown(true)).toStrictEqual([
    { type: 'call', name: 'Read', input: {}, result: 'found' },
    { type: 'call', name: 'Edit', input: undefined, result: undefined },
    { type: 'text', text: 'undefined' },
  ])
  expect(shown()).toStrictEqual([
    { type: 'call', name: 'Read', input: {} },
    { type: 'call', name: 'Edit', input: undefined },
    { type: 'text', text: 'undefined' },
  ])
})
