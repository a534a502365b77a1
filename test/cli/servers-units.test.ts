// The servers of a configuration: which changes are reported, which files can be edited, whose credentials count.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  credentialsIn,
  describeProblem,
  editableFiles,
  editFile,
  fileIn,
  personalParts,
  serversToStart,
  storedLogins,
  toStart,
  watchConfig,
} from '../../src/cli/servers/index.ts'
import { readConfig } from '../../src/mcp/config/index.ts'
import type { ServerConfig } from '../../src/mcp/index.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import { enter } from '../support/cli-here.ts'
import { inputOf, outcomeOf } from './support/input.ts'

let folder: string
let leave = () => {}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'servers-'))
  leave = enter(folder, { HOME: folder })
})
afterEach(() => {
  leave()
  rmSync(folder, { recursive: true })
})
const without = (value: unknown) =>
  (typeof value === 'string' ? value : JSON.stringify(value))?.replaceAll(folder, '')
const machineHere = () => ({ home: folder, folder, platform: 'linux', environment: {} }) as const

test('applies and reports a changed configuration', async () => {
  const file = join(folder, 'toolshelf.json')
  const write = (servers: object, more: object = {}) =>
    writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }))
  const [a, b] = [{ command: 'a' }, { command: 'b' }]
  write({ a, b })
  const told: string[] = []
  const taken: string[] = []
  const configure = async (servers: readonly ServerConfig[]) => {
    if (servers.length > 3) throw new Error('too many')
    taken.push(servers.map(({ name }) => name).join(','))
  }
  const watch = watchConfig({
    files: [file],
    config: await readConfig([file]),
    configure,
    notify: (message) => void told.push(without(message)!),
  })
  // Reads only when it is told to.
  watch.stop()
  const steps = [
    () => {},
    () => write({ a: { command: 'c' }, d: b }),
    () => writeFileSync(file, '{'),
    () => write({ a: { command: 'c' }, d: b }),
    () => write({ a: { command: 'c' }, d: b, e: 5 }),
    () => write({ a: { command: 'c' }, d: b, e: 5 }),
    () => write({ a: { command: 'c' }, d: b }, { gateway: { onChange: 'hold' } }),
    () => write({ a, b, c: a, d: b }),
    () => write({ a, b, c: a, d: b }),
    () => write({ a: { command: 'c' }, d: b }),
    () => write({ a: { command: 'c' }, d: b }),
    () => write({}),
  ]
  for (const [index, step] of steps.entries()) {
    told.push(`${index}`)
    step()
    await watch.reload()
  }
  expect([told, taken]).toMatchInlineSnapshot(`
    [
      [
        "0",
        "1",
        "the configuration has changed: added d; changed a; removed b.",
        "2",
        "/toolshelf.json: it is not valid JSON: line 1, column 2: a name in double quotes, or }, is missing.",
        "/toolshelf.json: keeping its servers as they are until it can be read.",
        "3",
        "4",
        "/toolshelf.json, server "e": it must be an object; it is left out.",
        "5",
        "6",
        ""gateway" has changed in the configuration; restart to apply it.",
        "7",
        ""gateway" has changed in the configuration; restart to apply it.",
        "too many",
        "8",
        ""gateway" has changed in the configuration; restart to apply it.",
        "too many",
        "9",
        ""gateway" has changed in the configuration; restart to apply it.",
        "the configuration is back to what it was before the failed change.",
        "10",
        "11",
        "the configuration has changed: removed a, d.",
      ],
      [
        "a,d",
        "a,d",
        "",
      ],
    ]
  `)
  expect(describeProblem({ file: 'x', message: 'm' })).toBe('x: m')
  expect(describeProblem({ file: 'x', server: 's', message: 'm' })).toBe('x, server "s": m')
})

test('only files of our own may be edited', () => {
  const machine = machineHere()
  writeFileSync(join(folder, '.mcp.json'), '{}')
  symlinkSync(join(folder, '.mcp.json'), join(folder, 'link.json'))
  expect(editableFiles(['own.json', '.mcp.json', 'link.json'], machine).map(without)).toEqual(['/own.json'])
  expect(editableFiles(undefined, machine).map(without)).toEqual(['/.config/toolshelf/toolshelf.json'])
  expect([fileIn(inputOf(), machine), fileIn(inputOf({ config: 'x.json' }), machine)].map(without)).toEqual([
    ...['/.config/toolshelf/toolshelf.json', '/x.json'],
  ])
})

test('a file is edited by one at a time, or says why not', async () => {
  const file = join(folder, 'deep', 'toolshelf.json')
  await editFile(file, () => '{}\n')
  expect(without(await outcomeOf(() => editFile(join(file, 'x.json'), () => '')))).toMatch(
    /^CommandError: \/deep\/toolshelf\.json\/x\.json cannot be written \(E\w+\)\.$/,
  )
})

