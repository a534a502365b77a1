// C. Compaction: a summary takes the messages, never the loaded tools.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CompactOptions, Tool } from '../src/index.ts'
import { runs } from './support/runs.ts'
import { BOUND_MODEL, builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from './support/talk.ts'
import { hostedSearch, load, seen, talkOn, wireCases } from './support/wires.ts'

const names = ['mcp__a__one', 'mcp__b__two', 'mcp__c__three', 'mcp__d__four', 'mcp__e__five']
const [ONE, TWO, THREE, FOUR] = names as [string, string, string, string]
const tools: readonly Tool[] = [
  builtIn('Bash'),
  ...names.map((name) =>
    mcp(name.slice(5, 6), name.slice(8), { input_schema: { type: 'object', title: name } }),
  ),
]
const labels = wireCases.map(({ label }) => label)

async function talkAfter(label: string, ...loaded: string[]): Promise<Talk> {
  const talk = talkOn(label, { tools })
  await talk.user('start').prepare()
  for (const name of loaded) {
    await load(talk, name)
    await talk.prepare()
  }
  return talk
}

async function compact(talk: Talk, options: CompactOptions): Promise<Loose> {
  talk.messages = await talk.shelf.compact(talk.messages, options)
  return talk.messages[0]
}

const kinds: [string, CompactOptions][] = [
  ['full', { summarize: () => 'what happened so far' }],
  ['partial', { summarize: async (messages) => `${messages.length} messages`, keep: 2 }],
  ['session memory', { summarize: 'the memory of this session' }],
]

describe('C1 the boundary', () => {
  it('C1 carries the loaded set, sorted, and beside it the order of loading', async () => {
    const talk = await talkAfter('reference', THREE, ONE, TWO)
    const boundary = await compact(talk, { summarize: 'summary', trigger: 'auto' })
    expect(boundary).toMatchObject({ type: 'system', subtype: 'compact_boundary' })
    expect(boundary.compactMetadata.preCompactDiscoveredTools).toEqual([ONE, TWO, THREE])
    const order = Object.entries(boundary.compactMetadata).filter(
      ([field, value]) => field !== 'preCompactDiscoveredTools' && Array.isArray(value),
    )
    expect(order.map(([, value]) => value)).toEqual([[THREE, ONE, TWO]])
    expect(boundary.compactMetadata.trigger).toBe('auto')
  })

  it('C1 Q3 the order of the tools is the same after it', async () => {
    const talk = await talkAfter('reference', THREE, ONE, TWO)
    const before = talk.sentTools
    await compact(talk, { summarize: 'summary' })
    await talk.prepare()
    expect(talk.sentTools).toEqual(before)
    await talk.assistant().user().search(`select:${FOUR}`)
    await talk.prepare()
    expect(talk.sentTools).toEqual([...before, FOUR])
  })

  it('C1 is made before summarising: the summary is asked for once, of the messages that go', async () => {
    const talk = await talkAfter('reference', ONE)
    const { history: messages } = talk.last as Loose
    const asked: Loose[][] = []
    const summarize = (gone: readonly Loose[]) => {
      asked.push([...gone])
      return 'the summary'
    }
    const boundary = await compact(talk, { summarize })
    const plain = messages.filter(({ type }: Loose) => type !== 'deferred_tools_delta')
    expect(asked.map((gone) => gone.length)).toEqual([plain.length])
    expect(JSON.stringify(asked)).not.toMatch(/tool_reference|deferred_tools_delta/)
    expect(boundary.content).toContain('the summary')
    expect(talk.messages).toHaveLength(1)
  })

  it('C1 the model reads the summary, and the API takes it without our fields', async () => {
    const talk = await talkAfter('reference', ONE)
    await compact(talk, { summarize: 'the summary' })
    const { request } = await talk.user('next').prepare()
    expect(request.messages[0]).toEqual({ role: 'user', content: 'the summary' })
  })

  it('C1 a summary that is empty still makes a message that the API takes', async () => {
    const talk = await talkAfter('reference', ONE)
    await compact(talk, { summarize: () => '' })
    await expect(talk.prepare()).resolves.toBeDefined()
  })
})

describe.each(kinds)('C2 %s compaction', (_, options) => {
  it.each(labels)(
    'C2 %s: the boundary has all loaded tools, and the model sees them again',
    async (label) => {
      const talk = await talkAfter(label, TWO, ONE)
      talk.assistant('fine').user('on')
      await talk.prepare()
      await load(talk, THREE)
      await talk.prepare()
      const { compactMetadata } = await compact(talk, options)
      expect(compactMetadata.preCompactDiscoveredTools).toEqual([ONE, TWO, THREE])
      talk.assistant('so').user('next')
      const after = await talk.prepare()
      expect(after.loaded).toEqual([TWO, ONE, THREE])
      expect(seen(after, names)).toEqual([ONE, TWO, THREE])
      talk.assistant('fine').user('more')
      expect(seen(await talk.prepare(), names)).toEqual([ONE, TWO, THREE])
    },
  )

  it('C2 the request right after it is valid, and shows the tools', async () => {
    const talk = await talkAfter('reference', TWO, ONE)
    await compact(talk, options)
    expect(seen(await talk.prepare(), names)).toEqual([ONE, TWO])
  })

  it('C2 a model with bound thinking sees them too', async () => {
    const talk = new Talk(quietShelf({ tools }), BOUND_MODEL)
    await talk.user().search(`select:${ONE}`)
    await talk.prepare()
    await compact(talk, options)
    expect(seen(await talk.user('next').prepare(), names)).toEqual([ONE])
  })
})

describe('C2 how much is kept', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 50])('C2 keep %i: a call and its result are never parted', async (keep) => {
    const talk = await talkAfter('reference', ONE, TWO)
    talk.run('Bash')
    const before = (await talk.prepare()).history as Loose[]
    await compact(talk, { summarize: 'summary', keep })
    expect(talk.messages.length - 1).toBeGreaterThanOrEqual(Math.min(keep, before.length))
    expect(before.slice(before.length - talk.messages.length + 1)).toEqual(talk.messages.slice(1))
    expect((await talk.prepare()).loaded.toSorted()).toEqual([ONE, TWO])
  })
})

