// The inspector's model: events in any order become conversations, turns, working sets and costs.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareTurns } from '../../packages/inspector/src/model/compare.ts'
import {
  addEventFile,
  createEventModel,
  type EventModel,
} from '../../packages/inspector/src/model/event-model.ts'
import { createTextLines, type EventRecord } from '../../packages/inspector/src/model/records.ts'
import { spendingByDay, toolUses, totalSpending } from '../../packages/inspector/src/model/totals.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { addChat, addPool, addServed, createRecorder, manyEvents, sampleEvents } from './support/events.ts'
import { sampleTools } from './support/tools.ts'

const tools = sampleTools()
const CHAT = 'c'.repeat(32)
const MCP = 'b'.repeat(32)
const SERVED = 'a'.repeat(32)

function modelOf(events: readonly unknown[], limits = {}): EventModel {
  const model = createEventModel(limits)
  for (const event of events) model.add(event)
  return model
}

/** Everything that a page could show. */
function everything(model: EventModel) {
  const conversations = model.conversations()
  return {
    conversations,
    turns: conversations.map(({ id }) => model.turns(id)),
    sets: conversations.map(({ id }) => model.turns(id).map((turn) => model.pools().workingSet(turn))),
    days: spendingByDay(model),
    uses: tools.map(({ name }) => toolUses(model).get(name)),
  }
}

describe('turns', () => {
  const model = modelOf(sampleEvents(tools))

  test('each request of a chat is a turn with what belongs to it', () => {
    const [first, second, third] = model.turns(CHAT)
    expect(model.turns(CHAT)).toHaveLength(3)
    expect(first?.searches.map(({ query }) => query)).toEqual(['create an issue on github'])
    expect(first?.searches[0]?.hits[0]).toEqual({ name: 'mcp__github__create_issue', score: 0.912 })
    expect(second?.calls).toMatchObject([
      { name: 'mcp__github__create_issue', outcome: 'done', milliseconds: 412 },
    ])
    expect(second?.prefix?.isKept).toBe(true)
    expect(third?.prefix?.causes[0]).toMatchObject({ kind: 'tool-changed', name: 'mcp__files__read_file' })
    expect(third?.prefix?.causes[1]?.after).toContain('Tuesday')
    expect(third?.notes.map(({ text }) => text)).toEqual(['compacted (auto) from 40 messages to 6'])
  })

  test('a client of MCP has a turn per search, with what was loaded', () => {
    expect(model.turns(MCP)).toMatchObject([
      { loaded: ['mcp__slack__post_message'], calls: [{ outcome: 'failed' }], decision: undefined },
    ])
  })

  test('the working set is made of the pool and of what is loaded', () => {
    const turn = model.turns(CHAT)[1]!
    const { always, loaded, shelf, isComplete } = model.pools().workingSet(turn)
    expect(isComplete).toBe(true)
    expect(always.map(({ name }) => name)).toEqual(
      tools.filter((one) => one.isAlwaysLoaded).map(({ name }) => name),
    )
    expect(loaded).toEqual([{ name: 'mcp__github__create_issue', server: 'github', tokens: 420 }])
    expect(always.length + loaded.length + shelf.length).toBe(tools.length)
  })

  test('two turns are compared by what the model sees', () => {
    const [first, second] = model.turns(CHAT)
    const { gained, lost, figures } = compareTurns(first!, second!, model.pools())
    expect(gained.map(({ name }) => name)).toEqual(['mcp__github__create_issue'])
    expect(lost).toEqual([])
    expect(figures.find(({ label }) => label === 'Messages')).toEqual({
      label: 'Messages',
      before: 1,
      after: 3,
    })
  })

  test('a result without its call, a call without its result and unknown events are shown as far as they go', () => {
    const { records, add } = createRecorder()
    add({ type: 'result', id: '1', name: 'a', outcome: 'refused', reason: 'rights', size: 3 }, 'x')
    add({ type: 'call', id: '2', name: 'b' }, 'x')
    add({ type: 'constructor' }, 'x')
    add({ type: '__proto__' }, 'x')
    add({ type: 'from a later version' }, 'x')
    expect(modelOf(records).turns('x')).toMatchObject([
      {
        calls: [
          { name: 'a', outcome: 'refused', reason: 'rights' },
          { name: 'b', outcome: 'running' },
        ],
      },
    ])
  })

  test('a conversation names its user, where the gateway has users', () => {
    const { records, add } = createRecorder()
    add({ type: 'opened', kind: 'mcp', client: { name: 'cursor', version: '1' }, user: 'ada' }, 'x')
    add({ type: 'opened', kind: 'mcp', client: { name: 'cursor', version: '1' } }, 'y')
    const users = modelOf(records)
      .conversations()
      .map(({ id, client, user }) => [id, client, user])
    expect(users.sort()).toEqual([
      ['x', 'cursor 1', 'ada'],
      ['y', 'cursor 1', ''],
    ])
  })

  test('what is announced for a request is part of its turn', () => {
    const { records, add } = createRecorder()
    for (const added of [7, 2]) {
      add({ type: 'announced', added, removed: 0 }, 'x')
      add({ type: 'decision', model: 'm', decision: { open: true, reason: 'open' } }, 'x')
      add({ type: 'searched', query: 'q', found: [] }, 'x')
    }
    const turns = modelOf(records).turns('x')
    expect(turns.map(({ notes }) => notes.map(({ text }) => text))).toEqual([
      ['announced 7 names of tools and withdrew 0'],
      ['announced 2 names of tools and withdrew 0'],
    ])
  })

  test('what a bridge loads stays loaded, although its list does not change', () => {
    const { records, add } = createRecorder()
    add({ type: 'searched', query: 'q', found: ['a'] }, 'x')
    add({ type: 'loaded', names: ['a'], by: 'search' }, 'x')
    add({ type: 'listed', mode: 'bridge', pool: 'p', loaded: [] }, 'x')
    add({ type: 'call', id: '1', name: 'a' }, 'x')
    add({ type: 'searched', query: 'r', found: ['b'] }, 'x')
    add({ type: 'loaded', names: ['b'], by: 'search' }, 'x')
    expect(
      modelOf(records)
        .turns('x')
        .map(({ loaded }) => loaded),
    ).toEqual([['a'], ['a', 'b']])
  })

  test('fields of any type are read without harm', () => {
    const types = sampleEvents(tools).map(({ type }) => type)
    const odd = fc.record({ type: fc.constantFrom(...types) })
    const junk = fc.dictionary(
      fc.constantFrom(
        'decision',
        'tools',
        'found',
        'scores',
        'causes',
        'content',
        'usage',
        'names',
        'id',
        'parts',
      ),
      fc.anything(),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(odd, junk), { maxLength: 30 }), (events) => {
        const { records, add } = createRecorder()
        for (const [event, fields] of events) add({ ...fields, ...event }, 'x')
        expect(everything(modelOf(records.map((record) => JSON.parse(safeJson(record)))))).toBeDefined()
      }),
      { numRuns: runs(30) },
    )
  })
})

