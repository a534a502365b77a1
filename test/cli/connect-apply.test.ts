// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf connect --apply` and `--undo` on the files of every client, through the command.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { CommandError } from '../../packages/cli/src/command.ts'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import { parseJson } from '../../packages/mcp/src/config/json.ts'
import { clientFiles } from './support/client-files.ts'
import { madeUpMachine, PROGRAM } from './support/made-up-machine.ts'

const modeOf = (file: string) => statSync(file).mode & 0o777

function parsed(text: string): unknown {
  try {
    return parseJson(text).value
  } catch {
    return parseToml(text)
  }
}

/** Every server entry in a document, wherever it is, by name. */
function entryNamed(name: string, value: unknown): { [key: string]: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, name)) return (value as { [key: string]: { [key: string]: unknown } })[name]
  return Object.values(value)
    .map((item) => entryNamed(name, item))
    .find((found) => found !== undefined)
}

describe.each(clientFiles)('$client, $path', ({ client, path, text, servers, kept }) => {
  it('moves the servers behind one entry, keeps everything else, and puts it all back', async () => {
    const machine = madeUpMachine({ DOCS_KEY: 'd' })
    const file = machine.write(path, text, 0o640)
    const { code, printed, told } = await machine.import(['--apply', '--yes'])
    expect({ code, told }).toEqual({ code: 0, told: expect.not.stringContaining('stays') })
    expect(printed).toContain(`${client}: ${file}`)

    const changed = machine.read(path)
    for (const part of kept) expect(changed).toContain(part)
    for (const server of servers) expect(entryNamed(server, parsed(changed))).toBeUndefined()
    const entry = entryNamed('toolshelf', parsed(changed))
    const words = [entry?.command, entry?.args].flat().filter((word) => word !== undefined)
    expect(words).toEqual([...PROGRAM, 'mcp'])
    expect(modeOf(file)).toBe(0o640)

    const own = await readConfig(
      [machine.own],
      { SEARCH_KEY: '', SPACE_TOKEN: '', DOCS_KEY: '', MAPS_KEY: '', JIRA_TOKEN: '', PERPLEXITY_KEY: '' },
      machine.machine,
    )
    expect(own.problems).toEqual([])
    expect(own.servers.map(({ name, original = name }) => original).sort()).toEqual([...servers].sort())
    expect(modeOf(machine.own)).toBe(0o600)

    // A second time there is nothing to do.
    const again = await machine.import(['--apply', '--yes'])
    expect(again.code).toBe(0)
    expect(machine.read(path)).toBe(changed)

    const undone = await machine.import(['--undo', '--yes'])
    expect({ code: undone.code, told: undone.told }).toEqual({ code: 0, told: '' })
    expect(machine.read(path)).toBe(text)
    expect(modeOf(file)).toBe(0o640)
    expect(existsSync(machine.own)).toBe(false)
    expect(readdirSync(machine.journal)).toEqual([])
  })

  it('shows no secret', async () => {
    const machine = madeUpMachine()
    machine.write(path, text)
    const applied = await machine.import(['--apply'], 'y')
    const undone = await machine.import(['--undo'], 'y')
    expect(applied.printed).toMatch(/^ {2}\+ .*toolshelf/m)
    expect(undone.printed).toMatch(/^ {2}- .*toolshelf/m)
    expect(applied.printed + applied.told + undone.printed + undone.told).not.toMatch(/sk-/)
  })
})

const cursor = '.cursor/mcp.json'
const simple =
  '{\n  "mcpServers": {\n    "a": { "command": "x", "env": { "K": "sk-0123456789abcdef" } }\n  }\n}\n'

describe('what the gateway is handed', () => {
  it.each([
    ['.config/Code/User/mcp.json', { env: { PERPLEXITY_KEY: '${input:perplexity-key}' } }],
    [cursor, { env: { JIRA_TOKEN: '${env:JIRA_TOKEN}' } }],
    ['.gemini/settings.json', { env: { MAPS_KEY: '$MAPS_KEY' } }],
    ['.codex/config.toml', { env_vars: ['SEARCH_KEY', 'SPACE_TOKEN'] }],
  ])('%s: %j', async (path, expected) => {
    const machine = madeUpMachine()
    machine.write(path, clientFiles.find((file) => file.path === path)?.text ?? '')
    await machine.import(['--apply', '--yes'])
    expect(entryNamed('toolshelf', parsed(machine.read(path)))).toMatchObject(expected)
  })
})

