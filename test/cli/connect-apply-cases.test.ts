// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf connect --apply` and `--undo` in whole stories: everything that is asked, printed, reported and written.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type Answers, madeUpMachine } from './support/made-up-machine.ts'

const CLAUDE = '.claude.json'
const CURSOR = '.cursor/mcp.json'
const CODE = '.config/Code/User/mcp.json'
const OWN = '.config/toolshelf/toolshelf.json'

type Machine = ReturnType<typeof madeUpMachine>
type Step = readonly [words: string, answers?: Answers] | ((machine: Machine) => unknown)

/** Answers one question after the other. */
const answering = (...answers: readonly string[]): Answers => {
  const left = [...answers]
  return () => left.shift() ?? 'n'
}

/** Runs the steps on a machine of their own; a line starts with what it is: > asked, | printed, ! reported. */
async function story(title: string, files: { readonly [path: string]: unknown }, ...steps: readonly Step[]) {
  const machine = madeUpMachine()
  for (const [path, content] of Object.entries(files))
    machine.write(path, typeof content === 'string' ? content : JSON.stringify(content))
  const lines = [`# ${title}`]
  for (const step of steps) {
    if (typeof step === 'function') await step(machine)
    else lines.push(...(await run(machine, ...step)))
  }
  return lines
    .join('\n')
    .replaceAll(machine.root, '')
    .replaceAll(/Expected property name .*(?=\. The)/g, 'NOT JSON')
    .replaceAll(/on \d{4}-\d\d-\d\d/g, 'on DATE')
    .replaceAll(/\d{10,}(?:-[\w]+)*?-(?=edited)/g, 'TIME-')
}

async function run(machine: Machine, words: string, answers?: Answers): Promise<string[]> {
  const started: string[] = []
  const marked = (mark: string, text: string) =>
    text === '' ? [] : text.split('\n').map((line) => `${mark} ${line}`.trimEnd())
  try {
    const { code, printed, told, asked } = await machine.import(
      words.split(' ').filter(Boolean),
      answers,
      started,
    )
    return [
      `$ ${words} → ${code}${started.length > 0 ? `, starts ${started.join(', ')}` : ''}`,
      ...[...marked('>', asked.join('\n')), ...marked('|', printed), ...marked('!', told)],
    ]
  } catch (error) {
    const thrown = error as Error
    return [`$ ${words} → ${thrown.constructor.name}`, ...marked('!', thrown.message)]
  }
}

const server = (command: string, more: object = {}) => ({ command, ...more })
const many = (...names: readonly string[]) => ({
  mcpServers: Object.fromEntries(names.map((name) => [name, server(name)])),
})
const edit =
  (path: string, change: (text: string) => string): Step =>
  (machine) =>
    machine.write(path, change(machine.read(path)))

test('moves servers of several clients', async () => {
  const files = {
    [CLAUDE]: {
      mcpServers: {
        gh: server('gh', { args: ['--key', 'sk-0123456789abcdef'], env: { TOKEN: 'sk-abcdef0123456789' } }),
        kept: server('kept'),
        other: server('other'),
        off: server('off', { disabled: true }),
        'odd one': { type: 'http', url: 'https://odd.test/mcp' },
        keyed: { type: 'http', url: 'https://keyed.test/mcp', headers: { Authorization: 'Bearer x' } },
        lost: server('${NOT_SET}'),
        broken: { command: 5 },
      },
    },
    [CURSOR]: {
      mcpServers: {
        gh: server('gh', { args: ['--other'] }),
        mine: server('mine', { env: { A: '${env:UNSET}' } }),
      },
    },
    [CODE]: {
      inputs: [{ id: 'pass', type: 'promptString' }],
      servers: { asking: server('ask', { env: { PASS: '${input:pass}' } }) },
    },
    [OWN]: { mcpServers: { kept: server('kept'), other: server('different') } },
    '../project/.mcp.json': { mcpServers: { shared: server('shared', { cwd: '${workspaceFolder}' }) } },
  }
  const stories = [
    await story('asked and refused', files, ['--apply', answering('n', 'ye', '')]),
    await story(
      'all, into another file',
      files,
      ['--apply --yes --to ../tools.json'],
      ['--apply --yes --json --to ../tools.json'],
    ),
    await story('into our file', files, ['--apply --yes'], ['--apply --yes'], ['--undo --yes --json']),
  ]
  await expect(`${stories.join('\n\n')}\n`).toMatchFileSnapshot('connect/apply.txt')
})

