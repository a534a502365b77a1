// One rich recording and one rich schema with every single change of them: everything that the page shows of each.
import { expect, test } from 'vitest'
import {
  addEventFile,
  compareTurns,
  createEventModel,
  type EventModel,
  shownParts,
  spendingByDay,
  spendingOf,
  toolUses,
  totalSpending,
} from '../../src/inspector/model/index.ts'
import { effects } from '../support/variants.ts'

function modelOf(events: readonly unknown[], limits = {}): EventModel {
  const model = createEventModel(limits)
  for (const event of events) model.add(event)
  return model
}

/** An event without the fields that all of them have. */
const event = (type: string, minute: number, fields: object, conversation = 'x') => ({
  entry: [type, minute, conversation] as const,
  fields,
})

/** The events as they are recorded. */
function recorded(given: readonly ReturnType<typeof event>[]) {
  return given.map(({ entry: [type, minute, conversation], fields }, sequence) => ({
    ...{ type, time: `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`, processId: 1 },
    ...{ sequence, conversation },
    ...fields,
  }))
}

const usage = (read: number, write: number, hour: number) => ({
  ...{ input: 100, cacheRead: read, cacheWrite: write, cacheWrite1h: hour, output: 10 },
})
const share = { visible: 2, total: 5, tokensWith: 300, tokensWithout: 5000 }
const MODEL = 'claude-sonnet-5-5'

/** A chat, a client of the Messages gateway, and one of MCP. */
const written = [
  event(
    'tools',
    0,
    { id: 't1', server: 'hub', tokens: [5, 6, 7], immediate: ['a'], deferred: ['b', 'c'] },
    '',
  ),
  event('pool', 0, { id: 'p1', parts: ['t1'] }, ''),
  event('opened', 0, { kind: 'chat', client: { name: 'cursor', version: '1' }, user: 'ada' }),
  event('announced', 0, { added: 2, removed: 1, fault: true }),
  event('decision', 0, {
    ...{ decision: { open: true, reason: 'open', error: 'e' }, model: MODEL, messages: 3, isSubAgent: true },
    ...{ pool: 'p1', loaded: ['b'], tools: share },
  }),
  event('prefix', 0, {
    isKept: false,
    causes: [{ kind: 'tool-changed', name: 'b', index: 4 }],
    content: [{ before: 'old', after: { text: 'new' } }],
    left: 2,
  }),
  event('searched', 0, {
    ...{ query: 'q', ranker: 'hybrid', matched: 2, searchable: 3, refused: 1, unsearched: ['late'] },
    ...{ found: ['b', 'd'], scores: [0.5] },
  }),
  event('loaded', 0, { names: ['b', 'd'], by: 'search' }),
  event('sampled', 0, { model: MODEL, milliseconds: 9, stopReason: 'tool_use', usage: usage(50, 0, 0) }),
  event('decision', 20, {
    decision: { open: true, reason: 'open' },
    model: MODEL,
    pool: 'p1',
    loaded: ['b'],
    tools: share,
  }),
  event('sampled', 21, { model: MODEL, stopReason: 'tool_use', usage: usage(0, 70, 0) }),
  event('sampled', 21, { model: MODEL, stopReason: 'tool_use', usage: usage(0, 0, 80) }),
  event('sampled', 21, { model: MODEL, stopReason: 'end_turn', usage: usage(0, 0, 0), error: 'late' }),
  event('call', 21, { id: '1', name: 'mcp__hub__b', server: 'hub', content: { at: 1 } }),
  event('permission', 21, { id: '1', name: 'mcp__hub__b', isAllowed: true }),
  event('permission', 21, { id: '9', name: 'mcp__hub__c', isAllowed: false }),
  event('result', 22, { id: '1', outcome: 'failed', reason: 'r', milliseconds: 5, size: 6, content: 'out' }),
  event('result', 22, { id: '2', name: 'c', outcome: 'done' }),
  event('compacted', 23, { trigger: 'auto', before: 40, after: 6 }),
  event('rejected', 23, { message: 'no' }),
  event('warning', 23, { message: 'careful' }),
  event('decision', 24, { decision: { open: false }, model: 'nobody', tools: share }),
  event(
    'answered',
    5,
    {
      ...{ model: MODEL, status: 200, milliseconds: 7, mode: 'shelve', wire: 'reference', why: 'w' },
      ...{ toolsGiven: 9, toolsVisible: 2, rounds: 3, tokensWithout: 900, tokensWith: 100 },
      ...{ dollarsWithout: 0.5, dollarsWith: 0.25, error: 'e' },
    },
    'y',
  ),
  event('answered', 6, { model: MODEL, status: 200, rounds: 0, tokensWithout: 9, tokensWith: 1 }, 'y'),
  event('listed', 7, { mode: 'list', pool: 'p1', loaded: ['c'], tools: share }, 'z'),
  event('searched', 7, { query: 'first', found: ['hub__b'] }, 'z'),
  event('loaded', 7, { names: ['b'], by: 'search' }, 'z'),
  event('listed', 7, { mode: 'bridge', pool: 'p1', loaded: [] }, 'z'),
  event('call', 7, { id: '3', name: 'b' }, 'z'),
  event('searched', 8, { query: 'second', found: [] }, 'z'),
]