/** JSON of anything: what JSON cannot hold becomes text. */
function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner))
  } catch {
    return '{}'
  }
}

describe('order', () => {
  const events = manyEvents(100, tools)
  const whole = everything(modelOf(events))

  test('any order of events and any duplicates give the same result', () => {
    const shuffled = fc
      .tuple(
        fc.shuffledSubarray(events, { minLength: events.length }),
        fc.subarray(events),
        fc.array(fc.nat({ max: events.length })),
      )
      .map(([all, again, reads]) => ({ all: [...all, ...again], reads: new Set(reads) }))
    fc.assert(
      fc.property(shuffled, ({ all, reads }) => {
        const model = createEventModel()
        all.forEach((event, at) => {
          model.add(event)
          // Reading in between must not change what is read later.
          if (reads.has(at)) model.conversations()
        })
        expect(everything(model)).toEqual(whole)
      }),
      { numRuns: runs(15) },
    )
  })

  test('a lost event changes nothing but what it said', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(events), (some) => {
        const sorted = [...some].sort((a, b) => a.sequence - b.sequence)
        expect(everything(modelOf(some))).toEqual(everything(modelOf(sorted)))
      }),
      { numRuns: runs(15) },
    )
  })

  test('chunks may end anywhere', () => {
    const text = events.map((event) => JSON.stringify(event)).join('\n')
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 40 }), (cuts) => {
        const lines: string[] = []
        const reader = createTextLines((line) => lines.push(line))
        const borders = [0, ...cuts.sort((a, b) => a - b), text.length]
        for (const [at, end] of borders.entries()) reader.add(text.slice(borders[at - 1] ?? 0, end))
        reader.end()
        expect(lines).toEqual(text.split('\n'))
      }),
      { numRuns: runs(30) },
    )
  })

  test('the newest are kept: whatever the order, the same ones', () => {
    const limits = { maxEvents: 60 }
    const kept = everything(modelOf(events, limits))
    fc.assert(
      fc.property(fc.shuffledSubarray(events, { minLength: events.length }), (all) => {
        const model = modelOf(all, limits)
        expect(everything(model)).toEqual(kept)
        expect(model.counts()).toMatchObject({ kept: 60, dropped: events.length - 60 })
      }),
      { numRuns: runs(15) },
    )
  })

  test('memory is bounded by events and by characters', () => {
    const large = Array.from(
      { length: 400 },
      (_, at): EventRecord => ({
        ...{
          type: 'warning',
          message: 'x'.repeat(1000),
          processId: 1,
          sequence: at,
          conversation: String(at % 7),
        },
        time: new Date(1_700_000_000_000 + at).toISOString(),
      }),
    )
    expect(modelOf(large, { maxCharacters: 50_000 }).counts().kept).toBeLessThan(50)
    const few = modelOf(large, { maxEvents: 10 })
    expect(few.conversations().reduce((sum, { events: own }) => sum + own, 0)).toBe(10)
    // What was dropped does not come back.
    few.add(large[0])
    expect(few.counts().kept).toBe(10)
  })

  test('drops and counts records that are not events', () => {
    const odd = [
      null,
      'text',
      7,
      [],
      {},
      { ...events[0], time: 'yesterday' },
      { ...events[0], sequence: '1' },
    ]
    expect(modelOf(odd).counts()).toEqual({ kept: 0, dropped: 0, refused: odd.length })
  })
})

