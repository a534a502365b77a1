// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Commands as people type them, one after the other in one folder: exit code, output and reports of each. Without the usage
// behind a mistake, which is the same for every command (laws.test.ts).
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runHere } from '../../../packages/testkit/src/cli-here.ts'
import { newPlaceIn, startRedis } from '../../../packages/testkit/src/store-servers.ts'
import { serveHere } from '../../mcp/support/server-here.ts'
import { tool } from '../../mcp/support/small-servers.ts'
import { here, newPlace, type Place } from './place.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

async function ran(place: Place, line: string): Promise<string[]> {
  const { code, out, told } = await here(place, line)
  const marked = (mark: string, text: string) =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((one) => `${mark} ${one}`.trimEnd())
  const problem = code === 2 ? told.replace(/\nUsage: [\s\S]*/, '') : told
  return [`$ ${line} → ${code}`, ...marked('|', out), ...marked('!', problem)]
}

/** Without what differs each time and by version of Node: folders, times, keys, mistakes in JSON. */
const steady = (place: Place, text: string) =>
  text
    .replaceAll(place.folder, '')
    .replaceAll(/(?<=sessions\/)-[\w-]+/g, 'FOLDER')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?/g, 'TIME')
    .replaceAll(/"command": "[^"]+", "args": \[ "[^"]+\.js", "mcp" \]/g, 'PROGRAM')
    .replaceAll(/Expected property name .*/g, 'NOT JSON')
    .replaceAll(/127\.0\.0\.1:\d{5}/g, 'HOST')
    .replaceAll(/tsk_[0-9a-f]{16}_[\w-]+/g, 'tsk_KEY')
    .replaceAll(/\b(?:[0-9a-f]{16}|[0-9a-f]{64})\b/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g, 'TIME')

async function session(name: string, place: Place, lines: string) {
  const shown: string[] = []
  for (const line of lines.split('\n').map((one) => one.trim()))
    if (line) shown.push(...(await ran(place, line)))
  await expect(`${steady(place, shown.join('\n'))}\n`).toMatchFileSnapshot(`sessions/${name}.txt`)
}

const script = { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'hi' }

test('servers of a configuration', async () => {
  const place = newPlace()
  place.file('broken.json', '{')
  await session(
    'servers',
    place,
    `
    list
    doctor --check
    list --json --offline
    remove a
    add a -- npx -y pkg --flag
    add a -- other
    add b https://b.test/mcp --header 'X-Key: \${KEY}'
    add e --env A=1 -e HOME -e NONE -- run
    add 'a b' -- run
    add j --config other.json -- run
    list --offline
    list --offline --json
    list --offline --config other.json
    doctor --check
    doctor --check --json
    doctor --check --config broken.json
    doctor --check --config other.json --config none.json
    remove bb
    remove b
    remove b
    remove j --config other.json
    remove j --config broken.json
    list --offline
    login zzz
    login a
    login 'a b'
    login b --user ada
    login zzz --config broken.json
    login --forget a
    login zzz --forget`,
  )
  const own = readFileSync(join(place.folder, 'home/.config/toolshelf/toolshelf.json'), 'utf8')
  expect(JSON.parse(own).mcpServers).toEqual({
    a: { command: 'npx', args: ['-y', 'pkg', '--flag'] },
    'a b': { command: 'run' },
    e: { command: 'run', env: { A: '1', HOME: '${HOME}', NONE: '${NONE}' } },
  })
})

test('users and their keys', () => {
  const place = newPlace()
  place.file('users.json', {
    profiles: { dev: {}, ops: {} },
    users: { ada: { profile: 'dev' } },
    oauth: { issuer: 'https://id.example' },
  })
  place.file('bad.json', { profiles: {}, users: {}, oauth: { issuer: 5 } })
  return session(
    'users',
    place,
    `
    users
    users key
    users key --json
    users add ada --profile dev
    users add 'a b'
    users add ada --label laptop --expires 90d
    users add ada --profile dev
    users add ben --json --expires 9998-12-31
    users key
    users key revoke x
    users key --users none.json
    users key --users users.json
    users add eve --users users.json
    users add eve --users users.json --profile none
    users add eve --users users.json --profile ops
    users add ada --users users.json --profile ops
    users
    users set zoe --profile dev
    users set ada --profile none
    users import none.json
    users import bad.json
    users import users.json
    users remove ada
    users import users.json
    users set ada --profile ops
    users
    users remove zoe
    users remove ben
    users --users users.json`,
  )
})

