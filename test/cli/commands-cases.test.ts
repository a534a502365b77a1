// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Commands as people type them, one after the other in one folder: exit code, output and reports of each.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { addCommand } from '../../src/cli/add.ts'
import { type Command, clientOf, helpFor, readInput, screenOf } from '../../src/cli/command.ts'
import { connectCommand } from '../../src/cli/connect.ts'
import { createDoctor } from '../../src/cli/doctor.ts'
import { createInspect } from '../../src/cli/inspect.ts'
import { listCommand } from '../../src/cli/list.ts'
import { createLogin } from '../../src/cli/login.ts'
import { everyCommand } from '../../src/cli/main.ts'
import { removeCommand } from '../../src/cli/remove.ts'
import { createTrust } from '../../src/cli/trust.ts'
import { version } from '../../src/cli/version.ts'
import { thisMachine } from '../../src/mcp/config/index.ts'
import { serveHere } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { runHere } from '../support/cli-here.ts'
import { newPlaceIn, startRedis } from '../support/store-servers.ts'
import { newPlace, type Place } from '../terminal/support.ts'
import { outcomeOf } from './support/input.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

/** A command line, with its arguments in single quotes where they have spaces, and what is piped in behind `<`. */
async function ran(place: Place, line: string): Promise<string[]> {
  const [command = '', piped] = line.split(' < ')
  const words = [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word)
  const { code, out, told } = await runHere(place, words, piped === undefined ? {} : { piped })
  const marked = (mark: string, text: string) =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((one) => `${mark} ${one}`.trimEnd())
  return [`$ ${line} → ${code}`, ...marked('|', out), ...marked('!', told)]
}

/** Without what differs each time and by version of Node: folders, times, keys, mistakes in JSON. */
const steady = (place: Place, text: string) =>
  text
    .replaceAll(place.folder, '')
    .replaceAll(/(?<=sessions\/)-[\w-]+/g, 'FOLDER')
    .replaceAll(/Expected property name .*/g, 'NOT JSON')
    .replaceAll(/127\.0\.0\.1:\d{5}/g, 'HOST')
    .replaceAll(/\b\d+(?:\.\d+)? (?=m?s\b)/g, 'N ')
    .replaceAll(/\b\d+\.\d{5,}(?:e-\d+)?/g, 'FLOAT')
    .replaceAll(/(?<="startMilliseconds":)\d+/g, 'N')
    .replaceAll(/tsk_[0-9a-f]{16}_[\w-]+/g, 'tsk_KEY')
    .replaceAll(/\b(?:[0-9a-f]{16}|[0-9a-f]{64})\b/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g, 'TIME')

async function session(name: string, place: Place, lines: readonly string[]) {
  const shown: string[] = []
  for (const line of lines) shown.push(...(await ran(place, line)))
  await expect(`${steady(place, shown.join('\n'))}\n`).toMatchFileSnapshot(`commands/${name}.txt`)
}

// Loads every command once, so that no test below waits for it.
await everyCommand()

test('names, versions and mistakes', () =>
  session('main', newPlace(), [
    '',
    '--help',
    'hlep',
    'xyzzy',
    '--wrong',
    'list --wrong',
    'list --jsn',
    'list extra',
    'list --timeout',
    'help list',
    'help xyzzy',
    'list -h',
    'remove',
    'remove a b',
  ]))

test('help and version have several spellings', async () => {
  const place = newPlace()
  const said = async (word: string) => (await runHere(place, [word])).out
  expect([await said('help'), await said('-h')]).toEqual(Array(2).fill(await said('--help')))
  expect([await said('-v'), await said('--version')]).toEqual(Array(2).fill(`${version()}\n`))
})

test('a command uses the process’s own streams where it is given no others', () => {
  const terminal = { print: () => {}, report: () => {}, isInteractive: false }
  const own = { input: process.stdin, output: process.stdout }
  expect([screenOf(terminal), clientOf(terminal)]).toEqual([own, own])
})

