// `toolshelf trust <server>` through its command, over records as servers make them.
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { CommandError, readInput } from '../../packages/cli/src/command.ts'
import { createTrust } from '../../packages/cli/src/trust.ts'
import { thisMachine } from '../../packages/mcp/src/config/places.ts'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import type { ListedTool } from '../../packages/mcp/src/types.ts'

const base = mkdtempSync(join(tmpdir(), 'toolshelf-pins-cli-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0
/** Where the command looks: below the folder of states that the environment names. */
const newFolder = () => join(base, String(count++), 'toolshelf', 'pins')

const tool = (name: string, description: string): ListedTool => ({ name, description })
const since = '2026-01-02T03:04:05.000Z'

/** Three tools on one server, of which two changed, and one on another. */
async function pinned(): Promise<string> {
  const folder = newFolder()
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

async function cli(
  folder: string,
  words: readonly string[],
  { isInteractive = false, answer }: { isInteractive?: boolean; answer?: string } = {},
) {
  const out: string[] = []
  const told: string[] = []
  const terminal = {
    print: (text: string) => void out.push(text),
    report: (text: string) => void told.push(text),
    isInteractive,
    ...(answer === undefined ? {} : { ask: async () => answer }),
  }
  const environment = { XDG_STATE_HOME: join(folder, '..', '..') }
  const command = createTrust(() => ({ ...thisMachine(), environment }))
  const failure = await Promise.resolve(command.run(readInput(command, words), terminal)).then(
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

describe('toolshelf trust list', () => {
  it('lists servers, their tools and the changes that wait', async () => {
    const folder = await pinned()
    const { out } = await cli(folder, ['list'])
    expect(out).toMatch(/server +tools +prompts +changed/)
    expect(out).toMatch(/files +1 +0 +0/)
    expect(out).toMatch(/github +3 +0 +2/)
    expect(out).toContain('toolshelf trust <server>')
    expect((await cli(folder, ['list', '--json'])).json().servers).toEqual([
      { server: 'files', tools: 1, changed: [] },
      { server: 'github', tools: 3, changed: ['create_issue', 'list_issues'] },
    ])
    await cli(folder, ['github', '--yes'])
    expect((await cli(folder, ['list'])).out).not.toContain('What changed')
  })

  it('reports a broken file, and lists the others', async () => {
    const folder = await pinned()
    writeFileSync(join(folder, 'x.json'), '{')
    const { out, told } = await cli(folder, ['list'])
    expect(told).toContain('are broken')
    expect(out).toContain('github')
  })
})

describe('toolshelf trust <server>', () => {
  it('shows what went and what came, with nothing hidden', async () => {
    const { out } = await cli(await pinned(), ['github'])
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
        'To accept the changes: toolshelf trust github --yes',
      ].join('\n'),
    )
  })

  it('calls prompts and instructions by their own words', async () => {
    const folder = newFolder()
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
    const { out } = await cli(folder, ['docs'])
    expect(out).toContain('prompt review, changed')
    expect(out).toContain('  arguments.path.type\n    - string\n    + number')
    expect(out).toContain('  text\n    - Use a string.\n    + Use a number.')
    expect((await cli(folder, ['docs', '--yes'])).out.split('\n')).toEqual([
      'Accepted: read (inputSchema.path.type).',
      'Accepted: prompt review (arguments.path.type).',
      'Accepted: instructions (text).',
    ])
  })

  it('shows what is new, all of it', async () => {
    const folder = newFolder()
    const kept = openPins({ folder })
    await kept.judge('files', [tool('read', 'Reads.')], 'tool', 'hold')
    await kept.judge('files', [tool('read', 'Reads.'), tool('send', 'Sends.')], 'tool', 'hold')
    const { out } = await cli(folder, ['files'])
    expect(out).toMatch(/^send, changed since/)
    expect(out).toContain('    + Sends.')
  })

  it('shows a long line from where it differs, and the first of many lines', async () => {
    const folder = newFolder()
    const kept = openPins({ folder })
    const long = 'word '.repeat(1000)
    const many = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n')
    await kept.judge('files', [tool('read', `${long}end`), tool('list', '')])
    await kept.judge('files', [tool('read', `${long}new\u200b`), tool('list', many)])
    const { out } = await cli(folder, ['files'])
    expect(out).toMatch(/- …(word )+end$/m)
    expect(out).toMatch(/\+ …(word )+new\\u\{200b\}$/m)
    expect(out).toContain('+ … 8 more lines')
  })

  it('uses colours on a terminal only, and shows the tools that were named', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('NO_COLOR', '1')
    expect((await cli(await pinned(), ['github'], { isInteractive: true })).out).not.toContain('\u001b')
    vi.stubEnv('NO_COLOR', '')
    const { out } = await cli(await pinned(), ['github', 'list_issues'], { isInteractive: true })
    expect(out).toContain('\u001b[31m- Lists.\u001b[0m')
    expect(out).toContain('\u001b[32m+ Lists issues.\u001b[0m')
    expect(out).not.toContain('create_issue')
  })

  it('prints JSON', async () => {
    const { json } = await cli(await pinned(), ['github', 'list_issues', '--json'])
    const difference = { where: 'description', before: 'Lists.', after: 'Lists issues.' }
    expect(json()).toEqual({
      server: 'github',
      changed: [{ kind: 'tool', name: 'list_issues', since, differences: [difference] }],
    })
  })

  it('reports a definition too large to be kept', async () => {
    const folder = newFolder()
    const kept = openPins({ folder })
    for (const letter of ['a', 'b']) await kept.judge('files', [tool('read', letter.repeat(100_000))])
    expect((await cli(folder, ['files'])).out).toContain('too large to be stored')
  })

  it('asks a person, and accepts only what is agreed to', async () => {
    const folder = await pinned()
    expect((await cli(folder, ['github'], { answer: '' })).out).not.toContain('Accepted')
    expect((await cli(folder, ['github'], { answer: 'y' })).out).toContain('Accepted: create_issue')
    expect((await cli(folder, ['github'])).out).toContain('Nothing has changed')
  })

  it('accepts one tool, then the rest, and forgets', async () => {
    const folder = await pinned()
    const left = async () => (await cli(folder, ['list', '--json'])).json().servers
    expect((await cli(folder, ['github', 'create_issue', '--yes'])).out).toContain('create_issue')
    expect((await left())[1]).toMatchObject({ changed: ['list_issues'] })
    expect((await cli(folder, ['github', '--yes', '--json'])).json()).toEqual({
      server: 'github',
      accepted: ['list_issues'],
    })
    expect((await cli(folder, ['forget', 'github'])).out).toContain('accepted again')
    expect((await cli(folder, ['forget', 'files', '--json'])).json()).toEqual({
      server: 'files',
      wasKnown: true,
    })
    expect([await left(), readdirSync(folder)]).toEqual([[], []])
  })

  it('fails when what is accepted cannot be kept', async () => {
    const folder = await pinned()
    chmodSync(base, 0o755)
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
    for (const up of ['.', '..', '../..']) chmodSync(join(folder, up), 0o555)
    const { failure, told } = await asNobody(() => cli(folder, ['github', '--yes']))
    expect(failure).toBeInstanceOf(CommandError)
    expect(failure?.message).toContain('nothing was accepted')
    expect(told).toContain('cannot use the pins')
    for (const up of ['../..', '..', '.']) chmodSync(join(folder, up), 0o755)
    expect((await cli(folder, ['list', '--json'])).json().servers[1]).toMatchObject({
      changed: { length: 2 },
    })
  })

  it.each([
    [['githup'], 'no known server "githup". Nearest: github.'],
    [['zzz'], 'Known: files, github.'],
    [['github', 'create_isue'], 'Nearest: create_issue'],
    [['forget', 'github', 'merge'], 'unexpected argument "merge"'],
  ])('rejects %j with a remedy', async (words, message) => {
    const { failure } = await cli(await pinned(), words)
    expect(failure?.message).toContain(message)
  })
})
