// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in configurations
// Small parts of reading and writing configurations, by tables: references, descriptions, rules, and edits to the byte.
import { describe, expect, it } from 'vitest'
import {
  addServers,
  bindWorkspace,
  describeTransport,
  expand,
  idleRules,
  isAllowed,
  moveServers,
  onOneLine,
  readConfig,
  removeServer,
  restoreServers,
  serverNames,
  variablesIn,
  withWorkspace,
} from '../../src/mcp/config/index.ts'

describe('references', () => {
  const environment = { A: 'a', EMPTY: '', NESTED: '${A}' }
  it.each<[string, string, string[], string[], string[]]>([
    ['${A}', 'a', [], ['A'], []],
    ['x${A}y${A}z', 'xayaz', [], ['A', 'A'], []],
    ['${EMPTY}', '', [], ['EMPTY'], []],
    ['${EMPTY:-b}', '', [], ['EMPTY'], []],
    ['${NONE}', '${NONE}', ['NONE'], [], []],
    ['${NONE:-b}', 'b', [], [], []],
    ['${NONE:-}', '', [], [], []],
    ['${NONE:-${A}}', 'a', [], ['A'], []],
    ['${NONE:-${OTHER}}', '${OTHER}', ['OTHER'], [], []],
    ['${NONE:-${file:x}}', '${file:x}', [], [], ['${file:…}']],
    ['${NESTED}', '${A}', [], ['NESTED'], []],
    ['$${A}', '${A}', [], [], []],
    ['$A {A} ${1} ${}', '$A {A} ${1} ${}', [], [], []],
    ['${command:secret}', '${command:secret}', [], [], ['${command:…}']],
    ['${toString}', '${toString}', ['toString'], [], []],
  ])('%s', (text, expanded, missing, used, foreign) => {
    const found = expand(text, environment)
    expect([found.text, found.missing, found.used.map(([name]) => name), found.foreign]).toEqual([
      expanded,
      missing,
      used,
      foreign,
    ])
  })

  it.each<[string, string[]]>([
    ['${A} ${B:-${C}} ${A}', ['A', 'B', 'C']],
    ['$${A} ${file:x} ${workspaceFolder}', []],
    ['${B:-x}', ['B']],
  ])('the variables in %s', (text, names) => expect(variablesIn(text)).toEqual(names))

  it('the workspace', () => {
    expect(withWorkspace({ A: 'a' }, '/w/project')).toEqual({
      A: 'a',
      workspaceFolder: '/w/project',
      workspaceFolderBasename: 'project',
    })
    expect(
      bindWorkspace('${workspaceFolder}/x ${workspaceFolderBasename} ${A} $${workspaceFolder}', '/w/p'),
    ).toBe('/w/p/x p ${A} $${workspaceFolder}')
  })
})

describe('a server in a few words', () => {
  const stdio = (command: string, ...args: string[]) =>
    ({ kind: 'stdio', command, args, env: {}, cwd: undefined }) as const
  it.each([
    [stdio('/usr/bin/npx', '-y', '@scope/server', '--key', 'x'), 'npx @scope/server'],
    [stdio('npx.cmd', 'server'), 'npx.cmd server'],
    [stdio('python3.12', '-m', 'server'), 'python3.12 server'],
    [stdio('node', './server.js'), 'node ./server.js'],
    [stdio('node', '--token', 'x'), 'node'],
    [stdio('node'), 'node'],
    [stdio('node', 'https://user:secret@example.com'), 'node'],
    [stdio('./my-server', 'secret'), 'my-server'],
    [
      { kind: 'http', url: 'https://user:secret@example.com:8443/mcp?key=x', headers: {} } as const,
      'example.com:8443',
    ],
    [{ kind: 'sse', url: 'http://example.com', headers: {} } as const, 'example.com'],
    [{ kind: 'http', url: 'nonsense', headers: {} } as const, '?'],
  ])('%j is %s', (transport, words) => expect(describeTransport(transport)).toBe(words))
})