test('a command that is made for another machine takes and says the same', async () => {
  const machine = thisMachine
  const made: readonly Command[] = [
    addCommand(machine),
    createDoctor({ machine } as never),
    createInspect({ machine } as never),
    createLogin({ machine, openBrowser: async () => false }),
    createTrust(machine),
    connectCommand(machine),
    listCommand(machine),
    removeCommand(machine),
  ]
  const known = new Map((await everyCommand()).map((command) => [command.name, command]))
  const run = expect.any(Function)
  expect(made).toEqual(made.map(({ name }) => ({ ...known.get(name), run })))
})

test('a command that is made up: its help and its mistakes', async () => {
  const made: Command = {
    name: 'made',
    summary: 'Does [what] it: says, and it’s “long” enough that its summary needs more than a line of 80.',
    words: '<what> [--file <file>] [--folder <folder>] [--choice one|two] [--many <text>] [--maybe <n>]',
    options: {
      file: { type: 'string', value: 'file', short: 'f', about: 'reads: [this] file' },
      folder: { type: 'string', value: 'folder', about: 'in this folder' },
      session: { type: 'string', value: 'session', values: ['last'], about: 'the last session' },
      choice: { type: 'string', value: 'name', values: ['one', 'two'], about: 'one or another' },
      prefix: { type: 'string', value: 'where', values: ['all', 'only:'], about: 'all, only:NAME' },
      many: { type: 'string', isMultiple: true, about: 'may be repeated' },
      maybe: { type: 'string', value: 'n', isValueOptional: true, about: 'with or without a value' },
      quick: { type: 'boolean', short: 'q', about: `words that fill ${'the line and '.repeat(5)}more` },
    },
    examples: ['toolshelf made do', `toolshelf made do --file ${'a'.repeat(40)} --folder ${'b'.repeat(20)}`],
    run: async ({ words, text, texts, isSet }, { print }) => {
      const given = ['file', 'many', 'maybe'].map((name) => [name, text(name) ?? null, texts(name)])
      print(JSON.stringify([words, given, ['maybe', 'quick', 'file'].filter(isSet)]))
      return 0
    },
  }
  const other = { ...made, name: 'other', words: '', options: {}, noArguments: 'pass options' }
  const lines: string[] = [helpFor(made), helpFor(other)]
  const terminal = { print: (text: string) => void lines.push(text), report: () => {}, isInteractive: false }
  const mistakes = [
    'do it -q --many a --many b --file x',
    '--maybe',
    '--maybe 5',
    '--maybe --quick',
    '--maybe -5',
    '-- --maybe',
    '--maybe -- --maybe',
    '--quick=5',
    '--file',
    '--file --quick',
    '--file --quick=5',
    '--file -x',
    '--file=-x',
    '--flie x',
    '--zzzzzz',
    '-z',
    '--many',
    '--hlep',
    '-h',
  ]
  for (const command of [made, other])
    for (const line of mistakes) {
      lines.push(`$ ${command.name} ${line}`)
      const run = () => command.run(readInput(command, line.split(' ')), terminal)
      lines.push(`${await outcomeOf(run)}`)
    }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('commands/made.txt')
})

