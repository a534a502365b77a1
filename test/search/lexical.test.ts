// The lexical index through its public functions.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PoolTool } from '../../src/index.ts'
import { createLexicalIndex, LEXICAL, lexical } from '../../src/search/index.ts'
import { createIndexes } from '../../src/search/lexical-rankers.ts'
import { runAtOnce } from '../../src/search/slices.ts'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/runs.ts'
import { office, toolsOf } from './tools.ts'

function names(tools: readonly PoolTool[], query: string, limit = 10): string[] {
  const index = createLexicalIndex(tools)
  return index.search(query, limit).hits.map(({ document }) => tools[document]!.name)
}

describe('what is found', () => {
  test('the worked example of the classic ranker: service and action', () => {
    expect(names(office, 'slack send')[0]).toBe('mcp__slack__send_message')
  })

  test('politeness does not matter', () => {
    const plain = names(office, 'create issue', 1)
    expect(names(office, 'Could you please help me to create an issue?', 1)).toEqual(plain)
  })

  test.each([
    ['name', { name: 'zebra' }],
    ['server', { name: 'x', server: 'zebra' }],
    ['hint', { name: 'x', searchHint: 'zebra' }],
    ['description', { name: 'x', description: 'A zebra.' }],
    ['argument names', { name: 'x', arguments: { zebra: { type: 'string' } } }],
    ['argument descriptions', { name: 'x', arguments: { a: { type: 'string', description: 'zebra' } } }],
    ['enum values', { name: 'x', arguments: { a: { enum: ['zebra'] } } }],
  ])('a word in the %s', (field, spec) => {
    const tools = toolsOf({ name: 'other', description: 'Nothing.' }, spec)
    const index = createLexicalIndex(tools)
    const { hits, matched } = index.search('zebra', 5)
    expect(hits.map(({ document }) => document)).toEqual([1])
    expect(matched()).toBe(1)
    const match = index.explain(tools[1]!, 'zebra').find(({ how }) => how === 'word')
    expect(match?.fields.map((one) => one.field)).toEqual([field])
    expect([match?.word, match?.term]).toEqual(['zebra', 'zebra'])
  })

  test('forms of a word and synonyms, after the word itself', () => {
    const tools = toolsOf({ name: 'remove_file' }, { name: 'deleting_file' }, { name: 'delete_file' })
    expect(names(tools, 'delete file')).toEqual(['delete_file', 'deleting_file', 'remove_file'])
  })

  test('an exact word beats a completion and a typo', () => {
    const tools = toolsOf({ name: 'calendars_sync' }, { name: 'x', description: 'calend' })
    expect(names(tools, 'calend')).toEqual(['x'])
    expect(names(tools.slice(0, 1), 'calend')).toEqual(['calendars_sync'])
  })

  test.each([
    ['serach channels', 'mcp__slack__list_channels'],
    ['calender', 'mcp__calendar__create_event'],
    ['chann', 'mcp__slack__list_channels'],
    ['createissue', 'mcp__github__create_issue'],
    ['GitHub issue', 'mcp__github__create_issue'],
  ])('%s is understood', (query, name) => {
    expect(names(office, query)[0]).toBe(name)
  })

  test('a slip is corrected by at most two letters, one in short words, and never to a word of three', () => {
    expect(names(toolsOf({ name: 'map' }), 'maap')).toEqual([])
    expect(names(toolsOf({ name: 'maps_fold' }), 'folt')).toEqual(['maps_fold'])
    expect(names(toolsOf({ name: 'folder' }), 'fulter')).toEqual([])
    expect(names(toolsOf({ name: 'thermostat' }), 'thernostad')).toEqual(['thermostat'])
    expect(names(toolsOf({ name: 'thermostat' }), 'thernustad')).toEqual([])
    expect(names(toolsOf({ name: 'zo' }), 'z')).toEqual([])
  })

  test('a query without words has nothing in common with a tool', () => {
    expect(createLexicalIndex(office).measure('', [0]).hits).toEqual([
      {
        ...{ document: 0, score: 0, sum: 0, bestClause: 0, nameCoverage: 0, queryInName: 0 },
        ...{ serverCoverage: 0, queryCoverage: 0, words: 0 },
      },
    ])
  })

  test('S14 Chinese, Thai, Cyrillic, accents, width', () => {
    const tools = toolsOf(
      { name: 'a', description: '使用必应搜索指定的关键词' },
      { name: 'b', description: 'Поиск по базе знаний' },
      { name: 'c', description: 'Réserver une chambre à Zürich' },
      { name: 'd', description: 'ค้นหาเอกสาร' },
      { name: 'e', description: 'Reads the forecast 🌧' },
    )
    expect(names(tools, '词')).toEqual(['a'])
    expect(names(tools, '🌧')).toEqual(['e'])
    expect(names(tools, '搜索')).toEqual(['a'])
    expect(names(tools, 'поиск')).toEqual(['b'])
    expect(names(tools, 'reserver zurich')).toEqual(['c'])
    expect(names(tools, 'ｚｕｒｉｃｈ')).toEqual(['c'])
    expect(names(tools, 'เอกสาร')).toEqual(['d'])
  })

  test('equals keep the order of the pool', () => {
    const tools = toolsOf(...['c', 'a', 'b'].map((name) => ({ name, description: 'The same words.' })))
    expect(names(tools, 'words')).toEqual(['c', 'a', 'b'])
    const many = toolsOf(
      ...Array.from({ length: 300 }, (_, at) => ({ name: `t_${at}`, description: 'alike' })),
    )
    expect(names(many, 'alike', 3)).toEqual(['t_0', 't_1', 't_2'])
  })

  test('each sentence finds its tool', () => {
    const found = names(office, 'Create an issue about the outage. Then send an email to the team.', 2)
    expect(found.sort()).toEqual(['mcp__email__send_email', 'mcp__github__create_issue'])
  })

  test('function words count where a name has them and the query has nothing else', () => {
    expect(names(toolsOf({ name: 'run' }, { name: 'get_all', description: 'All of them.' }), 'all')).toEqual([
      'get_all',
    ])
  })

  test('nothing matches, nothing is asked for, nothing is there', () => {
    expect(names(office, 'xylophone')).toEqual([])
    expect(names(office, '')).toEqual([])
    expect(names(office, 'send', 0)).toEqual([])
    expect(names([], 'send')).toEqual([])
  })
})