describe('rules of a server', () => {
  it.each<[string, string[], string[], boolean]>([
    ['read', [], [], true],
    ['read', ['read'], [], true],
    ['read', ['re*'], ['read'], false],
    ['read', ['write'], [], false],
    ['read', [], ['*'], false],
  ])('%s with allow %j, deny %j: %j', (tool, allow, deny, allowed) => {
    expect(isAllowed(tool, { allow, deny })).toBe(allowed)
  })

  it('those that match no tool are listed, with what was meant', () => {
    const status = (names: string[], config: object) =>
      ({
        config: { allow: [], deny: [], tools: {}, ...config },
        tools: names.map((name) => ({ name })),
        hidden: ['hidden_one'],
      }) as never
    const rules = {
      allow: ['read_*', 'reed_file', 'hidden*'],
      deny: ['zzzzzzzz'],
      tools: { read_file: {}, write_fil: {} },
    }
    expect(idleRules(status(['read_file', 'write_file'], rules))).toEqual([
      '"allow" "reed_file"; did you mean "read_file"?',
      '"deny" "zzzzzzzz"',
      '"tools" "write_fil"; did you mean "write_file"?',
    ])
    expect(idleRules({ ...(status([], rules) as object), hidden: [] } as never)).toEqual([])
  })

  it.each<[string, string[], boolean]>([
    ['toolshelf', ['mcp'], true],
    ['npx', ['toolshelf@1.2', 'mcp'], true],
    ['sh', ['-c', 'toolshelf mcp --x'], true],
    ['C:\\bin\\toolshelf.cmd', ['mcp'], true],
    ['node', ['/x/toolshelf/dist/cli/main.js', 'mcp'], true],
    ['toolshelf', ['serve'], false],
    ['other', ['mcp'], false],
    ['my-toolshelf', ['mcp'], false],
    ['toolshelf', ['x', 'mcp'], false],
  ])('%s %j is the gateway itself: %j', async (command, args, isOwn) => {
    const text = JSON.stringify({ mcpServers: { a: { command, args } } })
    const file = { file: '/w/.mcp.json', text }
    const { servers, problems } = await readConfig([file], {}, { home: '/home/me' })
    expect(servers.length).toBe(isOwn ? 0 : 1)
    expect(JSON.stringify(problems).includes('Toolshelf itself')).toBe(isOwn)
  })
})

describe('our own file', () => {
  const server = { command: 'x' }
  const member = '"b": {\n      "command": "x"\n    }'
  it.each<[string, string, string]>([
    ['an empty object', '{}', `{\n  "mcpServers": {\n    "b": {\n      "command": "x"\n    }\n  }\n}`],
    [
      'other keys',
      '{"a": 1}',
      `{"a": 1,\n  "mcpServers": {\n    "b": {\n      "command": "x"\n    }\n  }\n}`,
    ],
    ['no servers', '{"mcpServers": {}}', `{"mcpServers": {\n    ${member}\n  }}`],
    ['a server', '{"mcpServers": {"a": {} }}', `{"mcpServers": {"a": {},\n    ${member}\n  }}`],
    ['a comma at the end', '{"mcpServers": {"a": {}, }}', `{"mcpServers": {"a": {},\n    ${member}\n  }}`],
    [
      'a comment at the end',
      '{"mcpServers": {"a": {} // one\n}}',
      `{"mcpServers": {"a": {}, // one\n    ${member}\n  }}`,
    ],
    [
      'lines of Windows',
      '{\r\n"mcpServers": {}}',
      `{\r\n"mcpServers": {\r\n    "b": {\r\n      "command": "x"\r\n    }\r\n  }}`,
    ],
  ])('a server is added to %s', (_, text, expected) => {
    expect(addServers(text, [['b', server]])).toBe(expected)
  })

  it('what cannot be edited says why; nothing to add changes nothing', () => {
    expect(() => addServers('[]', [['b', server]])).toThrow('it is not a JSON object')
    expect(() => addServers('{"mcpServers": []}', [['b', server]])).toThrow('"mcpServers" is not an object')
    expect(addServers('{"mcpServers": { }}', [])).toBe('{"mcpServers": { }}')
  })

  it('names are read and removed without the spaces around them', () => {
    const text = '{"mcpServers": {" a ": {}, "b": {}, "a": {}}}'
    expect(serverNames(text)).toEqual(['a', 'b', 'a'])
    expect([serverNames('{}'), serverNames('[]'), serverNames('{"mcpServers": 5}')]).toEqual([[], [], []])
    expect(removeServer(text, 'a')).toBe('{"mcpServers": { "b": {}}}')
    expect(removeServer(text, 'c')).toBe(text)
    expect(removeServer('[]', 'c')).toBe('[]')
  })
})

