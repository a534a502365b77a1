// Small parts of the core in tables: where a history may be cut and how a pool is described in events.
import { expect, it } from 'vitest'
import { describePool, type Trace } from '../src/core/index.ts'
import { assistant, found, result, search, text, use, user } from './oracle/requests.ts'
import { BOUND_MODEL, builtIn, exampleTools, type Loose, MODEL, quietShelf, Talk } from './support/talk.ts'

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

it('thinking that is bound to what changes is left out of what is sent, and nothing else is touched', async () => {
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
