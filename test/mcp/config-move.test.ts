// Taking servers out of a text and putting one entry in their place, on hand-written and generated files.
import fc from 'fast-check'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { moveServers, restoreServers } from '../../packages/mcp/src/config/edit.ts'
import { parseJson } from '../../packages/mcp/src/config/json.ts'

const entry = { name: 'toolshelf', fields: { command: 'node', args: ['main.js', 'mcp'] } }
const written = '"toolshelf": { "command": "node", "args": [ "main.js", "mcp" ] }'

function move(
  text: string,
  names: readonly string[],
  key = 'mcpServers',
  put: typeof entry | undefined = entry,
) {
  return moveServers(
    text,
    names.map((name) => [key, name]),
    put,
  )
}

describe('JSON', () => {
  it.each([
    ['the only one', '{"mcpServers": {"a": {}}}', ['a'], `{"mcpServers": {${written}}}`],
    ['the first', '{"mcpServers": {"a": {}, "b": {}}}', ['a'], `{"mcpServers": {${written}, "b": {}}}`],
    ['the last', '{"mcpServers": {"a": {}, "b": {}}}', ['b'], `{"mcpServers": {"a": {}, ${written}}}`],
    [
      'first and last',
      '{"mcpServers": {"a": {}, "b": {}, "c": {}}}',
      ['a', 'c'],
      `{"mcpServers": {${written}, "b": {}}}`,
    ],
    [
      'comments around',
      '{"mcpServers": {\n  // one\n  "a": {}, // two\n  /* three */ "b": {} /* four */,\n  "c": {}\n}}',
      ['a', 'b'],
      `{"mcpServers": {\n  // one\n  ${written}, // two\n  /* three */ /* four */\n  "c": {}\n}}`,
    ],
    [
      'a trailing comma',
      '{"mcpServers": {\n  "a": {},\n  "b": {},\n}}',
      ['a', 'b'],
      `{"mcpServers": {\n  ${written},\n}}`,
    ],
    [
      'a name like a prototype',
      '{"mcpServers": {"__proto__": {}, "b": {}}}',
      ['__proto__'],
      `{"mcpServers": {${written}, "b": {}}}`,
    ],
    ['an escaped name', '{"mcpServers": {"\\u0061": {}}}', ['a'], `{"mcpServers": {${written}}}`],
  ])('replaces %s', (_, text, names, expected) => {
    expect(move(text, names).text).toBe(expected)
  })

  it.each([0, 2])('moves thousands of servers and puts them back, indented by %i', (indent) => {
    const names = Array.from({ length: 5000 }, (_, index) => `server-${index}`)
    const servers = Object.fromEntries(names.map((name) => [name, { command: name, args: ['-y', name] }]))
    const text = JSON.stringify({ mcpServers: servers, theme: 'dark' }, null, indent)
    const moved = move(text, names.slice(1))
    expect(Object.keys(JSON.parse(moved.text).mcpServers)).toEqual(['server-0', 'toolshelf'])
    expect(restoreServers(moved.text, moved.parts)).toBe(text)
  })

  it.each([
    ['{"mcpServers": {"a": {}, "b": {}}}', ['b'], '{"mcpServers": {"a": {}}}'],
    ['{"mcpServers": {\n  "a": {},\n  "b": {}\n}}', ['b'], '{"mcpServers": {\n  "a": {}\n}}'],
    ['{"mcpServers": {\n  "a": {},\n  "b": {}\n}}', ['a', 'b'], '{"mcpServers": {\n}}'],
  ])('removes without an entry: %j', (text, names, expected) => {
    expect(
      moveServers(
        text,
        names.map((name) => ['mcpServers', name]),
        undefined,
      ).text,
    ).toBe(expected)
  })

  it('another server of our name stays, and the entry gets a number', () => {
    const { text } = move('{"mcpServers": {"toolshelf": {"command": "x"}, "a": {}}}', ['a'])
    expect(JSON.parse(text).mcpServers).toEqual({ toolshelf: { command: 'x' }, 'toolshelf-2': entry.fields })
  })

  it('refuses a text with the same group twice', () => {
    expect(() =>
      move('{"mcpServers": {"a": {}, "a": 1}, "mcpServers": {"a": {"x": 1}}, "mcpServers": {"b": {}}}', [
        'a',
      ]),
    ).toThrow()
  })
})

