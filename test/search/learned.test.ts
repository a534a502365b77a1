// Learning from use: what a call teaches, what it may move, and what can never be taught.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createLearnedSearch,
  type PoolTool,
  rankers,
  type SavedSearchUse,
  type Tool,
} from '../../src/index.ts'
import { runs } from '../support/runs.ts'
import { mcp, quietShelf } from '../support/talk.ts'

const tools = [
  mcp('slack', 'send_message', { description: 'Sends a message to a channel.' }),
  mcp('email', 'send_email', { description: 'Sends an e-mail.' }),
  mcp('pager', 'alert', { description: 'Raises an alert on the phone of whoever is on call.' }),
  mcp('notes', 'create_note', { description: 'Writes a note.' }),
  mcp('calendar', 'create_event', { description: 'Adds an event to a calendar.' }),
  mcp('chat', 'post', { description: 'Posts a message.' }),
]

const entriesOf = (given: readonly Tool[]) => quietShelf({ tools: given }).partition().pool.tools
const entries = entriesOf(tools)
const named = (name: string, among: readonly PoolTool[] = entries) =>
  among.find(({ original }) => original === name) as PoolTool

async function ranked(
  learned: ReturnType<typeof createLearnedSearch>,
  query: string,
  among = entries,
  limit = 5,
) {
  const { hits } = await learned.rank(rankers.lexical)(among, query, limit)
  return hits.map(({ tool }) => tool.original)
}

describe('learned searches', () => {
  it('S7 moves a tool to the front that was called after the same search', async () => {
    const learned = createLearnedSearch()
    const before = await ranked(learned, 'send a message to the team')
    expect(before[0]).toBe('send_message')
    learned.learn({ query: 'send message to team', tool: named('alert'), isFound: true })
    expect(await ranked(learned, 'send a message to the team')).toEqual(['alert', ...before].slice(0, 5))
    expect(await ranked(learned, 'write a note')).toEqual(await ranked(createLearnedSearch(), 'write a note'))
  })

  it('keeps the name of the ranker, which events report', async () => {
    const learned = createLearnedSearch()
    learned.learn({ query: 'send message to team', tool: named('alert'), isFound: true })
    const rank = learned.rank(rankers.lexical)
    const plain = await rankers.lexical(entries, 'send message to team', 5)
    expect(plain.ranker).toBeDefined()
    expect((await rank(entries, 'send message to team', 5)).ranker).toBe(plain.ranker)
  })

  it('explains what it moved', () => {
    const learned = createLearnedSearch()
    for (const query of ['wake somebody up', 'wake up somebody'])
      learned.learn({ query, tool: named('alert'), isFound: true })
    expect(learned.credits(entries, 'wake somebody up')).toEqual([
      { tool: named('alert'), uses: 2, credit: 2 },
    ])
    expect(learned.credits(entries, 'write a note')).toEqual([])
  })

  it('needs two misses where one find will do', async () => {
    const learned = createLearnedSearch()
    const miss = { query: 'wake somebody up', tool: named('alert'), isFound: false }
    learned.learn(miss)
    expect(await ranked(learned, 'wake somebody up')).toEqual([])
    learned.learn(miss)
    expect(await ranked(learned, 'wake somebody up')).toEqual(['alert'])
  })

  it('follows a new habit: only the latest searches count', () => {
    const learned = createLearnedSearch()
    const use = (name: string) => learned.learn({ query: 'tell the team', tool: named(name), isFound: true })
    for (let time = 0; time < 20; time++) use('send_message')
    for (let time = 0; time < 5; time++) use('post')
    expect(learned.credits(entries, 'tell the team').map(({ tool }) => tool.original)).toEqual([
      'post',
      'send_message',
    ])
    for (let time = 0; time < 5; time++) use('post')
    expect(learned.credits(entries, 'tell the team').map(({ tool }) => tool.original)).toEqual(['post'])
  })

  it('starts over when a definition changes, and when the tool is on another server', () => {
    const learned = createLearnedSearch()
    learned.learn({ query: 'tell the team', tool: named('post'), isFound: true })
    const changed = entriesOf([mcp('chat', 'post', { description: 'Posts a message. Also to strangers.' })])
    const moved = entriesOf([mcp('evil', 'post', { description: 'Posts a message.' })])
    expect(learned.credits(changed, 'tell the team')).toEqual([])
    expect(learned.credits(moved, 'tell the team')).toEqual([])
    expect(learned.credits(entriesOf(tools), 'tell the team')).toHaveLength(1)
  })

  it('returns only tools of the list: none that is hidden or removed', async () => {
    const learned = createLearnedSearch()
    learned.learn({ query: 'tell the team', tool: named('post'), isFound: true })
    const others = entries.filter(({ original }) => original !== 'post')
    expect(await ranked(learned, 'tell the team', others)).not.toContain('post')
  })

  it('continues from saved uses, and reports each new one', () => {
    const saved: SavedSearchUse[] = []
    const first = createLearnedSearch({ onUse: (use) => saved.push(use) })
    first.learn({ query: 'tell the team', tool: named('post'), isFound: true })
    const next = createLearnedSearch({ uses: JSON.parse(JSON.stringify(saved)) })
    expect(next.uses()).toEqual(first.uses())
    expect(next.credits(entries, 'tell team')).toHaveLength(1)
  })

  it('keeps a bounded memory in which no tool takes the room of others', () => {
    const learned = createLearnedSearch()
    learned.learn({ query: 'tell the team', tool: named('post'), isFound: true })
    for (let time = 0; time < 3000; time++)
      learned.learn({ query: `need number ${time} word${time}`, tool: named('alert'), isFound: true })
    expect(learned.uses()).toHaveLength(31)
    expect(learned.credits(entries, 'tell the team')).toHaveLength(1)
  })

  it('learns nothing from a query without words', () => {
    const learned = createLearnedSearch()
    learned.learn({ query: '  …  ', tool: named('post'), isFound: true })
    expect(learned.uses()).toEqual([])
  })

  it('S7 whatever was learned, no hit falls by more than two places, the order stays and none is lost', async () => {
    const needs = ['send message', 'send message team', 'create note', 'create event', 'post']
    const use = fc.record({
      query: fc.constantFrom(...needs),
      tool: fc.constantFrom(...entries),
      isFound: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(use, { maxLength: 40 }), fc.constantFrom(...needs), async (uses, query) => {
        const learned = createLearnedSearch()
        for (const one of uses) learned.learn(one)
        const before = await ranked(createLearnedSearch(), query, entries, 50)
        const after = await ranked(learned, query, entries, 50)
        const moved = new Set(learned.credits(entries, query).map(({ tool }) => tool.original))
        expect(moved.size).toBeLessThanOrEqual(2)
        expect(after.slice(moved.size)).toEqual(before.filter((name) => !moved.has(name)))
        for (const name of before) expect(after.indexOf(name) - before.indexOf(name)).toBeLessThanOrEqual(2)
      }),
      { numRuns: runs(100) },
    )
  })
})

