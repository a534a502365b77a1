// What a replay says a recorded conversation would have cost, with Claude Code's transcripts as the input.
import { describe, expect, test } from 'vitest'
import { replayView } from '../../src/replay/index.ts'
import { call, claude, replayed, result, SECRET, toolsOf, transcript, usage } from './support/transcripts.ts'

const issue = call('mcp__github__create_issue')

describe('a turn', () => {
  test('costs a search and a round trip if its tool is not loaded yet, and only then', async () => {
    const again = call('mcp__github__create_issue')
    const { report } = await replayed(
      transcript([
        claude('user', SECRET),
        claude('assistant', [issue]),
        claude('user', [result(issue.id)]),
        claude('assistant', [again]),
        claude('user', [result(again.id)]),
        claude('assistant', [{ type: 'text', text: SECRET }]),
      ]),
    )
    const [first, second, third] = report.turns
    expect(first?.search).toMatchObject({ simulated: 1, recorded: 0, loaded: ['mcp__github__create_issue'] })
    expect(first?.figures).toMatchObject({ requests: 1, rounds: 2, extraRoundTrips: 1 })
    expect([second?.search, third?.search]).toEqual([null, null])
    expect(second?.figures.rounds).toBe(1)
    expect(report.total).toMatchObject({ requests: 3, rounds: 4, searches: { recorded: 0, simulated: 1 } })
    expect(report.tools).toMatchObject({ servers: 2, tools: 3, deferred: 3, used: 1 })
  })

  test('with several tools that are not loaded needs one search', async () => {
    const both = [issue, call('mcp__files__read_file')]
    const { report } = await replayed(transcript([claude('user', SECRET), claude('assistant', both)]))
    expect(report.turns[0]?.search?.loaded).toEqual(['mcp__github__create_issue', 'mcp__files__read_file'])
    expect(report.turns[0]?.figures.extraRoundTrips).toBe(1)
  })

  test('counts the loaded definitions from then on', async () => {
    const { report } = await replayed(
      transcript([
        claude('user', SECRET),
        claude('assistant', [{ type: 'text', text: SECRET }]),
        claude('user', SECRET),
        claude('assistant', [issue]),
      ]),
    )
    const [before, after] = report.turns
    expect((after?.definitionsWith ?? 0) - (before?.definitionsWith ?? 0)).toBeGreaterThan(2000)
    expect(before?.definitionsWithout).toBe(after?.definitionsWithout)
    expect(before?.definitionsWith).toBeLessThan(before?.definitionsWithout ?? 0)
  })

  test('is billed exactly: written to the cache at first, read from it afterwards', async () => {
    const text = [{ type: 'text', text: 'x'.repeat(290) }]
    const { report } = await replayed(
      transcript([claude('user', 'x'.repeat(2900)), claude('assistant', text), claude('assistant', text)]),
    )
    const [first, second] = report.turns
    const definitions = first?.definitionsWith ?? 0
    // Dollars per million tokens of this model: 2.5 written, 0.1 read, 10 of output.
    expect(first?.figures.dollarsWith).toBeCloseTo(((definitions + 1000) * 2.5 + 100 * 10) / 1e6, 9)
    expect(second?.figures.dollarsWith).toBeCloseTo(
      ((definitions + 1000) * 0.1 + 100 * 2.5 + 100 * 10) / 1e6,
      9,
    )
    const all = report.tools.tokens
    expect(first?.figures.dollarsWithout).toBeCloseTo(((all + 1000) * 2.5 + 100 * 10) / 1e6, 9)
    expect(second?.figures.dollarsWithout).toBeCloseTo(((all + 1000) * 0.1 + 100 * 2.5 + 100 * 10) / 1e6, 9)
    expect(first?.figures).toMatchObject({ tokensWithout: all + 1000, tokensWith: definitions + 1000 })
  })

  test('that searches sends its prompt twice, the second time from the cache', async () => {
    const { report } = await replayed(
      transcript([
        claude('user', 'x'.repeat(2900)),
        claude('assistant', [{ type: 'text', text: '' }]),
        claude('assistant', [issue]),
      ]),
    )
    const [before, after] = report.turns
    const [small, large] = [before?.definitionsWith ?? 0, after?.definitionsWith ?? 0]
    expect(after?.figures.tokensWith).toBe(small + large + 2 * (after?.conversationTokens ?? 0))
    const call = after?.figures.searchOutputTokens ?? 0
    expect(call).toBeGreaterThan(10)
    expect(after?.search?.tokens).toBe(large - small + call)
  })

  test('finds a tool under another name of its server, and names the tools that it cannot find', async () => {
    const calls = [call('mcp__my_hub__create_issue'), call('mcp__jira__search'), call('Bash')]
    const { report } = await replayed(transcript([claude('assistant', calls)]))
    expect(report.turns[0]).toMatchObject({ calls: ['mcp__github__create_issue'], otherCalls: 2 })
    expect(report.tools.unknown).toEqual(['mcp__jira__search'])
    expect(replayView(report)).toContain('Not among these tools: mcp__jira__search.')
  })
})

