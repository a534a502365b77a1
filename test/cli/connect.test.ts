// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf connect` through its command, with the files of a made-up machine.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { CommandError, readInput, UsageError } from '../../packages/cli/src/command.ts'
import { connectCommand } from '../../packages/cli/src/connect.ts'
import { readConfig } from '../../packages/mcp/src/config/config.ts'

let root = ''
let own = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolshelf-import-'))
  own = join(root, 'home/.config/toolshelf/toolshelf.json')
  mkdirSync(join(root, 'project'))
})

function write(path: string, content: object | string): string {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'))

async function run(
  words: readonly string[],
  answer?: string | (() => string),
  environment: { [name: string]: string } = {},
) {
  const machine = {
    home: join(root, 'home'),
    folder: join(root, 'project'),
    platform: 'linux' as const,
    environment,
  }
  const started: string[] = []
  const command = connectCommand(
    () => machine,
    async (servers) => void started.push(...servers.map(({ name }) => name)),
  )
  const printed: string[] = []
  const told: string[] = []
  const terminal = {
    print: (text: string) => void printed.push(text),
    report: (text: string) => void told.push(text),
    isInteractive: false,
    ...(answer === undefined ? {} : { ask: async () => (typeof answer === 'string' ? answer : answer()) }),
  }
  const code = await command.run(readInput(command, [...words, '--trust-project']), terminal)
  return { code, printed: printed.join('\n'), told: told.join('\n'), started }
}

function someClients() {
  write('home/.cursor/mcp.json', {
    mcpServers: {
      github: {
        command: 'npx',
        args: ['-y', '@x/github', '--token', 'sk-argument'],
        env: { TOKEN: 'sk-cursor' },
      },
      toolshelf: { command: 'npx', args: ['-y', 'toolshelf', 'mcp'] },
    },
  })
  write('home/.claude.json', {
    mcpServers: {
      github: {
        type: 'stdio',
        command: 'npx',
        args: ['-y', '@x/github', '--token', 'sk-argument'],
        env: { TOKEN: 'sk-cursor' },
      },
      docs: {
        type: 'http',
        url: 'https://user:sk-url@docs.test/mcp?key=sk-query',
        headers: { A: '${DOCS_KEY}' },
      },
    },
  })
  write(
    'home/.codex/config.toml',
    '[mcp_servers.github]\ncommand = "github"\nargs = ["postgres://sk-word"]\n',
  )
  write('home/.config/zed/settings.json', { theme: 'x' })
  write('project/.vscode/mcp.json', {
    servers: { here: { command: './run', env: { K: '${input:the-key}' } } },
  })
}

describe('toolshelf connect', () => {
  it('shows what it would take, without secrets, and writes nothing', async () => {
    someClients()
    const { code, printed, told } = await run([])
    expect(code).toBe(0)
    const lines = printed.split('\n').map((line) => line.trim().split(/ {2,}/))
    expect(lines.slice(2, 6)).toEqual([
      ['github', 'Claude Code, Cursor', 'npx @x/github', 'new'],
      ['docs', 'Claude Code', 'docs.test', 'new'],
      ['github-codex', 'Codex', 'github', 'new'],
      ['here', 'VS Code', 'run', 'new'],
    ])
    expect(printed).toContain(
      `Nothing is written yet. Add --yes to write these 4 servers to ${own}, or --apply to change your clients’ files, too.`,
    )
    expect(told).toContain('Cursor: already set up.')
    expect(told).not.toContain('Toolshelf itself')
    expect(told).toContain('docs needs the environment variable DOCS_KEY; it is not set.')
    expect(told).toContain(
      'here needs the environment variable HERE_THE_KEY, which VS Code asks for as "the-key"',
    )
    expect(told).not.toContain('zed')
    expect(printed + told).not.toContain('sk-')
    expect(existsSync(own)).toBe(false)
  })

  it('writes one private file with references kept, which reads back the same', async () => {
    someClients()
    const { printed } = await run(['--yes'])
    expect(json(own)).toEqual({
      mcpServers: {
        github: expect.objectContaining({ command: 'npx', env: { TOKEN: 'sk-cursor' } }),
        docs: expect.objectContaining({ type: 'http', headers: { A: '${DOCS_KEY}' } }),
        'github-codex': { command: 'github', args: ['postgres://sk-word'] },
        here: {
          command: join(root, 'project/run'),
          cwd: join(root, 'project'),
          env: { K: '${HERE_THE_KEY}' },
        },
      },
    })
    expect(statSync(own).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(own))).toEqual(['toolshelf.json'])
    expect(printed).not.toContain('sk-')
    const { servers, problems } = await readConfig(
      [own],
      { DOCS_KEY: 'a', HERE_THE_KEY: 'b' },
      { home: root },
    )
    expect(problems).toEqual([])
    expect(servers).toHaveLength(4)
  })

  it('starts what it has written once, unless disabled; nothing else, and nothing that lacks a variable', async () => {
    someClients()
    expect((await run([])).started).toEqual([])
    expect((await run(['--yes', '--to', join(root, 'other.json'), '--no-start'])).started).toEqual([])
    const { started, told } = await run(['--yes'])
    expect(started).toEqual(['github', 'github-codex'])
    expect(told).toContain('docs is not started now: DOCS_KEY is not set.')
    expect(told).toContain('here is not started now: HERE_THE_KEY is not set.')
    expect((await run(['--yes'])).started).toEqual([])
  })

  it('adds to a file without losing anything of it, and through a link', async () => {
    const real = write(
      'dotfiles/mine.json',
      '{\n  // mine\n  "other": [1],\n  "mcpServers": { "a": { "command": "mine" } }\n}',
    )
    symlinkSync(real, join(root, 'project/toolshelf.json'))
    const from = write('from.json', { mcpServers: { a: { command: 'theirs' }, b: { command: 'x' } } })
    const { printed } = await run(['--from', from, '--to', 'toolshelf.json', '--yes'])
    const text = readFileSync(real, 'utf8')
    expect(text).toContain('// mine\n  "other": [1],')
    expect(text).toContain('"a": { "command": "mine" }')
    expect(text).toMatch(/"b": \{\s+"command": "x"/)
    expect(text).toMatch(/"a-from": \{\s+"command": "theirs"/)
    expect(printed).toMatch(/^a-from .* new$/m)
    expect(printed).toContain(
      `a-from differs from a in ${join(root, 'project/toolshelf.json')}: runs theirs instead of mine.`,
    )
    expect(printed).toContain(join(root, 'project/toolshelf.json'))
    expect(printed).toContain('"--config"')
  })

  it('copies a server again under another name if it has changed, but not one that the user has narrowed', async () => {
    write('home/.config/toolshelf/toolshelf.json', {
      mcpServers: {
        same: { command: 'x', args: ['${HOME}'], lazy: true, deny: ['delete_*'], callTimeout: 5000 },
        other: { command: 'x', env: { TOKEN: 'sk-old' } },
      },
    })
    const before = json(own).mcpServers
    const from = write('from.json', {
      mcpServers: {
        same: { command: 'x', args: ['${env:HOME}'] },
        other: { command: 'x', env: { TOKEN: 'sk-new' } },
      },
    })
    const { printed, told } = await run(['--from', from, '--yes'])
    expect(printed).toMatch(/^same .* kept$/m)
    expect(printed).toMatch(/^other-from .* new$/m)
    expect(printed).toContain(
      `same stays as it is in ${own}: denied tools delete_* instead of none; callTimeout 5 s instead of 120 s; another value of lazy.`,
    )
    expect(printed).toContain(`other-from differs from other in ${own}: another value of TOKEN.`)
    expect(printed + told).not.toContain('sk-')
    const after = { ...before, 'other-from': { command: 'x', env: { TOKEN: 'sk-new' } } }
    expect(json(own).mcpServers).toEqual(after)
    expect((await run(['--from', from, '--yes'])).printed).toContain('nothing new')
    expect(json(own).mcpServers).toEqual(after)
  })

  it('what was named apart and is there under its own name is not taken again', async () => {
    write('home/.config/toolshelf/toolshelf.json', { mcpServers: { a: { command: 'old' } } })
    write('home/.cursor/mcp.json', { mcpServers: { a: { command: 'new' } } })
    write('home/.codex/config.toml', '[mcp_servers.a]\ncommand = "old"\n')
    const { servers } = JSON.parse((await run(['--json', '--yes'])).printed)
    expect(servers).toMatchObject([
      { name: 'a-cursor', state: 'new' },
      { name: 'a', state: 'kept' },
    ])
  })

  it('keeps a user’s ${workspaceFolder} as a variable, replaces that of a project by its folder, and reports it', async () => {
    const args = ['${workspaceFolder}/src', '${workspaceFolderBasename}']
    write('home/.cursor/mcp.json', { mcpServers: { everywhere: { command: 'x', args } } })
    write('project/.vscode/mcp.json', { servers: { here: { command: 'x', args } } })
    const { told } = await run(['--yes'])
    const project = join(root, 'project')
    expect(json(own).mcpServers).toMatchObject({
      everywhere: { args },
      here: { args: [join(project, 'src'), 'project'] },
    })
    expect(told).toBe(`here is bound to ${project}, its \${workspaceFolder}.`)
    const { servers } = await readConfig([own], {}, { home: root, folder: '/elsewhere' })
    expect(servers[0]?.transport).toMatchObject({ args: ['/elsewhere/src', 'elsewhere'] })
  })

  it('shows the entry of the gateway in the spelling of each client', async () => {
    write('home/.cursor/mcp.json', { mcpServers: { a: { command: 'x' } } })
    write('home/.claude.json', { mcpServers: { a: { command: 'x' } } })
    write('home/.config/Code/User/mcp.json', { servers: { a: { command: 'x' } } })
    write('home/.codex/config.toml', '[mcp_servers.a]\ncommand = "x"\n')
    write('home/.config/opencode/opencode.json', { mcp: { a: { type: 'local', command: ['x'] } } })
    write('home/.config/zed/settings.json', { context_servers: { a: { command: 'x' } } })
    write('home/.qwen/settings.json', { mcpServers: { a: { command: 'x' } } })
    const { printed } = await run(['--yes'])
    const entry = '"toolshelf": { "command": "toolshelf", "args": [ "mcp" ] }'
    expect(printed).toContain(`\nClaude Code, Cursor:\n{ "mcpServers": {\n  ${entry}\n} }\n`)
    expect(printed).toContain(`\nVS Code:\n{ "servers": {\n  ${entry}\n} }\n`)
    expect(printed).toContain(`\nZed:\n{ "context_servers": {\n  ${entry}\n} }`)
    expect(printed).toContain(
      '\nopencode:\n{ "mcp": {\n  "toolshelf": { "type": "local", "command": [ "toolshelf", "mcp" ] }\n} }\n',
    )
    expect(printed).toContain(
      '\nQwen Code:\n{ "mcpServers": {\n  "toolshelf": { "command": "toolshelf", "args": [ "mcp" ], "alwaysLoadTools": true }\n} }',
    )
    expect(printed).toContain('\nCodex:\n[mcp_servers.toolshelf]\ncommand = "toolshelf"\nargs = [ "mcp" ]\n')
  })

  it('fits its table into 80 columns', async () => {
    const name = 'a-server-with-a-very-long-name-that-goes-on'
    const servers = { [name]: { command: 'npx', args: ['-y', '@somebody/with-a-package-of-a-long-name'] } }
    for (const file of [
      '.claude.json',
      '.cursor/mcp.json',
      '.codeium/mcp_config.json',
      '.qwen/settings.json',
    ])
      write(`home/${file}`, { mcpServers: servers })
    const { printed } = await run([])
    const lines = printed.split('\n')
    expect(lines[2]).toMatch(/^a-server-with-a-\S*… +Claude Code, Cur.*… +npx @somebody.*… +new$/)
    const end = lines.findIndex((line) => line.startsWith('Nothing is written'))
    expect(end).toBe(3)
    for (const line of lines.slice(0, end)) expect(line.length, line).toBeLessThanOrEqual(80)
  })

  it.each([
    ['y', true],
    ['yes', true],
    ['', false],
    ['no', false],
  ])('asks, and %j writes: %s', async (answer, isWritten) => {
    const from = write('from.json', { mcpServers: { a: { command: 'x' } } })
    await run(['--from', from], answer)
    expect(existsSync(own)).toBe(isWritten)
  })

  it('prints JSON', async () => {
    someClients()
    const { printed, told } = await run(['--json'], 'y')
    expect(told).toBe('')
    const { to, isWritten, servers, setUp, problems } = JSON.parse(printed)
    expect([to, isWritten, servers.length, problems]).toEqual([own, false, 4, []])
    expect(setUp).toEqual([{ client: 'Cursor', file: join(root, 'home/.cursor/mcp.json') }])
    expect(servers[1]).toEqual({
      name: 'docs',
      clients: ['Claude Code'],
      file: join(root, 'home/.claude.json'),
      transport: 'http',
      runs: 'docs.test',
      disabled: false,
      unset: ['DOCS_KEY'],
      state: 'new',
    })
    expect(JSON.parse((await run(['--json', '--yes'])).printed).isWritten).toBe(true)
    expect(existsSync(own)).toBe(true)
  })

  it('names of servers cannot steer the terminal', async () => {
    const from = write('from.json', { mcpServers: { 'a\u001b[2J': { command: 'x', args: [], nope: 1 } } })
    const { printed, told } = await run(['--from', from])
    expect(printed + told).not.toContain('\u001b')
  })

  it('loses nothing that comes into the file while a person is asked', async () => {
    const from = write('from.json', { mcpServers: { one: { command: 'one' }, two: { command: 'two' } } })
    const { printed } = await run(['--from', from], () => {
      write('home/.config/toolshelf/toolshelf.json', { mcpServers: { two: { command: 'mine' } }, rest: 1 })
      return 'y'
    })
    expect(printed).toContain('Written')
    expect(json(own)).toEqual({ mcpServers: { two: { command: 'mine' }, one: { command: 'one' } }, rest: 1 })
  })

  it('leaves a target alone whose letters it would change', async () => {
    const from = write('from.json', { mcpServers: { one: { command: 'one' } } })
    const bytes = Buffer.from('{ "mcpServers": { "caf\u00e9": { "command": "x" } } }', 'latin1')
    writeFileSync(write('to.json', ''), bytes)
    await expect(run(['--from', from, '--to', join(root, 'to.json'), '--yes'])).rejects.toThrow(/UTF-8/)
    expect(readFileSync(join(root, 'to.json'))).toEqual(bytes)
  })

  it('leaves a target alone that it cannot read', async () => {
    const from = write('from.json', { mcpServers: { a: { command: 'x' } } })
    const target = write('target.json', '{ "mcpServers": [] }')
    await expect(run(['--from', from, '--to', target, '--yes'])).rejects.toThrow(
      /"mcpServers" is not an object/,
    )
    await expect(run(['--from', from, '--to', root, '--yes'])).rejects.toThrow(CommandError)
    writeFileSync(target, '{ broken')
    await expect(run(['--from', from, '--to', target, '--yes'])).rejects.toThrow(/line 1, column 3.*--to/)
    expect(readFileSync(target, 'utf8')).toBe('{ broken')
  })

  it('finds nothing on an empty machine; words are not files', async () => {
    expect(await run([])).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^No MCP servers were found.*--from.*toolshelf add/),
    })
    const file = write('home/.cursor/mcp.json', { mcpServers: {} })
    const { printed } = await run([])
    expect(printed).toContain(`\n  Cursor            ${file} (has no servers)\n`)
    expect(printed).toMatch(new RegExp(`\n  Codex +${join(root, 'home/.codex/config.toml')}\n`))
    expect((await run(['--from', file])).printed).not.toContain('.codex')
    await expect(run(['file.json'])).rejects.toThrow(UsageError)
    await expect(run(['--from', ''])).rejects.toThrow(UsageError)
  })
})