test('asks, or says why it does not', async () => {
  const files = { [CURSOR]: many('a'), [CLAUDE]: many('b'), '../project/.mcp.json': many('c') }
  const stories = [
    await story(
      'answers',
      files,
      ['--apply', answering('xyes', ' Y ')],
      ['--apply --json'],
      ['--apply', 'yes'],
    ),
    await story('nobody to ask', files, ['--apply'], ['--apply --json'], ['--undo']),
    await story(
      'as JSON',
      files,
      ['--apply --json --yes --no-start'],
      ['--undo --json'],
      ['--undo --json --yes'],
    ),
    await story(
      'already set up',
      { [CURSOR]: many('a'), [CLAUDE]: many('b') },
      ['--apply --yes'],
      [''],
      ['--apply'],
      ['--from ../home/.cursor/mcp.json'],
      (machine) => rmSync(machine.own),
      [''],
    ),
    await story(
      'without servers',
      { [CURSOR]: { mcpServers: {} } },
      ['--apply'],
      ['--apply --json'],
      ['--undo'],
    ),
    await story('one of ours already', { [CURSOR]: many('a'), [OWN]: many('a') }, ['--apply --yes']),
    await story('our file is damaged', { [CURSOR]: many('a'), [OWN]: '{' }, ['--apply --yes'], ['--yes']),
    await story('our file is empty', { [CURSOR]: many('a'), [OWN]: ' \n' }, ['--apply --yes']),
  ]
  await expect(`${stories.join('\n\n')}\n`).toMatchFileSnapshot('connect/answers.txt')
})

test('takes named files alone', async () => {
  const files = {
    [CURSOR]: many('a'),
    [OWN]: many('o'),
    'broken.json': '{',
    '../project/.mcp.json': many('c'),
  }
  const stories = [
    await story(
      'from named files',
      files,
      ['--apply --yes --from .mcp.json'],
      [
        '--apply --yes --from ../home/broken.json --from none.json --from ../home/.config/toolshelf/toolshelf.json',
      ],
      ['--apply --yes --from='],
      ['--apply --undo'],
      ['--apply --force'],
      ['--apply --trust-project'],
      ['--undo --yes --from none.json'],
      ['--undo --yes --from .mcp.json'],
    ),
    await story(
      'plan alone',
      files,
      ['--json'],
      ['', 'n'],
      ['--yes'],
      ['--yes'],
      ['--from ../home/broken.json'],
    ),
  ]
  await expect(`${stories.join('\n\n')}\n`).toMatchFileSnapshot('connect/named.txt')
})

test('says how servers differ that look the same', async () => {
  const run = (more: object) => server('npx', { args: ['-y', 'pkg'], ...more })
  const remote = (more: object) => ({ type: 'http', url: 'https://x.test/mcp', ...more })
  const pairs: { readonly [title: string]: readonly [object, object] } = {
    values: [run({ env: { A: '1', B: '2', SAME: 's' } }), run({ env: { A: '3', C: '4', SAME: 's' } })],
    words: [run({ args: ['-y', 'pkg', '--a', '--b'] }), run({ args: ['-y', 'pkg', '--c'] })],
    order: [run({ args: ['-y', 'pkg', '-a', '-b'] }), run({ args: ['-y', 'pkg', '-b', '-a'] })],
    more: [run({ args: ['-y', 'pkg', 'sk-0123456789abcdef'] }), run({})],
    place: [run({ cwd: '/a' }), run({ cwd: '/b' })],
    folder: [run({ cwd: '/a' }), run({})],
    headers: [remote({ headers: { 'X-A': '1' } }), remote({ headers: { 'X-A': '2', 'X-B': '1' } })],
    query: [remote({ url: 'https://x.test/mcp?a=1' }), remote({ url: 'https://x.test/mcp?a=2' })],
    long: [run({ args: ['-y', 'pkg', 'a'.repeat(150)] }), run({ args: ['-y', 'pkg', 'b'.repeat(150)] })],
    settings: [run({ timeout: 1 }), run({ disabled: true })],
    secret: [
      run({ args: ['-y', 'pkg', '--x=sk-0123456789abcdef'], env: { T_TOKEN: 'sk-0123456789abcdef' } }),
      run({ args: ['-y', 'pkg', '--x=sk-abcdef0123456789'], env: { T_TOKEN: 'sk-abcdef0123456789' } }),
    ],
  }
  const stories: string[] = []
  for (const [title, [one, other]] of Object.entries(pairs))
    stories.push(
      await story(title, { [CLAUDE]: { mcpServers: { s: one } }, [CURSOR]: { mcpServers: { s: other } } }, [
        '',
      ]),
    )
  const told = stories.map((text) =>
    text
      .split('\n')
      .filter((line) => /^#|differs/.test(line))
      .join('\n'),
  )
  await expect(`${told.join('\n')}\n`).toMatchFileSnapshot('connect/alike.txt')
})

test('shows the lines that change, with limits', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `s${index}`)
  const texts: { readonly [title: string]: string } = {
    'one line': '{"mcpServers":{"a":{"command":"x"},  "b":{"command":"y"} } , "z": 1}',
    'one line, kept': '{"mcpServers": { "a": {"command": 5}, "b": {"command": "y"}, "c": {"command": 6} }}',
    'spread, kept':
      '{\n  "mcpServers": {\n    "a": { "command": "x" },\n    "b": { "command": 5 } , \n    "c": { "command": "z" }\n  }\n}\n',
    windows:
      '{\r\n  "mcpServers": {\r\n    "a": { "command": "x" },\r\n    "b": { "command": 5 }\r\n  }\r\n}\r\n',
    long: JSON.stringify(many(...names), null, 2),
    wide: JSON.stringify({ mcpServers: { a: server('x', { args: ['w'.repeat(300)] }) } }),
    empty: '{"mcpServers":{}}',
  }
  const stories: string[] = []
  for (const [title, text] of Object.entries(texts))
    stories.push(await story(title, { [CURSOR]: text }, ['--apply', 'n']))
  // 76 lines of 19 servers and the lines around them.
  for (const count of [19, 20])
    stories.push(
      await story(`${count}`, { [CURSOR]: JSON.stringify(many(...names.slice(0, count)), null, 2) }, [
        '--apply',
        'n',
      ]).then((shown) => shown.split('\n').slice(-6).join('\n')),
    )
  await expect(`${stories.join('\n\n')}\n`).toMatchFileSnapshot('connect/changes.txt')
})

