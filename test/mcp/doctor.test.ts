// The doctor's report and its views, on hand-made statuses.
import { describe, expect, it } from 'vitest'
import { findingsOf } from '../../packages/cli/src/doctor/findings.ts'
import { makeReport, type ReportOptions } from '../../packages/cli/src/doctor/report.ts'
import { arrivalLine, progressLine, terminalView } from '../../packages/cli/src/doctor/terminal.ts'
import { estimateTokens } from '../../packages/core/src/index.ts'
import { gatewayCallTool, gatewaySearchTool } from '../../packages/mcp/src/greeting/greeting.ts'
import type { ListedTool, ServerConfig, ServerStatus } from '../../packages/mcp/src/types.ts'

type Given = Partial<Omit<ServerStatus, 'config'>> & { readonly config?: Partial<ServerConfig> }

function status(name: string, { config, ...given }: Given = {}): ServerStatus {
  return {
    name,
    state: 'connected',
    reason: undefined,
    category: undefined,
    config: {
      name,
      transport: {
        kind: 'stdio',
        command: 'x',
        args: ['secret-argument'],
        env: { KEY: 'secret-value' },
        cwd: undefined,
      },
      disabled: false,
      lazy: false,
      alwaysLoad: undefined,
      description: undefined,
      tools: {},
      allow: [],
      deny: [],
      connectTimeoutMs: 1000,
      callTimeoutMs: 1000,
      source: '/home/a/mcp.json',
      ...config,
    },
    tools: [],
    hidden: [],
    held: [],
    isCached: false,
    problems: [],
    isRemembered: false,
    prompts: undefined,
    resources: undefined,
    resourceTemplates: undefined,
    hasListed: false,
    pageTools: [],
    info: { name: 'software', version: '1.2' },
    protocol: '2025-11-25',
    capabilities: {},
    instructions: undefined,
    startMilliseconds: 250,
    pid: 1,
    stderr: '',
    ...given,
  }
}

const tool = (name: string, size = 10): ListedTool => ({
  name,
  description: 'x'.repeat(size),
  inputSchema: { type: 'object' },
})
const tools = (count: number, size: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...tool(`t${index}`, size),
    // Distinct, of the same length: descriptions that many tools share are a finding.
    description: `t${index}`.padEnd(size, 'x'),
  }))

/** What a definition costs, written out. */
const tokensOf = (name: string, size: number) =>
  estimateTokens(`{"name":"${name}","description":"${'x'.repeat(size)}","input_schema":{"type":"object"}}`)

const only = (one: ServerStatus, options?: ReportOptions) => makeReport([one], options).servers[0]!
const plainView = (statuses: readonly ServerStatus[], options?: ReportOptions) =>
  terminalView(makeReport(statuses, options), { width: 80, isPlain: true, next: 'toolshelf mcp' })

describe('what tools cost', () => {
  it('counts name, description and schema as they are sent, and says how', () => {
    const report = makeReport([status('a', { tools: [tool('read', 100), tool('write', 300)] })])
    const tokens = tokensOf('mcp__a__read', 100) + tokensOf('mcp__a__write', 300)
    expect(report.servers[0]).toMatchObject({ tools: 2, tokens, share: tokens / 200_000 })
    expect(report.total).toMatchObject({ tools: 2, tokens, share: tokens / 200_000 })
    expect(report.method).toContain('estimates')
    expect(report.method).toContain('divided by 2.9')
    expect(estimateTokens('x'.repeat(2900))).toBe(1000)
  })

  it('H5 counts a description as it is cut for the model, and no fields that are not sent', () => {
    const long = only(
      status('a', { tools: [{ ...tool('t', 50_000), outputSchema: { type: 'object' }, title: 'T' }] }),
    )
    expect(long.tokens).toBeLessThan(estimateTokens('x'.repeat(2048)) + 40)
    expect(only(status('a', { tools: [tool('t')] })).tokens).toBe(tokensOf('mcp__a__t', 10))
  })

  it('names the five heaviest tools of each server and of all', () => {
    const report = makeReport([
      status('a', { tools: [1, 2, 3, 4, 5, 6].map((size) => tool(`t${size}`, 100 * size)) }),
      status('b', { tools: [tool('huge', 2000)] }),
    ])
    expect(report.servers[0]?.heaviest.map((one) => one.tool)).toEqual(['t6', 't5', 't4', 't3', 't2'])
    expect(report.heaviest.map((one) => `${one.server} ${one.tool}`)).toEqual([
      'b huge',
      'a t6',
      'a t5',
      'a t4',
      'a t3',
    ])
  })
})

