// The command line through its own door, with files as a person has them.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { everyCommand, runCli } from '../../src/cli/main.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-cli-'))
const file = (name: string, lines: readonly (object | string)[]) => {
  const path = join(folder, name)
  writeFileSync(
    path,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  return path
}

const tools = file('tools.jsonl', [
  { name: 'send_message', server: 'slack', description: 'Posts a message', input_schema: { type: 'object' } },
  { name: 'create_issue', server: 'github', description: 'Opens an issue' },
  'not json',
  { description: 'no name' },
])
const queries = file('queries.jsonl', [
  { id: 'a', query: 'slack message', gold: ['send_message'], kind: 'short' },
  { id: 'b', query: 'open an issue', gold: ['create_issue'], kind: 'long' },
])

async function cli(...words: string[]) {
  const out: string[] = []
  const told: string[] = []
  const print = (text: string) => void out.push(text)
  const report = (text: string) => void told.push(text)
  const code = await runCli(words, { print, report, isInteractive: false })
  return { code, out: out.join('\n'), told: told.join('\n') }
}

describe('toolshelf search', () => {
  it('prints hits as JSON, and reports broken lines with file and line', async () => {
    const { code, out, told } = await cli('search', 'slack', 'send', '--catalog', tools, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out).hits[0]).toMatchObject({
      name: expect.stringContaining('send_message'),
      score: expect.any(Number),
    })
    expect(told).toContain('tools.jsonl:3: it is not JSON; the line is skipped.')
    expect(told).toContain('tools.jsonl:4: a tool needs a "name"; the line is skipped.')
  })

  it('names in an error cannot control the terminal', async () => {
    const { code, told } = await cli('search', 'x', '--catalog', '/no/such\u001b[2Jfile.jsonl')
    expect(code).toBe(1)
    expect(told).toContain('/no/such?[2Jfile.jsonl')
    expect(told).not.toContain('\u001b')
  })

  it('nor what a catalogue holds', async () => {
    const odd = { name: 'send\u001b[2J', server: 's\u001b]0;x\u0007', description: 'Sends \u001b[31mmail' }
    const catalog = file('odd.jsonl', [odd, { ...odd, name: 'sent\u001b[2J' }])
    for (const words of [['send mail', '--explain'], ['select:nope\u001b[2J'], ['select:senf\u001b[2J']]) {
      const { out, told } = await cli('search', ...words, '--catalog', catalog)
      expect(out + told).not.toMatch(/[^\P{Cc}\n]/u)
    }
  })

  it('nor can the error of a call', async () => {
    const calls = [['search', 'x', '--limit', '\u001b[2J'], ['search', '--\u001b[2J'], ['\u001b[2J']]
    for (const words of calls) {
      const { code, told } = await cli(...words)
      expect(code).toBe(2)
      expect(told).not.toContain('\u001b')
    }
  })

  it('shows how a query in another language was translated', async () => {
    const { out } = await cli('search', 'eine E-Mail schicken', '--catalog', tools, '--explain')
    expect(out).toMatch(/^Translated from de: .*schicken → send/)
  })

  it('says of a word that it matched as a synonym', async () => {
    const { out } = await cli('search', 'add issue', '--catalog', tools, '--explain')
    expect(out.replace(/\s+/g, ' ')).toMatch(
      /create_issue .*issue in name.*; add in name as its synonym create\b/,
    )
  })

  it('says where the servers of a client’s file went that starts Toolshelf alone', async () => {
    const entry = (...args: string[]) => ({ mcpServers: { toolshelf: { command: 'toolshelf', args } } })
    const client = file('client.json', [entry('mcp')])
    const { code, told } = await cli('search', 'x', '--config', client)
    expect(code).toBe(1)
    expect(told).toMatch(
      /client\.json starts Toolshelf; its servers are in .*toolshelf\.json\. Leave out --config\.$/,
    )
    const apart = file('apart.json', [entry('mcp', '--config', '/x/cursor.json')])
    for (const command of [['search', 'x'], ['doctor']]) {
      const { told } = await cli(...command, '--config', apart)
      expect(told).toContain('its servers are in /x/cursor.json. Pass --config /x/cursor.json instead.')
    }
    expect((await cli('list', '--config', client)).out).toContain('Leave out --config.')
  })

  it('S3 S4 takes the query forms, and explains', async () => {
    const { out } = await cli('search', '+github issue', '--catalog', tools, '--explain')
    expect(out).toMatch(
      /create_issue\n(?: {2}[a-z ]+ +\d+\.\d\d\n)* {2}word match +\d+\.\d\d\n(?: {2}[a-z ]+ +\d+\.\d\d\n)* {2}words: .*issue in name/,
    )
    expect(out.split('\n').every((line) => line.length < 80)).toBe(true)
    expect(out).not.toContain('send_message')
  })

  it('says which server it waits for, and how long it waited', async () => {
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const config = file('silent.json', [
        { mcpServers: { silent: { url: `http://127.0.0.1:${port}/mcp` } } },
      ])
      const { code, told } = await cli('search', 'x', '--config', config, '--timeout', '2')
      expect(code).toBe(1)
      expect(told).toMatch(/^waiting for the server "silent" …\nNot searched: silent: .*within 2 s/)
      expect(told).toContain('no server lists any tools')
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it.each([
    [['search', 'x', '--timeout', '0'], 2, '--timeout is "0"; use a number of seconds from 1 to 600'],
    [['search', '--catalog', 'x'], 2, 'pass words to search for'],
    [
      ['search', 'x', '--catalog', tools, '--config', 'x.json'],
      2,
      '--config and --catalog cannot be combined',
    ],
    [['search', 'x', '--config', 'nowhere.json'], 1, 'no MCP server is configured in nowhere.json'],
    [['search', 'x', '--catalog', tools, '--ranker', 'best'], 2, 'unknown ranker "best"'],
    [['mcp', '--ranker', 'best'], 2, '--ranker is "best"; use one of hybrid, model, lexical'],
    [
      ['mcp', '--http', '3399'],
      2,
      'unexpected argument "3399"; pass files with --config, a port with --port.',
    ],
    [['search', 'x', '--catalog', tools, '--limit', '0'], 2, '--limit is "0"'],
    [['search', 'x', '--catalog', 'nowhere.jsonl'], 1, 'cannot read nowhere.jsonl (ENOENT)'],
    [['search', 'x', '--colour'], 2, "Unknown option '--colour'"],
    [
      ['search', 'x', '--limit', '-5'],
      2,
      '--limit is followed by "-5". Write a value that begins with "-" as',
    ],
    [['search', 'x', '--limit', '-5'], 2, 'as --limit=-5.'],
    [
      ['search', 'x', '--catalog', tools, '--limit=-5'],
      2,
      '--limit is "-5"; use a whole number of at least 1',
    ],
    [['search', 'x', '--limit', '--json'], 2, '--limit needs a value: --limit <number>.'],
    [['search', 'x', '--limit'], 2, '--limit needs a value: --limit <number>.'],
    [['search', 'x', '--json=yes'], 2, '--json takes no value.'],
    [
      ['search', 'x', '--limit', '1', '--limit=2'],
      2,
      '--limit is given twice; it takes one value: --limit <number>.',
    ],
    [['search', 'x', '--json', '--json', '--json'], 2, '--json is given 3 times; it counts once.'],
    [['search', '-x'], 2, 'Unknown option \'-x\'. Put words that begin with "-" after "--".'],
    [['serve', '--window=-5'], 2, '--window is "-5"; use a number of tokens from 1000 to 99999999'],
    [['serve', '--window=0000'], 2, '--window is "0000"; use a number'],
    [['search', 'x', '--catalogue', tools], 2, "Unknown option '--catalogue'; did you mean --catalog?"],
    [['find', 'x'], 2, 'unknown command "find". Commands: demo, '],
    [['serach', 'x'], 2, 'unknown command "serach"; did you mean search? Commands: demo, '],
    [['--verison'], 2, 'unknown option "--verison"; did you mean --version? More: toolshelf --help'],
    [['-x'], 2, 'unknown option "-x". More: toolshelf --help'],
    [['help', 'serach'], 2, 'unknown command "serach"; did you mean search?'],
  ])('says what is wrong: %j', async (words, code, message) => {
    const result = await cli(...words)
    expect(result.code).toBe(code)
    expect(result.told).toContain(message)
  })
})

describe('toolshelf search --eval', () => {
  it('prints fractions per ranker and kind as JSON', async () => {
    const { code, out } = await cli(
      ...['search', '--eval', queries, '--catalog', tools],
      ...['--ranker', 'hybrid', '--ranker', 'classic'],
      '--json',
    )
    expect(code).toBe(0)
    const { rankers } = JSON.parse(out)
    expect(rankers.hybrid).toMatchObject({ n: 2, r1: 1, r3: 1, r5: 1, r10: 1, ndcg10: 1, mrr10: 1, all5: 1 })
    expect(Object.keys(rankers.classic.kinds)).toEqual(['short', 'long'])
  })

  it('a gold that is not in the catalogue is an error', async () => {
    const wrong = file('wrong.jsonl', [{ id: 'c', query: 'x', gold: ['nobody'] }])
    const { code, told } = await cli('search', '--eval', wrong, '--catalog', tools)
    expect(code).toBe(1)
    expect(told).toContain('nobody')
  })

  it('prints a table for people', async () => {
    const { out } = await cli('search', '--eval', queries, '--catalog', tools)
    expect(out).toMatch(/ranker +kind +n +R1/)
    expect(out).toContain('95 % bootstrap interval')
  })
})

it('helps with a command in both ways', async () => {
  const asked = await cli('help', 'mcp')
  expect(asked).toEqual(await cli('mcp', '--help'))
  expect(asked).toMatchObject({ code: 0, out: expect.stringContaining('Usage: toolshelf mcp') })
  expect(await cli('help')).toEqual(await cli('--help'))
})

describe('every command explains itself', () => {
  const named = (overview: string) => [...overview.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name)

  it('in a line of the overview, in 80 columns', async () => {
    const { out } = await cli('--help')
    expect(named(out).sort()).toEqual((await everyCommand()).map(({ name }) => name).sort())
    for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
  })

  it('in 80 columns, with its options, values and examples', async () => {
    for (const { name } of await everyCommand()) {
      const { code, out } = await cli(name, '--help')
      expect(code).toBe(0)
      for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
      expect(out).toMatch(
        new RegExp(`\nUsage: toolshelf ${name} .*\nOptions:\n.*\nExamples:\n  .*toolshelf`, 's'),
      )
    }
    expect((await cli('mcp', '--help')).out).toContain('list, bridge, or auto')
  })
})

describe('the binary', () => {
  it('helps', () => {
    const entry = new URL('../../dist/cli/main.js', import.meta.url).pathname
    const help = execFileSync(process.execPath, [entry, '--help'], { encoding: 'utf8' })
    expect(help).toContain('toolshelf <command>')
    expect(execFileSync(process.execPath, [entry, 'search', '--help'], { encoding: 'utf8' })).toContain(
      'Examples:',
    )
  })
})

describe('arguments that nobody expects', () => {
  const takeArguments = [...['run', 'inspect', 'add', 'remove', 'login', 'trust'], ...['search', 'users']]

  it('are refused by every command that takes options only, which says what to do instead', async () => {
    for (const { name, noArguments } of await everyCommand()) {
      expect([name, noArguments === undefined]).toEqual([name, takeArguments.includes(name)])
      if (noArguments === undefined) continue
      const { code, told } = await cli(name, 'stray', 'words')
      expect(code).toBe(2)
      expect(told).toContain(
        `toolshelf ${name}: unexpected argument "stray"; ${noArguments}.\nUsage: toolshelf ${name} `,
      )
      expect(await cli(name, 'stray', '--help')).toMatchObject({ code: 0 })
    }
  })

  it.each([
    [['remove', 'one', 'two']],
    [['trust', 'list', 'more']],
    [['trust', 'forget', 'one', 'two', 'three']],
  ])('are refused by one that takes few: %j', async (words) => {
    const { code, told } = await cli(...words)
    expect([code, told]).toEqual([2, expect.stringContaining('Usage: toolshelf')])
  })
})