describe('a conversation that learns', () => {
  const call = (name: string, input: object = {}) => ({ id: 'call_1', name, input })
  async function searched(shelf: ReturnType<typeof learning>['shelf'], query: string) {
    return (await shelf.search({ query })).tools.map(({ original }) => original)
  }

  function learning() {
    const learned = createLearnedSearch()
    const shelf = quietShelf({ tools, rank: learned.rank(rankers.lexical), learn: learned.learn })
    return { learned, shelf }
  }

  it('S7 teaches by calls that succeed, never by what a search shows', async () => {
    const { learned, shelf } = learning()
    await searched(shelf, 'send message')
    expect(learned.uses()).toEqual([])
    const name = 'mcp__email__send_email'
    await shelf.run(call(name), {
      execute: () => {
        throw new Error('no')
      },
    })
    await shelf.run(call(name), { execute: () => ({ content: [], isError: true }) })
    expect(learned.uses()).toEqual([])
    await shelf.run(call(name), { execute: () => 'sent' })
    await shelf.run(call(name), { execute: () => 'sent' })
    expect(learned.uses()).toMatchObject([{ words: ['send', 'messag'], server: 'email', weight: 1 }])
    expect((await searched(shelf, 'send message'))[0]).toBe('send_email')
  })

  it('learns from the search before that missed the tool, unless something it found was called', async () => {
    const { learned, shelf } = learning()
    await searched(shelf, 'wake somebody')
    await searched(shelf, 'alert on call')
    shelf.recordUse(call('mcp__pager__alert'))
    expect(learned.uses().map(({ words, weight }) => [words.join(' '), weight])).toEqual([
      ['alert call', 1],
      ['wake somebodi', 0.5],
    ])
    await searched(shelf, 'create note')
    await searched(shelf, 'create event')
    shelf.recordUse(call('mcp__notes__create_note'))
    shelf.recordUse(call('mcp__calendar__create_event'))
    expect(
      learned
        .uses()
        .slice(2)
        .map(({ tool, weight }) => [tool, weight]),
    ).toEqual([
      ['create_note', 1],
      ['create_event', 1],
    ])
  })

  it('does not learn from exact names, unknown tools, other conversations or calls without a search', async () => {
    const { learned, shelf } = learning()
    await searched(shelf, 'select:mcp__notes__create_note')
    shelf.recordUse(call('mcp__notes__create_note'))
    shelf.recordUse(call('mcp__nobody__knows'))
    await searched(shelf, 'send message')
    shelf.fork().recordUse(call('mcp__email__send_email'))
    expect(learned.uses()).toEqual([])
  })

  it('a listener that throws harms nobody', async () => {
    const shelf = quietShelf({
      tools,
      learn: () => {
        throw new Error('full')
      },
    })
    await shelf.search({ query: 'send message' })
    expect(() => shelf.recordUse(call('mcp__email__send_email'))).not.toThrow()
  })
})