describe('recorded usage', () => {
  test('is the conversation, less the definitions that the recorded request contained', async () => {
    const lines = [claude('user', SECRET), claude('assistant', [issue], { usage: usage(20_000, 1_000) })]
    const { report } = await replayed(transcript(lines))
    const [turn] = report.turns
    expect((turn?.conversationTokens ?? 0) + report.tools.tokens).toBe(21_003)
    expect(turn?.figures.tokensWithout).toBe(21_003)
  })

  test('of a client that deferred tools itself is the conversation as it is', async () => {
    const search = call('ToolSearch', { query: 'select:mcp__github__create_issue' })
    const lines = [
      claude('user', SECRET),
      claude('assistant', [search], { usage: usage(0, 9_000) }),
      claude('user', [{ ...result(search.id), content: [{ type: 'tool_reference', tool_name: 'x' }] }]),
      claude('assistant', [issue], { usage: usage(9_000, 500) }),
    ]
    const { recording, report } = await replayed(transcript(lines))
    expect(recording.isDeferring).toBe(true)
    // The search is no turn of its own: without tool search it would not have been made.
    expect(report.turns).toHaveLength(1)
    expect(report.turns[0]?.search).toMatchObject({ recorded: 1, simulated: 0 })
    expect(report.turns[0]?.conversationTokens).toBe(9_503)
    expect(report.verdict.text).toContain('deferred tools already')
  })

  test('decides what the cache holds: a miss in the recording is a miss on both sides', async () => {
    const lines = (second: object) => [
      claude('user', SECRET),
      claude('assistant', [{ type: 'text', text: SECRET }], { usage: usage(0, 20_000) }),
      claude('user', SECRET),
      claude('assistant', [{ type: 'text', text: SECRET }], { usage: second }),
    ]
    const { report: warm } = await replayed(transcript(lines(usage(20_000, 100))))
    const { report: cold } = await replayed(transcript(lines(usage(0, 20_100))))
    const cost = (report: typeof warm) => report.turns[1]?.figures
    expect(cost(cold)?.dollarsWith).toBeGreaterThan(4 * (cost(warm)?.dollarsWith ?? 0))
    expect(cost(cold)?.dollarsWithout).toBeGreaterThan(4 * (cost(warm)?.dollarsWithout ?? 0))
    expect(cost(cold)?.tokensSaved).toBe(cost(warm)?.tokensSaved)
    // What is sent instead of definitions is written again, too.
    const { tokensWith = 0 } = cost(cold) ?? {}
    expect(cost(cold)?.dollarsWith).toBeCloseTo(((tokensWith - 3) * 2.5 + 3 * 2 + 50 * 10) / 1e6, 9)
  })

  test('is counted once for a reply that is written in several lines, with results in between', async () => {
    const other = call('mcp__files__read_file')
    const { report } = await replayed(
      transcript([
        claude('user', SECRET),
        claude('assistant', [{ type: 'text', text: SECRET }], { id: 'one', usage: usage(0, 9_000, 1) }),
        claude('assistant', [issue], { id: 'one', usage: usage(0, 9_000, 1) }),
        claude('user', [result(issue.id)]),
        claude('assistant', [other], { id: 'one', usage: usage(0, 9_000, 80) }),
      ]),
    )
    expect(report.turns).toHaveLength(1)
    expect(report.turns[0]?.calls).toHaveLength(2)
    expect(report.recording.turnsWithUsage).toBe(1)
  })
})

