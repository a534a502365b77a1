// `toolshelf doctor --ci` and `--html` without servers: what each option, state and finding does.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { checkCatalog, checkServers, ciOptions, doctorPage, readCi } from '../../src/cli/doctor/index.ts'
import { version } from '../../src/cli/version.ts'
import { makeReport } from '../../src/doctor/index.ts'
import type { PageSnapshot } from '../../src/inspector/index.ts'
import type { ListedTool, ServerConfig, ServerStatus } from '../../src/mcp/index.ts'
import { local } from '../mcp/support/servers.ts'
import { enter } from '../support/cli-here.ts'
import { inputOf, outcomeOf } from './support/input.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Choices = NonNullable<ReturnType<typeof readCi>>

const choices: Choices = {
  ...{ failOn: 'error', budget: undefined, sarif: undefined, junit: undefined, isJson: true },
}

/** Runs a check in the folder → its exit code, what it printed, and what it reported. */
async function checked(work: (terminal: Parameters<typeof checkServers>[2]) => Promise<number>) {
  const leave = enter(folder, {})
  const [printed, told]: [string[], string[]] = [[], []]
  try {
    const code = await work({
      print: (text) => void printed.push(text),
      report: (text) => void told.push(text),
      isInteractive: false,
    })
    return { code, printed: printed.join('\n').replaceAll(folder, ''), told }
  } finally {
    leave()
  }
}

type Given = Omit<Partial<ServerStatus>, 'config'> & { readonly config?: Partial<ServerConfig> }

const transport = { kind: 'stdio', command: 'npx', args: [], env: {}, cwd: undefined } as const

/** A server that has connected, unless it is given otherwise. */
const statusOf = (name: string, { config, ...given }: Given) =>
  ({
    ...{ name, state: 'connected', tools: [], hidden: [], held: [], problems: [], pageTools: [], stderr: '' },
    ...{ isCached: false, isRemembered: false, hasListed: true, capabilities: {}, startMilliseconds: 250 },
    ...{ info: { name: 'software', version: '1.2' }, protocol: '2025-11-25', pid: 1 },
    config: { ...local(name, 'healthy'), transport, source: '/home/a/mcp.json', ...config },
    ...given,
  }) as ServerStatus

const tool = (name: string, description?: string): ListedTool =>
  ({
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { type: 'object' },
  }) as ListedTool
const good = tool('create_issue', 'Creates an issue in a repository.')
const bare = tool('list_issues')

test('options of --ci are read with it alone', async () => {
  const cases: readonly Parameters<typeof inputOf>[0][] = [
    {},
    { json: true },
    { 'fail-on': 'error' },
    { budget: '5' },
    { sarif: 'a' },
    { junit: 'a' },
    { ci: true },
    { ci: true, 'fail-on': 'warning', budget: '999999999', sarif: 'a', junit: 'b', json: true },
    { ci: true, 'fail-on': 'never' },
    { ci: true, 'fail-on': 'Error' },
    ...['0', '1000000000', '5x', 'x5', '', '-5', '1e3'].map((budget) => ({ ci: true as const, budget })),
    { ci: true, sarif: '' },
    { ci: true, junit: '' },
    { ci: true, html: 'a' },
  ]
  const read = await Promise.all(
    cases.map(async (options) => JSON.stringify(await outcomeOf(() => readCi(inputOf(options))))),
  )
  expect(read.join('\n')).toMatchInlineSnapshot(`
    "

    "UsageError: --fail-on needs --ci."
    "UsageError: --budget needs --ci."
    "UsageError: --sarif needs --ci."
    "UsageError: --junit needs --ci."
    {"failOn":"error","isJson":false}
    {"failOn":"warning","sarif":"a","junit":"b","isJson":true,"budget":999999999}
    {"failOn":"never","isJson":false}
    "UsageError: --fail-on is \\"Error\\"; use one of error, warning, never."
    "UsageError: --budget is \\"0\\"; use a number of tokens, such as 20000."
    "UsageError: --budget is \\"1000000000\\"; use a number of tokens, such as 20000."
    "UsageError: --budget is \\"5x\\"; use a number of tokens, such as 20000."
    "UsageError: --budget is \\"x5\\"; use a number of tokens, such as 20000."
    "UsageError: --budget is \\"\\"; use a number of tokens, such as 20000."
    "UsageError: --budget is \\"-5\\"; use a number of tokens, such as 20000."
    "UsageError: --budget is \\"1e3\\"; use a number of tokens, such as 20000."
    "UsageError: --sarif is empty; pass a file."
    "UsageError: --junit is empty; pass a file."
    "UsageError: --html does not go with --ci; use --sarif or --junit.""
  `)
  expect(Object.entries(ciOptions).map(([name, { type, value = '' }]) => `${name} ${type} ${value}`)).toEqual(
    ['ci boolean ', 'fail-on string level', 'budget string tokens', 'sarif string file', 'junit string file'],
  )
})