test('undoes what it can, and says what it leaves', async () => {
  const files = { [CURSOR]: many('a', 'b'), [CLAUDE]: many('c') }
  const applied: Step = (machine) => machine.import(['--apply', '--yes', '--no-start'])
  const elsewhere = edit(CURSOR, (text) => text.replace('{', '{"editor": true, '))
  const inside = edit(CURSOR, (text) => text.replace('"toolshelf"', '"edited"'))
  const gone: Step = (machine) => rmSync(machine.path(CURSOR))
  const ownEdited = edit(OWN, (text) => text.replace('"a"', '"renamed"'))
  const blocked: Step = ({ journal }) => {
    mkdirSync(dirname(journal), { recursive: true })
    writeFileSync(journal, '')
  }
  const spoiled: Step = ({ journal }) => {
    for (const name of readdirSync(journal))
      if (name.endsWith('.json')) writeFileSync(join(journal, name), '{')
  }
  const stories = [
    await story(
      'asked',
      files,
      applied,
      ['--undo', answering('n', 'xyes')],
      ['--undo', answering('yes', 'Y')],
    ),
    await story('edited elsewhere', files, applied, elsewhere, ['--undo --yes']),
    await story('edited elsewhere, as JSON', files, applied, elsewhere, ['--undo --yes --json']),
    await story('servers edited', files, applied, inside, ['--undo --yes'], ['--undo --force', 'y']),
    await story('servers edited, as JSON', files, applied, inside, ['--undo --yes --json']),
    await story('deleted', files, applied, gone, ['--undo --yes'], ['--undo --yes --force']),
    await story('ours edited', files, applied, ownEdited, ['--undo --yes']),
    await story('ours deleted', files, applied, (machine) => rmSync(machine.own), ['--undo --yes']),
    await story(
      'ours as before',
      { ...files, [OWN]: many('o') },
      applied,
      edit(OWN, () => JSON.stringify(many('o'))),
      ['--undo --yes'],
    ),
    await story('ours existed', { ...files, [OWN]: many('o') }, applied, ['--undo --yes']),
    await story(
      'put back by hand',
      files,
      applied,
      edit(CURSOR, () => JSON.stringify(many('a', 'b'))),
      ['--undo --yes --json'],
    ),
    await story(
      'all put back by hand',
      { [CURSOR]: many('a') },
      applied,
      edit(CURSOR, () => JSON.stringify(many('a'))),
      (machine) => rmSync(machine.own),
      ['--undo --yes'],
    ),
    await story('none of the named', files, applied, ['--undo --yes --from a.json --from b.json']),
    await story('one of two', files, applied, ['--undo --yes --from ../home/.claude.json'], ['--undo --yes']),
    await story('nobody to ask', files, applied, ['--undo'], ['--undo --json']),
    await story('spoiled records', files, applied, spoiled, ['--undo --yes']),
    await story('no place for records', files, blocked, ['--apply --yes']),
  ]
  await expect(`${stories.join('\n\n')}\n`).toMatchFileSnapshot('connect/undo.txt')
})