test('servers of a configuration', async () => {
  const place = newPlace()
  place.file('broken.json', '{')
  await session('servers', place, [
    'list',
    'doctor --check',
    'list --json --offline',
    'remove a',
    'add',
    'add a',
    'add a -- npx -y pkg --flag',
    'add a -- other',
    "add b https://b.test/mcp --header 'X-Key: ${KEY}'",
    'add c https://c.test/mcp --env A=1',
    "add d --header 'X: y' -- run",
    'add e --env A=1 -e HOME -e NONE -- run',
    'add f --env =1 -- run',
    'add g https://g.test/mcp -H nonsense',
    'add h ftp://h.test',
    "add 'a b' -- run",
    "add '' -- run",
    'add i --config broken.json -- run',
    'add j --config other.json -- run',
    'list --offline',
    'list --offline --json',
    'list --offline --config other.json',
    'list --offline --config none.json',
    'list --offline --config broken.json',
    'list --timeout 0',
    'list --timeout x',
    'doctor --check',
    'doctor --check --json',
    'doctor --check --config broken.json',
    'doctor --check --config other.json --config none.json',
    'remove bb',
    'remove b',
    'remove b',
    'remove j --config other.json',
    'remove j --config broken.json',
    'list --offline',
    'login',
    'login zzz',
    'login a',
    'login a b',
    'login b --port 0',
    'login b --port 65536',
    'login b --port 5.5',
    'login b --user ada',
    "login b --config ''",
    'login zzz --config other.json',
    'login zzz --config broken.json',
    'login --forget',
    'login --forget a',
    'login zzz --forget',
  ])
  const { mcpServers } = JSON.parse(
    readFileSync(join(place.folder, 'home/.config/toolshelf/toolshelf.json'), 'utf8'),
  )
  expect(mcpServers).toMatchInlineSnapshot(`
    {
      "a": {
        "args": [
          "-y",
          "pkg",
          "--flag",
        ],
        "command": "npx",
      },
      "a b": {
        "command": "run",
      },
      "e": {
        "command": "run",
        "env": {
          "A": "1",
          "HOME": "\${HOME}",
          "NONE": "\${NONE}",
        },
      },
    }
  `)
})

test('users and their keys', () => {
  const place = newPlace()
  place.file('users.json', {
    profiles: { dev: {}, ops: {} },
    users: { ada: { profile: 'dev' } },
    oauth: { issuer: 'https://id.example' },
  })
  place.file('bad.json', { profiles: {}, users: {}, oauth: { issuer: 5 } })
  return session('users', place, [
    'users key',
    'users key --json',
    'users add ada --profile dev',
    'users key list x',
    'users key mint',
    'users add',
    'users add a b',
    "users add 'a b'",
    'users add ada --profile dev',
    'users add ada --label laptop --expires 90d',
    'users add ada --profile dev',
    'users add ben --json --expires 9998-12-31',
    'users add ben --expires 2001-01-01',
    'users add ben --expires 0d',
    'users add ben --expires 1234567h',
    'users add ben --expires 2030-12-31x',
    'users add ben --expires 5x',
    'users add ben --expires 9999999999w',
    'users add cat --profile dev',
    'users key',
    'users key revoke',
    'users key revoke x',
    'users key revoke x y',
    'users key --users none.json',
    'users key --users users.json',
    'users add eve --users users.json',
    'users add eve --users users.json --profile none',
    'users add eve --users users.json --profile ops',
    'users add ada --users users.json --profile ops',
    'users',
    'users list x',
    'users mint',
    'users set',
    'users set ada',
    'users set zoe --profile dev',
    'users set ada --profile none',
    'users import',
    'users import users.json x',
    'users import none.json',
    'users import bad.json',
    'users import users.json',
    'users remove ada',
    'users import users.json',
    'users set ada --profile ops',
    'users',
    'users remove',
    'users remove zoe',
    'users remove ben',
    'users --users users.json',
  ])
})

test('keys expire after hours, days or weeks', async () => {
  const place = newPlace()
  const hours: number[] = []
  for (const expires of ['1h', '2d', '3w', '100000h']) {
    const { out } = await runHere(place, ['users', 'add', 'ada', '--json', '--expires', expires])
    const { created, expires: end } = JSON.parse(out)
    hours.push(Math.round((Date.parse(end) - Date.parse(created)) / 3_600_000))
  }
  expect(hours).toEqual([1, 48, 504, 100_000])
})