describe('C3 again and again', () => {
  it('C3 the second compaction keeps the union', async () => {
    const talk = await talkAfter('reference', TWO)
    await compact(talk, { summarize: 'first' })
    await talk.user('on').prepare()
    await talk.search(`select:${ONE}`)
    const second = await compact(talk, { summarize: 'second' })
    expect(second.compactMetadata.preCompactDiscoveredTools).toEqual([ONE, TWO])
    const third = await compact(talk, { summarize: 'third', keep: 1 })
    expect(third.compactMetadata.preCompactDiscoveredTools).toEqual([ONE, TWO])
    const after = await talk.user('go').prepare()
    expect(after.loaded).toEqual([TWO, ONE])
    expect(seen(after, names)).toEqual([ONE, TWO])
  })

  it('C3 a tool that was removed explicitly stays removed', async () => {
    const talk = await talkAfter('addition by reference', ONE, TWO)
    talk.assistant('fine').user('without it')
    talk.messages.push({
      role: 'system',
      content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: ONE } }],
    })
    await talk.prepare()
    const { compactMetadata } = await compact(talk, { summarize: 'summary' })
    expect(compactMetadata.preCompactDiscoveredTools).toEqual([TWO])
    expect(seen(await talk.user('on').prepare(), names)).toEqual([TWO])
  })

  it('C3 a server that is away during the compaction brings its tools back', async () => {
    const talk = await talkAfter('reference', ONE, TWO)
    talk.shelf.remove({ server: 'a' })
    await compact(talk, { summarize: 'summary' })
    await talk.user('on').prepare()
    talk.shelf.add(tools.filter(({ server }) => server === 'a'))
    expect(seen(await talk.assistant().user().prepare(), names)).toEqual([ONE, TWO])
  })

  const step = fc.oneof(
    fc.record({ kind: fc.constant('load' as const), name: fc.constantFrom(...names) }),
    fc.record({ kind: fc.constant('compact' as const), keep: fc.integer({ min: 0, max: 6 }) }),
    fc.record({ kind: fc.constantFrom('say' as const, 'run' as const, 'snip' as const, 'restart' as const) }),
  )

  it.each(labels)('C3 %s: no loaded tool is lost through any turns and compactions', async (label) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        let talk = await talkAfter(label)
        const expected = new Set<string>()
        let restarts = 0
        for (const one of steps) {
          if (one.kind === 'load') {
            await load(talk, one.name)
            expected.add(one.name)
          } else if (one.kind === 'compact') {
            await compact(talk, { summarize: 'summary', keep: one.keep })
          } else if (one.kind === 'snip') {
            talk.messages = talk.shelf.snip(talk.messages, ({ content }: Loose) => content === 'chat')
          } else if (one.kind === 'restart') {
            const { history: messages, state } = JSON.parse(JSON.stringify(talk.last))
            const next = talkOn(label, { tools, state })
            restarts++
            for (let call = 0; call < 60 * restarts; call++) next.call('none')
            next.messages = [
              ...messages,
              { role: 'assistant', content: 'hm' },
              { role: 'user', content: 'again' },
            ]
            talk = next
          } else if (one.kind === 'run') {
            talk.run('Bash')
          } else {
            talk.assistant('chat').user('chat')
          }
          const prepared = await talk.prepare()
          expect([...prepared.loaded].sort()).toEqual([...expected].sort())
          expect(seen(prepared, names)).toEqual(names.filter((name) => expected.has(name)))
        }
      }),
      { numRuns: runs(15) },
    )
  })
})