describe('costs', () => {
  test('what the gateway counted is taken as it is, with its extra round trips', () => {
    const { spending } = modelOf(sampleEvents(tools))
      .conversations()
      .find(({ id }) => id === SERVED)!
    expect(spending).toMatchObject({ turns: 6, extraRoundTrips: 1, estimatedTurns: 0, pricedTurns: 6 })
    expect(spending.tokensWithout - spending.tokensWith).toBe(6 * 22_000)
    expect(spending.dollarsWith).toBeCloseTo(0.072)
  })

  test('a reply that only searched is a round trip that no agent without tool search makes', () => {
    const { records, ...recorder } = createRecorder()
    addChat({ records, ...recorder }, CHAT)
    const { spending } = modelOf(records).conversations()[0]!
    expect(spending).toMatchObject({
      extraRoundTrips: 1,
      cacheRead: 5400,
      cacheWrite: 12_310,
      pricedTurns: 3,
    })
    // The searching reply counts only with tool search; the others had 6,510 tokens of definitions less.
    expect(spending.tokensWithout).toBe(5400 + 610 + 320 + 6510 + (6300 + 320 + 6510))
    // Definitions left out are billed as the cache would have: read in the second request, written in the third.
    const [input, output, read, write] = [4, 20, 0.2, 5]
    const second = 320 * input + 180 * output + (5400 + 6510) * read + 610 * write
    const third = 320 * input + 180 * output + (6300 + 6510) * write
    expect(spending.dollarsWithout).toBeCloseTo((second + third) / 1e6, 10)
  })

  test('without usage, the tokens of definitions count, marked as estimates', () => {
    const { records, ...recorder } = createRecorder()
    addChat({ records, ...recorder }, CHAT)
    const [summary] = modelOf(records.filter(({ type }) => type !== 'sampled')).conversations()
    expect(summary?.spending).toMatchObject({ estimatedTurns: 3, pricedTurns: 0, dollarsWith: 0 })
  })

  test('the spending of all days is the spending of all', () => {
    const model = modelOf(manyEvents(600, tools))
    const sum = spendingByDay(model).reduce((total, [, { tokensWith }]) => total + tokensWith, 0)
    expect(sum).toBe(totalSpending(model).tokensWith)
    expect(spendingByDay(createEventModel())).toEqual([])
  })
})

describe('files', () => {
  const events = sampleEvents(tools)

  test('an export and a recorded file are opened to the same result', () => {
    const [fromExport, fromLines] = [createEventModel(), createEventModel()]
    const text = JSON.stringify({ format: 'toolshelf-events', version: 1, events, redactions: [] })
    expect(addEventFile(text, fromExport)).toEqual({ events: events.length, broken: 0 })
    const lines = `${events.map((event) => JSON.stringify(event)).join('\n')}\n{"cut of`
    expect(addEventFile(lines, fromLines)).toEqual({ events: events.length, broken: 1 })
    expect(everything(fromExport)).toEqual(everything(fromLines))
  })
})

test('a conversation grows by its new events alone', () => {
  const { records, ...recorder } = createRecorder()
  addPool({ records, ...recorder }, tools)
  addServed({ records, ...recorder }, SERVED, 3)
  const model = modelOf(records)
  const before = model.turns(SERVED)[0]
  addServed({ records, ...recorder }, SERVED, 1)
  for (const event of records.slice(-2)) model.add(event)
  expect(model.turns(SERVED)).toHaveLength(4)
  expect(model.turns(SERVED)[0]).toBe(before)
  expect(model.conversations()[0]?.turns).toBe(4)
})
