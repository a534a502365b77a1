// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Commands as people type them, one after the other in one folder: exit code, output and reports of each.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { everyCommand } from '../../src/cli/main.ts'
import { runHere } from '../support/cli-here.ts'
import { newPlace, type Place } from '../terminal/support.ts'

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
    'learned extra',
  ]))

test('servers of a configuration', () => {
  const place = newPlace()
  place.file('broken.json', '{')
  return session('servers', place, [
    'list',
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
    'config',
    'config --json',
    'config check',
    'config check --json',
    'config check broken.json',
    'config check other.json none.json',
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
    'logout',
    'logout a',
    'logout zzz',
  ])
})

test('keys and users', () => {
  const place = newPlace()
  place.file('users.json', {
    profiles: { dev: {}, ops: {} },
    users: { ada: { profile: 'dev' } },
    oauth: { issuer: 'https://id.example' },
  })
  place.file('bad.json', { profiles: {}, users: {}, oauth: { issuer: 5 } })
  return session('users', place, [
    'keys',
    'keys --json',
    'keys list x',
    'keys mint',
    'keys create',
    'keys create a b',
    "keys create 'a b'",
    'keys create ada --profile dev',
    'keys create ada --label laptop --expires 90d',
    'keys create ada --profile dev',
    'keys create ben --json --expires 9998-12-31',
    'keys create ben --expires 2001-01-01',
    'keys create ben --expires 0d',
    'keys create ben --expires 5x',
    'keys create ben --expires 9999999999w',
    'keys create cat --profile dev',
    'keys',
    'keys revoke',
    'keys revoke x',
    'keys revoke x y',
    'keys --users none.json',
    'keys --users users.json',
    'keys create eve --users users.json',
    'keys create eve --users users.json --profile none',
    'keys create eve --users users.json --profile ops',
    'keys create ada --users users.json --profile ops',
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
    'users set ada --profile ops',
    'users',
    'users remove',
    'users remove zoe',
    'users remove ben',
    'users --users users.json',
    'users --store file:store',
    'users import users.json --store file:store',
    'users set ada --profile ops --store file:store',
    'users --store file:store',
    'users remove ada --store file:store',
  ])
})

test('credentials of users', () =>
  session(
    'credentials',
    newPlace({ TOOLSHELF_STORE: 'file:store', TOOLSHELF_SECRET_KEY: `${'k'.repeat(43)}=` }),
    [
      'credentials',
      'credentials --json',
      'credentials list a b',
      'credentials mint',
      'credentials set',
      'credentials set ada',
      'credentials set ada hub',
      'credentials set ada hub TOKEN x < v',
      'credentials set ada hub TOKEN',
      'credentials set ada hub 5x < v',
      'credentials set ada hub TOKEN < ',
      'credentials set ada hub TOKEN < a\nb',
      'credentials set ada hub TOKEN < value\r\n',
      'credentials set ada hub OTHER --json < value',
      'credentials list',
      'credentials list ben',
      'credentials --json',
      'credentials rotate x',
      'credentials rotate',
      'credentials remove',
      'credentials remove ada',
      'credentials remove ada hub a b',
      'credentials remove ada hub none',
      'credentials remove ada hub OTHER',
      'credentials remove ada hub --json',
      'credentials remove ada hub',
      "credentials --store ''",
    ],
  ))

test('rules, trust, pins and what was learned', () => {
  const place = newPlace()
  mkdirSync(join(place.folder, 'sub'))
  place.file('.mcp.json', { mcpServers: { theirs: { command: 'run', args: ['--it'] } } })
  return session('safety', place, [
    'permissions',
    'permissions allow',
    "permissions allow 'Bash(git status*)'",
    "permissions allow 'Bash(git status*)'",
    'permissions deny Write --here',
    'permissions ask Edit --directory sub --here',
    'permissions allow (',
    'permissions mint X',
    'permissions allow A B',
    'permissions',
    'permissions --json',
    'permissions --directory sub',
    'permissions --directory none',
    'permissions remove Write',
    'permissions remove Write --here',
    'permissions remove Write --here',
    'permissions',
    'trust',
    'trust --json',
    'trust mint',
    'trust list',
    'trust --yes',
    'trust',
    'trust list --json',
    'trust forget',
    'trust list',
    'trust none',
    'pins',
    'pins --json',
    'pins show',
    'pins show zzz',
    'pins accept',
    'pins accept zzz',
    'pins forget',
    'pins forget zzz',
    'pins mint',
    'pins --folder sub',
    'learned',
    'learned --json',
    'learned forget',
    'learned mint',
    'sessions',
    'sessions --json',
    'sessions --directory none',
    'sessions x',
  ])
})

