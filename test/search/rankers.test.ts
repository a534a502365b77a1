// The rankers with the semantics of the hosted search tools.
import { describe, expect, test } from 'vitest'
import { createShelf, type PoolTool, type Rank } from '../../packages/core/src/index.ts'
import { classicRank } from '../../packages/core/src/query.ts'
import {
  explainHits,
  findWithScores,
  scorePartLabel,
} from '../../packages/core/src/rankers/explained-search.ts'
import { rankers } from '../../packages/core/src/rankers/rankers.ts'
import { bm25, lexical, SearchInputError } from '../../packages/core/src/search/lexical-search.ts'
import { office, toolsOf } from './tools.ts'

const { regex } = rankers

const fields: [string, PoolTool[]][] = [
  ['name', toolsOf({ name: 'other' }, { name: 'zebra' })],
  ['description', toolsOf({ name: 'other' }, { name: 'x', description: 'A zebra.' })],
  ['argument name', toolsOf({ name: 'other' }, { name: 'x', arguments: { zebra: {} } })],
  [
    'argument description',
    toolsOf({ name: 'other' }, { name: 'x', arguments: { a: { description: 'zebra' } } }),
  ],
]

async function names(rank: Rank, tools: readonly PoolTool[], query: string, limit = 5): Promise<string[]> {
  return (await rank(tools, query, limit)).hits.map(({ tool }) => tool.name)
}

describe.each<[string, Rank]>([
  ['bm25', bm25],
  ['regex', regex],
])('%s', (_, rank) => {
  test.each(fields)('wire 18 searches the %s', async (_, tools) => {
    expect(await names(rank, tools, 'zebra')).toEqual([tools[1]!.name])
  })

  test('wire 21 no match is an empty list', async () => {
    expect(await rank(office, 'xylophone', 5)).toMatchObject({ hits: [], matched: 0 })
  })

  test('wire 17 the limit holds, and the rest is counted', async () => {
    const ranking = await rank(office, 'send', 1)
    expect(ranking.hits).toHaveLength(1)
    expect(ranking.matched).toBe(2)
  })

  test('enum values, hints and servers’ own fields are not searched', async () => {
    const tools = toolsOf({ name: 'x', searchHint: 'zebra', arguments: { a: { enum: ['zebra'] } } })
    expect(await names(rank, tools, 'zebra')).toEqual([])
  })
})

describe('bm25', () => {
  test('wire 1.10 returns only tools that match, the best first', async () => {
    expect(await names(bm25, office, 'send slack message')).toEqual([
      'mcp__slack__send_message',
      'mcp__email__send_email',
      'mcp__slack__list_channels',
    ])
  })

  test('wire 20 a query of more than 500 characters is refused', () => {
    expect(() => bm25(office, 'a'.repeat(501), 5)).toThrow(SearchInputError)
    expect(() => bm25(office, 'a'.repeat(500), 5)).not.toThrow()
  })
})

describe('regex', () => {
  test.each([
    ['SEND', 'mcp__slack__send_message'],
    ['(?i)slack.*send', 'mcp__slack__send_message'],
    ['(?P<what>delete|drop)_', 'mcp__github__delete_branch'],
    ['\\Amcp__cal', 'mcp__calendar__create_event'],
    ['create_event\\Z', 'mcp__calendar__create_event'],
    ['\\w+_channels$', 'mcp__slack__list_channels'],
    ['[\\w]+_issue', 'mcp__github__create_issue'],
    ['[s]en\\w_[m]', 'mcp__slack__send_message'],
    ['github|nothing', 'mcp__github__create_issue'],
  ])('wire 19 %s as Python would', async (pattern, name) => {
    expect((await names(regex, office, pattern))[0]).toBe(name)
  })

  test('wire 19 classes know every script, and a bracket is allowed first in a class', async () => {
    const tools = toolsOf({ name: 'a', description: 'José' }, { name: 'b', description: 'x]' })
    expect(await names(regex, tools, 'jos\\w$')).toEqual(['a'])
    expect(await names(regex, tools, 'x[]]')).toEqual(['b'])
  })

  test('a description that a tool does not have matches nothing', async () => {
    const tools = toolsOf({ name: 'a' }, { name: 'b', description: 'x' }, { name: 'c', arguments: { d: {} } })
    expect(await names(regex, tools, '^x?$')).toEqual(['b'])
  })

  test('a match in the name comes first, else the order of the pool', async () => {
    const tools = toolsOf(
      { name: 'a', description: 'issue' },
      { name: 'issue' },
      { name: 'b', description: 'issue' },
    )
    expect(await names(regex, tools, 'issue')).toEqual(['issue', 'a', 'b'])
  })

  test.each(['(', '[a', 'a(?=b)', '(a)\\1', '*', '', 'a'.repeat(201)])(
    'wire 20 %s is refused with a reason',
    async (pattern) => {
      const error = await Promise.resolve(regex(office, pattern, 5)).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(SearchInputError)
      expect(error).toMatchObject({
        code: 'invalid_tool_input',
        message: expect.stringContaining('pattern'),
      })
    },
  )

  test('wire 19 hostile patterns take linear time', async () => {
    const tools = toolsOf({ name: 'b', description: `${'a'.repeat(5000)}!` })
    // With backtracking these would not end in this test's lifetime.
    for (const pattern of ['(a+)+$', '(a|aa)+$']) expect((await regex(tools, pattern, 5)).hits).toEqual([])
  })
})

