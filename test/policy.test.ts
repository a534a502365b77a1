// D: which tools can be deferred. The first rule that applies decides.
import { describe, expect, it } from 'vitest'
import { applyPolicy, codingAgentPolicy, type ShelfOptions, type Tool } from '../packages/core/src/index.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

/** Always deferred, so that there is something to search whatever the tool under test does. */
const other = mcp('other', 'thing')

function talkWith(tools: readonly Tool[], options: ShelfOptions = {}): Talk {
  return new Talk(quietShelf({ tools: [...tools, other], ...options })).user()
}

async function sends(tools: readonly Tool[], options: ShelfOptions = {}): Promise<string[]> {
  const talk = talkWith(tools, options)
  await talk.prepare()
  return talk.sentTools
}

const metaOf = (value: unknown) => ({ _meta: { 'anthropic/alwaysLoad': value } })

describe('D4 the search tool itself', () => {
  it('D4 is sent and never deferred, under either strategy', async () => {
    for (const strategy of ['on-demand', 'staged'] as const) {
      const { request } = await talkWith([mcp('a', 'x')], { strategy }).prepare()
      const search = request.tools.find(({ name }: Loose) => name === 'ToolSearch')
      expect(search).toBeDefined()
      expect(search).not.toHaveProperty('defer_loading')
    }
  })

  it('D4 a foreign tool of its name keeps its own prefixed name and is deferred like any other', async () => {
    const talk = talkWith([mcp('evil', 'ToolSearch')])
    await talk.prepare()
    expect(talk.sentTools.filter((name) => name === 'ToolSearch')).toHaveLength(1)
    expect(talk.sentTools).not.toContain('mcp__evil__ToolSearch')
    await talk.search('select:mcp__evil__ToolSearch')
    const { request } = await talk.prepare()
    const foreign = request.tools.find(({ name }: Loose) => name === 'mcp__evil__ToolSearch')
    expect(foreign).toHaveProperty('defer_loading', true)
  })

  it('D4 identity, not name: a foreign tool whose full name is the search tool’s stays deferred', async () => {
    const { request } = await talkWith([mcp('a', 'find')], {
      searchTool: 'mcp__a__find',
      strategy: 'staged',
    }).prepare()
    const named = request.tools.filter(({ name }: Loose) => name === 'mcp__a__find')
    expect(named).toHaveLength(1)
    expect(named[0]).not.toHaveProperty('defer_loading')
    const foreign = request.tools.find(({ name }: Loose) => /^mcp__a__find_/.test(name))
    expect(foreign).toHaveProperty('defer_loading', true)
  })
})

describe('D1 a tool’s own alwaysLoad', () => {
  it('D1 alwaysLoad true is never deferred, whatever else the tool says', async () => {
    const tool = builtIn('Plan', { alwaysLoad: true, shouldDefer: true, initializing: true })
    expect(await sends([tool])).toContain('Plan')
  })

  it('D1 an MCP tool says it in _meta', async () => {
    expect(await sends([mcp('a', 'x', metaOf(true))])).toContain('mcp__a__x')
  })

  it('D1 false in _meta defers even on a server configured alwaysLoad', async () => {
    const servers = { a: { alwaysLoad: true } }
    const names = await sends([mcp('a', 'x', metaOf(false)), mcp('a', 'y')], { servers })
    expect(names).not.toContain('mcp__a__x')
    expect(names).toContain('mcp__a__y')
  })

  it.each([['true'], ['false'], [1], [0], [null], [{}], [[]]])(
    'D1 any other type in _meta is ignored: %j',
    async (value) => {
      const warnings: string[] = []
      const notify = (message: string) => void warnings.push(message)
      const tool = mcp('a', 'x', metaOf(value))
      expect(await sends([tool], { notify })).not.toContain('mcp__a__x')
      expect(await sends([tool], { servers: { a: { alwaysLoad: true } } })).toContain('mcp__a__x')
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain('"x"')
      expect(warnings[0]).toContain('anthropic/alwaysLoad')
    },
  )
})

describe('D2 a server configured alwaysLoad', () => {
  it('D2 its tools are not deferred', async () => {
    const servers = { a: { alwaysLoad: true } }
    expect(await sends([mcp('a', 'x'), mcp('a', 'y')], { servers })).toEqual(
      expect.arrayContaining(['mcp__a__x', 'mcp__a__y']),
    )
  })

  it('D2 says nothing of other servers', async () => {
    const servers = { a: { alwaysLoad: true } }
    expect(await sends([mcp('b', 'x')], { servers })).not.toContain('mcp__b__x')
  })

  it('D2 false changes nothing: the rest is deferred, and a tool’s own true still wins', async () => {
    const servers = { a: { alwaysLoad: false } }
    const names = await sends([mcp('a', 'x'), mcp('a', 'y', metaOf(true))], { servers })
    expect(names).not.toContain('mcp__a__x')
    expect(names).toContain('mcp__a__y')
  })
})

describe('D3 an MCP tool', () => {
  it('D3 is deferred, by its server or by its full name', async () => {
    const names = await sends([mcp('a', 'x'), builtIn('mcp__b__y')])
    expect(names).not.toContain('mcp__a__x')
    expect(names).not.toContain('mcp__b__y')
  })

  it.each([
    ['shouldDefer false', { shouldDefer: false }],
    ['critical', { critical: true }],
    ['ready', { initializing: false }],
  ])('D3 comes before the rules for built-ins: %s', async (_, flags) => {
    expect(await sends([mcp('a', 'x', flags)])).not.toContain('mcp__a__x')
  })
})