test('searches of a catalogue, and evaluations', () => {
  const place = newPlace()
  const tool = (name: string, description: string) => JSON.stringify({ name, description, server: 'hub' })
  place.file(
    'tools.jsonl',
    [
      tool('create_issue', 'Creates an issue in a repository'),
      tool('list_issues', 'Lists the issues of a repository'),
      tool('send_mail', 'Sends a mail to a person'),
    ].join('\n'),
  )
  const query = (text: string, ...gold: string[]) => JSON.stringify({ query: text, gold })
  place.file(
    'queries.jsonl',
    [query('make an issue', 'create_issue'), query('post a letter', 'send_mail')].join('\n'),
  )
  place.file('wrong.jsonl', '{"query":"x"}')
  return session('search', place, [
    'search',
    'search --catalog tools.jsonl',
    "search 'create an issue' --catalog tools.jsonl --ranker bm25",
    "search 'create an issue' --catalog tools.jsonl --ranker bm25 --limit 1 --json",
    "search 'zzz' --catalog tools.jsonl --ranker regex",
    'search issue --catalog none.jsonl',
    'search issue --catalog tools.jsonl --ranker none',
    'search issue --catalog tools.jsonl --limit 0',
    'search issue --catalog tools.jsonl --config x.json',
    'search issue --timeout 0',
    'search issue',
    'search issue --config none.json',
    'eval',
    'eval --catalog tools.jsonl',
    'eval --queries queries.jsonl',
    'eval --catalog tools.jsonl --queries queries.jsonl --rankers bm25,lexical',
    'eval --catalog tools.jsonl --queries queries.jsonl --ranker bm25 --json',
    'eval --catalog tools.jsonl --queries wrong.jsonl --ranker bm25',
    'eval --catalog tools.jsonl --queries queries.jsonl --ranker none',
    'eval --catalog tools.jsonl --queries queries.jsonl --limit x',
    'replay',
    'replay none.jsonl',
    'replay tools.jsonl',
    'replay a b',
    'doctor --timeout 0',
    "doctor --html ''",
    "doctor --catalog ''",
    'doctor --config none.json',
    'doctor',
    'doctor x',
    'completion',
    'completion csh',
    'completion bash zsh',
  ])
})

describe('options that are refused before anything starts', () => {
  const script = { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'hi' }
  test('of gateways', () => {
    const place = newPlace()
    place.file('script.json', script)
    place.file('empty.json', { mcpServers: {} })
    return session('gateways', place, [
      'mcp x',
      'mcp',
      'mcp --config none.json',
      'mcp --config empty.json',
      'mcp --mode x',
      'mcp --ranker x',
      'mcp --port 5',
      'mcp --address 0.0.0.0',
      'mcp --users',
      'mcp --tls-cert x',
      'mcp --http --port x',
      'mcp --http --port 65536',
      'mcp --http --max-sessions 0 --config empty.json',
      'mcp --audit-content',
      'serve x',
      'serve --port x',
      'serve --upstream x',
      'serve --upstream script:none.json',
      'serve --mode x',
      'serve --share x',
      'serve --threshold x',
      'serve --tls-cert x',
      'serve --drain-delay x',
      'serve --wire x',
      'inspect x y',
      'inspect none.jsonl',
      'inspect --port x',
      'wrap',
      'wrap --upstream x -- run',
      'wrap --upstream script:script.json -- none-such-program',
      'wrap --mode x -- run',
      'import x',
      'import --apply --undo',
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
      'run hello --script script.json --describe x',
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