test.skipIf(!redis)('credentials of users', () =>
  session(
    'credentials',
    newPlace({ TOOLSHELF_STORE: newPlaceIn(redis!), TOOLSHELF_SECRET_KEY: `${'k'.repeat(43)}=` }),
    [
      'users add ada',
      'users credentials',
      'users credentials --json',
      'users credentials list a b',
      'users credentials mint',
      'users credentials set',
      'users credentials set ada',
      'users credentials set ada hub',
      'users credentials set ada hub TOKEN x < v',
      'users credentials set ada hub TOKEN',
      'users credentials set ada hub 5x < v',
      'users credentials set ada hub TOKEN < ',
      'users credentials set ada hub TOKEN < a\nb',
      'users credentials set ada hub TOKEN < value\r\n',
      'users credentials set ada hub OTHER --json < value',
      'users credentials list',
      'users credentials list ben',
      'users credentials set https://id.example|ben hub TOKEN < value',
      'users credentials list https://id.example|ben',
      'users credentials --json',
      'users credentials rotate x',
      'users credentials rotate',
      'users credentials remove',
      'users credentials remove ada',
      'users credentials remove ada hub a b',
      'users credentials remove ada hub none',
      'users credentials remove ada hub OTHER',
      'users credentials remove ada hub --json',
      'users credentials remove ada hub',
      'users credentials set ada hub TOKEN < value',
      'users remove ada',
      'users credentials list',
      "users credentials --store ''",
    ],
  ),
)

test('trust and conversations', () => {
  const place = newPlace()
  mkdirSync(join(place.folder, 'sub'))
  place.file('.mcp.json', { mcpServers: { theirs: { command: 'run', args: ['--it'] } } })
  return session('safety', place, [
    'trust',
    'trust --json',
    'trust mint',
    'trust list',
    'trust --yes',
    'trust',
    'trust list --json',
    'trust zzz',
    'trust --rules',
    'trust forget',
    'trust list',
    'trust none',
    'chat --list',
    'chat --list --json',
    'chat --list --directory none',
    'chat --json',
  ])
})

test('searches of a catalogue, and evaluations', () => {
  const place = newPlace()
  const entry = (name: string, description: string) => JSON.stringify({ name, description, server: 'hub' })
  place.file(
    'tools.jsonl',
    [
      entry('create_issue', 'Creates an issue in a repository'),
      entry('list_issues', 'Lists the issues of a repository'),
      entry('send_mail', 'Sends a mail to a person'),
    ].join('\n'),
  )
  const query = (text: string, ...gold: string[]) => JSON.stringify({ query: text, gold })
  place.file(
    'queries.jsonl',
    [query('make an issue', 'create_issue'), query('post a letter', 'send_mail')].join('\n'),
  )
  place.file(
    'kinds.jsonl',
    [
      { query: 'make an issue', gold: ['create_issue'], kind: 'plain' },
      { query: 'issues', gold: ['list_issues'], kind: 'plain' },
      { query: 'zzz', gold: ['send_mail'] },
    ]
      .map((one) => JSON.stringify(one))
      .join('\n'),
  )
  place.file('bare.jsonl', JSON.stringify({ name: 'ping', description: 'Answers a ping' }))
  place.file('wrong.jsonl', '{"query":"x"}')
  return session('search', place, [
    'search',
    'search --catalog tools.jsonl',
    "search 'create an issue' --catalog tools.jsonl --ranker bm25",
    "search 'create an issue' --catalog tools.jsonl --ranker bm25 --limit 1 --json",
    "search 'zzz' --catalog tools.jsonl --ranker regex",
    "search 'create an issue' --catalog tools.jsonl --explain",
    "search 'make an issue' --catalog tools.jsonl --explain --limit 1",
    "search 'eine E-Mail senden' --catalog tools.jsonl --explain --json --limit 1",
    "search 'eine E-Mail senden' --catalog tools.jsonl --explain",
    "search 'select:send_mail,send_male,zzz' --catalog tools.jsonl",
    "search 'select:send_mail' --catalog tools.jsonl --explain",
    "search 'zzz' --catalog bare.jsonl --ranker bm25",
    "search 'ping' --catalog bare.jsonl --ranker bm25",
    "search 'ping' --catalog bare.jsonl --ranker bm25 --json",
    'search issue --catalog tools.jsonl --json --limit 1',
    'search issue --catalog tools.jsonl --ranker regex --explain',
    "search issue --catalog ''",
    'search issue --catalog none.jsonl',
    'search issue --catalog tools.jsonl --ranker none',
    'search issue --catalog tools.jsonl --limit 0',
    'search issue --catalog tools.jsonl --config x.json',
    'search issue --timeout 0',
    'search issue',
    'search issue --config none.json',
    'search --eval queries.jsonl --catalog tools.jsonl --ranker bm25,lexical',
    'search --eval queries.jsonl --catalog tools.jsonl --ranker bm25 --json',
    'search --eval kinds.jsonl --catalog tools.jsonl --ranker bm25 --ranker lexical',
    'search --eval kinds.jsonl --catalog tools.jsonl',
    "search --eval '' --catalog tools.jsonl",
    'search --eval wrong.jsonl --catalog tools.jsonl --ranker bm25',
    'search --eval queries.jsonl --catalog tools.jsonl --limit 3',
    'search issue --eval queries.jsonl --catalog tools.jsonl',
    'search issue --catalog tools.jsonl --ranker bm25 --ranker lexical',
    'doctor --timeout 0',
    "doctor --catalog ''",
    'doctor --config none.json',
    'doctor',
    'doctor x',
  ])
})