describe('asking', () => {
  it('asks for each file, and changes those alone that were agreed to', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, simple)
    machine.write('.qwen/settings.json', '{"mcpServers": {"b": {"command": "y"}}}')
    const { printed, asked } = await machine.import(['--apply'], (question) =>
      question.includes('.qwen') ? 'y' : 'n',
    )
    expect(asked).toEqual([
      `Change ${machine.path(cursor)}? [y/N] `,
      `Change ${machine.path('.qwen/settings.json')}? [y/N] `,
    ])
    expect(machine.read(cursor)).toBe(simple)
    expect(Object.keys(JSON.parse(readFileSync(machine.own, 'utf8')).mcpServers)).toEqual(['b'])
    expect(printed).toContain('"toolshelf connect --undo" puts everything back.')
  })

  it('says before the questions that every client will see the servers of all, and how to keep one apart', async () => {
    const machine = madeUpMachine()
    const mem = (extra: object) => ({ command: 'npx', args: ['-y', 'mem'], ...extra })
    machine.write(
      '.claude.json',
      JSON.stringify({
        mcpServers: { mem: mem({ env: { MEM_TOKEN: 'sk-claude-0123456789' } }), gh: { command: 'gh' } },
      }),
    )
    const env = { MEM_TOKEN: 'sk-cursor-0123456789', MEM_FILE: '/m' }
    machine.write(
      cursor,
      JSON.stringify({ mcpServers: { mem: mem({ args: ['-y', 'mem', '--readonly'], env }) } }),
    )
    const { printed, asked } = await machine.import(['--apply'], 'n')
    expect(asked).toHaveLength(2)
    const before = printed.slice(0, printed.indexOf('Claude Code: '))
    expect(before).toContain(
      `All clients changed here will see all 3 servers of ${machine.own}: mem, gh, mem-cursor (Cursor's mem, renamed).`,
    )
    expect(before).toContain('toolshelf connect --apply --from <its file> --to <another file>')
    expect(before).toContain(
      'mem-cursor differs from mem: another value of MEM_TOKEN; MEM_FILE only in mem-cursor; arguments --readonly instead of none.',
    )
    expect(printed).not.toContain('sk-')
  })

  it('says that a client will see what is in our file already, and nothing of the kind to one alone', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, simple)
    expect((await machine.import(['--apply', '--yes'])).printed).not.toContain('will see')
    machine.write('.qwen/settings.json', '{"mcpServers": {"b": {"command": "y"}}}')
    const { printed } = await machine.import(['--apply', '--yes'])
    expect(printed).toContain(`Qwen Code will see both servers of ${machine.own}: a, b.`)
    const apart = machine.path('gemini.json')
    const gemini = machine.write('.gemini/settings.json', '{"mcpServers": {"c": {"command": "z"}}}')
    const alone = await machine.import(['--apply', '--yes', '--from', gemini, '--to', apart])
    expect(alone.printed).not.toContain('will see')
    expect(machine.read('.gemini/settings.json')).toContain(apart)
  })

  it('plans as JSON without writing, and reports what it wrote', async () => {
    const machine = madeUpMachine()
    const file = machine.write(cursor, simple)
    const planned = JSON.parse((await machine.import(['--apply', '--json'])).printed)
    expect(planned.files).toEqual([{ file, clients: ['Cursor'], servers: ['a'], isWritten: false }])
    expect(machine.read(cursor)).toBe(simple)
    const done = JSON.parse((await machine.import(['--apply', '--json', '--yes'])).printed)
    expect(done.files).toMatchObject([{ isWritten: true }])
    const undone = JSON.parse((await machine.import(['--undo', '--json', '--yes'])).printed)
    expect(undone.files).toContainEqual({ file, outcome: 'restored' })
  })
})

it('a client with two files starts the gateway from the first that is changed', async () => {
  const machine = madeUpMachine()
  const [first, second] = ['.config/opencode/opencode.json', '.config/opencode/opencode.jsonc']
  const text = (name: string) => `{ "mcp": { "${name}": { "type": "local", "command": ["x", "${name}"] } } }`
  machine.write(first, text('a'))
  machine.write(second, text('b'))
  await machine.import(['--apply', '--yes'])
  expect(Object.keys(JSON.parse(machine.read(first)).mcp)).toEqual(['toolshelf'])
  expect(machine.read(second)).toBe('{ "mcp": { } }')
  await machine.import(['--undo', '--yes'])
  expect([machine.read(first), machine.read(second)]).toEqual([text('a'), text('b')])
  await machine.import(['--apply'], (question) => (question.includes('jsonc') ? 'y' : 'n'))
  expect(Object.keys(JSON.parse(machine.read(second)).mcp)).toEqual(['toolshelf'])
})

