// `toolshelf pins` through its command, over pins as servers make them.
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { CommandError, helpFor, readInput, UsageError } from '../../src/cli/command.ts'
import { pinsCommand } from '../../src/cli/pins.ts'
import type { ListedTool } from '../../src/mcp/index.ts'
import { openPins } from '../../src/mcp/pins/index.ts'

const base = mkdtempSync(join(tmpdir(), 'toolshelf-pins-cli-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0

const tool = (name: string, description: string): ListedTool => ({ name, description })
const since = '2026-01-02T03:04:05.000Z'

/** Three tools on one server, of which two changed, and one on another. */
async function pinned(): Promise<string> {
  const folder = join(base, String(count++))
  const kept = openPins({ folder, now: () => Date.parse(since) })
  await kept.judge('github', [
    tool('create_issue', 'Opens an issue.\nThat is all.'),
    tool('list_issues', 'Lists.'),
    tool('merge', 'Merges.'),
  ])
  await kept.judge('github', [
    tool('create_issue', 'Opens an issue.\nAnd sends a copy. \u001b[8mHidden.'),
    tool('list_issues', 'Lists issues.'),
    tool('merge', 'Merges.'),
  ])
  await kept.judge('files', [tool('read', 'Reads.')])
  return folder
}

async function cli(folder: string, words: readonly string[], isInteractive = false) {
  const out: string[] = []
  const told: string[] = []
  const terminal = {
    print: (text: string) => void out.push(text),
    report: (text: string) => void told.push(text),
    isInteractive,
  }
  const failure = await pinsCommand
    .run(readInput(pinsCommand, [...words, '--folder', folder]), terminal)
    .then(
      () => undefined,
      (error: Error) => error,
    )
  return { failure, out: out.join('\n'), told: told.join('\n'), json: () => JSON.parse(out.join('\n')) }
}

/** The superuser may write everywhere, so that it must be someone else for a while. */
async function asNobody<Result>(work: () => Promise<Result>): Promise<Result> {
  const isSuperuser = process.getuid?.() === 0
  if (isSuperuser) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (isSuperuser) process.seteuid?.(0)
  }
}

describe('toolshelf pins', () => {
  it('lists servers, their tools and the changes that wait', async () => {
    const folder = await pinned()
    const { out } = await cli(folder, [])
    expect(out).toMatch(/server +tools +prompts +changed/)
    expect(out).toMatch(/files +1 +0 +0/)
    expect(out).toMatch(/github +3 +0 +2/)
    expect(out).toContain('toolshelf pins show <server>')
    expect(out.replace(/\s+/g, ' ')).toContain(
      'Counts everything that a server has listed to any client. "toolshelf list" may count fewer tools',
    )
    expect((await cli(folder, ['list', '--json'])).json()).toEqual({
      servers: [
        { server: 'files', tools: 1, changed: [] },
        { server: 'github', tools: 3, changed: ['create_issue', 'list_issues'] },
      ],
    })
  })

  it('says when there is nothing', async () => {
    expect((await cli(join(base, 'nowhere'), [])).out).toContain('No pins yet.')
    expect((await cli(join(base, 'nowhere'), ['--json'])).json()).toEqual({ servers: [] })
  })

  it('speaks of changes only where there are some', async () => {
    const folder = await pinned()
    await cli(folder, ['accept', 'github'])
    const { out } = await cli(folder, [])
    expect(out).toMatch(/github +3 +0 +0/)
    expect(out).not.toContain('What changed')
  })

  it('calls prompts and instructions by their own words', async () => {
    const folder = join(base, String(count++))
    const kept = openPins({ folder, now: () => Date.parse(since) })
    const one = (name: string, type: string): ListedTool => ({
      ...tool(name, 'The same.'),
      inputSchema: { type: 'object', path: { type } } as never,
    })
    for (const type of ['string', 'number']) {
      await kept.judge('docs', [one('read', type)])
      await kept.judge('docs', [one('review', type)], 'prompt')
      await kept.judge('docs', [tool('instructions', `Use a ${type}.`)], 'instructions')
    }
    const shown: string[] = []
    for (const line of [
      'list',
      'list --json',
      'show docs',
      'show docs review --json',
      'show docs zzz',
      'accept docs',
    ]) {
      const { failure, out } = await cli(folder, line.split(' '))
      shown.push(`$ pins ${line}`, failure?.message ?? out)
    }
    expect(shown.join('\n')).toMatchInlineSnapshot(`
      "$ pins list
      server  tools  prompts  changed
      ──────  ─────  ───────  ───────
      docs        1        1        3
      Counts everything that a server has listed to any client. "toolshelf list" may
      count fewer tools: some servers list more to a client that has roots, for
      example.
      What changed: toolshelf pins show <server>
      $ pins list --json
      {"servers":[{"server":"docs","tools":1,"changed":["read","review","instructions"]}]}
      $ pins show docs
      read, changed since 2026-01-02T03:04:05.000Z
        inputSchema.path.type
          - string
          + number

      prompt review, changed since 2026-01-02T03:04:05.000Z
        arguments.path.type
          - string
          + number

      instructions, changed since 2026-01-02T03:04:05.000Z
        text
          - Use a string.
          + Use a number.

      To accept the changes: toolshelf pins accept docs
      $ pins show docs review --json
      {"server":"docs","changed":[{"kind":"prompt","name":"review","since":"2026-01-02T03:04:05.000Z","differences":[{"where":"inputSchema.path.type","before":"string","after":"number"}]}]}
      $ pins show docs zzz
      no pinned tool "zzz". Known: read, review.
      $ pins accept docs
      Accepted: read (inputSchema.path.type).
      Accepted: prompt review (arguments.path.type).
      Accepted: instructions (text)."
    `)
  })

  it('reports a broken file, and lists the others', async () => {
    const folder = await pinned()
    writeFileSync(join(folder, 'x.json'), '{')
    const { out, told } = await cli(folder, [])
    expect(told).toContain('x.json.broken')
    expect(out).toContain('github')
  })
})

describe('toolshelf pins show', () => {
  it('shows what went and what came, with nothing hidden', async () => {
    const { out } = await cli(await pinned(), ['show', 'github'])
    expect(out).toBe(
      [
        `create_issue, changed since ${since}`,
        '  description',
        '    - That is all.',
        '    + And sends a copy. \\u{1b}[8mHidden.',
        '',
        `list_issues, changed since ${since}`,
        '  description',
        '    - Lists.',
        '    + Lists issues.',
        '',
        'To accept the changes: toolshelf pins accept github',
      ].join('\n'),
    )
  })

  it('uses colours on a terminal only, and shows the tools that were named', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('NO_COLOR', '1')
    expect((await cli(await pinned(), ['show', 'github'], true)).out).not.toContain('\u001b')
    vi.stubEnv('NO_COLOR', '')
    const { out } = await cli(await pinned(), ['show', 'github', 'list_issues'], true)
    expect(out).toContain('\u001b[31m- Lists.\u001b[0m')
    expect(out).toContain('\u001b[32m+ Lists issues.\u001b[0m')
    expect(out).not.toContain('create_issue')
  })

  it('prints JSON', async () => {
    const { json } = await cli(await pinned(), ['show', 'github', 'list_issues', '--json'])
    const difference = { where: 'description', before: 'Lists.', after: 'Lists issues.' }
    expect(json()).toEqual({
      server: 'github',
      changed: [{ kind: 'tool', name: 'list_issues', since, differences: [difference] }],
    })
  })

  it('reports a definition too large to be kept', async () => {
    const folder = join(base, String(count++))
    const kept = openPins({ folder })
    for (const letter of ['a', 'b']) await kept.judge('files', [tool('read', letter.repeat(100_000))])
    expect((await cli(folder, ['show', 'files'])).out).toContain('too large to be stored')
  })
})