describe('servers that move', () => {
  const entry = { name: 'toolshelf', fields: { command: 'node', args: ['mcp'] } }
  const move = (text: string, ...names: string[]) =>
    moveServers(
      text,
      names.map((name) => ['mcpServers', name]),
      entry,
    ).text

  it('on one line, JSON has spaces between its parts', () => {
    expect(onOneLine({ a: [1, 'b'], c: {} })).toBe('{ "a": [ 1, "b" ], "c": {} }')
  })

  it.each<[string, string, string]>([
    [
      'spaces',
      '{\n  "mcpServers": {\n    "a": {\n      "x": 1\n    }\n  }\n}',
      '{\n  "mcpServers": {\n    "toolshelf": {\n      "command": "node",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}',
    ],
    [
      'tabs',
      '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"x": 1\n\t\t}\n\t}\n}',
      '{\n\t"mcpServers": {\n\t\t"toolshelf": {\n\t\t\t"command": "node",\n\t\t\t"args": [\n\t\t\t\t"mcp"\n\t\t\t]\n\t\t}\n\t}\n}',
    ],
    [
      'no indentation',
      '{"mcpServers": {\n"a": {\n"x": 1\n}\n}}',
      '{"mcpServers": {\n"toolshelf": {\n  "command": "node",\n  "args": [\n    "mcp"\n  ]\n}\n}}',
    ],
    [
      'Windows',
      '{"mcpServers": {\r\n "a": {\r\n  "x": 1\r\n }\r\n}}',
      '{"mcpServers": {\r\n "toolshelf": {\r\n  "command": "node",\r\n  "args": [\r\n   "mcp"\r\n  ]\r\n }\r\n}}',
    ],
    [
      'one line',
      '{"mcpServers": {"a": {"x": 1}}}',
      '{"mcpServers": {"toolshelf": { "command": "node", "args": [ "mcp" ] }}}',
    ],
  ])('the entry is written as its neighbours are: %s', (_, text, expected) =>
    expect(move(text, 'a')).toBe(expected),
  )

  const toml = (text: string, ...names: string[]) =>
    moveServers(
      text,
      names.map((name) => ['mcp_servers', name]),
      entry,
    )
  const TABLE = '[mcp_servers.toolshelf]\ncommand = "node"\nargs = [ "mcp" ]\n'
  it.each<[string, string, string[], string]>([
    [
      'a table',
      'x = 1\n\n# one\n[mcp_servers.a]\ncommand = "a"\n# two\nenv = { A = "1" }\n\n[other]\ny = 2\n',
      ['a'],
      `x = 1\n\n# one\n${TABLE}\n[other]\ny = 2\n`,
    ],
    [
      'a table and its own',
      '[mcp_servers.a]\ncommand = "a"\n[mcp_servers.a.env]\nA = "1"\n[mcp_servers.b]\ncommand = "b"\n',
      ['a'],
      `${TABLE}[mcp_servers.b]\ncommand = "b"\n`,
    ],
    ['two tables', '[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers.b]\ncommand = "b"\n', ['a', 'b'], TABLE],
    [
      'two tables with one between',
      '[mcp_servers.a]\ncommand = "a"\n[other]\ny = 2\n[mcp_servers.b]\ncommand = "b"\n',
      ['a', 'b'],
      `${TABLE}[other]\ny = 2\n`,
    ],
    [
      'a comment between tables',
      '[mcp_servers.a]\ncommand = "a"\n# about b\n[mcp_servers.b]\ncommand = "b"\n',
      ['a', 'b'],
      `${TABLE}# about b\n`,
    ],
    [
      'a key',
      'mcp_servers.a = { command = "a" }\nx = 1\n',
      ['a'],
      'mcp_servers.toolshelf = { command = "node", args = [ "mcp" ] }\nx = 1\n',
    ],
    [
      'a key in a table',
      '[mcp_servers]\na = { command = "a" }\nb = { command = "b" }\n',
      ['a'],
      '[mcp_servers]\ntoolshelf = { command = "node", args = [ "mcp" ] }\nb = { command = "b" }\n',
    ],
  ])('out of TOML: %s', (_, text, names, expected) => {
    const moved = toml(text, ...names)
    expect(moved.text).toBe(expected)
    const back = restoreServers(`${moved.text}\n[later]\nz = 3\n`, moved.parts)
    for (const name of names) expect(back).toContain(`"${name}"`)
  })

  it('are not put back into TOML that was edited where they were', () => {
    const moved = toml('[mcp_servers.a]\ncommand = "a"\n', 'a')
    expect(moved.parts).toEqual([
      { path: ['mcp_servers'], before: '[mcp_servers.a]\ncommand = "a"\n', after: TABLE },
    ])
    expect(restoreServers(moved.text.replace('node', 'bun'), moved.parts)).toBeUndefined()
    expect(restoreServers(`${moved.text}[mcp_servers.a]\ncommand = "new"\n`, moved.parts)).toBeUndefined()
    expect(restoreServers(`${moved.text}[mcp_servers.c]\ncommand = "c"\n`, moved.parts)).toBe(
      '[mcp_servers.a]\ncommand = "a"\n[mcp_servers.c]\ncommand = "c"\n',
    )
  })
})