describe('D5 a critical channel', () => {
  it('D5 is never deferred, though marked shouldDefer or still starting', async () => {
    const tools = [
      builtIn('Agent', { critical: true, shouldDefer: true }),
      builtIn('Brief', { critical: () => true, initializing: true }),
    ]
    expect(await sends(tools)).toEqual(expect.arrayContaining(['Agent', 'Brief']))
  })

  it('D5 the mark may be a function of the host’s state, read at each request', async () => {
    let isBridgeUp = true
    const talk = talkWith([builtIn('SendFile', { critical: () => isBridgeUp, shouldDefer: true })])
    await talk.prepare()
    expect(talk.sentTools).toContain('SendFile')
    isBridgeUp = false
    await talk.prepare()
    expect(talk.sentTools).not.toContain('SendFile')
    isBridgeUp = true
    await talk.prepare()
    expect(talk.sentTools).toContain('SendFile')
  })
})

describe('D6 a built-in that is still starting', () => {
  it('D6 is deferred until it is ready, with no flag of its own', async () => {
    let isStarting = true
    const talk = talkWith([builtIn('LSP', { initializing: () => isStarting })])
    await talk.prepare()
    expect(talk.sentTools).not.toContain('LSP')
    isStarting = false
    await talk.prepare()
    expect(talk.sentTools).toContain('LSP')
  })

  it('D6 once ready it is back to normal: shouldDefer still defers it', async () => {
    expect(await sends([builtIn('LSP', { initializing: () => false, shouldDefer: true })])).not.toContain(
      'LSP',
    )
  })
})

describe('D7 everything else', () => {
  it('D7 shouldDefer true defers a built-in', async () => {
    expect(await sends([builtIn('WebFetch', { shouldDefer: true })])).not.toContain('WebFetch')
  })

  it.each([
    ['no flag', {}],
    ['shouldDefer false', { shouldDefer: false }],
    ['shouldDefer "true"', { shouldDefer: 'true' }],
    ['shouldDefer 1', { shouldDefer: 1 }],
    ['alwaysLoad false', { alwaysLoad: false }],
    ['defer_loading true', { defer_loading: true }],
    ['a search hint', { searchHint: 'rarely used' }],
  ])('D7 nothing else does: %s', async (_, flags) => {
    expect(await sends([builtIn('Plain', flags as Partial<Tool>)])).toContain('Plain')
  })
})

it('D8 loading one tool never loads its server’s others', async () => {
  const talk = talkWith([mcp('a', 'x'), mcp('a', 'y'), builtIn('Cron', { shouldDefer: true })])
  await talk.prepare()
  await talk.search('select:mcp__a__x')
  const { loaded } = await talk.prepare()
  expect(loaded).toEqual(['mcp__a__x'])
  expect(talk.sentTools).toContain('mcp__a__x')
  for (const name of ['mcp__a__y', 'mcp__other__thing', 'Cron']) expect(talk.sentTools).not.toContain(name)
  expect(talk.visible).toContain('mcp__a__x')
  expect(talk.visible).not.toContain('mcp__a__y')
})

describe('D9 the ready-made table', () => {
  const always = ['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep', 'Agent', 'ToolSearch', 'Skill']
  const deferred = [
    ...['WebSearch', 'WebFetch', 'TodoWrite', 'NotebookEdit', 'TaskCreate', 'TaskStop', 'TeamCreate'],
    ...['CronCreate', 'CronDelete', 'EnterWorktree', 'ExitWorktree', 'EnterPlanMode', 'ExitPlanMode'],
    ...['ConfigTool', 'LSPTool', 'AskUserQuestion'],
  ]

  it('D9 names what is always loaded', () => {
    const marked = applyPolicy(
      always.map((name) => builtIn(name)),
      codingAgentPolicy,
    )
    expect(marked.map(({ alwaysLoad }) => alwaysLoad)).toEqual(always.map(() => true))
    expect(marked.some(({ shouldDefer }) => shouldDefer)).toBe(false)
  })

  it('D9 names what should be deferred', () => {
    const marked = applyPolicy(
      deferred.map((name) => builtIn(name)),
      codingAgentPolicy,
    )
    expect(marked.map(({ shouldDefer }) => shouldDefer)).toEqual(deferred.map(() => true))
    expect(marked.some(({ alwaysLoad }) => alwaysLoad)).toBe(false)
  })

  it('D9 splits such a host as the documents do', async () => {
    const own = always.filter((name) => name !== 'ToolSearch')
    const names = [...own, ...deferred, 'SomethingElse']
    const sent = await sends(
      applyPolicy(
        names.map((name) => builtIn(name)),
        codingAgentPolicy,
      ),
    )
    expect(sent).toEqual(expect.arrayContaining([...always, 'SomethingElse']))
    expect(sent.filter((name) => deferred.includes(name))).toEqual([])
  })

  it('D9 leaves the annotations of a tool, and MCP tools, as they are', () => {
    const tools = [
      builtIn('Bash', { shouldDefer: true }),
      builtIn('WebFetch', { alwaysLoad: true }),
      mcp('a', 'Bash'),
    ]
    expect(applyPolicy(tools, codingAgentPolicy)).toEqual(tools)
  })
})