describe('a conversation', () => {
  test('keeps its prefix through searches; a compaction and another model break it', async () => {
    const text = [{ type: 'text', text: SECRET }]
    const { report } = await replayed(
      transcript([
        claude('user', SECRET),
        claude('assistant', [issue]),
        claude('user', [result(issue.id)]),
        claude('assistant', text),
        { ...claude('user', SECRET), type: 'system', subtype: 'compact_boundary', message: undefined },
        claude('user', SECRET, { line: { isCompactSummary: true } }),
        claude('assistant', [call('mcp__github__create_issue')]),
        claude('user', SECRET),
        claude('assistant', text, { model: 'claude-opus-4-6' }),
      ]),
    )
    expect(report.turns.map(({ prefixKept, brokenBy }) => [prefixKept, brokenBy])).toEqual([
      [null, null],
      [true, null],
      [false, 'compaction'],
      [false, 'model'],
    ])
    expect(report.recording).toMatchObject({
      compactions: 1,
      models: ['claude-sonnet-5-5', 'claude-opus-4-6'],
    })
    expect(report.assumptions.join()).toContain('across a compaction')
    expect(report.total.prefixBreaks).toBe(2)
    expect(replayView(report)).toContain('4 turns, 1 compaction, ')
    // What was loaded stays loaded.
    expect(report.turns[2]?.search).toBeNull()
  })

  test('of a sub-agent loads its own tools, in the same file or in its own', async () => {
    const inside = { isSidechain: true, parentUuid: null }
    const main = [claude('user', SECRET), claude('assistant', [issue])]
    const sub = (more: object) => [
      claude('user', SECRET, { line: { ...inside, ...more } }),
      claude('assistant', [call('mcp__github__create_issue')], { line: { isSidechain: true, ...more } }),
    ]
    const { report: one } = await replayed(transcript([...main, ...sub({}), ...sub({})]))
    const { report: two } = await replayed([transcript(main), transcript(sub({ agentId: 'a1' }))])
    expect(one.turns.map(({ lane }) => lane)).toEqual(['main', 'sub-agent 1', 'sub-agent 2'])
    expect(two.turns.map(({ lane }) => lane)).toEqual(['main', 'sub-agent 1'])
    expect(one.total.searches.simulated).toBe(3)
    expect(two.total.searches.simulated).toBe(2)
  })
})

describe('the verdict', () => {
  const quiet = [claude('user', SECRET), claude('assistant', [{ type: 'text', text: SECRET }])]

  test('says what was saved', async () => {
    const { report } = await replayed(transcript(quiet))
    expect(report.verdict.outcome).toBe('pays')
    expect(report.total.tokensSaved).toBeGreaterThan(4000)
  })

  test('says so if it would not have paid', async () => {
    const { report } = await replayed(transcript([claude('assistant', [issue])]), toolsOf(300))
    expect(report.verdict).toMatchObject({ outcome: 'does-not-pay', text: expect.stringContaining('NOT') })
    expect(report.total.tokensSaved).toBeLessThan(0)
  })

  test('says if only context is saved, not money', async () => {
    // Every tool is needed soon, so that all definitions are written to the cache anyway, and the search comes on top.
    const names = Array.from({ length: 12 }, (_, index) => `github/tool_${index}`)
    const calls = names.map((name) => call(`mcp__${name.replace('/', '__')}`))
    const { report } = await replayed(
      transcript([...quiet, claude('assistant', calls)]),
      toolsOf(6_000, names),
    )
    expect(report.total.tokensSaved).toBeGreaterThan(0)
    expect(report.verdict.outcome).toBe('context-only')
  })

  test('says if there is nothing to defer', async () => {
    const alwaysLoaded = toolsOf(600).map((tool) => ({ ...tool, alwaysLoad: true }))
    const { report } = await replayed(transcript(quiet), alwaysLoaded)
    expect(report.verdict.outcome).toBe('nothing-to-defer')
    expect(report.total.tokensSaved).toBe(0)
  })
})

