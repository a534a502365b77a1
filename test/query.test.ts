// The query forms, each with every ranker at hand; only what differs between rankers is left open.
import { describe, expect, it } from 'vitest'
import { type Rank, rankers, type ShelfOptions, type Tool } from '../packages/core/src/index.ts'
import { classicRank } from '../packages/core/src/query.ts'
import { ask } from '../packages/testkit/src/ask.ts'
import { builtIn, exampleTools, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const deferred = (name: string, more: Partial<Tool> = {}) => builtIn(name, { shouldDefer: true, ...more })

/** As small as a ranker can be: how many words of the query occur in name or description. */
const tiny: Rank = (tools, query, limit) => {
  const words = query.toLowerCase().split(/\s+/)
  const hits = tools
    .map((tool) => {
      const text = `${tool.name} ${tool.tool.description}`.toLowerCase()
      return { tool, score: words.filter((word) => text.includes(word)).length }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
  return { hits: hits.slice(0, limit), matched: hits.length }
}

const everyRanker: [string, Rank][] = [
  ['classic', classicRank],
  ['lexical', rankers.lexical],
  ['bm25', rankers.bm25],
  ['regex', rankers.regex],
  ['hybrid', rankers.hybrid],
  ['a tiny one of the host', tiny],
  ['one that answers later', async (tools, query, limit) => tiny(tools, query, limit)],
]

const SEND = 'mcp__slack__send_message'
const LIST = 'mcp__slack__list_channels'
const ISSUE = 'mcp__github__create_issue'
const EMAIL = 'mcp__email__send_email'

it('S4 H10 a search for required words over many tools lets other work run', async () => {
  const tools = Array.from({ length: 3000 }, (_, index) => mcp('s', `tool${index}`))
  let pauses = 0
  const pause = async () => void pauses++
  const shelf = quietShelf({ tools, rank: tiny, pause })
  expect((await shelf.search({ query: '+tool1234 mcp' })).tools).toHaveLength(1)
  expect(pauses).toBeGreaterThanOrEqual(5)
  const failing = quietShelf({ tools, rank: tiny, pause: () => Promise.reject(new Error('no')) })
  expect((await failing.search({ query: '+tool1234 mcp' })).tools).toHaveLength(1)
})

describe.each(everyRanker)('with the ranker: %s', (label, rank) => {
  const shelfOf = (tools: readonly Tool[], more: ShelfOptions = {}) => quietShelf({ tools, rank, ...more })
  const usual = () =>
    shelfOf([
      builtIn('Read'),
      ...exampleTools,
      deferred('WebFetch'),
      mcp('slack', 'ping', { alwaysLoad: true }),
    ])

  it('S1 S7 select takes names in any case, trims them, keeps their order, and gives each once', async () => {
    const query = `select: ${ISSUE} ,MCP__Slack__SEND_message,${ISSUE},,mcp__SLACK__send_message, webfetch`
    const { names, result } = await ask(usual(), query)
    expect(names).toEqual([ISSUE, SEND, 'WebFetch'])
    expect(result.note).toBeUndefined()
  })

  it('S1 S7 select is not limited by max_results', async () => {
    const tools = Array.from({ length: 60 }, (_, index) => mcp('s', `tool${index}`))
    const wanted = tools.map(({ name }) => `mcp__s__${name}`)
    for (const limit of [1, 5, undefined]) {
      const { names, result } = await ask(shelfOf(tools), `select:${wanted.join(',')}`, limit)
      expect(names).toEqual(wanted)
      expect(result.note).toBeUndefined()
    }
  })

  it('S1 S7 select looks among the deferred first, then in the whole pool', async () => {
    const tools = [builtIn('Fetch'), deferred('fetch'), builtIn('Read')]
    expect((await ask(shelfOf(tools), 'select:FETCH,READ')).names).toEqual(['fetch', 'Read'])
  })

  it('S1 S7 select of a tool that is loaded already succeeds without a word', async () => {
    const talk = new Talk(usual())
    talk.user('hello')
    await talk.prepare()
    await talk.search(`select:${SEND}`)
    await talk.prepare()
    const again = await talk.search(`select:${SEND},Read,mcp__slack__ping`)
    expect(again).toEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_2',
      content: [SEND, 'Read', 'mcp__slack__ping'].map((tool_name) => ({ type: 'tool_reference', tool_name })),
    })
    await talk.prepare()
    expect(talk.visible).toContain(SEND)
  })

  it('S1 S7 select reports unknown names with the nearest ones, and still gives those it found', async () => {
    const { names, said } = await ask(usual(), `select:mcp__slack__send_mesage,WebFetch,github_create_issues`)
    expect(names).toEqual(['WebFetch'])
    expect(said).toContain('mcp__slack__send_mesage')
    expect(said).toContain(SEND)
    expect(said).toContain('github_create_issues')
    expect(said).toContain(ISSUE)
    const nothing = await ask(usual(), 'select:mcp__slack__send_mesage')
    expect(nothing.names).toEqual([])
    expect(nothing.said).toContain(SEND)
  })

  it('S2 S7 a query that is exactly a name gives that tool alone, from the deferred or else from the pool', async () => {
    const tools = [...exampleTools, mcp('slack', 'send_message_later'), builtIn('Read'), deferred('ReadMail')]
    expect((await ask(shelfOf(tools), SEND)).names).toEqual([SEND])
    expect((await ask(shelfOf(tools), ` ${SEND}\n`)).names).toEqual([SEND])
    expect((await ask(shelfOf(tools), 'ReadMail')).names).toEqual(['ReadMail'])
    const pool = await ask(shelfOf(tools), 'Read')
    expect(pool.names).toEqual(['Read'])
    expect(pool.result.note).toBeUndefined()
    expect((await ask(shelfOf([builtIn('Fetch'), deferred('fetch')]), 'FETCH')).names).toEqual(['fetch'])
  })

  it('S3 S7 a query that begins with mcp__ gives the deferred tools with that prefix in pool order', async () => {
    expect((await ask(usual(), 'mcp__slack')).names).toEqual([SEND, LIST])
    expect((await ask(usual(), 'MCP__SLACK__L')).names).toEqual([LIST])
    expect((await ask(usual(), 'mcp__')).names).toEqual([SEND, LIST, ISSUE, EMAIL])
    const cut = await ask(usual(), 'mcp__slack__', 1)
    expect(cut.names).toEqual([SEND])
    expect(cut.said).toMatch(/\b1 more\b/)
  })

  it('S3 S7 if no name begins so, searches the query as keywords', async () => {
    const keywords = label === 'regex' ? 'mcp__nowhere|send' : 'mcp__nowhere send'
    expect((await ask(usual(), keywords)).names.toSorted()).toEqual([EMAIL, SEND])
  })

  it.each([
    `send a slack message with ${ISSUE} please`,
    `${ISSUE} send message slack`,
    `send message: "${ISSUE}".`,
    `slack send MCP__GitHub__Create_Issue`,
    `+${ISSUE} send`,
  ])('S3 S7 a full MCP name among other words comes first: %s', async (query) => {
    expect((await ask(usual(), query)).names[0]).toBe(ISSUE)
    expect((await ask(usual(), query, 1)).names).toEqual([ISSUE])
  })

  it('S4 S7 only tools with the required term are given; those the rest does not rank come last', async () => {
    expect((await ask(usual(), '+slack send')).names).toEqual([SEND, LIST])
    expect((await ask(usual(), 'list +slack')).names).toEqual([LIST, SEND])
    expect((await ask(usual(), '+slack unheard')).names).toEqual([SEND, LIST])
    expect((await ask(usual(), '+slack unheard', 1)).names).toEqual([SEND])
    const none = await ask(usual(), '+unheard slack send')
    expect(none.names).toEqual([])
    expect(none.result.content[0].type).toBe('text')
  })

  it('S4 S7 every required term must be there', async () => {
    expect((await ask(usual(), '+slack +list')).names).toEqual([LIST])
    expect((await ask(usual(), '+slack +issue')).names).toEqual([])
    expect((await ask(usual(), '+SLACK +Send')).names).toEqual([SEND])
  })

  it('S4 S7 a required term is part of a name part, or a whole word of description or hint', async () => {
    const tools = [
      deferred('Alpha', { description: 'Supports paging.' }),
      deferred('Beta', { description: '', searchHint: 'kanban board' }),
      deferred('PagingList', { description: '' }),
    ]
    expect((await ask(shelfOf(tools), '+agin')).names).toEqual(['PagingList'])
    expect((await ask(shelfOf(tools), '+paging')).names.toSorted()).toEqual(['Alpha', 'PagingList'])
    expect((await ask(shelfOf(tools), '+kanban')).names).toEqual(['Beta'])
    expect((await ask(shelfOf(tools), '+kanba')).names).toEqual([])
  })

  it('S4 S7 required terms are split like names', async () => {
    const tools = [
      mcp('chrome', 'open', { description: '' }),
      mcp('devtools', 'open', { description: '' }),
      mcp('chrome-devtools', 'click', { description: '' }),
      deferred('DevtoolsForChrome', { description: '' }),
    ]
    for (const term of ['+chrome-devtools', '+chrome_devtools', '+ChromeDevtools', '+chrome.devtools']) {
      const { names } = await ask(shelfOf(tools), term)
      expect(names.toSorted()).toEqual(['DevtoolsForChrome', 'mcp__chrome-devtools__click'])
    }
  })

  it('S4 S7 a tool whose whole name is among the ranking words is left out without the required term', async () => {
    const tools = [deferred('send_message', { description: '' }), ...exampleTools]
    expect((await ask(shelfOf(tools), '+slack send_message')).names).toEqual([SEND, LIST])
  })

  it('S10 keywords and prefix see the deferred tools as they are now, announced and loaded or not', async () => {
    const shelf = shelfOf(exampleTools)
    expect((await ask(shelf, 'send')).names).toEqual([SEND, EMAIL])
    const talk = new Talk(shelf)
    talk.user('hello')
    await talk.prepare()
    await talk.search(`select:${SEND}`)
    await talk.prepare()
    shelf.add(mcp('slack', 'send_file', { description: '' }))
    const FILE = 'mcp__slack__send_file'
    expect((await ask(shelf, 'send')).names.toSorted()).toEqual([EMAIL, FILE, SEND])
    expect((await ask(shelf, 'mcp__slack')).names).toEqual([SEND, LIST, 'mcp__slack__send_file'])
    shelf.remove(SEND)
    expect((await ask(shelf, 'send')).names.toSorted()).toEqual([EMAIL, FILE])
    expect((await ask(shelf, 'mcp__slack')).names).toEqual([LIST, 'mcp__slack__send_file'])
    expect((await ask(shelf, `select:${SEND}`)).names).toEqual([])
  })

  it('S10 what is not deferred is found by its name only', async () => {
    expect((await ask(usual(), 'ping slack')).names).not.toContain('mcp__slack__ping')
    expect((await ask(usual(), 'mcp__slack__p')).names).not.toContain('mcp__slack__ping')
    expect((await ask(usual(), '+ping')).names).toEqual([])
    expect((await ask(usual(), 'mcp__slack__ping')).names).toEqual(['mcp__slack__ping'])
    expect((await ask(usual(), 'select:mcp__slack__ping')).names).toEqual(['mcp__slack__ping'])
  })

  it('S10 a tool that permissions hide is neither found nor named, in any form', async () => {
    const isHidden = ({ name }: Tool) => name === 'send_message' || name === 'Secret'
    const tools = [...exampleTools, builtIn('Secret'), deferred('SecretPlan')]
    const queries = ['send', 'mcp__slack', SEND, `select:${SEND}`, '+slack', `use ${SEND}`, `+${SEND}`]
    for (const query of [...queries, 'select:Secret', 'Secret', `select:${SEND}s`, 'unheard']) {
      const { names, said } = await ask(shelfOf(tools, { isHidden }), query)
      expect([query, names.includes(SEND) || names.includes('Secret')]).toEqual([query, false])
      if (!query.includes(SEND)) expect(said).not.toContain(SEND)
      if (query === `select:${SEND}s`) expect(said.replaceAll(`${SEND}s`, '')).not.toContain(SEND)
      if (names.length === 0) expect(said).toMatch(/\b4 deferred/)
    }
  })
})

describe('the interface of rankers', () => {
  it('S7 the ranker given as an option is asked for words, and its order is the answer', async () => {
    const asked: [string[], string][] = []
    const rank: Rank = (tools, query, limit) => {
      asked.push([tools.map(({ name }) => name), query])
      const hits = tools.toReversed().map((tool, score) => ({ tool, score }))
      return { hits: hits.slice(0, limit), matched: hits.length }
    }
    const shelf = quietShelf({ tools: exampleTools, rank })
    expect((await ask(shelf, 'any words', 3)).names).toEqual([EMAIL, ISSUE, LIST])
    expect(asked).toEqual([[[SEND, LIST, ISSUE, EMAIL], 'any words']])
    expect((await ask(shelf, '+slack words')).names).toEqual([LIST, SEND])
    expect(asked.at(-1)?.[1]).toBe('words')
    expect((await ask(shelf, '+slack')).names).toEqual([LIST, SEND])
    expect(asked.at(-1)?.[1]).toBe('slack')
  })

  it('S4 S7 with a ranker that finds nothing, required terms still choose, in pool order', async () => {
    const rank: Rank = () => ({ hits: [], matched: 0 })
    const shelf = quietShelf({ tools: exampleTools, rank })
    expect((await ask(shelf, '+slack send')).names).toEqual([SEND, LIST])
    expect((await ask(shelf, 'slack send')).names).toEqual([])
  })

  it('S4 with only required terms these rank', async () => {
    const tools = [mcp('mail', 'resend', { description: '' }), mcp('mail', 'send', { description: '' })]
    expect((await ask(quietShelf({ tools, rank: classicRank }), '+send')).names).toEqual([
      'mcp__mail__send',
      'mcp__mail__resend',
    ])
  })
})