describe('what deferral saves', () => {
  const { total, projection, arithmetic } = makeReport([
    status('a', { tools: tools(30, 500) }),
    status('b', { tools: tools(10, 900), config: { alwaysLoad: true } }),
    status('c', { tools: tools(4, 100), config: { tools: { t0: { alwaysLoad: true } } } }),
  ])
  const always = Array.from({ length: 10 }, (_, index) => tokensOf(`mcp__b__t${index}`, 900)).reduce(
    (a, b) => a + b,
  )

  it('is a turn’s definitions without the search tool, the names, and what is always loaded', () => {
    expect(total.alwaysLoaded).toBe(always + tokensOf('mcp__c__t0', 100))
    expect(total.ownTools).toBe(
      [gatewaySearchTool('bridge', ['a', 'b', 'c']), gatewayCallTool]
        .map(({ name, description, inputSchema }) =>
          estimateTokens(JSON.stringify({ name, description, input_schema: inputSchema })),
        )
        .reduce((a, b) => a + b),
    )
    expect(total.serverNames).toBeGreaterThan(30)
    expect(total.withDeferral).toBe(total.alwaysLoaded + total.ownTools + total.serverNames)
    expect(total.tokensSavedPerRequest).toBe(total.tokens - total.withDeferral)
  })

  it('over 20 requests bears a search: its round trip, and the tools that stay', () => {
    const deferred = total.tokens - total.alwaysLoaded
    const search = 200 + 5 * Math.round(deferred / 33)
    const with20 = 21 * (total.withDeferral + 10_000) + 20 * search
    const without20 = 20 * (total.tokens + 10_000)
    expect(projection).toMatchObject({
      requests: 20,
      rounds: 21,
      extraRoundTrips: 1,
      searches: 1,
      conversationTokens: 10_000,
      tokensWithout: without20,
      tokensWith: with20,
      tokensSaved: without20 - with20,
    })
    expect(arithmetic).toContain(`− ${total.serverNames} (names of the servers)`)
    expect(arithmetic).toContain(`− ${total.ownTools} (ToolSearch and CallTool)`)
    expect(arithmetic).toContain(`the 5 tools that it loads (${Math.round(deferred / 33)} each, the average)`)
  })

  it('is shown in money too: definitions are written to the cache once, and read from then on', () => {
    const report = makeReport([status('a', { tools: tools(30, 500) })], { model: 'claude-sonnet-5-5' })
    const { dollarsWithout = 0, dollarsWith = 0, uncached, pricedAs } = report.projection ?? {}
    const { tokens } = report.total
    expect(pricedAs).toBe('claude-sonnet-5-5')
    expect(dollarsWithout).toBeCloseTo(((tokens + 10_000) * (2.5 + 19 * 0.1)) / 1_000_000, 10)
    expect(uncached?.dollarsWithout).toBeCloseTo((20 * (tokens + 10_000) * 2) / 1_000_000, 10)
    expect(dollarsWith).toBeLessThan(dollarsWithout)
    const view = plainView([status('a', { tools: tools(30, 500) })], { model: 'claude-sonnet-5-5' })
    expect(view.replace(/\s+/g, ' ')).toMatch(
      /\$[\d.]+ without, \$[\d.]+ with, at list prices of claude-sonnet-5-5 \(2026-\d\d-\d\d\) and with prompt caching; \$[\d.]+ and \$[\d.]+ without a prompt cache\./,
    )
  })

  it('through the gateway carries no names of tools; with the library it does', () => {
    const named = (length: number) =>
      makeReport([
        status('a', { tools: tools(20, 500).map((one) => ({ ...one, name: one.name.padEnd(length, 'x') })) }),
      ]).total
    const [short, long] = [named(3), named(30)]
    expect(long.withDeferral).toBe(short.withDeferral)
    expect(long.withLibrary).toBeGreaterThan(short.withLibrary + 20 * 5)
    const view = plainView([status('a', { tools: tools(20, 500) })])
    expect(view).toMatch(/through toolshelf mcp +[\d,]+ .*\n +with the library +[\d,]+ /)
  })

  it('is nothing where nothing can be deferred, and the report says where it does not pay', () => {
    const alwaysLoaded = makeReport([status('a', { tools: tools(3, 10), config: { alwaysLoad: true } })])
    expect(alwaysLoaded.total).toMatchObject({ ownTools: 0, serverNames: 0, tokensSavedPerRequest: 0 })
    expect(alwaysLoaded.projection).toBeNull()
    expect(findingsOf(alwaysLoaded)).toEqual([])
    const few = makeReport([status('a', { tools: tools(3, 10) })])
    expect(few.total.tokensSavedPerRequest).toBeLessThan(0)
    expect(few.projection?.tokensSaved).toBeLessThan(0)
    expect(plainView([status('a', { tools: tools(3, 10) })])).toMatch(/costs [\d,]+ more, 1 extra round trip/)
    const note = findingsOf(few).find(({ title }) => title === 'Toolshelf does not pay off for so few tools')
    expect(note?.details).toEqual([
      expect.stringMatching(
        /^20 requests with a search: [\d,]+ tokens without, [\d,]+ with, 1 extra round trip$/,
      ),
      expect.stringMatching(/^it pays off from about [\d,]+ tokens of definitions; yours have [\d,]+$/),
    ])
  })

  it('pays from the point that it names on', () => {
    const reports = [10, 20, 40, 60, 80].map((count) =>
      makeReport([status('a', { tools: tools(count, 200) })]),
    )
    for (const { projection: one, breakEven, total: all } of reports)
      expect((one?.tokensSaved ?? 0) > 0).toBe(all.tokens > breakEven)
    expect(reports.map(({ projection: one }) => (one?.tokensSaved ?? 0) > 0)).toContain(false)
    expect(reports.map(({ projection: one }) => (one?.tokensSaved ?? 0) > 0)).toContain(true)
  })

  it.each([
    [['Claude Code'], 'Claude Code defers these tools already'],
    [['Cursor', 'Qwen Code', 'Claude Code'], 'Claude Code and Qwen Code defer these tools already'],
    [['Cursor'], undefined],
  ])('is reported as little for %j', (clients, title) => {
    const report = makeReport([status('a', { tools: tools(40, 300) })], { clients })
    const note = findingsOf(report).find((one) => one.title.includes('already'))
    expect(note?.title).toBe(title)
    if (note)
      expect(note.details[0]).toMatch(
        /about [\d,]+ of [\d,]+ tokens; through toolshelf mcp it would send [\d,]+/,
      )
  })
})