test('keys expire after hours, days or weeks', async () => {
  const place = newPlace()
  const hours: number[] = []
  for (const expires of ['1h', '2d', '3w', '100000h']) {
    const { created, expires: end } = JSON.parse(
      (await here(place, `users add ada --json --expires ${expires}`)).out,
    )
    hours.push(Math.round((Date.parse(end) - Date.parse(created)) / 3_600_000))
  }
  expect(hours).toEqual([1, 48, 504, 100_000])
})

test.skipIf(!redis)('credentials of users', () =>
  session(
    'credentials',
    newPlace({ TOOLSHELF_STORE: newPlaceIn(redis!), TOOLSHELF_SECRET_KEY: `${'k'.repeat(43)}=` }),
    `
    users add ada
    users credentials
    users credentials --json
    users credentials list a b
    users credentials mint
    users credentials set ada hub
    users credentials set ada hub TOKEN x < v
    users credentials remove ada
    users credentials rotate x
    users credentials set ada hub TOKEN
    users credentials set ada hub TOKEN < a\nb
    users credentials set ada hub 5x < v
    users credentials set ada hub TOKEN < value
    users credentials set ada hub OTHER --json < value
    users credentials list
    users credentials list ben
    users credentials set https://id.example|ben hub TOKEN < value
    users credentials list https://id.example|ben
    users credentials --json
    users credentials rotate
    users credentials remove ada hub none
    users credentials remove ada hub OTHER
    users credentials remove ada hub --json
    users credentials remove ada hub
    users credentials set ada hub TOKEN < value
    users remove ada
    users credentials list`,
  ),
)

test('trust and conversations', () => {
  const place = newPlace()
  place.file('.mcp.json', { mcpServers: { theirs: { command: 'run', args: ['--it'] } } })
  return session(
    'trust',
    place,
    `
    trust
    trust --json
    trust list
    trust --yes
    trust
    trust list --json
    trust zzz
    trust --rules
    trust forget
    trust list
    chat --list
    chat --list --json
    chat --list --directory none`,
  )
})

test('searches of a catalogue, and evaluations', () => {
  const place = newPlace()
  const lines = (...objects: object[]) => objects.map((one) => JSON.stringify(one)).join('\n')
  const entry = (name: string, description: string) => ({ name, description, server: 'hub' })
  place.file(
    'tools.jsonl',
    lines(
      entry('create_issue', 'Creates an issue in a repository'),
      entry('list_issues', 'Lists the issues of a repository'),
      entry('send_mail', 'Sends a mail to a person'),
    ),
  )
  place.file(
    'kinds.jsonl',
    lines(
      { query: 'make an issue', gold: ['create_issue'], kind: 'plain' },
      { query: 'issues', gold: ['list_issues'], kind: 'plain' },
      { query: 'zzz', gold: ['send_mail'] },
    ),
  )
  place.file('bare.jsonl', JSON.stringify({ name: 'ping', description: 'Answers a ping' }))
  place.file('wrong.jsonl', '{"query":"x"}')
  place.file(
    'odd.jsonl',
    `\uFEFF${lines({ name: 'ping' }, { name: 'ping' }, { name: 'b', description: 5 }, { name: 'c', server: 5 })}\n5\n`,
  )
  place.file('broken.jsonl', `${lines({ name: 'ping' })}${'\n{'.repeat(12)}`)
  place.file(
    'unclear.jsonl',
    lines(
      { query: 5, gold: ['ping'] },
      { query: 'ping', gold: ['ping'], acceptable: 5 },
      { query: 'ping', gold: ['ping'] },
    ),
  )
  return session(
    'search',
    place,
    `
    search 'create an issue' --catalog tools.jsonl --ranker bm25 --limit 1
    search 'create an issue' --catalog tools.jsonl --ranker bm25 --limit 1 --json
    search zzz --catalog tools.jsonl --ranker regex
    search 'make an issue' --catalog tools.jsonl --explain --limit 1
    search 'eine E-Mail senden' --catalog tools.jsonl --explain
    search select:send_mail,send_male,zzz --catalog tools.jsonl
    search ping --catalog bare.jsonl --ranker bm25
    search --eval kinds.jsonl --catalog tools.jsonl --ranker bm25 --json
    search --eval kinds.jsonl --catalog tools.jsonl --ranker bm25 --ranker lexical
    search --eval wrong.jsonl --catalog tools.jsonl --ranker bm25
    search --eval unclear.jsonl --catalog bare.jsonl --ranker bm25 --json
    search ping --catalog odd.jsonl --ranker bm25
    search ping --catalog broken.jsonl --ranker bm25`,
  )
})