const events = recorded(written)

function shown(given: readonly unknown[]): string[] {
  const model = modelOf(given)
  const pools = model.pools()
  const conversations = model.conversations()
  const turns = conversations.flatMap(({ id }) => model.turns(id))
  const uses = toolUses(model)
  return [
    ...conversations,
    ...turns.flatMap((turn) => [turn, spendingOf(turn), pools.workingSet(turn)]),
    pools.latest(),
    ...spendingByDay(model),
    totalSpending(model),
    ...['mcp__hub__b', 'hub__b', 'b', 'c', 'd', 'none'].map((name) => uses.get(name) ?? null),
    model.turns('none'),
  ].map((part) => JSON.stringify(part))
}

test('a recording becomes what it became', async () => {
  const model = modelOf(events)
  const turns = ['x', 'y', 'z'].flatMap((id) => model.turns(id))
  const compared = turns
    .slice(1)
    .map((turn, at) => JSON.stringify(compareTurns(turns[at]!, turn, model.pools()), undefined, 1))
  // Only the fields of an event's own are varied, of the first event of each type, and each conversation alone.
  const varied = await Promise.all(
    ['x', 'y', 'z'].map((id) => {
      const all = written.filter(({ entry }) => entry[2] === id || (entry[2] === '' && id === 'x'))
      const own = all.filter(({ entry }, at) => all.findIndex((one) => one.entry[0] === entry[0]) === at)
      return effects(
        own.map(({ fields }) => fields),
        (fields: readonly object[]) =>
          shown(recorded(fields.map((one, at) => ({ entry: own[at]!.entry, fields: one })))),
      )
    }),
  )
  await expect([...shown(events), ...compared, ...varied].join('\n')).toMatchFileSnapshot(
    './model/recording.txt',
  )
})

test('events may come in any order and twice; the oldest beyond a limit are dropped and refused', () => {
  const mixed = [...events].reverse().flatMap((one) => [one, one])
  expect(shown(mixed)).toEqual(shown(events))
  const few = modelOf(events, { maxEvents: 10 })
  expect(few.counts()).toEqual({ kept: 10, dropped: events.length - 10, refused: 0 })
  expect(few.conversations().map(({ id, events: count }) => [id, count])).toEqual([['x', 10]])
  few.add(events[0])
  few.add(5)
  expect(few.counts()).toEqual({ kept: 10, dropped: events.length - 9, refused: 1 })
  const characters = events.slice(-1).reduce((sum, one) => sum + JSON.stringify(one).length, 0)
  expect(modelOf(events.slice(-2), { maxCharacters: characters }).counts()).toMatchObject({ kept: 1 })
})

test('days have what their turns spent, the newest first', () => {
  const model = createEventModel()
  const times = ['2026-01-01T23:59:59Z', '2026-01-03T00:00:00Z', '2026-01-01T00:00:00Z']
  times.forEach((time, sequence) => {
    model.add({ type: 'call', time, processId: 1, sequence, conversation: `c${sequence}`, id: `${sequence}` })
  })
  expect(spendingByDay(model).map(([day, { turns }]) => [day, turns])).toEqual([
    ['2026-01-03', 1],
    ['2026-01-01', 2],
  ])
})

test('a file is an export or lines; other lines are counted', () => {
  const [first, second] = [JSON.stringify(events[0]), JSON.stringify(events[1])]
  const exported = (more: object) =>
    JSON.stringify({ format: 'toolshelf-events', events: [events[0], 5], ...more })
  const cases: readonly [string, number, number][] = [
    [`${first}\n\n  \n${second}`, 2, 0],
    [`${first}\n{\n5\n{}\n${second}\n`, 2, 3],
    [exported({}), 1, 1],
    [` \n${exported({})}`, 1, 1],
    [exported({ format: 'other', note: 'toolshelf-events' }), 0, 1],
    [exported({ events: 5 }), 0, 0],
    ['', 0, 0],
  ]
  for (const [text, count, broken] of cases) {
    const model = createEventModel()
    expect([text, addEventFile(text, model)]).toEqual([text, { events: count, broken }])
    expect(model.counts().kept).toBe(count)
  }
  const times = [
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.123456789Z',
    '2026-01-01',
    '2026-01-01T00:00:00.Z',
  ]
  const odd = [...times, 5].map((time) => ({ ...events[0], time }))
  expect(modelOf([...odd, { ...events[0], sequence: 0.5 }]).counts()).toEqual({
    kept: 2,
    dropped: 0,
    refused: 4,
  })
})

test('puts marks where the hidden characters were', () => {
  const long = `\u001b]${'x'.repeat(60)}\u0007`
  expect(shownParts(`a\u001b[31mb\u0007${long}c\u200d`).map(({ text, mark }) => mark ?? text)).toEqual([
    ...['a', 'ESC[31m', 'b', 'U+0007', `ESC]${'x'.repeat(38)}…`, 'c', 'U+200D'],
  ])
  expect(shownParts('')).toEqual([])
})