describe('C1 C4 boundaries and compactions of others', () => {
  const loaded = (name: string) => ({ type: 'tool_addition', tool: { type: 'tool_reference', name } })
  const block = { type: 'compaction', content: 'what was', tool_changes: [loaded(TWO), loaded(ONE)] }

  it('C1 a boundary as Claude Code writes it, without a role, is read and not sent', async () => {
    const talk = new Talk(quietShelf({ tools }))
    talk.messages = [
      {
        type: 'system',
        subtype: 'compact_boundary',
        content: 'Conversation compacted',
        compactMetadata: { trigger: 'auto', preTokens: 9, preCompactDiscoveredTools: [ONE, THREE] },
      },
      { role: 'user', content: 'The summary.' },
    ]
    const prepared = await talk.prepare()
    expect(prepared.loaded).toEqual([ONE, THREE])
    expect(seen(prepared, names)).toEqual([ONE, THREE])
    expect(prepared.request.messages[0]).toEqual({ role: 'user', content: 'The summary.' })
    expect(JSON.stringify(prepared.request)).not.toContain('compact_boundary')
    const again = await compact(talk, { summarize: 'more' })
    expect(again.compactMetadata.preCompactDiscoveredTools).toEqual([ONE, THREE])
  })

  it.each(['reference', 'addition by reference', 'hosted'])(
    'C4 %s: a compaction block of the API is sent back unchanged, and read',
    async (label) => {
      const talk = talkOn(label, { tools })
      talk.messages = [
        { role: 'user', content: 'old' },
        { role: 'assistant', content: [block, { type: 'text', text: 'ok' }] },
        { role: 'user', content: 'go on' },
      ]
      const sentBlock = () => (talk.last as Loose).request.messages[1].content[0]
      const prepared = await talk.prepare()
      expect(prepared.loaded).toEqual([TWO, ONE])
      expect(sentBlock()).toEqual(block)
      expect(prepared.history[1]).toBe(talk.messages[1])
      expect(talk.sentTools).toEqual(expect.arrayContaining([ONE, TWO]))
      expect(seen(prepared, names)).toEqual([ONE, TWO])
      await load(talk, THREE)
      await talk.prepare()
      expect(sentBlock()).toEqual(block)
    },
  )

  it('C4 a removal in it is read too', async () => {
    const talk = new Talk(quietShelf({ tools }))
    const removed = { type: 'tool_removal', tool: { type: 'tool_reference', name: ONE } }
    talk.messages = [
      { role: 'user', content: 'old' },
      { role: 'assistant', content: [{ ...block, tool_changes: [...block.tool_changes, removed] }] },
      { role: 'user', content: 'go on' },
    ]
    expect((await talk.prepare()).loaded).toEqual([TWO])
  })

  it('C4 our own compaction after it keeps what it carried', async () => {
    const talk = new Talk(quietShelf({ tools }))
    talk.messages = [
      { role: 'user', content: 'old' },
      { role: 'assistant', content: [block] },
      { role: 'user', content: 'go on' },
    ]
    const { compactMetadata } = await compact(talk, { summarize: 'x' })
    expect(compactMetadata.preCompactDiscoveredTools).toEqual([ONE, TWO])
  })
})