test('servers are checked by their state, settings and lines', async () => {
  const json = join(folder, 'mcp.json')
  writeFileSync(
    json,
    '{\n "mcpServers": {\n  "not a": {},\n  "say": "one",\n  "one" : {},\n  "off": {}\n }\n}',
  )
  const toml = join(folder, 'config.toml')
  writeFileSync(toml, '[other]\n  [mcp_servers.two]  \n[mcp_servers."the third"]\n')
  const off = { rules: { 'description-missing': 'off' } } as const
  const status = (name: string, given: Partial<ServerStatus>, config: Partial<ServerConfig> = {}) =>
    statusOf(name, { ...given, config: { source: json, ...config } })
  const statuses = [
    status('one', { tools: [good, bare], instructions: 'Be kind.' }),
    status('two', { tools: [bare] }, { source: toml, lint: off }),
    status(
      'the third',
      { tools: [bare, tool('close')] },
      { source: toml, tools: { close: { lint: off } } as never },
    ),
    status('off', { state: 'disabled', tools: [bare] }),
    status('late', { state: 'pending' }),
    status('bad', { state: 'failed', reason: 'it ended' }),
    status('lost', { tools: [bare] }, { source: join(folder, 'none') }),
  ]
  const servers = statuses.map(({ config }) => config)
  const problems = [
    { file: json, message: 'a mistake' },
    { file: json, message: 'not set', unset: ['X'] },
  ]
  const check = (given: Partial<Choices>, more: object = {}) =>
    checked((terminal) =>
      checkServers(
        {
          statuses,
          config: { servers, problems, settings: {}, ...more } as never,
          untrusted: [{ name: 'the\nirs' }],
          changed: new Map([['one', ['create_issue']]]),
        },
        { ...choices, ...given },
        terminal,
        100,
      ),
    )
  const { code, printed, told } = await check({})
  const { findings, servers: totals } = JSON.parse(printed)
  expect([code, told]).toEqual([1, ['Not checked: the irs: this folder is not trusted (--trust-project).']])
  const shown = findings.map(
    ({ rule, server, tool: of, source, line, message }: Record<string, unknown>) =>
      `${rule} ${server}/${of} ${source}:${line} ${message}`,
  )
  expect(`${shown.join('\n')}\n${totals.map(({ name }: { name: string }) => name)}`).toMatchInlineSnapshot(`
    "configuration /null /mcp.json:null a mistake
    changed-since-pinned one/create_issue /mcp.json:5 its definition is not the one that was pinned
    description-missing one/list_issues /mcp.json:5 it has no description
    description-missing the third/list_issues /config.toml:3 it has no description
    server-failed late/null /mcp.json:null it did not start in time
    server-failed bad/null /mcp.json:null it ended
    description-missing lost/list_issues /none:null it has no description
    one,two,the third,late,bad,lost"
  `)
  const budgets = async (given: Partial<Choices>, more?: object) =>
    JSON.parse((await check(given, more)).printed).servers.map(
      ({ budget }: { budget: { tokens: number | null } }) => budget.tokens,
    )
  expect([
    (await budgets({}))[0],
    (await budgets({ budget: 7 }))[0],
    (await budgets({ budget: 7 }, { lint: { budget: { tokens: 9 } } }))[0],
  ]).toEqual([null, 7, 9])
})