describe('TOML', () => {
  it('loses its last server without an entry in its place, and gets it back', () => {
    const text = 'model = "x"\n\n[mcp_servers.fax]\ncommand = "fax"\n'
    const { text: moved, parts } = moveServers(text, [['mcp_servers', 'fax']], undefined)
    expect(parseToml(moved)).toEqual({ model: 'x' })
    expect(parseToml(restoreServers(moved, parts) ?? '')).toEqual(parseToml(text))
  })

  it.each([
    [
      'keys of one table',
      '[mcp_servers]\na = { command = "x" }\nb = { command = "y" }\n',
      ['a'],
      '[mcp_servers]\ntoolshelf = { command = "node", args = [ "main.js", "mcp" ] }\nb = { command = "y" }\n',
    ],
    [
      'dotted keys',
      'x = 1\nmcp_servers.a.command = "x"\nmcp_servers.a.args = []\n[t]\ny = 1',
      ['a'],
      'x = 1\nmcp_servers.toolshelf = { command = "node", args = [ "main.js", "mcp" ] }\n[t]\ny = 1',
    ],
    [
      'one inline table',
      'mcp_servers = { a = { command = "x" } }\n[t]\ny = 1\n',
      ['a'],
      'mcp_servers.toolshelf = { command = "node", args = [ "main.js", "mcp" ] }\n[t]\ny = 1\n',
    ],
    [
      'no line end',
      '[mcp_servers.a]\ncommand = "x"',
      ['a'],
      '[mcp_servers.toolshelf]\ncommand = "node"\nargs = [ "main.js", "mcp" ]\n',
    ],
    [
      'CRLF',
      '[mcp_servers.a]\r\ncommand = "x"\r\n',
      ['a'],
      '[mcp_servers.toolshelf]\r\ncommand = "node"\r\nargs = [ "main.js", "mcp" ]\r\n',
    ],
    [
      'texts over lines',
      '[mcp_servers.a]\ncommand = \'\'\'\n[b]\n\'\'\'\nargs = [\n  "]", # ]\n]\n[b]\nx = """\\""""""\n',
      ['a'],
      '[mcp_servers.toolshelf]\ncommand = "node"\nargs = [ "main.js", "mcp" ]\n[b]\nx = """\\""""""\n',
    ],
  ])('replaces %s', (_, text, names, expected) => {
    expect(move(text, names, 'mcp_servers').text).toBe(expected)
  })

  it('refuses an inline table of which a part would stay', () => {
    const text = 'mcp_servers = { a = { command = "x" }, b = { command = "y" } }\n'
    expect(() => move(text, ['a'], 'mcp_servers')).toThrow('cannot be taken out without changing')
  })
})

const space = fc.constantFrom('', ' ', '\n', '\r\n  ', '\t', ' // c\n', ' /* , } */ ', '\n\n')
const value = fc.jsonValue({ maxDepth: 2 }).map((one) => JSON.stringify(one))
const member = fc.tuple(fc.string({ maxLength: 6 }), value, space, space, space, space)

/** An object as text, with odd space and comments wherever they may be. */
function objectText(
  members: readonly (readonly [string, string, string, string, string, string])[],
  hasComma: boolean,
): string {
  const parts = members.map(
    ([name, text, a, b, c, d], index) =>
      `${a}${JSON.stringify(name)}${b}:${c}${text}${d}${index < members.length - 1 || hasComma ? ',' : ''}`,
  )
  return `{${parts.join('')}\n}`
}

describe('any JSON file', () => {
  const members = fc.uniqueArray(member, { minLength: 1, maxLength: 6, selector: ([name]) => name })
  const file = fc.record({
    members,
    hasComma: fc.boolean(),
    front: space,
    others: fc.uniqueArray(member, { maxLength: 3, selector: ([name]) => name }),
    bom: fc.constantFrom('', '\uFEFF'),
    picks: fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }),
    hasEntry: fc.boolean(),
  })

  it('keeps every byte outside of the servers, stays as strict as it was, and goes back', () => {
    fc.assert(
      fc.property(file, ({ members, hasComma, front, others, bom, picks, hasEntry }) => {
        const servers = objectText(members, hasComma)
        const rest = objectText(
          others.filter(([name]) => name !== 'mcpServers'),
          false,
        )
        const [head, tail] = [`${bom}${front}{"mcpServers":${front}`, `,"rest": ${rest}${front}}`]
        const text = `${head}${servers}${tail}`
        const names = [...new Set(picks.map((pick) => members[pick % members.length]?.[0] ?? ''))]
        const { text: moved, parts } = moveServers(
          text,
          names.map((name) => ['mcpServers', name]),
          hasEntry ? entry : undefined,
        )
        expect(moved.startsWith(head)).toBe(true)
        expect(moved.endsWith(tail)).toBe(true)
        if (isStrict(text)) expect(isStrict(moved)).toBe(true)
        const left = parseJson(moved).value as { mcpServers: object }
        const stay = members.map(([name]) => name).filter((name) => !names.includes(name))
        expect(
          Object.keys(left.mcpServers)
            .filter((name) => !name.startsWith('toolshelf'))
            .sort(),
        ).toEqual(stay.filter((name) => !name.startsWith('toolshelf')).sort())
        // Comments within a member that goes may go with it; those around it stay.
        const around = members.flatMap(([, , front, , , behind]) => [front, behind])
        const comments = (text: string) => text.split('/*').length - 1
        expect(comments(moved)).toBeGreaterThanOrEqual(comments(around.join('')))
        expect(restoreServers(moved, parts)).toBe(text)
        // An edit elsewhere stays.
        const edited = moved.replace(/\}$/, ', "more": 1}')
        expect(restoreServers(edited, parts)).toBe(text.replace(/\}$/, ', "more": 1}'))
      }),
    )
  })
})