describe('C5 snipping', () => {
  it.each(labels)('C5 %s: what carries references stays, with its call; the rest goes', async (label) => {
    const talk = await talkAfter(label, ONE)
    talk.run('Bash', {}, 'a long output').assistant('words').user('more words')
    await load(talk, TWO)
    await talk.prepare()
    const kept = talk.shelf.snip((talk.last as Loose).history, (_, index) => index > 0)
    talk.messages = [
      ...kept,
      ...((kept.at(-1) as Loose).role === 'user' ? [] : [{ role: 'user', content: 'go' }]),
    ]
    expect(JSON.stringify(kept)).not.toContain('a long output')
    const prepared = await talk.prepare()
    expect(prepared.loaded).toEqual([ONE, TWO])
    expect(seen(prepared, names)).toEqual([ONE, TWO])
  })

  it('C5 boundaries, compaction blocks, removals and announcements stay', () => {
    const shelf = quietShelf({ tools })
    const carriers: Loose[] = [
      { type: 'system', subtype: 'compact_boundary', compactMetadata: { preCompactDiscoveredTools: [ONE] } },
      {
        role: 'assistant',
        content: [{ type: 'compaction', tool_changes: [{ type: 'tool_addition', tool: { name: TWO } }] }],
      },
      { role: 'system', content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: TWO } }] },
      { role: 'assistant', content: hostedSearch('srvtoolu_1', [ONE]) },
      { type: 'deferred_tools_delta', role: 'user', content: 'x', addedNames: [ONE], removedNames: [] },
    ]
    const words = { role: 'user', content: 'words' }
    const mixed = carriers.flatMap((message) => [message, words])
    const removal = carriers[2]
    const expected = carriers.flatMap((message) => (message === removal ? [words, message] : [message]))
    expect(shelf.snip(mixed, () => true)).toEqual(expected)
  })

  it('C5 what is not asked to go stays, by identity', () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ]
    const left = quietShelf({ tools }).snip(messages, (_, index) => index === 1)
    expect(left).toEqual([messages[0]])
    expect(left[0]).toBe(messages[0])
  })

  it('C5 a call beside the search keeps its result too, so that the request stays valid', async () => {
    const talk = new Talk(quietShelf({ tools }), MODEL)
    await talk.user('start').prepare()
    const [search, bash] = [talk.call('ToolSearch', { query: `select:${ONE}` }), talk.call('Bash')]
    talk.assistant([search, bash])
    talk.user([await talk.shelf.answer(search)]).user([talk.shelf.result(bash, 'listing')])
    talk.assistant('fine').user('go on')
    await talk.prepare()
    talk.messages = talk.shelf.snip(talk.messages, (_, index) => index > 0 && index < 5)
    expect((await talk.prepare()).loaded).toEqual([ONE])
  })
})