test('reports progress', async () => {
  const place = newPlace()
  place.file('script.json', {
    rules: [{ when: 'look', do: [{ call: 'Glob', input: { pattern: '*.json' } }] }],
    otherwise: 'hi',
  })
  place.file('tools.jsonl', JSON.stringify({ name: 'ping', description: 'Answers a ping' }))
  const queries = Array.from({ length: 51 }, () => JSON.stringify({ query: 'ping', gold: ['ping'] }))
  place.file('queries.jsonl', queries.join('\n'))
  const told = async (isInteractive: boolean, ...words: string[]) =>
    (await runHere(place, words, { isInteractive })).told.trim().split('\n')
  const evaluating = ['search', '--eval', 'queries.jsonl', '--catalog', 'tools.jsonl', '--ranker', 'bm25']
  const looking = ['run', 'look', '--script', 'script.json']
  expect([
    await told(true, ...evaluating),
    await told(false, ...evaluating),
    await told(true, ...looking),
    await told(true, ...looking, '--stream-json'),
    await told(false, ...looking),
  ]).toMatchInlineSnapshot(`
    [
      [
        "bm25: 50 of 51",
        "bm25: 51 of 51",
      ],
      [
        "",
      ],
      [
        "toolshelf run: asking toolshelf-script …",
        "toolshelf run: running Glob …",
      ],
      [
        "",
      ],
      [
        "",
      ],
    ]
  `)
})

/** The address of a server with these tools. */
const serving = (...names: string[]) =>
  serveHere(() => ({
    'tools/list': () => ({
      tools: names.map((name) => tool(name, { description: `Can ${name} an issue.` })),
    }),
  }))

test('servers that run', () => {
  const place = newPlace()
  const off = { url: 'http://127.0.0.1:1/', disabled: true }
  const mcpServers = {
    hub: { url: serving('create', 'close') },
    lab: { url: serving('list') },
    off,
    gone: { url: 'http://127.0.0.1:1/' },
    keyed: { url: 'http://127.0.0.1:1/', headers: { 'x-key': '${NEVER_SET_A}${NEVER_SET_B}' } },
  }
  place.file('all.json', { mcpServers })
  place.file('one.json', { mcpServers: { hub: mcpServers.hub } })
  place.file('off.json', { mcpServers: { off } })
  return session('running', place, [
    'list --config all.json',
    'list --config all.json --json --timeout 5',
    'list --config all.json --offline',
    'list --config one.json',
    'list --config off.json',
    'search close --config one.json',
    'search close --config one.json --json --ranker bm25',
    'doctor --config one.json --json --catalog found.jsonl',
    'doctor --config one.json --json --catalog none/found.jsonl',
    'doctor --config one.json --timeout 3600.5',
    'search create --catalog found.jsonl --json',
    'connect --from one.json --to mine.json --yes',
    'connect --from one.json --to mine.json --yes --json',
    'connect --from off.json --to mine.json --yes --json --no-start',
    'list --config mine.json --offline',
  ])
})

