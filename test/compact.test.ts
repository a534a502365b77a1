// C. Compaction: a summary takes the messages, never the loaded tools.
import { describe, expect, it } from 'vitest'
import type { CompactOptions, Tool } from '../packages/core/src/index.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'
import { hostedSearch, load, seen, talkOn } from '../packages/testkit/src/wires.ts'

const names = ['mcp__a__one', 'mcp__b__two', 'mcp__c__three', 'mcp__d__four', 'mcp__e__five']
const [ONE, TWO, THREE] = names as [string, string, string]
const tools: readonly Tool[] = [
  builtIn('Bash'),
  ...names.map((name) =>
    mcp(name.slice(5, 6), name.slice(8), { input_schema: { type: 'object', title: name } }),
  ),
]

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
})

describe('C5 snipping', () => {
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
})
