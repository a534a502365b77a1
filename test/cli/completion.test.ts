// What a shell completes: commands, their first words, options, values and files, asked of the shell itself.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { completionOf } from '../../src/cli/completion.ts'
import { runCli } from '../../src/cli/main.ts'
import { thisMachine } from '../../src/mcp/config/index.ts'

async function scriptFor(shell: string): Promise<string> {
  let script = ''
  const print = (text: string) => {
    script += text
  }
  expect(await runCli(['completion', shell], { print, report: expect.fail, isInteractive: false })).toBe(0)
  return script
}

const has = (shell: string) => spawnSync(shell, ['--version']).status === 0

describe.skipIf(!has('bash'))('bash', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-completion-'))
  for (const name of ['notes one.md', 'script.json']) writeFileSync(join(folder, name), '')
  for (const name of ['search', 'src']) mkdirSync(join(folder, name))

  /** The completions after the last of these words when Tab is pressed. Bash takes "=" and ":" for words of their own. */
  async function completed(...words: string[]): Promise<string[]> {
    const typed = ['toolshelf', ...words].map((word) => `'${word}'`).join(' ')
    const ask = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _toolshelf; printf '%s\\n' "\${COMPREPLY[@]}"`
    const asked = `toolshelf() { [ "$*" = 'completion servers' ] && printf '%s\\n' files github; }`
    const { stdout, stderr } = spawnSync('bash', ['-c', `${await scriptFor('bash')}\n${asked}\n${ask}`], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    return stdout.split('\n').filter((line) => line !== '')
  }

  it.each([
    [['se'], ['serve', 'search']],
    [['comp'], ['completion']],
    [['--v'], ['--version']],
    [['help', 'ser'], ['serve']],
    [['config', ''], ['check']],
    [
      ['pins', ''],
      ['list', 'show', 'accept', 'forget'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [
      ['mcp', '--mode', ''],
      ['auto', 'list', 'bridge'],
    ],
    [['mcp', '--mode', '=', 'b'], ['bridge']],
    [
      ['mcp', '--mode', '='],
      ['auto', 'list', 'bridge'],
    ],
    [
      ['serve', '--wire', ''],
      ['native', 'append', 'bridge'],
    ],
    [
      ['serve', '--upstream', ''],
      ['anthropic', 'openai:', 'responses:', 'script:'],
    ],
    [['serve', '--upstream', 'script', ':', 'scr'], ['script.json']],
    [['search', 'x', '--ranker', 'h'], ['hybrid']],
    [['run', '--resume', ''], ['last']],
    [
      ['run', '--resume', 's'],
      ['search', 'src', 'script.json'],
    ],
    [['run', '--str'], ['--stream-json']],
    [
      ['chat', '--directory', 's'],
      ['search', 'src'],
    ],
    [['serve', '--port', ''], []],
    [['config', 'check', 'no'], ['notes one.md']],
    [['config', 'check', '--j'], ['--json']],
    [['import', '--u'], ['--undo']],
    [['remove', 'g'], ['github']],
    [['remove', '--c'], ['--config']],
    [
      ['add', 'x', '--h'],
      ['--header', '--help'],
    ],
  ])('%j → %j', async (words, expected) => {
    expect((await completed(...words)).sort()).toEqual([...expected].sort())
  })

  it('takes the script as it is', async () => {
    const { status, stderr } = spawnSync('bash', ['-n'], {
      input: await scriptFor('bash'),
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

it('zsh and fish take an option several times where it may be given several times', async () => {
  expect(await scriptFor('zsh')).toContain("'*--env=[")
  expect(await scriptFor('fish')).toContain('-l env ')
})

describe.each([
  ['zsh', /mcp\) _arguments .*:mode:\(auto list bridge\)'/, /config\) _arguments .*'2:what:\(check\)'/],
  ['fish', /-l mode .*-x -a 'auto list bridge'/, /from config; and not .*from check" -f -a 'check'/],
])('%s', (shell, values, verbs) => {
  it('completes values and first words', async () => {
    const script = await scriptFor(shell)
    expect(script).toMatch(values)
    expect(script).toMatch(verbs)
  })

  it.skipIf(!has(shell))('takes the script', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'toolshelf-completion-')), 'script')
    writeFileSync(file, await scriptFor(shell))
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

it('servers are asked for when Tab is pressed, by each shell', async () => {
  expect(await scriptFor('zsh')).toMatch(/remove\) _arguments .*'2:what:_toolshelf_servers'/)
  expect(await scriptFor('fish')).toMatch(/from remove" -f -a '\(toolshelf completion servers /)
})

it('prints the servers whose names mean nothing to a shell', async () => {
  const home = mkdtempSync(join(tmpdir(), 'toolshelf-completion-'))
  const folder = join(home, '.config/toolshelf')
  const printed = async () => {
    const lines: string[] = []
    const machine = () => ({ ...thisMachine(), home, folder: home, environment: {} })
    const { run } = completionOf(async () => [], machine)
    const input = { words: ['servers'], text: () => undefined, texts: () => [], isSet: () => false }
    const terminal = {
      print: (line: string) => void lines.push(line),
      report: expect.fail,
      isInteractive: false,
    }
    expect(await run(input, terminal)).toBe(0)
    return lines
  }
  expect(await printed(), 'no file').toEqual([])
  mkdirSync(folder, { recursive: true })
  const names = ['github', 'my files', '$(touch x)', '`id`', 'a;b', '-x', 'files.v2', 'ünï']
  const servers = Object.fromEntries(names.map((name) => [name, {}]))
  writeFileSync(join(folder, 'toolshelf.json'), `// mine\n${JSON.stringify({ mcpServers: servers })}`)
  expect(await printed()).toEqual(['github', 'files.v2'])
  writeFileSync(join(folder, 'toolshelf.json'), '{ broken')
  expect(await printed(), 'a broken file').toEqual([])
})

it('another shell is a mistake', async () => {
  const told: string[] = []
  const report = (text: string) => void told.push(text)
  expect(await runCli(['completion', 'tcsh'], { print: expect.fail, report, isInteractive: false })).toBe(2)
  expect(told.join()).toContain('name a shell: bash, zsh, fish.')
})