test('servers that run', () => {
  const place = newPlace()
  const serving = (...names: string[]) =>
    serveHere(() => ({
      'tools/list': () => ({
        tools: names.map((name) => tool(name, { description: `Can ${name} an issue.` })),
      }),
    }))
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
  place.file('gone.json', { mcpServers: { off, gone: mcpServers.gone } })
  return session(
    'running',
    place,
    `
    list --config all.json
    list --config all.json --json --timeout 5
    list --config all.json --offline
    list --config off.json
    list --config gone.json
    search close --config one.json
    search close --config one.json --json --ranker bm25
    connect --from one.json --to mine.json --yes
    connect --from one.json --to mine.json --yes --json
    connect --from off.json --to mine.json --yes --json --no-start
    list --config mine.json --offline`,
  )
})

test('servers of clients', () => {
  const place = newPlace()
  mkdirSync(join(place.folder, 'home/.cursor'))
  mkdirSync(join(place.folder, 'home/.gemini'))
  const files = { command: 'npx', args: ['-y', 'files', '~/notes'] }
  place.file('home/.cursor/mcp.json', { mcpServers: { files, mail: { url: 'https://mail.test/mcp' } } })
  place.file('home/.gemini/settings.json', {
    theme: 'dark',
    mcpServers: { files, mail: { command: 'mail' } },
  })
  place.file('broken.json', '{')
  return session(
    'connect',
    place,
    `
    connect --no-start
    connect --apply --no-start
    connect --apply --yes --no-start
    connect --apply --yes --no-start
    list --offline
    connect --undo
    connect --undo --yes
    connect --undo --yes
    connect --from broken.json --to other.json --yes
    connect --from none.json --to other.json --apply --yes`,
  )
})

/** Only the message of each, in a line. */
async function mistakes(name: string, place: Place, lines: string) {
  const shown: string[] = []
  for (const line of lines.split('\n').map((one) => one.trim())) {
    if (line === '') continue
    const { code, out, told } = await here(place, line)
    const [command = ''] = line.split(' ')
    const problems = told
      .replace(/\nUsage: [\s\S]*/, '')
      .trim()
      .replaceAll(`toolshelf ${command}: `, '')
    expect([line, out]).toEqual([line, ''])
    shown.push(`${code} ${line.replaceAll(/\p{Cc}/gu, '␛')}: ${problems.replaceAll('\n', ' ¶ ')}`)
  }
  await expect(`${steady(place, shown.join('\n'))}\n`).toMatchFileSnapshot(`mistakes/${name}.txt`)
}

test('mistakes of gateways', () => {
  const place = newPlace()
  place.file('script.json', script)
  place.file('broken.json', '{')
  place.file('wrong.json', { rules: [{ do: [{ sya: 'x' }] }] })
  place.file('off.json', { mcpServers: { off: { command: 'none', disabled: true } } })
  const numbers = (command: string, ...values: string[]) =>
    values.map((value) => command.replace('#', value)).join('\n')
  return mistakes(
    'gateways',
    place,
    `
    mcp x
    mcp --mode x
    mcp --ranker x
    mcp --port 5
    mcp --address 0.0.0.0
    mcp --users
    mcp --tls-cert x
    mcp --http --port x
    mcp --http --port 65536
    ${numbers('mcp --http --port 0 --max-sessions # --config off.json', '0', '05', '5x', '10000000')}
    mcp --audit-content
    serve x
    serve --port x
    serve --upstream x
    serve --upstream script:none.json
    serve --upstream script:
    ${numbers('serve --memory # --upstream script:none.json', '42', '43.5', 'x', '43')}
    ${numbers('serve --results # --address 0.0.0.0 --port 0 --upstream script:script.json', '99', '100', '0100', '1000000000')}
    ${numbers('serve --key # --mode off --upstream script:script.json --window x', 'a,=b', 'a=b=c', 'a=auto:101', 'a=off+header', 'a=+header', 'a=pass')}
    serve --upstream script:script.json --mode pass
    serve --upstream script:script.json --port 0 --users none.json
    serve --upstream script:script.json --port 0 --prices none.json
    serve --mode x
    serve --mode auto:101
    serve --upstream ftp://host
    serve --upstream openai:nonsense
    serve --upstream script:broken.json
    serve --upstream script:wrong.json
    serve --upstream openai:http://127.0.0.1:1 --wire native
    serve --upstream script:script.json --key =shelve
    serve --upstream script:script.json --key hidden=best
    serve --wire x
    serve --window=-5
    serve --window 0000
    serve --tls-cert x
    serve --upstream script:script.json --tls-ca x
    mcp --http --config off.json --oauth-audience x
    mcp --http --config off.json --public-url https://x.test/?y
    mcp --http --config off.json --public-url ftp://x.test
    mcp --http --config off.json --store nonsense://x
    mcp --http --config off.json --port 0 --users none.json
    mcp --config off.json --audit=
    serve --drain-delay x
    serve --
    serve --upstream x -- run
    serve --upstream script:script.json -- none-such-program
    serve --mode x -- run
    serve --window x --upstream script:script.json -- run
    serve --mode pass --upstream script:script.json -- run
    serve --upstream script:script.json -- ./script.json
    inspect x y
    inspect --port x`,
  )
})

