// `toolshelf doctor --ci` through its door: exit codes, files, settings of the configuration.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { runHere } from '../support/cli-here.ts'

let folder = ''
let environment: { readonly [name: string]: string } = {}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolshelf-ci-'))
  const { PATH = '' } = process.env
  environment = { HOME: folder, PATH, XDG_CACHE_HOME: join(folder, 'cache') }
})

const check = (...words: string[]) => runHere({ folder, environment }, ['doctor', '--ci', ...words])
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return name
}

const good = {
  name: 'create_issue',
  server: 'hub',
  description: 'Creates an issue in a repository.',
  input_schema: {},
}
const vague = { name: 'get_user', server: 'hub', description: 'Get the user.', input_schema: {} }
const bare = { name: 'list_issues', server: 'hub' }
const catalog = (...tools: object[]) =>
  write('tools.jsonl', tools.map((tool) => JSON.stringify(tool)).join('\n'))

describe('a catalogue', () => {
  it('is checked without starting anything; the exit code is by --fail-on', async () => {
    expect(await check('--catalog', catalog(good))).toMatchObject({
      code: 0,
      out: '1 tool of 1 server checked: 0 errors, 0 warnings.\n',
    })
    catalog(good, vague)
    expect((await check('--catalog', 'tools.jsonl')).code).toBe(0)
    expect((await check('--catalog', 'tools.jsonl', '--fail-on', 'warning')).code).toBe(1)
    catalog(good, bare)
    const { code, out } = await check('--catalog', 'tools.jsonl')
    expect(code).toBe(1)
    expect(out).toMatch(/^error {3}description-missing {2}hub\/list_issues: it has no description$/m)
    expect((await check('--catalog', 'tools.jsonl', '--fail-on', 'never')).code).toBe(0)
    expect((await check('--catalog', 'tools.jsonl', '--budget', '10')).out).toMatch(/the budget\s+is 10/)
  })

  it('is checked by the settings of a configuration that names its servers', async () => {
    catalog(good, bare, { ...bare, name: 'close_issue' })
    const off = { rules: { 'description-missing': 'off' } }
    const hub = { command: 'none', tools: { list_issues: { lint: off } } }
    write('toolshelf.json', JSON.stringify({ mcpServers: { hub } }))
    const { out } = await check('--catalog', 'tools.jsonl', '--config', 'toolshelf.json', '--json')
    expect(JSON.parse(out).findings).toMatchObject([
      { rule: 'description-missing', tool: 'close_issue', line: 3 },
    ])
  })

  it('has its lines in SARIF, its tools in JUnit, and all of it in --json', async () => {
    catalog(good, bare)
    const { out } = await check(
      '--catalog',
      'tools.jsonl',
      '--sarif',
      'a.sarif',
      '--junit',
      'a.xml',
      '--json',
    )
    const { results } = JSON.parse(read('a.sarif')).runs[0]
    expect(results).toMatchObject([
      {
        ruleId: 'description-missing',
        locations: [
          { physicalLocation: { artifactLocation: { uri: 'tools.jsonl' }, region: { startLine: 2 } } },
        ],
      },
    ])
    expect(read('a.xml')).toContain('<testsuite name="hub" tests="3" failures="1">')
    expect(JSON.parse(out)).toMatchObject({ errors: 1, findings: [{ tool: 'list_issues', line: 2 }] })
  })
})

describe('servers', () => {
  it('are checked by the settings of their configuration', async () => {
    const script = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-memory/dist/index.js')
    const memory = { command: process.execPath, args: [script], lint: { budget: { tools: 5 } } }
    const config = {
      lint: { budget: { tokens: 100 }, rules: { 'parameter-undescribed': 'off' } },
      mcpServers: { memory: { ...memory, tools: { read_graph: { lint: { rules: { twins: 'off' } } } } } },
    }
    write('toolshelf.json', JSON.stringify(config, null, 2))
    const { code, out, told } = await check('--config', 'toolshelf.json', '--json', '--budget', '1')
    const { findings } = JSON.parse(out)
    expect(findings).toMatchObject([
      {
        rule: 'budget-tokens',
        server: 'memory',
        message: expect.stringContaining('the budget is 100'),
        line: 11,
      },
      { rule: 'budget-tools', server: 'memory', message: 'it has 9 tools, the budget is 5' },
    ])
    expect([code, told]).toEqual([1, expect.stringContaining('memory: connected')])
  })

  it('that do not start, and mistakes of the configuration, are errors', async () => {
    const config = { lint: { rules: { twins: 'loud' } }, mcpServers: { gone: { command: './none' } } }
    write('toolshelf.json', JSON.stringify(config))
    const { code, out } = await check('--config', 'toolshelf.json', '--json')
    expect(JSON.parse(out).findings.map(({ rule }: { rule: string }) => rule)).toEqual([
      'configuration',
      'server-failed',
    ])
    expect(code).toBe(1)
  })
})

describe('wrong usage', () => {
  it.each([
    [['--fail-on', 'note'], 'use one of error, warning, never'],
    [['--budget', '0'], 'use a number of tokens'],
    [['--sarif', ''], '--sarif is empty'],
    [['--html', 'x.html'], 'does not go with --ci'],
  ])('%j', async (words, told) => {
    const ran = await check(...words)
    expect(ran.code).toBe(2)
    expect(ran.told).toContain(told)
  })

  it('the options of --ci need it', async () => {
    const ran = await runHere({ folder, environment }, ['doctor', '--sarif', 'x'])
    expect(ran).toMatchObject({ code: 2, told: expect.stringContaining('--sarif needs --ci') })
  })
})