describe('what stays', () => {
  it('a server that cannot be taken over as it is', async () => {
    const machine = madeUpMachine()
    machine.write(
      cursor,
      '{"mcpServers": {"a": {"command": "x", "envFile": ".env"}, "c": {"command": "c"}, "__proto__": {"command": "p"}}}',
    )
    const { told } = await machine.import(['--apply', '--yes'])
    expect(told).toContain('a stays in')
    const left = parseJson(machine.read(cursor)).value as { mcpServers: object }
    expect(Object.keys(left.mcpServers)).toEqual(['a', 'toolshelf'])
    const own = parseJson(readFileSync(machine.own, 'utf8')).value as { mcpServers: object }
    expect(Object.keys(own.mcpServers)).toEqual(['c', '__proto__'])
  })

  it.each([
    '{"mcpServers": {"wrong": {"command": 5, "note": "sk-0123456789"}, "a": {"command": "x"}}}',
    '{"mcpServers": {\n  "wrong": {"command": 5, "note": "sk-0123456789"},\n  "a": {"command": "x"}\n}}',
    '{"mcpServers": {"a": {"command": "x"}, "known": {"command": "y", "envFile": "e", "env": {"K": "sk-0123456789abcdef"}}}}',
  ])('is not shown: %j', async (text) => {
    const machine = madeUpMachine()
    machine.write(cursor, text.replace('"a"', '"toolshelf": {"command": "toolshelf", "args": ["mcp"]}, "a"'))
    const { printed, told } = await machine.import(['--apply'], 'y')
    expect(printed).toMatch(/^ {2}- .*"a"/m)
    expect(printed + told).not.toContain('sk-')
    expect((await machine.import(['--undo'], 'y')).printed).not.toContain('sk-')
  })

  it('an entry of ours that is already there', async () => {
    const machine = madeUpMachine()
    machine.write(
      cursor,
      '{"mcpServers": {"toolshelf": {"command": "toolshelf", "args": ["mcp"]}, "a": {"command": "x"}}}',
    )
    await machine.import(['--apply', '--yes'])
    expect(machine.read(cursor)).toBe(
      '{"mcpServers": {"toolshelf": {"command": "toolshelf", "args": ["mcp"]}}}',
    )
  })

  it('a file that is broken, not in UTF-8, read-only or a loop of links', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, '{ "mcpServers": { "a": { "command": "x" }')
    const latin = Buffer.from('{"mcpServers": {"caf\u00e9": {"command": "x"}}}', 'latin1')
    machine.write('.qwen/settings.json', latin)
    machine.write('.gemini/settings.json', '{"mcpServers": {"g": {"command": "x"}}}')
    chmodSync(machine.path('.gemini/settings.json'), 0o444)
    mkdirSync(machine.path('.copilot'))
    symlinkSync('mcp-config.json', machine.path('.copilot/mcp-config.json'))
    const { code, told } = await machine.import(['--apply', '--yes'])
    expect(code).toBe(1)
    expect(told).toMatch(/\.cursor\/mcp\.json: it is not valid JSON: line 1/)
    expect(told).toContain('the file is not written in UTF-8')
    expect(told).toMatch(/\.gemini\/settings\.json is not changed: it is read-only/)
    expect(readFileSync(machine.path('.qwen/settings.json'))).toEqual(latin)
    expect(existsSync(machine.own)).toBe(false)
  })
})