test('a catalogue is checked by its lines; the exit code follows --fail-on, and files are written', async () => {
  const file = join(folder, 'tools.jsonl')
  const lines = [
    `\uFEFF${JSON.stringify({ name: 'create_issue', server: 'hub', description: 'Creates an issue in a repository.', input_schema: { type: 'object' } })}`,
    'nonsense',
    JSON.stringify({ name: 'list_issues', server: 'hub' }),
    JSON.stringify({ name: 'list_issues', server: 'hub' }),
    JSON.stringify({ name: 'list_issues', server: 'other' }),
    JSON.stringify({ name: 'alone' }),
    '5',
  ]
  writeFileSync(file, lines.join('\r\n'))
  const off = { 'description-missing': 'off' } as const
  const hub = { name: 'hub', tools: { list_issues: { lint: { rules: off } } } }
  const config = {
    servers: [hub],
    problems: [
      { file, message: 'a mistake' },
      { file, message: 'not set', unset: ['X'] },
    ],
    settings: {},
  }
  const check = (given: Partial<Choices>, more: object = {}) =>
    checked((terminal) =>
      checkCatalog({ file, config: { ...config, ...more } as never }, { ...choices, ...given }, terminal, 60),
    )
  const { code, printed } = await check({ sarif: 'a.sarif', junit: 'a.xml' })
  const found = JSON.parse(printed).findings.map(
    ({ rule, server, tool: of, line }: Record<string, unknown>) => `${rule} ${server}/${of} ${line}`,
  )
  expect([code, ...found]).toMatchInlineSnapshot(`
    [
      1,
      "configuration /null null",
      "description-missing other/list_issues 5",
      "description-missing /alone 6",
    ]
  `)
  const sarif = JSON.parse(readFileSync(join(folder, 'a.sarif'), 'utf8'))
  expect(
    sarif.runs[0].results.map(
      ({ locations }: { locations: [{ physicalLocation: { artifactLocation: object } }] }) =>
        JSON.stringify(locations[0].physicalLocation.artifactLocation),
    )[0],
  ).toContain('tools.jsonl')
  expect(readFileSync(join(folder, 'a.sarif'), 'utf8')).toMatch(/^\{\n {2}"/)
  expect(readFileSync(join(folder, 'a.xml'), 'utf8')).toContain('failures="')
  expect((await check({ isJson: false })).printed).toContain('4 tools of 3 servers checked')
  // Warnings alone.
  writeFileSync(
    file,
    JSON.stringify({ name: 'get_user', server: 'hub', description: 'Get the user.', input_schema: {} }),
  )
  const codes: number[] = []
  for (const problems of [[], config.problems])
    for (const failOn of ['error', 'warning', 'never'] as const)
      codes.push((await check({ failOn, junit: 'b.xml' }, { problems })).code)
  expect(codes).toEqual([0, 1, 0, 1, 1, 0])
  const failures = async (failOn: Choices['failOn']) => {
    await check({ failOn, junit: 'b.xml' }, { problems: [] })
    return /failures="(\d+)"/.exec(readFileSync(join(folder, 'b.xml'), 'utf8'))?.[1]
  }
  expect([await failures('error'), await failures('warning'), await failures('never')]).toEqual([
    '0',
    '1',
    '0',
  ])
})

test('files of SARIF are named from the current folder, and others whole', async () => {
  const inside = join(folder, 'a b', '..', 'c d.jsonl')
  const outside = join(mkdtempSync(join(tmpdir(), 'doctor-')), 'x y.jsonl')
  onTestFinished(() => rmSync(join(outside, '..'), { recursive: true }))
  const uris: unknown[] = []
  for (const file of [inside, outside]) {
    writeFileSync(file, JSON.stringify({ name: 'bare', server: 'hub' }))
    const config = { servers: [], problems: [], settings: {} } as never
    await checked((terminal) =>
      checkCatalog({ file, config }, { ...choices, sarif: 'c.sarif' }, terminal, 60),
    )
    const { runs } = JSON.parse(readFileSync(join(folder, 'c.sarif'), 'utf8'))
    uris.push(runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri)
  }
  expect(uris).toEqual(['c%20d.jsonl', `file://${outside.replace(' ', '%20')}`])
})

test('the page says what the doctor found, and lets nobody change anything', async () => {
  const page = async (statuses: readonly ServerStatus[], options: Parameters<typeof makeReport>[1] = {}) => {
    const written = await doctorPage(makeReport(statuses, options), {
      ...{ host: { status: () => statuses }, onChange: 'report', untrusted: [], next: 'toolshelf mcp' },
      ...{ time: new Date(0), page: { script: 'render()', style: 'a{}' } },
    })
    const [, json = ''] = /id="toolshelf-snapshot">(.*?)<\/script>/s.exec(written) ?? []
    return JSON.parse(json) as PageSnapshot
  }
  const many = Array.from({ length: 30 }, (_, index) => tool(`tool_${index}`, `t${index}`.padEnd(900, 'x')))
  const full = await page([
    statusOf('big', { tools: many }),
    statusOf('bad', { state: 'failed', reason: 'it ended' }),
  ])
  const { version: shownVersion, ...about } = full.about
  expect(shownVersion).toBe(version())
  expect({ ...full, about, tools: full.tools.length }).toMatchInlineSnapshot(`
    {
      "about": {
        "can": {
          "conversations": true,
          "manageServers": false,
          "saveHints": false,
          "search": false,
        },
        "rankers": [],
        "recording": {
          "advice": "toolshelf mcp --audit",
          "files": [],
          "isLive": false,
        },
        "source": "snapshot",
        "window": 200000,
      },
      "events": [],
      "findings": [
        {
          "details": [],
          "level": "error",
          "remedy": "Run the command by hand, or correct the entry in /home/a/mcp.json.",
          "server": "bad",
          "title": "did not connect: it ended",
        },
      ],
      "notes": [
        "About 10,130 tokens of tool definitions travel with every request: 5.1 % of a window of 200,000 tokens, before anyone has asked anything.",
        "Through toolshelf mcp it would be 485, with the library 541: 9,645 saved per request, until something is searched for.",
        "In 20 requests 144,615 tokens are saved, with 1 extra round trip.",
        "Saved in a request: 10,130 − 438 (ToolSearch and CallTool) − 47 (names of the servers) = 9,645. For 20 requests it is assumed that the model searches once, in the first one. The search (200 tokens) and the 5 tools that it loads (338 each, the average) stay in every later request, and the search needs one more request: an extra round trip, which carries the conversation (10,000 tokens) once more. The library also sends the names of all tools.",
        "Tokens are estimates: the characters of each definition as it is sent (name, description cut at 2,048 characters, input schema, as JSON) divided by 2.9. No tokenizer was used.",
        "Next: toolshelf mcp",
      ],
      "servers": [
        {
          "actions": [],
          "alwaysLoadedTokens": 0,
          "budget": null,
          "changes": [],
          "findings": [],
          "log": "",
          "name": "big",
          "problems": [],
          "reason": null,
          "software": "software 1.2",
          "source": "/home/a/mcp.json",
          "startMilliseconds": 250,
          "state": "connected",
          "tokens": 10130,
          "tools": 30,
          "transport": "stdio: npx",
        },
        {
          "actions": [],
          "alwaysLoadedTokens": 0,
          "budget": null,
          "changes": [],
          "findings": [],
          "log": "",
          "name": "bad",
          "problems": [],
          "reason": "it ended",
          "software": "software 1.2",
          "source": "/home/a/mcp.json",
          "startMilliseconds": 250,
          "state": "failed",
          "tokens": 0,
          "tools": 0,
          "transport": "stdio: npx",
        },
      ],
      "time": "1970-01-01T00:00:00.000Z",
      "tools": 30,
    }
  `)
  const none = await page([statusOf('empty', {})])
  const small = await page([statusOf('small', { tools: [good] })])
  expect([none.notes, none.findings, small.notes.map((note) => note.slice(0, 60))]).toMatchInlineSnapshot(`
    [
      [
        "No server lists any tools.",
        "Next: toolshelf mcp",
      ],
      [],
      [
        "About 41 tokens of tool definitions travel with every reques",
        "Through toolshelf mcp it would be 483, with the library 367:",
        "In 20 requests −24,143 tokens are saved, with 1 extra round ",
        "Saved in a request: 41 − 437 (ToolSearch and CallTool) − 46 ",
        "Tokens are estimates: the characters of each definition as i",
        "Next: toolshelf mcp",
      ],
    ]
  `)
})