describe('toolshelf pins accept and forget', () => {
  it('accepts one tool, then the rest', async () => {
    const folder = await pinned()
    expect((await cli(folder, ['accept', 'github', 'create_issue'])).out).toContain('create_issue')
    expect((await cli(folder, ['--json'])).json().servers[1]).toMatchObject({ changed: ['list_issues'] })
    expect((await cli(folder, ['accept', 'github', '--json'])).json()).toEqual({
      server: 'github',
      accepted: ['list_issues'],
    })
    expect((await cli(folder, ['accept', 'github'])).out).toContain('Nothing has changed')
    expect((await cli(folder, ['show', 'github'])).out).toContain('Nothing has changed')
  })

  it('forgets a server', async () => {
    const folder = await pinned()
    expect((await cli(folder, ['forget', 'github'])).out).toContain('pinned again')
    expect((await cli(folder, ['--json'])).json().servers).toMatchObject([{ server: 'files' }])
    expect((await cli(folder, ['forget', 'files', '--json'])).json()).toEqual({
      server: 'files',
      forgotten: true,
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it('fails when what is accepted cannot be kept', async () => {
    const folder = await pinned()
    chmodSync(base, 0o755)
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
    chmodSync(folder, 0o555)
    const { failure, told } = await asNobody(() => cli(folder, ['accept', 'github']))
    expect(failure).toBeInstanceOf(CommandError)
    expect(failure?.message).toContain('nothing was accepted')
    expect(told).toContain('cannot store pins')
    expect((await cli(folder, ['--json'])).json().servers[1]).toMatchObject({ changed: { length: 2 } })
  })
})

describe('rejects wrong arguments with a remedy', () => {
  it.each([
    [['show', 'githup'], CommandError, 'no pinned server "githup". Nearest: github.'],
    [['show', 'zzz'], CommandError, 'Known: files, github.'],
    [['accept', 'github', 'create_isue'], CommandError, 'Nearest: create_issue'],
    [['show'], UsageError, 'name a server'],
    [['lst'], UsageError, 'use list, show, accept, forget, or no action.'],
    [['forget', 'github', 'merge'], UsageError, 'no tools'],
  ])('%j', async (words, kind, message) => {
    const { failure } = await cli(await pinned(), words)
    expect(failure).toBeInstanceOf(kind)
    expect(failure?.message).toContain(message)
  })

  it('help has an example of each', () => {
    for (const action of ['show', 'accept', 'forget'])
      expect(helpFor(pinsCommand)).toContain(`toolshelf pins ${action} `)
  })
})
