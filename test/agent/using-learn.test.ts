// Tools learned from use: what is counted, when keeping one loaded pays, what is reported, and what a broken file costs.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createToolUseHelp, type ServerLike } from '../../src/agent/using/index.ts'
import type { Message } from '../../src/index.ts'
import { runs } from '../support/runs.ts'
import { builtIn, mcp, quietShelf } from '../support/talk.ts'
import { runnerOn, said, scripted, talking } from './support.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'using-'))

const small = mcp('github', 'create_issue')
const large = mcp('github', 'create_report', { description: 'long '.repeat(400) })

function open(folder: string, { learn = true, notices = [] as string[] } = {}) {
  const learned = createToolUseHelp({
    shelf: quietShelf(),
    options: { describe: 0, remind: 0, preload: false, learn },
    folder,
    notify: () => {},
  }).withLearnedTools([{ name: 'github', tools: {} as { [tool: string]: { alwaysLoad?: boolean } } }])[0]
    ?.tools
  const marked = [small, large].map((tool) => ({ ...tool, ...learned?.[tool.name] }))
  const shelf = quietShelf({ tools: [builtIn('Read'), ...marked] })
  const notify = (message: string) => notices.push(message)
  return createToolUseHelp({
    shelf,
    options: { describe: 0, remind: 0, preload: false, learn },
    folder,
    notify,
  })
}

let ids = 0
const call = (name: string, input: object = {}): Message[] => {
  const id = `toolu_${ids++}`
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name, input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done '.repeat(200) }] },
  ]
}

/** A session as the agent leaves it: a search unless the tool is learned, and the calls. */
function conversation(names: readonly string[], isSearched = true): Message[] {
  const search = isSearched ? call('ToolSearch', { query: `select:${names.join(',')}` }) : []
  return [
    { role: 'user', content: 'Open an issue about it. '.repeat(20) },
    ...call('Read'),
    ...search,
    ...names.flatMap((name) => call(name)),
    { role: 'assistant', content: 'Done.' },
  ]
}

function live(folder: string, names: readonly string[]): void {
  const using = open(folder)
  const isLearned = using.learnedTools().some(({ tool }) => names.includes(tool))
  using.close(conversation(names, names.length > 0 && !isLearned))
}

const ISSUE = 'mcp__github__create_issue'

test('loading a tool that the message names takes no request and no search', async () => {
  const folder = newFolder()
  const shelf = quietShelf({ tools: [small] })
  const options = { describe: 0, remind: 0, preload: true, learn: true }
  const using = createToolUseHelp({ shelf, options, folder, notify: () => {} })
  const script = scripted({ when: 'create_issue', do: [{ call: ISSUE }, { say: 'Done.' }] })
  const { agent, seen } = await talking(script, { shelf, runner: runnerOn(shelf), preload: using.preload })
  await said(agent, 'Please create_issue.')
  using.close(agent.messages)
  const [session] = JSON.parse(readFileSync(join(folder, 'usage.json'), 'utf8')).sessions
  expect(session).toMatchObject({ turns: seen.length, tools: [{ tool: ISSUE }] })
  expect(seen).toHaveLength(2)
})