test('personal servers belong to users who can have credentials, and elsewhere say what is missing', async () => {
  const server = (name: string, credentials?: 'user') =>
    ({
      name,
      source: 'x',
      transport: { kind: 'http', url: 'https://x.example', headers: {} },
      ...(credentials ? { credentials } : {}),
    }) as unknown as ServerConfig
  const servers = [server('shared'), server('own', 'user')]
  const store = createMemoryStore()
  const key = Buffer.alloc(32, 7).toString('base64')
  const parts = (surroundings: object, environment = {}) => {
    const made = personalParts({ isOnePerson: false, ...surroundings }, environment)
    const { servers: shared, personal } = made.split(servers)
    return [
      shared.map(({ name, blocked }) => `${name} ${blocked ?? ''}`),
      personal.map(({ name }) => name),
      made.open([], {} as never) === undefined,
    ]
  }
  expect([
    parts({ isOnePerson: true, hasUsers: true, store }, { TOOLSHELF_SECRET_KEY: key }),
    parts({}),
    parts({ hasUsers: true }),
    parts({ hasUsers: true, store }),
    parts({ hasUsers: true, store }, { TOOLSHELF_SECRET_KEY: key }).slice(0, 2),
  ]).toMatchInlineSnapshot(`
    [
      [
        [
          "shared ",
          "own ",
        ],
        [],
        true,
      ],
      [
        [
          "shared ",
          "own each user has credentials of their own for it; pass --users or --oauth-issuer",
        ],
        [],
        true,
      ],
      [
        [
          "shared ",
          "own credentials of users are kept in a store; pass --store, or set TOOLSHELF_STORE",
        ],
        [],
        true,
      ],
      [
        [
          "shared ",
          "own credentials of users are encrypted; set TOOLSHELF_SECRET_KEY",
        ],
        [],
        true,
      ],
      [
        [
          "shared ",
        ],
        [
          "own",
        ],
      ],
    ]
  `)
  expect([
    await outcomeOf(() => credentialsIn(store, {})),
    await outcomeOf(() => credentialsIn(store, { TOOLSHELF_SECRET_KEY: 'short' })),
  ]).toMatchInlineSnapshot(`
    [
      "CommandError: credentials are encrypted with TOOLSHELF_SECRET_KEY, which is not set; create a key with "openssl rand -base64 32" and set it here and for the gateway.",
      "CommandError: key 1 of TOOLSHELF_SECRET_KEY does not have 32 bytes in hexadecimal or base64; create one with "openssl rand -base64 32".",
    ]
  `)
  await store.close()
})

test('only a remote server without a key of its own has a login', async () => {
  const login = async (transport: object) =>
    (await storedLogins(() => {})({ name: 'a', transport } as never)) !== undefined
  expect([
    await login({ kind: 'stdio', command: 'x' }),
    await login({ kind: 'http', url: 'https://x.example', headers: { AUTHORIZATION: 'x' } }),
    await login({ kind: 'http', url: 'https://x.example', headers: { accept: 'x' } }),
  ]).toEqual([false, false, true])
  const config = { lazy: true, connectTimeoutMs: 5 } as ServerConfig
  expect([toStart(config, undefined), toStart(config, 9)]).toEqual([
    { lazy: false, connectTimeoutMs: 5 },
    { lazy: false, connectTimeoutMs: 9 },
  ])
})

test('servers come from the named files, or from the user and a folder that is trusted', async () => {
  const machine = machineHere()
  const start = (named: readonly string[] | undefined, isTrusting = false) =>
    outcomeOf(async () => {
      const { config, untrusted, files } = await serversToStart(named, machine, {
        isTrusting,
        notify: () => {},
      })
      return {
        servers: config.servers.map(({ name }) => name),
        untrusted: untrusted.map(({ name }) => name),
        files,
        problems: config.problems.length,
      }
    })
  const lines: unknown[] = [await start(undefined)]
  const server = (name: string) => JSON.stringify({ mcpServers: { [name]: { command: 'x' } } })
  writeFileSync(join(folder, '.mcp.json'), server('local'))
  writeFileSync(join(folder, 'named.json'), server('named'))
  writeFileSync(join(folder, 'empty.json'), '{"mcpServers":{}}')
  writeFileSync(join(folder, 'wrong.json'), '{"mcpServers":{"bad":5}}')
  for (const given of [undefined, ['named.json'], ['empty.json'], ['wrong.json', 'none.json']])
    for (const isTrusting of [false, true])
      lines.push(
        await start(
          given?.map((file) => join(folder, file)),
          isTrusting,
        ),
      )
  expect(lines.map(without)).toMatchInlineSnapshot(`
    [
      "CommandError: no server to start.
      /.config/toolshelf/toolshelf.json: no such file.
    Run \`toolshelf connect\` to take over the servers of your clients, \`toolshelf add\` to add one, or pass a file with --config.",
      "{"servers":[],"untrusted":["local"],"files":[],"problems":0}",
      "{"servers":["local"],"untrusted":[],"files":["/.mcp.json"],"problems":0}",
      "{"servers":["named"],"untrusted":[],"files":["/named.json"],"problems":0}",
      "{"servers":["named"],"untrusted":[],"files":["/named.json"],"problems":0}",
      "CommandError: no server to start.
      /empty.json: no servers in it.
    Correct this file, or leave out --config to use your own configuration.",
      "CommandError: no server to start.
      /empty.json: no servers in it.
    Correct this file, or leave out --config to use your own configuration.",
      "CommandError: no server to start.
      /wrong.json: bad: it must be an object; it is left out.
      /none.json: no such file.
    Correct these files, or leave out --config to use your own configuration.",
      "CommandError: no server to start.
      /wrong.json: bad: it must be an object; it is left out.
      /none.json: no such file.
    Correct these files, or leave out --config to use your own configuration.",
    ]
  `)
})