describe('the view', () => {
  test('fits 80 columns, joins turns in which nothing happens, and shows no text of messages', async () => {
    const idle = Array.from({ length: 30 }, () => [
      claude('user', SECRET),
      claude('assistant', [{ type: 'text', text: SECRET }]),
    ]).flat()
    const long = call(`mcp__github__${'very_'.repeat(20)}long`)
    const { report } = await replayed(transcript([...idle, claude('assistant', [issue, long]), ...idle]))
    const view = replayView(report)
    expect(Math.max(...view.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(view).toMatch(/^ *1-30 .*\n.*31 .*\+1 search github__create_issue\n.*32-61/m)
    const sum = report.turns.slice(0, 30).reduce((total, { figures }) => total + figures.tokensSaved, 0)
    expect(view).toContain(` ${sum.toLocaleString('en-US')}\n`)
    expect(view + JSON.stringify(report)).not.toContain(SECRET)
    expect(report.assumptions.join()).not.toContain('compaction')
  })

  test('of a small conversation without anything special, whole', async () => {
    const lines = [claude('user', 'x'.repeat(2900)), claude('assistant', 'ok'), claude('assistant', [issue])]
    const { report } = await replayed(transcript(lines))
    const numbers = replayView(report)
      .replaceAll(/[−-]?\$?\d[\d,.]*\d|\b\d\b/g, '#')
      .replaceAll(/ +/g, ' ')
    expect(numbers.split('\n- ')[0]).toBe(
      [
        'Replay of a session of Claude Code: # turns, claude-sonnet-#-#.',
        '# tools of # servers, # tokens of definitions; # deferred, # used (wire',
        ' reference).',
        '',
        'Tokens of definitions per turn; saved: of all prompts that the turn needs.',
        'turn without with saved what happened',
        '──── ─────── ───── ───── ──────────────────────────────',
        ' # # # #',
        ' # # # # +# search github__create_issue',
        '',
        'total without with saved',
        '──────────────────── ─────── ─────── ───────',
        'prompt tokens # # #',
        'of these definitions # # #',
        'largest prompt # # #',
        'requests # # −#',
        'list price # # #',
        'Searches: # recorded, # simulated. Prompt cache broken: # times.',
        '',
        'Toolshelf would have paid off: # % fewer prompt tokens (# without,',
        ' # with), for # extra round trip.',
        '',
      ].join('\n'),
    )
    expect(report.total.pricedAs).toEqual(['claude-sonnet-5-5'])
    expect(report.assumptions).toEqual([
      expect.stringContaining('characters divided by 2.9'),
      expect.stringContaining('the system prompt and the client’s own tools are not in the transcript'),
      expect.stringContaining('one search by its name'),
      expect.stringContaining('assumed to be cached'),
    ])
  })

  test('has at most 40 rows, and says how many are left out', async () => {
    const busy = Array.from({ length: 45 }, () => claude('assistant', [call('mcp__github__create_issue')]))
    const { report } = await replayed(transcript(busy))
    expect(replayView(report)).toContain('… and 5 more rows')
    expect(replayView(report)).not.toMatch(/^ *41 /m)
  })
})