describe('tools worth always loading', () => {
  it.each([
    ['a server cheaper than one search', tools(3, 10), 'less than one search costs'],
    ['the only tool of a server, if it is small', tools(1, 800), 'the only tool of its server'],
  ])('%s', (_, given, reason) => {
    const { alwaysLoadAdvice } = only(status('a', { tools: given }))
    expect(alwaysLoadAdvice?.reason).toContain(reason)
    expect(alwaysLoadAdvice?.tools).toEqual(given.map(({ name }) => name))
  })

  it.each([
    ['several tools that cost more than a search', { tools: tools(3, 500) }],
    ['a single large tool', { tools: tools(1, 2000) }],
    ['what is always loaded already', { tools: tools(1, 10), config: { alwaysLoad: true } }],
    ['a server without tools', {}],
  ])('not %s', (_, given) => {
    expect(only(status('a', given)).alwaysLoadAdvice).toBeNull()
  })
})

describe('names', () => {
  const kinds = (one: ServerStatus) => only(one).problems.map(({ tool, kind }) => [tool, kind])

  it('H3 reports names that are too long, have characters replaced, or collide', () => {
    const long = 'l'.repeat(70)
    expect(kinds(status('a', { tools: [tool('fine'), tool(long), tool('a.b')] }))).toEqual([
      [long, 'long-name'],
      ['a.b', 'characters'],
    ])
    expect(kinds(status('a', { tools: [tool('a_b'), tool('a.b')] }))).toEqual([['a.b', 'clash']])
  })
})