describe('learn', () => {
  test('a tool that most sessions call stays loaded, and says why', () => {
    const folder = newFolder()
    for (const names of [[ISSUE], [], [ISSUE]]) live(folder, names)
    const using = open(folder)
    expect(using.learnedTools()).toMatchObject([{ tool: ISSUE, server: 'github', original: 'create_issue' }])
    expect(using.learnedTools()[0]?.reason).toMatch(
      /^loaded and called in 2 of the last 3 sessions; \d+ tokens a turn over \d turns against [\d,]+ for a search$/,
    )
    const servers: (ServerLike & { lazy: boolean })[] = [
      { name: 'github', tools: { create_issue: { hint: 'tickets' } }, lazy: true },
      { name: 'other', tools: {}, lazy: false },
    ]
    expect(using.withLearnedTools(servers)).toEqual([
      { name: 'github', tools: { create_issue: { hint: 'tickets', alwaysLoad: true } }, lazy: true },
      { name: 'other', tools: {}, lazy: false },
    ])
    expect(servers[0]?.tools).toEqual({ create_issue: { hint: 'tickets' } })
  })

  test('two sessions are too few, and so is every second one', () => {
    const folder = newFolder()
    live(folder, [ISSUE])
    live(folder, [ISSUE])
    expect(open(folder).learnedTools()).toEqual([])
    live(folder, [])
    live(folder, [])
    expect(open(folder).learnedTools()).toEqual([])
  })

  test('a definition that costs more than the searches it saves is not kept', () => {
    const folder = newFolder()
    for (let session = 0; session < 4; session++) live(folder, [ISSUE, 'mcp__github__create_report'])
    expect(
      open(folder)
        .learnedTools()
        .map(({ tool }) => tool),
    ).toEqual([ISSUE])
  })

  test('does not learn tools that are never called, or that the configuration always loads', () => {
    const folder = newFolder()
    for (let session = 0; session < 3; session++)
      open(folder).close([...call('ToolSearch', { query: ISSUE }), ...call('Read')])
    expect(open(folder).learnedTools()).toEqual([])
  })

  test("a configuration's own word stays", () => {
    const folder = newFolder()
    for (let session = 0; session < 3; session++) live(folder, [ISSUE])
    const servers = [{ name: 'github', tools: { create_issue: { alwaysLoad: false } } }]
    expect(open(folder).withLearnedTools(servers)).toEqual(servers)
  })

  test('forgets a learned tool that is no longer called', () => {
    const folder = newFolder()
    for (let session = 0; session < 3; session++) live(folder, [ISSUE])
    for (let session = 0; session < 10; session++) live(folder, [])
    expect(open(folder).learnedTools()).toEqual([])
  })

  test('a forgotten tool is let go at once and learned no more, until it is remembered', () => {
    const folder = newFolder()
    for (let session = 0; session < 3; session++) live(folder, [ISSUE])
    const using = open(folder)
    using.forget(ISSUE)
    expect(using.learnedTools()).toEqual([])
    for (let session = 0; session < 4; session++) live(folder, [ISSUE])
    expect(open(folder).learnedTools()).toEqual([])
    open(folder).remember(ISSUE)
    expect(open(folder).learnedTools()).toHaveLength(1)
  })

  test('off: nothing is learned, read or written', () => {
    const folder = newFolder()
    for (let session = 0; session < 3; session++) live(folder, [ISSUE])
    const before = readFileSync(join(folder, 'usage.json'), 'utf8')
    const using = open(folder, { learn: false })
    expect(using.learnedTools()).toEqual([])
    using.close(conversation([ISSUE]))
    using.forget(ISSUE)
    expect(readFileSync(join(folder, 'usage.json'), 'utf8')).toBe(before)
  })

  test('a session counts once, and one without a request not at all', () => {
    const folder = newFolder()
    const using = open(folder)
    for (let time = 0; time < 5; time++) using.close(conversation([ISSUE]))
    open(folder).close([{ role: 'user', content: 'hello' }])
    expect(JSON.parse(readFileSync(join(folder, 'usage.json'), 'utf8')).sessions).toHaveLength(1)
  })

  test('the same history, the same tools; and what stays in use stays learned for good', () => {
    const used = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(used, (sessions) => {
        const folder = newFolder()
        for (const isUsed of sessions) live(folder, isUsed ? [ISSUE] : [])
        expect(open(folder).learnedTools()).toEqual(open(folder).learnedTools())
        const states: boolean[] = []
        for (let session = 0; session < 14; session++) {
          live(folder, [ISSUE])
          states.push(open(folder).learnedTools().length === 1)
        }
        expect(states).toEqual([...states].sort())
        expect(states.at(-1)).toBe(true)
      }),
      { numRuns: runs(8) },
    )
  })
})

describe('usage.json', () => {
  test.each(['{"version": 1, "sess', '[]', '{"version": 9, "sessions": []}', 'x'.repeat(3_000_000)])(
    'reports one that cannot be read, sets it aside and starts a new one',
    (text) => {
      const folder = newFolder()
      writeFileSync(join(folder, 'usage.json'), text)
      const notices: string[] = []
      const using = open(folder, { notices })
      using.close(conversation([ISSUE]))
      expect(readFileSync(join(folder, 'usage.json.broken'), 'utf8')).toBe(text)
      expect(JSON.parse(readFileSync(join(folder, 'usage.json'), 'utf8')).sessions).toHaveLength(1)
    },
  )

  test('says what became of the file', () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'usage.json'), 'no')
    const notices: string[] = []
    createToolUseHelp({
      shelf: quietShelf(),
      options: { describe: 0, remind: 0, preload: false, learn: true },
      folder,
      notify: (message) => notices.push(message),
    })
    expect(notices).toHaveLength(1)
    expect(notices[0]).toContain('cannot be used, so learning starts over')
    expect(notices[0]).toContain('usage.json.broken')
  })

  test('odd entries cost only themselves', () => {
    const folder = newFolder()
    const good = {
      turns: 4,
      searchTokens: 5000,
      tools: [{ tool: ISSUE, server: 'github', original: 'create_issue', tokens: 30 }],
    }
    const sessions = [good, null, 7, { ...good, tools: [null, { tool: 5 }, ...good.tools] }, good]
    writeFileSync(join(folder, 'usage.json'), JSON.stringify({ version: 1, sessions, forgotten: [3] }))
    expect(open(folder).learnedTools()).toMatchObject([{ tool: ISSUE }])
  })

  test('keeps the last sessions only, whole files only', () => {
    const folder = newFolder()
    for (let session = 0; session < 25; session++) live(folder, [ISSUE])
    expect(JSON.parse(readFileSync(join(folder, 'usage.json'), 'utf8')).sessions).toHaveLength(10)
    expect(readdirSync(folder)).toEqual(['usage.json'])
  })

  test('reports a folder that cannot be written, and throws nothing', () => {
    const folder = join(newFolder(), 'file')
    writeFileSync(folder, '')
    const notices: string[] = []
    open(folder, { notices }).close(conversation([ISSUE]))
    expect(notices.at(-1)).toContain('cannot record which tools this session used')
  })
})