test('mistakes of the other commands', () => {
  const place = newPlace({ TOOLSHELF_SECRET_KEY: `${'k'.repeat(43)}=` })
  mkdirSync(join(place.folder, 'home/.config/toolshelf'), { recursive: true })
  place.file('home/.config/toolshelf/users.json', { profiles: {}, users: {} })
  place.file('broken.json', '{')
  place.file('script.json', script)
  place.file('tools.jsonl', JSON.stringify({ name: 'ping' }))
  place.file('queries.jsonl', JSON.stringify({ query: 'ping', gold: ['ping'] }))
  return mistakes(
    'others',
    place,
    `
    add
    add a
    add c https://c.test/mcp --env A=1
    add d --header 'X: y' -- run
    add f --env =1 -- run
    add g https://g.test/mcp -H nonsense
    add h ftp://h.test
    add h https:/h.test
    add h https://h.test more
    add h -e 1=v -- run
    add h -- toolshelf mcp
    add 'h\u001b' -- run
    add '' -- run
    add i --config broken.json -- run
    add i --config script.json/inside.json -- run
    chat
    chat x
    chat --json
    chat --script script.json
    connect x
    connect --apply --undo
    demo x
    doctor
    doctor x
    doctor --timeout 0
    doctor --timeout 3600.5
    doctor --catalog ''
    doctor --config none.json
    list extra
    list --timeout 0
    list --timeout x
    list --offline --config none.json
    list --offline --config broken.json
    login
    login b --port 0
    login b --port 65536
    login b --port 5.5
    remove
    remove a b
    run
    run hello
    run hello --json --stream-json --script script.json
    run hello --script none.json
    run hello --script script.json --base-url http://127.0.0.1:1
    run hello --base-url x
    run hello --script script.json --window x
    run hello --script script.json --allow (
    run hello --script script.json --prices none.json
    run hello --script script.json --prices broken.json
    run hello --script script.json --directory none
    run hello --script script.json --resume none
    run hello --script script.json --skills x
    search
    search issue
    search issue --catalog ''
    search issue --catalog none.jsonl
    search issue --catalog tools.jsonl --ranker none
    search issue --catalog tools.jsonl --ranker regex --explain
    search issue --catalog tools.jsonl --ranker bm25 --ranker lexical
    search issue --catalog tools.jsonl --limit 0
    search issue --catalog tools.jsonl --limit=-5
    search issue --catalog tools.jsonl --config x.json
    search issue --timeout 0
    search issue --config none.json
    search --eval '' --catalog tools.jsonl
    search --eval queries.jsonl --catalog tools.jsonl --ranker bm25,lexical
    search --eval queries.jsonl --catalog tools.jsonl --limit 3
    search issue --eval queries.jsonl --catalog tools.jsonl
    trust list more
    trust forget one two three
    trust mint
    users mint
    users list x
    users add
    users add a b
    users add ben --expires 2001-01-01
    users add ben --expires 0d
    users add ben --expires 1234567h
    users add ben --expires 2030-12-31x
    users add ben --expires 9999999999w
    users set ada
    users import
    users remove
    users key list x
    users key mint
    users key revoke
    users key revoke x y
    users credentials
    users credentials --store ''`,
  )
})

test('reports progress to a person only', async () => {
  const place = newPlace()
  place.file('script.json', {
    rules: [{ when: 'look', do: [{ call: 'Glob', input: { pattern: '*.json' } }] }],
    otherwise: 'hi',
  })
  place.file('tools.jsonl', JSON.stringify({ name: 'ping', description: 'Answers a ping' }))
  const queries = Array.from({ length: 51 }, () => JSON.stringify({ query: 'ping', gold: ['ping'] }))
  place.file('queries.jsonl', queries.join('\n'))
  const told = async (isInteractive: boolean, line: string) =>
    (await runHere(place, line.split(' '), { isInteractive })).told
  const evaluating = 'search --eval queries.jsonl --catalog tools.jsonl --ranker bm25'
  const looking = 'run look --script script.json'
  expect(await told(true, evaluating)).toBe('bm25: 50 of 51\nbm25: 51 of 51\n')
  expect(await told(true, looking)).toBe(
    'toolshelf run: asking toolshelf-script …\ntoolshelf run: running Glob …\n',
  )
  const silent = [
    await told(false, evaluating),
    await told(false, looking),
    await told(true, `${looking} --stream-json`),
  ]
  expect(silent).toEqual(['', '', ''])
})
