// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf import` through its command, with the files of a made-up machine.
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
import { CommandError, readInput, UsageError } from '../../src/cli/command.ts'
import { importCommand } from '../../src/cli/import.ts'
import { readConfig } from '../../src/mcp/config/config.ts'

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

async function run(words: readonly string[], answer?: string, environment: { [name: string]: string } = {}) {
  const machine = {
    home: join(root, 'home'),
    folder: join(root, 'project'),
    platform: 'linux' as const,
    environment,
  }
  const command = importCommand(() => machine)
  const printed: string[] = []
  const told: string[] = []
  const terminal = {
    print: (text: string) => void printed.push(text),
    tell: (text: string) => void told.push(text),
    isInteractive: false,
    ...(answer === undefined ? {} : { ask: async () => answer }),
  }
  const code = await command.run(readInput(command, words), terminal)
  return { code, printed: printed.join('\n'), told: told.join('\n') }
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

describe('toolshelf import', () => {
  it('shows what it would take, without secrets, and writes nothing', async () => {
    someClients()
    const { code, printed, told } = await run([])
    expect(code).toBe(0)
    const lines = printed.split('\n').map((line) => line.trim().split(/ {2,}/))
    expect(lines.slice(2, 6)).toEqual([
      ['github', 'Claude Code, Cursor', 'stdio', 'npx @x/github', 'new'],
      ['docs', 'Claude Code', 'http', 'docs.test', 'new'],
      ['github-codex', 'Codex', 'stdio', 'github', 'new'],
      ['here', 'VS Code', 'stdio', 'run', 'new'],
    ])
    expect(printed).toContain('Add --yes')
    expect(told).toContain('"toolshelf": it is Toolshelf itself')
    expect(told).toContain('docs needs the environment variable DOCS_KEY; it is not set.')
    expect(told).toContain('here needs the environment variable THE_KEY, which VS Code asks for as "the-key"')
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
        here: { command: join(root, 'project/run'), cwd: join(root, 'project'), env: { K: '${THE_KEY}' } },
      },
    })
    expect(statSync(own).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(own))).toEqual(['toolshelf.json'])
    expect(printed).toContain(
      '"toolshelf": {\n      "command": "toolshelf",\n      "args": [\n        "mcp"\n',
    )
    expect(printed).not.toContain('sk-')
    const { servers, problems } = await readConfig([own], { DOCS_KEY: 'a', THE_KEY: 'b' }, { home: root })
    expect(problems).toEqual([])
    expect(servers).toHaveLength(4)
  })

  it('a second time adds nothing', async () => {
    someClients()
    await run(['--yes'])
    const before = readFileSync(own, 'utf8')
    const { printed } = await run(['--yes'])
    expect(printed).toContain('nothing new')
    expect(readFileSync(own, 'utf8')).toBe(before)
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
    expect(printed).toMatch(/^a .* kept$/m)
    expect(printed).toContain(join(root, 'project/toolshelf.json'))
    expect(printed).toContain('"--config"')
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
    const { to, isWritten, servers, problems } = JSON.parse(printed)
    expect([to, isWritten, servers.length, problems.length]).toEqual([own, false, 4, 1])
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

  it('takes several files, and tells of one that is missing or broken', async () => {
    const good = write('good.json', { mcpServers: { a: { command: 'x' } } })
    const broken = write('broken.json', '{')
    const { code, printed, told } = await run(['--from', `${broken},missing.json, ${good}`])
    expect(code).toBe(0)
    expect(printed).toMatch(/^a /m)
    expect(told).toContain('line 1, column 2')
    expect(told).toContain(`${join(root, 'project/missing.json')}: there is no such file.`)
    expect((await run(['--from', broken])).code).toBe(1)
  })

  it('names of servers cannot steer the terminal', async () => {
    const from = write('from.json', { mcpServers: { 'a\u001b[2J': { command: 'x', args: [], nope: 1 } } })
    const { printed, told } = await run(['--from', from])
    expect(printed + told).not.toContain('\u001b')
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
      printed: expect.stringContaining('No MCP servers were found'),
    })
    await expect(run(['file.json'])).rejects.toThrow(UsageError)
    await expect(run(['--from', ','])).rejects.toThrow(UsageError)
  })
})
