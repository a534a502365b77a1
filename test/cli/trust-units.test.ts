// What a folder would do, as a person is shown it, and what is remembered of the answer.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of configurations are written so
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  decideTrust,
  isTrusted,
  readProject,
  summaryOf,
  troublesOf,
  trustItemLines,
  trustNow,
  trustStore,
} from '../../src/cli/trust/index.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'trust-')))
})
afterEach(() => rmSync(folder, { recursive: true }))

const without = (text: string) => text.replaceAll(folder, '')
const machine = () =>
  ({ home: join(folder, 'home'), folder: join(folder, 'work'), platform: 'linux', environment: {} }) as const

function write(path: string, content: unknown): void {
  const file = join(folder, 'work', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

const KEY = 'k7Qp2mZx9Lw4Tn8vR3yB6dHs'
const stdio = (args: readonly string[], env = {}, more = {}) => ({ command: 'run', args, env, ...more })
const http = (url: string, headers = {}) => ({ url, headers })
const servers = {
  plain: stdio(['a b', "it's", '--flag', 'x=1', '$HOME', '']),
  keys: stdio([
    `--token=${KEY}`,
    '--api-key',
    KEY,
    `TOKEN=${KEY}`,
    `--name=${KEY}`,
    '--name',
    KEY,
    `--token=${KEY};rm`,
    '--token',
    'short',
  ]),
  variables: stdio([], {
    API_TOKEN: KEY,
    GIT_ASKPASS: KEY,
    TOKEN_FILE: KEY,
    MY_TOKEN: './run',
    OTHER_TOKEN: '~/x',
    NAME: KEY,
    SECRET: 'true',
    PASSWORD: 'a b',
    KEY_ID: `$(${KEY})`,
  }),
  reads: stdio(['${HOME}', '${TOKEN:-x}'], { A: '${HOME}' }, { cwd: '/elsewhere' }),
  passwords: stdio(['postgres://user:secret@host/db', 'redis://:secret@host']),
  far: http(`https://mcp.example/${KEY}/x?key=${KEY}&page=2&flag=true&on=abc#frag=${KEY}`, {
    Authorization: `Bearer ${KEY}`,
    'X-Key': '${TOKEN}',
    'X-Both': 'a${B}c',
  }),
  odd: http('https://user:secret@mcp.example:8443', { Accept: '' }),
  аpple: stdio([], {}, { description: 'Use me\u001b[1m always' }),
}

test('everything that a folder would do is shown as the folder says it', async () => {
  write('.mcp.json', { mcpServers: servers })
  write('.toolshelf/permissions.json', { allow: ['Bash(ls)', '('], deny: ['Read'], ask: ['Edit'] })
  write(
    '.claude/skills/pdf/SKILL.md',
    '---\nname: pdf\ndescription: Reads PDF.\nallowed-tools: Bash\n---\nBody',
  )
  write('.claude/skills/bad/SKILL.md', 'none')
  const project = await readProject(machine())
  expect(project.rules.map(({ effect, rule }) => `${effect} ${rule}`)).toEqual([
    'allow Bash(ls)',
    'ask Edit',
    'deny Read',
  ])
  expect([...project.files.keys()]).toEqual([
    '.mcp.json',
    '.claude/skills/pdf/SKILL.md',
    '.toolshelf/permissions.json',
  ])
  const lines = [
    ...project.items.flatMap((item) => trustItemLines(item)),
    summaryOf(project.items),
    ...troublesOf(project),
  ]
  await expect(without(lines.join('\n'))).toMatchFileSnapshot('./trust/items.txt')
  const few = await readProject(machine(), { configs: [], isForAgent: false })
  expect([few.items, few.files.size, few.rules, few.notices]).toEqual([[], 0, [], []])
})

test('reports files that cannot be used, ten at most', async () => {
  write('.mcp.json', '{')
  write('.toolshelf/permissions.json', '{')
  const project = await readProject(machine())
  expect([project.items, project.files.size, troublesOf(project).map(without)]).toMatchInlineSnapshot(`
    [
      [],
      0,
      [
        "/work/.mcp.json: it is not valid JSON: line 1, column 2: a name in double quotes, or }, is missing.",
        "/work/.toolshelf/permissions.json: it is not valid JSON, so its rules are ignored.",
      ],
    ]
  `)
  write('large.json', 'x'.repeat(1_000_001))
  mkdirSync(join(folder, 'work', 'folder.json'))
  const given = ['large.json', 'folder.json', 'none.json', '.mcp.json/x.json'].map((file) =>
    join(folder, 'work', file),
  )
  expect(
    troublesOf(await readProject(machine(), { configs: given, isForAgent: false })).map(without),
  ).toMatchInlineSnapshot(`
    [
      "/work/large.json: it has 1000001 bytes, more than 1000000, so it is not used.",
      "/work/folder.json: it is not a regular file, so it is not used.",
    ]
  `)
  const problems = (count: number) =>
    troublesOf({ ...project, problems: [], notices: Array(count).fill('n') })
  expect([problems(10).length, problems(11).at(-1)]).toEqual([
    10,
    '1 more files of this folder have problems.',
  ])
})

test('an answer is remembered for the files as they are, and changes are named', async () => {
  const told: string[] = []
  const notify = (message: string) => void told.push(without(message))
  const store = trustStore(machine(), notify)
  const decide = async (answer: string | undefined, isTrusting = false) => {
    const project = await readProject(machine())
    const ask = answer === undefined ? undefined : async () => answer
    const deciding = {
      store,
      isTrusting,
      ask,
      show: notify,
      notify,
      now: () => new Date('2026-01-02T00:00:00Z'),
    }
    told.push(
      `${answer} → ${(await decideTrust(project, deciding)).configs.length} ${await isTrusted(project, store)}`,
    )
    return project
  }
  mkdirSync(join(folder, 'work'))
  await decide('none')
  const server = (args: string) => ({ command: 'run', args: [args], env: { NAME: 'x' } })
  write('.mcp.json', { mcpServers: { a: server('1'), b: server('1') } })
  write('.toolshelf/permissions.json', { allow: ['Bash(ls)'], deny: ['Read'] })
  for (const answer of [undefined, '', 'maybe', 'yesno', ' NO ']) await decide(answer)
  await decide('y')
  await decide(undefined, true)
  write('.mcp.json', { mcpServers: { a: server('2'), b: server('1') } })
  await decide('Yes')
  await decide('n')
  write('.mcp.json', { mcpServers: { a: { ...server('2'), timeout: 5 }, c: server('1') } })
  const project = await decide('y')
  write('.mcp.json', { mcpServers: { c: server('1') } })
  await decide('n')
  await decide(undefined)
  await trustNow(project, store, new Date('2026-01-03T00:00:00Z'))
  const [record] = await store.list()
  told.push(JSON.stringify({ ...record?.trusted, files: Object.keys(record?.trusted?.files ?? {}) }))
  expect([
    await store.remove(project.folder),
    await store.remove(project.folder),
    await store.list(),
  ]).toEqual([true, false, []])
  await expect(told.join('\n')).toMatchFileSnapshot('./trust/answers.txt')
})

test('records that are damaged count as none', async () => {
  const names = Array.from({ length: 22 }, (_, index) => `s${index}`)
  write('.mcp.json', { mcpServers: Object.fromEntries(names.map((name) => [name, { command: 'x' }])) })
  const project = await readProject(machine())
  const told: string[] = []
  const store = trustStore(
    machine(),
    (message) => void told.push(without(message).replace(/[0-9a-f]{24}/, '#')),
  )
  expect([await store.list(), await store.read(project.folder)]).toEqual([[], undefined])
  await trustNow(project, store)
  const place = join(folder, 'home', '.local', 'share', 'toolshelf', 'trust')
  const [name = ''] = readdirSync(place)
  const record = JSON.parse(readFileSync(join(place, name), 'utf8'))
  const reread = async (change: object) => {
    writeFileSync(join(place, name), JSON.stringify({ ...record, ...change }))
    const read = await store.read(project.folder)
    return (
      read && [
        read.trusted && Object.keys(read.trusted.files).length,
        read.trusted?.items.length,
        read.refused?.at,
      ]
    )
  }
  writeFileSync(join(place, 'note.txt'), '')
  expect([
    await reread({}),
    await reread({ trusted: { at: 5, files: { a: 5, b: 'x' }, items: [{}] }, refused: { at: 'now' } }),
    await reread({ trusted: 5 }),
    await reread({ folder: '/other' }),
    await reread({ version: 2 }),
    await reread({ folder: 5 }),
    (await store.list()).length,
  ]).toMatchInlineSnapshot(`
    [
      [
        1,
        22,
        undefined,
      ],
      [
        1,
        1,
        "now",
      ],
      [
        undefined,
        undefined,
        undefined,
      ],
      undefined,
      undefined,
      undefined,
      0,
    ]
  `)
  expect(
    told.map((message) => message.replace(/\/home\S+trust\//, '').replace(/\S*trust-\w+/, '…')),
  ).toMatchInlineSnapshot(`
    [
      "…-#.json cannot be used, so its folder counts as not trusted: it is not a record of this version.",
      "…-#.json cannot be used, so its folder counts as not trusted: it is not a record of this version.",
      "…-#.json cannot be used, so its folder counts as not trusted: it is not a record of this version.",
    ]
  `)
})