test('reports files that it could not change, and keeps the rights of ours', async () => {
  const machine = madeUpMachine()
  machine.write(CURSOR, JSON.stringify(many('a')))
  machine.write(CLAUDE, JSON.stringify(many('b')))
  machine.write(OWN, JSON.stringify(many('o')), 0o640)
  const lines = await run(machine, '--apply', (question) => {
    if (question.includes(CURSOR)) machine.write(CURSOR, JSON.stringify(many('a', 'new')))
    return 'y'
  })
  expect(lines.join('\n').replaceAll(machine.root, '')).toMatchInlineSnapshot(`
    "$ --apply → 1, starts b, a
    > Change /home/.claude.json? [y/N]
    > Change /home/.cursor/mcp.json? [y/N]
    | server  client       runs  state
    | ──────  ───────────  ────  ─────
    | b       Claude Code  b     new
    | a       Cursor       a     new
    |
    | All clients changed here will see all 3 servers of /home/.config/toolshelf/toolshelf.json: o, b, a.
    | To keep a client apart, give it a file of its own: toolshelf connect --apply --from <its file> --to <another file>
    |
    | Claude Code: /home/.claude.json
    |   - "b":{"command":"b"}
    |   + "toolshelf": { "command": "/opt/node/bin/node", "args": [ "/opt/lib/node_modules/toolshelf/dist/cli/main.js", "mcp" ] }
    |
    | Cursor: /home/.cursor/mcp.json
    |   - "a":{"command":"a"}
    |   + "toolshelf": { "command": "/opt/node/bin/node", "args": [ "/opt/lib/node_modules/toolshelf/dist/cli/main.js", "mcp" ] }
    |
    | Changed /home/.claude.json
    | Your servers are in /home/.config/toolshelf/toolshelf.json
    | Restart Claude Code.
    | "toolshelf connect --undo" puts everything back.
    ! /home/.cursor/mcp.json is not changed: it has changed meanwhile; run the command again."
  `)
  const modeOfOwn = () => statSync(machine.own).mode & 0o777
  expect(modeOfOwn()).toBe(0o600)
  expect(JSON.parse(readFileSync(machine.own, 'utf8'))).toEqual(many('o', 'a', 'b'))
  await run(machine, '--undo --yes')
  expect([modeOfOwn(), machine.read(OWN)]).toEqual([0o640, JSON.stringify(many('o'))])
  const locked = madeUpMachine()
  locked.write(CURSOR, JSON.stringify(many('a')), 0o444)
  locked.write(CLAUDE, JSON.stringify(many('b')))
  expect(
    (await run(locked, '--apply --yes --json')).join('\n').replaceAll(locked.root, ''),
  ).toMatchInlineSnapshot(`
    "$ --apply --yes --json → 1, starts b, a
    | {"to":"/home/.config/toolshelf/toolshelf.json","files":[{"file":"/home/.claude.json","clients":["Claude Code"],"servers":["b"],"isWritten":true},{"file":"/home/.cursor/mcp.json","clients":["Cursor"],"servers":["a"],"isWritten":false,"problem":"it is read-only; make it writable first"}],"staying":[]}"
  `)
  const program = (script: string) => {
    const other = madeUpMachine()
    other.write(CURSOR, JSON.stringify(many('a')))
    Object.assign(other.machine, { program: script === '' ? undefined : ['/node', script] })
    return run(other, '--apply --yes').then(
      (all) =>
        `${all[0]} ${all.filter((line) => line.startsWith('!'))} ${existsSync(other.own) && other.read(CURSOR)}`,
    )
  }
  expect([
    await program(''),
    await program('/x/main.ts'),
    await program('/home/.npm/_npx/1/main.js'),
    await program('C:\\_npx\\main.js'),
    await program('/x_npx/main.js'),
  ]).toMatchInlineSnapshot(`
    [
      "$ --apply --yes → 0, starts a  {"mcpServers":{"toolshelf": { "command": "toolshelf", "args": [ "mcp" ] }}}",
      "$ --apply --yes → CommandError ! /x/main.ts needs a TypeScript loader, which your clients do not have. Run "npm run build" and use dist/cli/main.js. false",
      "$ --apply --yes → 0, starts a ! /home/.npm/_npx/1/main.js is in npm's cache, which may be cleaned. "npm install -g" makes it stay. {"mcpServers":{"toolshelf": { "command": "/node", "args": [ "/home/.npm/_npx/1/main.js", "mcp" ] }}}",
      "$ --apply --yes → 0, starts a ! C:\\_npx\\main.js is in npm's cache, which may be cleaned. "npm install -g" makes it stay. {"mcpServers":{"toolshelf": { "command": "/node", "args": [ "C:\\\\_npx\\\\main.js", "mcp" ] }}}",
      "$ --apply --yes → 0, starts a  {"mcpServers":{"toolshelf": { "command": "/node", "args": [ "/x_npx/main.js", "mcp" ] }}}",
    ]
  `)
})