describe('findings', () => {
  it('come with the worst first, each with what to do', () => {
    const statuses = [
      status('good', {
        tools: tools(40, 300),
        problems: [{ tool: 't1', kind: 'repaired', message: 'it has no input schema' }],
      }),
      status('bad', { state: 'failed', reason: 'the command "bad" was not found', stderr: 'one\n\ntwo\n' }),
    ]
    const report = makeReport(statuses, {
      configProblems: [{ file: 'f.json', server: 'x', message: 'it has no "url"' }],
      changed: new Map([['good', ['t2']]]),
    })
    const found = findingsOf(report)
    expect(found.map(({ level, server }) => [level, server])).toEqual([
      ['error', 'bad'],
      ['warning', 'good'],
      ['warning', undefined],
      ['note', 'good'],
    ])
    expect(found[0]?.details).toEqual(['stderr: one', 'stderr: two'])
    expect(found[1]?.remedy).toContain('toolshelf trust')
    expect(found[2]).toMatchObject({ title: '1 problem in f.json', details: ['x: it has no "url"'] })
    for (const { remedy } of found) expect(remedy).not.toBe('')
  })

  it('say what is to be done for several once', () => {
    const failed = { state: 'failed', reason: 'gone' } as const
    const found = findingsOf(makeReport([status('a', failed), status('b', failed), status('c', failed)]))
    expect(found.map(({ server, remedy }) => [server, remedy])).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['c', expect.stringMatching(/^All 3: Run the command by hand/)],
    ])
  })

  it('name rules that no tool has, with the name that may be meant', () => {
    const config = {
      allow: ['read_*', 'wriet_file'],
      deny: ['delete_*', 'secret'],
      tools: { read_fiel: { hint: 'x' }, write_file: { alwaysLoad: true } },
    }
    const given = { tools: [tool('read_file'), tool('write_file')], hidden: ['secret'] }
    const { idleRules } = only(status('a', { ...given, config }))
    expect(idleRules).toEqual([
      '"allow" "wriet_file"; did you mean "write_file"?',
      '"deny" "delete_*"',
      '"tools" "read_fiel"; did you mean "read_file"?',
    ])
    expect(plainView([status('a', { ...given, config })])).toContain('! a has 3 rules that match no tool')
    expect(only(status('a', { state: 'failed', config })).idleRules).toEqual([])
  })

  it('reports which texts contain hidden characters, and does not advise to load them always', () => {
    const problems = [
      { tool: '', kind: 'hidden', message: 'hidden characters in its instructions: control' },
      { tool: 'evil', kind: 'hidden', message: 'hidden characters in its description: tags' },
    ] as const
    const view = plainView([status('a', { tools: [tool('evil')], problems })]).replace(/\s+/g, ' ')
    expect(view).toMatch(
      /! a has texts that people do not see hidden characters in its instructions: control evil: hidden characters in its description: tags/,
    )
    expect(view).not.toContain('worth always loading')
  })
})

