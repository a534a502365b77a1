// Small parts of the core in tables: where a history may be cut and how a pool is described in events.
import { expect, it } from 'vitest'
import { describePool } from '../src/core/index.ts'
import { assistant, found, result, search, text, use, user } from './oracle/requests.ts'
import { type Loose, quietShelf } from './support/talk.ts'

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