describe.each<[string, Rank]>([
  ['classic', classicRank],
  ['lexical', lexical],
  ['bm25', bm25],
  ['regex', regex],
])('S7 the query forms work with %s', (_, rank) => {
  const shelf = createShelf({
    tools: office.map(({ tool }) => tool),
    toolSearch: true,
    environment: {},
    rank,
  })
  const ask = async (query: string): Promise<string[]> => {
    const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'ToolSearch', input: { query } }
    const { content } = (await shelf.answer(call)) as { content: { tool_name?: string }[] }
    return content.flatMap(({ tool_name }) => tool_name ?? [])
  }

  test.each([
    ['select:mcp__email__send_email', ['mcp__email__send_email']],
    ['MCP__email__send_email', ['mcp__email__send_email']],
    ['mcp__slack__', ['mcp__slack__send_message', 'mcp__slack__list_channels']],
    ['+github branch', ['mcp__github__delete_branch', 'mcp__github__create_issue']],
    ['+slack +send', ['mcp__slack__send_message']],
    ['channels', ['mcp__slack__list_channels']],
  ])('%s', async (query, expected) => {
    await shelf.prepare({ model: 'claude-opus-4-6', messages: [{ role: 'user', content: 'x' }] })
    expect((await ask(query)).slice(0, expected.length)).toEqual(expected)
  })
})

describe('a search with scores', () => {
  const notices: string[] = []
  const search = (rank: Rank, query: string, limit = 5) =>
    findWithScores(rank, office, query, { limit, notify: (message) => notices.push(message) })
  const scores = ({ hits }: Awaited<ReturnType<typeof search>>) =>
    hits.map(({ tool, score }) => [tool.name, score])

  test('has those of the ranker, in its order and up to the limit', async () => {
    const found = await search(lexical, 'send a slack message', 2)
    const { hits } = await lexical(office, 'send a slack message', 2)
    expect(found).toEqual({ hits, matched: expect.any(Number), unknown: [], failure: undefined })
    expect(found.matched).toBeGreaterThan(2)
    expect(hits[0]?.score).toBeGreaterThan(0)
  })

  test('has none for names, and says which are unknown', async () => {
    const found = await search(lexical, 'select:mcp__email__send_email,mcp__slack__send_messag')
    expect(scores(found)).toEqual([['mcp__email__send_email', 0]])
    expect(found.unknown).toEqual([
      { name: 'mcp__slack__send_messag', near: expect.arrayContaining(['mcp__slack__send_message']) },
    ])
    expect(notices).toEqual([])
  })

  test('is explained by the words of each hit', async () => {
    const [message, channels] = office
    const [stranger] = toolsOf({ name: 'send' })
    const hits = [message!, channels!, stranger!]
    const { translation, whys } = await explainHits(office, 'send messages', hits, 'lexical')
    expect(translation).toBeUndefined()
    const words = (tool: PoolTool | undefined) => whys.get(tool!)?.words.map(({ word }) => word)
    expect([words(channels), words(stranger), words(office[2])]).toEqual([[], [], undefined])
    expect(new Set(words(message))).toEqual(new Set(['send', 'messages']))
    expect(whys.get(message!)?.parts).toEqual([])
    const greek = toolsOf({ name: 'a', description: 'στέλνω γράμμα' })
    const byWords = await explainHits(greek, 'στέλνω γράμμα', greek, 'hybrid')
    expect(byWords.translation).toBeUndefined()
    expect(byWords.whys.get(greek[0]!)).toMatchObject({ words: [{}, {}], parts: [] })
    expect([scorePartLabel('meaning'), scorePartLabel('model')]).toEqual(['similar meaning', 'model'])
  })
})