describe('in the terminal', () => {
  const statuses = [
    status('small', { tools: tools(2, 400) }),
    status('a-server-with-quite-a-long-name-indeed', { tools: tools(60, 1500), startMilliseconds: 1234 }),
    status('中文服务器名字很长很长很长', { tools: tools(3, 300) }),
    status('missing', { state: 'failed', reason: `the command was not found ${'and so on '.repeat(20)}` }),
    status('off', { state: 'disabled' }),
  ]
  const columnsOf = (line: string) =>
    [...line].reduce((sum, one) => sum + (/\p{Script=Han}/u.test(one) ? 2 : 1), 0)

  it('plain: no colours, nothing of ours beyond ASCII, 80 columns', () => {
    const view = plainView(statuses)
    expect(view.replace(/\p{Script=Han}/gu, '')).toMatch(/^[\n -~]*$/)
    for (const line of view.split('\n')) expect(columnsOf(line), line).toBeLessThanOrEqual(80)
    expect(view).toContain('5 servers, 3 connected, 1 failed, 1 disabled, 65 tools')
    expect(view).toMatch(/^\+ a-server-with-quite-\.\. +1\.2 s +60 +[\d,]+ +\d+\.\d % +#{10,}$/m)
    expect(view).toMatch(/^x missing +failed: the command was not found/m)
    expect(view).toMatch(/^o off +disabled$/m)
    expect(view.trimEnd()).toMatch(/Next {2}toolshelf mcp$/)
  })

  it('drawn: bars in proportion, numbers in one column, the heaviest first', () => {
    const view = terminalView(makeReport(statuses), { width: 80, isPlain: false, next: 'toolshelf mcp' })
    expect(view).toContain('\u001b[')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are taken away
    const lines = view.replace(/\u001b\[\d+m/g, '').split('\n')
    const rows = lines.filter((line) => line.startsWith('●'))
    const ends = rows.map((row) => columnsOf(row.slice(0, row.indexOf('%'))))
    expect(new Set(ends).size).toBe(1)
    const bars = rows.map((row) => (row.match(/[█▉▊▋▌▍▎▏]/g) ?? []).length)
    expect(bars).toEqual([...bars].sort((a, b) => b - a))
    expect(bars.at(-1)).toBe(1)
    for (const line of lines) expect(columnsOf(line), line).toBeLessThanOrEqual(80)
  })

  it('foreign text cannot steer the terminal', () => {
    const evil = '\u001b]0;owned\u0007\u001b[2J\u202eevil\u200b\r\n\u009b31m'
    const view = plainView([
      status(evil, { tools: [tool(evil, 3000)], problems: [{ tool: evil, kind: 'dropped', message: evil }] }),
      status('b', { state: 'failed', reason: evil, stderr: evil, config: { source: evil } }),
    ])
    expect(view).not.toMatch(/[^\n -~]/)
  })

  it('shows the progress of the start, of all or of one', () => {
    const pending = [status('a'), status('b', { state: 'pending' }), status('c', { state: 'disabled' })]
    expect(progressLine(pending, 2100)).toBe('1 of 2 servers after 2 s, waiting for b')
    expect(progressLine(pending, 9000)).toContain('Ctrl-C')
    expect(arrivalLine(status('a', { tools: [tool('t')] }))).toBe('a: connected, 1 tool, 250 ms')
    expect(arrivalLine(status('b', { state: 'failed', reason: 'gone\u001b[2J' }))).toBe('b: failed: gone')
  })
})

it('no view holds what a server is started with', () => {
  const statuses = [status('a', { tools: tools(2, 300) }), status('b', { state: 'failed', reason: 'gone' })]
  const all = [JSON.stringify(makeReport(statuses)), plainView(statuses)]
  for (const text of all) expect(text).not.toMatch(/secret-(argument|value)/)
})

it.each([
  ['dropped', 'lists 2 tools that cannot be used'],
  ['hidden', 'has texts that people do not see'],
  ['unsupported', 'lists 2 tools for MCP tasks only'],
  ['limited', 'exceeds a limit'],
  ['large', 'has 2 tools of more than 20,000 tokens'],
] as const)('a person reads of problems of the kind %s in one finding, with what to do', (kind, title) => {
  const problems = ['one', 'two'].map((tool) => ({ tool, kind, message: `as it is with ${tool}` }))
  const view = terminalView(makeReport([status('odd', { problems })]), { width: 80, isPlain: true, next: '' })
  expect(view.replace(/\s+/g, ' ')).toContain(title)
})