describe('options that are refused before anything starts', () => {
  const script = { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'hi' }
  test('of gateways', () => {
    const place = newPlace()
    place.file('script.json', script)
    place.file('empty.json', { mcpServers: {} })
    place.file('off.json', { mcpServers: { off: { command: 'none', disabled: true } } })
    return session('gateways', place, [
      'mcp x',
      'mcp --mode x',
      'mcp --ranker x',
      'mcp --port 5',
      'mcp --address 0.0.0.0',
      'mcp --users',
      'mcp --tls-cert x',
      'mcp --http --port x',
      'mcp --http --port 65536',
      'mcp --http --max-sessions 0 --config empty.json',
      ...['0', '05', '5x', 'x5', '10000000'].map(
        (sessions) => `mcp --http --port 0 --max-sessions ${sessions} --config off.json`,
      ),
      'mcp --audit-content',
      'serve x',
      'serve --port x',
      'serve --upstream x',
      'serve --upstream script:none.json',
      'serve --upstream script:',
      ...['42', '43.5', 'x', '43'].map((memory) => `serve --memory ${memory} --upstream script:none.json`),
      ...['99', '100', '0100', '999999999', '1000000000', '5x'].map(
        (results) => `serve --results ${results} --address 0.0.0.0 --port 0 --upstream script:script.json`,
      ),
      ...['a,=b', 'a=b=c', 'a=auto:5', 'a=auto:101', 'a=off+header', 'a=+header', 'a=pass'].map(
        (key) => `serve --key ${key} --mode off --upstream script:script.json --window x`,
      ),
      'serve --upstream script:script.json --mode pass',
      'serve --upstream script:script.json --port 0 --users none.json',
      'serve --upstream script:script.json --port 0 --prices none.json',
      'serve --upstream http://127.0.0.1:1 --wire x',
      'serve --mode x',
      'serve --share x',
      'serve --threshold x',
      'serve --tls-cert x',
      'serve --drain-delay x',
      'serve --wire x',
      'inspect x y',
      'inspect none.jsonl',
      'inspect --port x',
      'serve --',
      'serve --upstream x -- run',
      'serve --upstream script:script.json -- none-such-program',
      'serve --mode x -- run',
      'serve --wire x -- run',
      'serve --window x --upstream script:script.json -- run',
      'serve --mode pass --upstream script:script.json -- run',
      'serve --quiet --upstream script:script.json -- none-such-program',
      'serve --upstream script:script.json -- ./script.json',
      'connect x',
      'connect --apply --undo',
      'demo x',
      'demo --window x',
    ])
  })
  test('of agents', () => {
    const place = newPlace()
    place.file('script.json', script)
    place.file('prices.json', '{')
    return session('agents', place, [
      'run',
      'run hello',
      'run hello --json --stream-json --script script.json',
      'run hello --script none.json',
      'run hello --script script.json --base-url http://127.0.0.1:1',
      'run hello --base-url x',
      'run hello --script script.json --window x',
      'run hello --script script.json --window 0',
      'run hello --script script.json --allow (',
      'run hello --script script.json --prices none.json',
      'run hello --script script.json --prices prices.json',
      'run hello --script script.json --directory none',
      'run hello --script script.json --resume none',
      'run hello --script script.json --skills x',
      'chat',
      'chat x',
      'chat --script script.json',
      'chat --window x --script script.json',
    ])
  })
})
