// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Our own file, references to the environment, and what is wrong: one bad entry never harms another.
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import { runs } from '../../packages/testkit/src/runs.ts'

const root = mkdtempSync(join(tmpdir(), 'toolshelf-config-'))
const home = join(root, 'home')
let count = 0

function write(content: unknown, path = `${count++}/toolshelf.json`): string {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const read = (files: string | readonly string[], environment: { [name: string]: string } = {}) =>
  readConfig([files].flat(), environment, { home, folder: root })

/** One server, its file and the problems reported. */
async function readOne(server: unknown, environment: { [name: string]: string } = {}) {
  const file = write({ mcpServers: { one: server } })
  const { servers, problems } = await read(file, environment)
  const messages = problems.map(({ message }) => message)
  return { server: servers[0], file, messages, kinds: problems.map(({ kind }) => kind) }
}

it('H8 what references stood for is known, so that it can be hidden; folders and defaults are not among it', async () => {
  const args = ['${KEY}', '--at=${workspaceFolder}', '${MODE:-quiet}', '${OTHER:-x${INNER}}']
  const { server } = await readOne({ command: 'x', args, env: { A: '${KEY}' } }, { KEY: 'k-1', INNER: 'i-1' })
  expect({ ...server?.variables }).toEqual({ KEY: 'k-1', INNER: 'i-1' })
})

it('H9 an entry cannot say whom the user trusts, and a folder not how changes are held', async () => {
  const entry = { command: 'x', trustAnnotations: true }
  const text = JSON.stringify({ mcpServers: { one: entry }, gateway: { onChange: 'report' } })
  const own = await readConfig([{ file: join(root, '.mcp.json'), text }], {}, { home })
  expect(own.servers[0]).not.toHaveProperty('trustAnnotations')
  expect(own.problems[0]?.message).toContain('add "readonly:<server>" to "allow" in your permissions.json')
  const users = { file: join(root, 'mine.json'), text: '{"gateway":{"onChange":"hold"}}' }
  const project = await readConfig([{ file: join(root, '.mcp.json'), text, folder: root }], {}, { home })
  const hash = createHash('sha256').update(text).digest('hex')
  expect(project.servers[0]).toMatchObject({ name: 'one', folder: { path: root, hash } })
  expect(own.servers[0]).not.toHaveProperty('folder')
  expect(project.problems.map(({ message }) => message)).toEqual([
    expect.stringContaining('an entry cannot say whom you trust'),
    expect.stringContaining('"onChange" counts only in your own configuration'),
  ])
  const folder = { file: join(root, '.mcp.json'), text, folder: root }
  expect((await readConfig([folder, users], {}, { home })).settings.onChange).toBe('hold')
})

describe('our own file', () => {
  it('has always-loaded tools, patterns, hints, time-outs, lazy start and settings of the gateway', async () => {
    const file = write({
      $schema: 'toolshelf.schema.json',
      mcpServers: {
        one: {
          command: 'x',
          alwaysLoad: false,
          lazy: true,
          description: ' About. ',
          tools: { a: { alwaysLoad: true, hint: 'words' }, constructor: { hint: 'b' } },
          allow: ['get_*'],
          deny: ['get_secret'],
          connectTimeout: 5,
          callTimeout: 1e12,
        },
      },
      gateway: { mode: 'bridge', onChange: 'hold', instructions: 0, concurrency: 2 },
    })
    const { servers, settings, problems } = await read(file)
    expect(problems).toEqual([])
    expect(settings).toEqual({
      mode: 'bridge',
      onChange: 'hold',
      instructions: 0,
      concurrency: 2,
      resultBudget: 25_000,
      batches: false,
      scripts: false,
    })
    expect(servers).toEqual([
      expect.objectContaining({
        alwaysLoad: false,
        lazy: true,
        description: 'About.',
        tools: { a: { alwaysLoad: true, hint: 'words' }, constructor: { hint: 'b' } },
        allow: ['get_*'],
        deny: ['get_secret'],
        connectTimeoutMs: 5,
        callTimeoutMs: 2 ** 31 - 1,
        source: file,
      }),
    ])
  })

  it('has defaults, and no tool that was not named', async () => {
    const { servers, settings } = await read(write({ mcpServers: { one: { command: 'x' } } }))
    expect(settings).toEqual({
      mode: 'auto',
      onChange: 'report',
      instructions: 4096,
      concurrency: 4,
      resultBudget: 25_000,
      batches: false,
      scripts: false,
    })
    expect(servers[0]).toMatchObject({ connectTimeoutMs: 60_000, callTimeoutMs: 120_000 })
    expect(servers[0]?.tools.constructor).toBeUndefined()
  })

  it.each([
    [
      { command: 'x', alwaysload: true },
      'unknown key "alwaysload"; did you mean "alwaysLoad"? It is ignored.',
    ],
    [{ command: 'x', zzz: 1 }, 'unknown key "zzz". It is ignored.'],
    [{ command: 'x', lazy: 'yes' }, '"lazy" must be true or false; it is ignored.'],
    [
      { command: 'x', callTimeout: 0 },
      '"callTimeout" must be a number of milliseconds above 0; it is ignored.',
    ],
    [{ command: 'x', env: ['A=1'] }, '"env" must be an object of texts; it is ignored.'],
    [{ command: 'x', type: 'ws' }, '"type" must be one of "stdio", "http", "sse", "auto"; it is ignored.'],
    [{ command: 'x', type: 'http' }, '"type" is "http", but it has no "url"; its "command" is used.'],
    [{ command: 'x', tools: { a: { pin: 1 } } }, 'for the tool "a", unknown key "pin". It is ignored.'],
    [{ command: 'x', tools: { a: true } }, 'the tool "a" must be an object; it is ignored.'],
    [{ url: 'http://x', type: 'stdio' }, '"type" is "stdio", but it has no "command"; its "url" is used.'],
    [
      { url: 'http://x', command: 'x' },
      'it has a "command" and a "url"; the command is used. Keep one of them.',
    ],
  ])('uses a server in spite of %j', async (given, message) => {
    const { server, messages } = await readOne(given)
    expect(server).toBeDefined()
    expect(messages).toEqual([message])
  })

  it.each([
    [{}, 'it has neither a "command" nor a "url"; it is left out.'],
    [{ command: ' ' }, 'it has neither a "command" nor a "url"; it is left out.'],
    [{ command: 7 }, '"command" must be a text; the server is left out.'],
    [{ command: 'x', args: '-y' }, '"args" must be a list of texts; the server is left out.'],
    [{ command: 'x', args: [{}] }, '"args" must be a list of texts; the server is left out.'],
    [{ url: 'ws://x' }, '"url" must start with http:// or https://; the server is left out.'],
    [
      { url: 'http://127.0.0.1:99999/mcp' },
      '"url" is not a valid URL; check its host and its port, which is at most 65535. The server is left out.',
    ],
    [{ command: '${A:-}' }, '"command" is empty; the server is left out.'],
    ['npx x', 'it must be an object; it is left out.'],
  ])('leaves out %j, and the others stay', async (given, message) => {
    const file = write({ mcpServers: { one: given, other: { command: 'x' } } })
    const { servers, problems } = await read(file)
    expect(servers.map(({ name }) => name)).toEqual(['other'])
    expect(problems).toEqual([{ file, server: 'one', message }])
  })

  it('reports what is wrong with the rest of the file', async () => {
    const { settings, problems } = await read(
      write({ mcpserver: {}, mcpServers: { ' ': {} }, gateway: { mode: 'fast', concurrency: 1.5, mod: 1 } }),
    )
    expect(settings).toMatchObject({ mode: 'auto', concurrency: 4 })
    expect(problems.map(({ message }) => message)).toEqual([
      'unknown key "mcpserver"; did you mean "mcpServers"? It is ignored.',
      'a server has no name; it is left out.',
      'in "gateway", "mode" must be one of "auto", "list", "bridge"; it is ignored.',
      'in "gateway", "concurrency" must be a whole number from 1; it is ignored.',
      'in "gateway", unknown key "mod"; did you mean "mode"? It is ignored.',
    ])
  })

  it.each([
    { command: 'npx', args: ['-y', 'toolshelf', 'mcp'] },
    { command: 'npx', args: ['toolshelf@1.2.3', 'mcp', '--config', 'x'] },
    { command: '/usr/bin/toolshelf', args: ['mcp'] },
    { command: 'node', args: ['/x/node_modules/toolshelf/main.js', 'mcp'] },
    { command: 'node', args: ['/x/toolshelf/packages/cli/dist/main.js', 'mcp'] },
    { command: 'sh', args: ['-c', 'exec toolshelf mcp'] },
  ])('never starts itself: %j', async (given) => {
    const { server, messages, kinds } = await readOne(given)
    expect(server).toBeUndefined()
    expect(messages).toEqual(['it is Toolshelf itself; it is left out.'])
    expect(kinds).toEqual(['own-entry'])
  })
})

describe('references to the environment', () => {
  it.each([
    ['${A}', 'one'],
    ['x${A}y${A}', 'xoneyone'],
    ['${NONE:-else}', 'else'],
    ['${NONE:-}', ''],
    ['${A:-else}', 'one'],
    ['${EMPTY:-else}', ''],
    ['${NONE:-${A}}', 'one'],
    ['${NONE:-{"a":1}}', '{"a":1}'],
    ['$${A}', '${A}'],
    ['$A ${1} ${A%x} ${}', '$A ${1} ${A%x} ${}'],
    ['${VALUE}', '${A} $& $1'],
  ])('%j → %j', async (text, expanded) => {
    const { server } = await readOne(
      { command: 'x', args: [text], env: { E: text } },
      { A: 'one', EMPTY: '', VALUE: '${A} $& $1' },
    )
    expect(server?.transport).toMatchObject({ args: [expanded], env: { E: expanded } })
  })

  it('a variable that is not set leaves the server out and is named', async () => {
    const { server, messages } = await readOne({
      url: 'https://${HOST}/${constructor}',
      headers: { A: 'secret ${KEY}', B: '${HOST}' },
    })
    expect(server).toBeUndefined()
    expect(messages).toEqual(
      ['HOST', 'constructor', 'KEY'].map(
        (name) => `the environment variable ${name} is not set. The server is left out until it is.`,
      ),
    )
  })

  it('those of a disabled server, and of keys that are not used, are not asked for', async () => {
    const disabled = await readOne({ command: 'x', args: ['${NONE}'], disabled: true })
    expect(disabled).toMatchObject({ server: { disabled: true }, messages: [] })
    expect(await readOne({ command: 'x', headers: { A: '${NONE}' } })).toMatchObject({ messages: [] })
  })

  it('paths: home, the folder of the file, PATH', async () => {
    const at = async (command: string, cwd: string) => {
      const { server, file } = await readOne({ command, cwd, args: ['~/a', './b'] })
      return { ...server?.transport, folder: dirname(file) }
    }
    const home1 = await at('~/bin/x', '~')
    expect(home1).toMatchObject({ command: join(home, 'bin/x'), cwd: home, args: ['~/a', './b'] })
    const relative = await at('../bin/x', 'data')
    expect(relative).toMatchObject({ command: join(root, 'bin/x'), cwd: join(relative.folder, 'data') })
    expect(await at('x', '/tmp')).toMatchObject({ command: 'x', cwd: '/tmp' })
  })
})

it('a file of more than a thousand servers is refused as a whole', async () => {
  const fileOf = (count: number) =>
    write({
      mcpServers: Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${at}`, { command: 'x' }])),
    })
  expect(await read(fileOf(1000))).toMatchObject({ servers: { length: 1000 }, problems: [] })
  const file = fileOf(1001)
  const message =
    'it has 1001 servers; at most 1000 are allowed. Run several gateways with fewer servers each.'
  expect(await read(file)).toMatchObject({ servers: [], problems: [{ file, message }] })
})

describe('several files', () => {
  it('the first of two with one name counts, and the other is reported', async () => {
    const first = write({
      mcpServers: { a: { command: 'x' }, b: { command: 'x' } },
      gateway: { mode: 'list' },
    })
    const second = write({
      mcpServers: { a: { command: 'y' }, c: { command: 'z' } },
      gateway: { mode: 'bridge', concurrency: 9 },
    })
    const { servers, settings, problems } = await read([first, second])
    expect(servers.map(({ name, source }) => [name, source])).toEqual([
      ['a', first],
      ['b', first],
      ['c', second],
    ])
    expect(settings).toMatchObject({ mode: 'list', concurrency: 9 })
    expect(problems).toEqual([
      {
        file: second,
        server: 'a',
        message: `another server has this name in ${first} and is used instead. Rename one to have both.`,
      },
    ])
  })

  it('the same definition twice is one server, without a word', async () => {
    const server = { command: 'x', args: ['a'], env: { A: '1' } }
    const files = [
      write({ mcpServers: { a: { ...server, env: { A: 1 } } } }),
      write({ servers: { ' a ': { ...server, type: 'stdio' } } }, 'same/mcp.json'),
      write({ mcpServers: { a: server } }, 'same/.mcp.json'),
    ]
    const { servers, problems } = await read(files)
    expect(servers).toHaveLength(1)
    expect(problems).toEqual([])
  })

  it('reports a file that is missing, unreadable or broken, and uses the others', async () => {
    const missing = join(root, 'none', 'toolshelf.json')
    const json = write('{\n  "mcpServers": { "a": secret }\n}')
    const toml = write('[mcp_servers.a]\ncommand = secret', 'broken.toml')
    const list = write([1])
    const nothing = write({ theme: 'dark' }, 'settings.json')
    const good = write({ mcpServers: { a: { command: 'x' } } })
    const { servers, problems } = await read([missing, root, json, toml, list, nothing, good])
    expect(servers.map(({ name }) => name)).toEqual(['a'])
    expect(problems).toEqual([
      { file: missing, message: 'no such file.' },
      { file: root, message: 'it cannot be read (EISDIR).' },
      { file: json, message: 'it is not valid JSON: line 2, column 24: unexpected character.' },
      { file: toml, message: expect.stringMatching(/^it is not valid TOML: line 2, column \d+\.$/) },
      { file: list, message: 'it is not a JSON object.' },
      {
        file: nothing,
        message: 'it has no MCP servers; Toolshelf looks for "mcpServers".',
        kind: 'no-servers',
      },
    ])
  })
})

describe('whatever a file holds', () => {
  const key = fc.constantFrom(
    ...'mcpServers servers mcp mcp_servers context_servers projects gateway command args env url headers type'.split(
      ' ',
    ),
    ...'tools cwd timeout env_vars env_http_headers enabled_tools oauth __proto__ constructor a'.split(' '),
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'medium' }, tie('leaf'), tie('list'), tie('object')),
    leaf: fc.oneof(
      fc.jsonValue({ maxDepth: 0 }),
      fc.constantFrom('local', '${X}', '${input:x}', '~/x', root),
    ),
    list: fc.array(tie('tree'), { maxLength: 3 }),
    object: fc
      .array(fc.tuple(key, tie('tree')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries)),
  }))

  it('H1 any JSON value is read without an error', async () => {
    const file = write('', 'any.json')
    await fc.assert(
      fc.asyncProperty(fc.oneof(tree, fc.jsonValue()), async (value) => {
        writeFileSync(file, JSON.stringify(value))
        const { servers, settings, problems } = await read(file)
        expect(settings.concurrency).toBeGreaterThan(0)
        for (const { name, transport } of servers) {
          expect(name.trim()).not.toBe('')
          expect(transport.kind === 'stdio' ? transport.command : transport.url).not.toBe('')
        }
        for (const { message } of problems) expect(message).toMatch(/\.$/)
      }),
      { numRuns: runs(60) },
    )
  })

  it('any text is read without an error', async () => {
    const file = write('', 'any-text')
    const token = fc.constantFrom(
      ...'{ } [ ] , : " \\ // /* */ \n true 1 "a" = [mcp_servers.a] command'.split(' '),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.array(token).map((tokens) => tokens.join('')),
        ),
        async (text) => {
          writeFileSync(file, text)
          expect(await read(file)).toHaveProperty('servers')
        },
      ),
      { numRuns: runs(40) },
    )
  })
})