describe('a client that rewrites its file', () => {
  const text = '{ "mcpServers": { "a": { "command": "x" }, "b": {} } } // mine\n'
  const { text: moved, parts } = move(text, ['a'])
  const rewritten = (change: (file: Record<string, object>) => object) =>
    JSON.stringify(change(JSON.parse(moved.replace('// mine', ''))), null, 2)

  it('gets its servers back, though the layout of the entry is another', () => {
    const back = restoreServers(
      rewritten((file) => ({ ...file, $version: 4 })),
      parts,
    )
    expect(JSON.parse(back ?? '')).toEqual({ mcpServers: { a: { command: 'x' }, b: {} }, $version: 4 })
  })

  it('keeps a server that was added, and all of a part where a value or a comment was edited', () => {
    const withServer = rewritten(({ mcpServers }) => ({ mcpServers: { ...mcpServers, c: {} } }))
    expect(JSON.parse(restoreServers(withServer, parts) ?? '')).toEqual({
      mcpServers: { a: { command: 'x' }, b: {}, c: {} },
    })
    const same = rewritten((file) => file)
    expect(restoreServers(same.replace('main.js', 'other.js'), parts)).toBeUndefined()
    expect(restoreServers(same.replace('"b"', '// why\n"b"'), parts)).toBeUndefined()
  })
})

function isStrict(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('any TOML file', () => {
  const name = fc.oneof(fc.constantFrom('a', 'b-c', 'd_1'), fc.string({ maxLength: 5 }))
  const text = fc.constantFrom(
    '"x"',
    "'y # ]'",
    '"""\n[mcp_servers.no]\n"""',
    '[\n  "a", # ]\n  "b",\n]',
    '{ k = "}" }',
    '1.5',
  )
  const ending = fc.constantFrom('\n', '\r\n')
  const note = fc.constantFrom('', '# note\n', '\n', '\n# [mcp_servers.a]\n')
  const server = fc.record({ name, value: text, sub: fc.boolean(), note, inner: note })
  const other = fc.record({ name: fc.constantFrom('t', 'projects."/x y"', 'z.y'), value: text, note })

  it('keeps every other table and comment in front of one, and goes back', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(server, { minLength: 1, maxLength: 4, selector: (one) => one.name }),
        fc.uniqueArray(other, { maxLength: 3, selector: (one) => one.name }),
        ending,
        fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
        (servers, others, end, picks) => {
          const tables = servers.map(({ name, value, sub, note, inner }) => {
            const key = JSON.stringify(name).replaceAll('\u007f', '\\u007f')
            const more = sub ? `[mcp_servers.${key}.env]\nK = "v"\n` : ''
            return `${note}[mcp_servers.${key}]\ncommand = "c"\n${inner}args = ${value}\n${more}`
          })
          const rest = others.map(({ name, value, note }) => `${note}[${name}]\nk = ${value}\n`)
          const all = [...rest.slice(0, 1), ...tables, ...rest.slice(1)].join('').replaceAll('\n', end)
          const before = parseToml(all) as { mcp_servers: object }
          const names = [...new Set(picks.map((pick) => servers[pick % servers.length]?.name ?? ''))]
          const { text: moved, parts } = move(all, names, 'mcp_servers')
          const { mcp_servers: left, ...others_ } = parseToml(moved) as { mcp_servers: object }
          const { mcp_servers: _, ...expected } = before
          expect(others_).toEqual(expected)
          expect(Object.keys(left).length).toBe(servers.length - names.length + 1)
          for (const table of rest) expect(moved).toContain(table.replaceAll('\n', end))
          const back = restoreServers(moved, parts)
          expect(back).toBeDefined()
          expect(parseToml(back ?? '')).toEqual(before)
        },
      ),
    )
  })
})