describe('files', () => {
  it('follows links, and a file that two clients share changes once', async () => {
    const machine = madeUpMachine()
    const real = machine.write('dotfiles/mcp.json', simple, 0o600)
    for (const path of [cursor, '.codeium/windsurf/mcp_config.json']) {
      mkdirSync(dirname(machine.path(path)), { recursive: true })
      symlinkSync(real, machine.path(path))
    }
    const { asked } = await machine.import(['--apply'], 'y')
    expect(asked).toHaveLength(1)
    expect(Object.keys(JSON.parse(readFileSync(real, 'utf8')).mcpServers)).toEqual(['toolshelf'])
    expect(lstatSync(machine.path(cursor)).isSymbolicLink()).toBe(true)
    await machine.import(['--undo', '--yes'])
    expect(readFileSync(real, 'utf8')).toBe(simple)
    expect(lstatSync(machine.path(cursor)).isSymbolicLink()).toBe(true)
  })

  it('a file that the servers would move to is left alone, whatever links lead to it', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, simple)
    mkdirSync(dirname(machine.own), { recursive: true })
    symlinkSync(machine.path(cursor), machine.own)
    const named = ['--from', machine.path(cursor), '--to', machine.path(cursor)]
    for (const words of [[], named]) {
      const { told } = await machine.import(['--apply', '--yes', ...words])
      expect(told).toMatch(/mcp\.json: it is the file that the servers would move to/)
      expect(machine.read(cursor)).toBe(simple)
    }
  })

  it('copies are readable by the owner alone', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, simple, 0o600)
    await machine.import(['--apply', '--yes'])
    expect(modeOf(machine.journal)).toBe(0o700)
    const copies = readdirSync(machine.journal).map((name) => join(machine.journal, name))
    expect(copies).toHaveLength(2)
    for (const copy of [...copies, machine.own]) expect(modeOf(copy)).toBe(0o600)
  })

  it('two at once: one writes, the other writes nothing twice', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, simple)
    const runs = await Promise.allSettled([
      machine.import(['--apply', '--yes']),
      machine.import(['--apply', '--yes']),
    ])
    const done = runs.filter((run) => run.status === 'fulfilled' && run.value.code === 0)
    expect(done.length).toBeGreaterThanOrEqual(1)
    expect(Object.keys(JSON.parse(machine.read(cursor)).mcpServers)).toEqual(['toolshelf'])
    expect(Object.keys(JSON.parse(readFileSync(machine.own, 'utf8')).mcpServers)).toEqual(['a'])
    await machine.import(['--undo', '--yes'])
    expect(machine.read(cursor)).toBe(simple)
  })

  it('leaves a file alone that changes while the user is asked', async () => {
    const machine = madeUpMachine()
    machine.write(cursor, simple)
    const { code, told } = await machine.import(['--apply'], () => {
      machine.write(cursor, `${simple} `)
      return 'y'
    })
    expect({ code, told }).toEqual({ code: 1, told: expect.stringContaining('changed meanwhile') })
    expect(machine.read(cursor)).toBe(`${simple} `)
    expect(existsSync(machine.own)).toBe(false)
  })
})