const word = fc.constantFrom(
  ...'send get list user file issue channel delete search a-b 搜索 données x1'.split(' '),
)
const spec = fc.record({
  name: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_')),
  description: fc.array(word, { maxLength: 6 }).map((words) => words.join(' ')),
  server: fc.constantFrom('slack', 'github', undefined),
})
const pool = fc.array(spec, { maxLength: 60 }).map((specs) => toolsOf(...(specs as { name: string }[])))
const query = fc.array(word, { maxLength: 5 }).map((words) => words.join(' '))

describe('properties', () => {
  test('an update equals a fresh index, and leaves the old one as it was', () => {
    fc.assert(
      fc.property(
        pool,
        pool,
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        query,
        (old, added, kept, text) => {
          const first = createLexicalIndex(old)
          const before = first.search(text, 20)
          const next = [...added, ...old.filter((_, at) => kept[at])]
          expect(first.update(next).search(text, 20).hits).toEqual(
            createLexicalIndex(next).search(text, 20).hits,
          )
          expect(first.search(text, 20).hits).toEqual(before.hits)
        },
      ),
    )
  })

  test('a smaller limit returns the first hits of a larger one, with the same number of matches', () => {
    fc.assert(
      fc.property(pool, query, fc.integer({ min: 0, max: 8 }), (tools, text, limit) => {
        const index = createLexicalIndex(tools)
        const all = index.search(text, 1000)
        expect(index.search(text, limit).hits).toEqual(all.hits.slice(0, limit))
        expect(all.matched()).toBe(all.hits.length)
        const places = all.hits.map(({ document }) => document)
        expect(index.measure(text, places).hits).toEqual(all.hits)
      }),
    )
  })

  test('S12 any text in tools and queries: no throw, sound scores, best first', () => {
    const text = anyText({ maxLength: 80 })
    fc.assert(
      fc.property(fc.array(fc.record({ name: text, description: text })), text, (specs, asked) => {
        const { hits } = createLexicalIndex(toolsOf(...specs)).search(asked, 10)
        hits.forEach(({ score }, at) => {
          expect(Number.isFinite(score) && score > 0).toBe(true)
          if (at > 0) expect(score).toBeLessThanOrEqual(hits[at - 1]!.score)
        })
      }),
      { numRuns: runs(40) },
    )
  })
})

test('odd schemas are read as far as they go', () => {
  const loop: Record<string, unknown> = { type: 'object' }
  loop.properties = { self: loop, bad: null, worse: 3 }
  const [tool] = toolsOf({ name: 'odd' })
  const odd = { ...tool!, tool: { ...tool!.tool, input_schema: loop } }
  expect(names([odd], 'worse')).toEqual(['odd'])
})

test('explained words add up to the score without bonuses', () => {
  const index = createLexicalIndex(office)
  const tool = office[0]!
  const sum = index.explain(tool, 'slack send message').reduce((total, { amount }) => total + amount, 0)
  expect(sum).toBeCloseTo(index.measure('slack send message', [0]).hits[0]!.sum, 2)
  expect(index.explain(toolsOf({ name: 'send' })[0]!, 'send')).toEqual([])
})

test('the ranker remembers an index per list and updates it for the next', async () => {
  const building = createIndexes(LEXICAL)
  const indexFor = (tools: readonly PoolTool[]) => runAtOnce(building(tools))
  const first = indexFor(office)
  expect(indexFor(office)).toBe(first)
  const more = [...office, ...toolsOf({ name: 'brew_coffee' })]
  expect(indexFor(more).search('coffee', 1).hits[0]?.document).toBe(office.length)
  const ranking = await lexical(more, 'send', 1)
  expect(ranking.hits).toHaveLength(1)
  expect(ranking.matched).toBeGreaterThan(1)
})