describe('undo', () => {
  async function applied() {
    const machine = madeUpMachine()
    const file = machine.write(cursor, simple)
    await machine.import(['--apply', '--yes'])
    return { machine, file, after: machine.read(cursor) }
  }

  it('keeps edits elsewhere in the file, and says so', async () => {
    const { machine, after } = await applied()
    machine.write(cursor, after.replace('{\n', '{\n  "more": 1,\n'))
    const { code, printed } = await machine.import(['--undo', '--yes'])
    expect(code).toBe(0)
    expect(printed).toContain('only the servers go back')
    expect(machine.read(cursor)).toBe(simple.replace('{\n', '{\n  "more": 1,\n'))
  })

  it('changes nothing where the servers were edited, unless forced; then it keeps the edited version', async () => {
    const { machine, file, after } = await applied()
    const edited = after.replace('"toolshelf"', '"shelf"')
    machine.write(cursor, edited)
    const { code, told } = await machine.import(['--undo', '--yes'])
    expect({ code, told }).toEqual({
      code: 1,
      told: expect.stringMatching(/its servers were edited.*--force/),
    })
    expect(machine.read(cursor)).toBe(edited)
    expect(existsSync(machine.own)).toBe(true)
    const forced = await machine.import(['--undo', '--yes', '--force'])
    const [, saved = ''] = /saved as (.*)\./.exec(forced.told) ?? []
    expect(readFileSync(saved, 'utf8')).toBe(edited)
    expect(forced.printed).toMatch(/^ *- *"shelf"/m)
    expect(forced.printed).not.toMatch(/^ *- *"toolshelf"/m)
    expect(readFileSync(file, 'utf8')).toBe(simple)
    expect(existsSync(machine.own)).toBe(false)
  })

  it('shows the tables of TOML that are replaced as they are now, without their secrets', async () => {
    const machine = madeUpMachine()
    const file = '.codex/config.toml'
    machine.write(file, '[mcp_servers.one]\ncommand = "one"\n')
    await machine.import(['--apply', '--yes'])
    const env = '\n[mcp_servers.toolshelf.env]\nAPI_KEY = "hush-hush-hush"\n'
    machine.write(file, machine.read(file).replace(/"mcp"/, '"mcp", "--edited"') + env)
    const { printed } = await machine.import(['--undo', '--yes', '--force'])
    expect(printed).toMatch(/^ *- .*--edited/m)
    expect(printed).toContain('API_KEY')
    expect(printed).not.toContain('hush-hush-hush')
    expect(machine.read(file)).toBe('[mcp_servers.one]\ncommand = "one"\n')
  })

  it('puts a deleted file back only if forced', async () => {
    const { machine, file } = await applied()
    rmSync(dirname(file), { recursive: true })
    expect((await machine.import(['--undo', '--yes'])).told).toContain('it was deleted')
    expect(existsSync(file)).toBe(false)
    await machine.import(['--undo', '--yes', '--force'])
    expect(readFileSync(file, 'utf8')).toBe(simple)
  })

  it('takes back what an interrupted apply had written', async () => {
    const { machine, after } = await applied()
    // As if the process had ended behind our own file, and before the client's.
    machine.write(cursor, simple)
    const undone = await machine.import(['--undo', '--yes'])
    expect(undone.code).toBe(0)
    expect(machine.read(cursor)).toBe(simple)
    expect(existsSync(machine.own)).toBe(false)
    expect(after).not.toBe(simple)
    expect((await machine.import(['--undo', '--yes'])).printed).toContain('There is nothing to undo')
  })

  it('deletes copies of a run that ended before it changed anything', async () => {
    const machine = madeUpMachine()
    mkdirSync(machine.journal, { recursive: true })
    const orphan = join(machine.journal, '2026-11-17T05-00-00-000Z-0123abcd-1-mcp.json')
    writeFileSync(orphan, 'sk-')
    expect((await machine.import(['--undo', '--yes'])).printed).toContain('There is nothing to undo')
    expect(existsSync(orphan)).toBe(false)
  })

  it('goes back through several runs, and one file at a time if named', async () => {
    const { machine, after } = await applied()
    const second = after.replace('"toolshelf"', '"b": { "command": "y" },\n    "toolshelf"')
    const other = machine.write('.qwen/settings.json', '{"mcpServers": {"q": {"command": "q"}}}')
    machine.write(cursor, second)
    await machine.import(['--apply', '--yes'])
    await machine.import(['--undo', '--yes', '--from', other])
    expect(machine.read('.qwen/settings.json')).toBe('{"mcpServers": {"q": {"command": "q"}}}')
    expect(existsSync(machine.own)).toBe(true)
    await machine.import(['--undo', '--yes'])
    expect(JSON.parse(machine.read(cursor)).mcpServers).toEqual({
      ...JSON.parse(simple).mcpServers,
      b: { command: 'y' },
    })
  })

  it('leaves our own file alone if a server was added to it', async () => {
    const { machine } = await applied()
    const own = readFileSync(machine.own, 'utf8').replace(
      '"mcpServers": {',
      '"mcpServers": {"new": {"command": "n"},',
    )
    writeFileSync(machine.own, own)
    const { told } = await machine.import(['--undo', '--yes'])
    expect(told).toContain('was edited since; the servers stay in it')
    expect(readFileSync(machine.own, 'utf8')).toBe(own)
    expect(machine.read(cursor)).toBe(simple)
  })
})

it.each([
  [['--apply', '--trust-project'], '--apply leaves this folder’s files alone'],
  [['--apply', '--undo'], 'use either --apply or --undo'],
  [['--apply', '--force'], '--force requires --undo'],
])('%j is wrong', async (words, message) => {
  await expect(madeUpMachine().import(words)).rejects.toThrow(message)
})

it('says so where the script cannot be started by a client', async () => {
  const machine = madeUpMachine()
  machine.write(cursor, simple)
  Object.assign(machine.machine, { program: ['/node', '/clone/src/cli/main.ts'] })
  await expect(machine.import(['--apply', '--yes'])).rejects.toThrow(CommandError)
})
