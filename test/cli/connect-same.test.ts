// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Which servers `toolshelf connect --apply` takes for the same: nothing that a client's entry sets may get lost or change.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../packages/mcp/src/config/json.ts'
import { madeUpMachine } from './support/made-up-machine.ts'

type Entry = { readonly [key: string]: unknown }

const CURSOR = '.cursor/mcp.json'
const GEMINI = '.gemini/settings.json'
const CODEX = '.codex/config.toml'

const json = (name: string, entry: Entry) => JSON.stringify({ mcpServers: { [name]: entry } })

function serversOf(file: string) {
  return (parseJson(readFileSync(file, 'utf8')).value as { mcpServers: { [name: string]: Entry } }).mcpServers
}

describe('a restriction of Codex on a server that our file has without', () => {
  const everything = { command: 'npx', args: ['-y', 'everything'] }
  const restricted =
    '[mcp_servers.everything]\ncommand = "npx"\nargs = ["-y", "everything"]\nenabled_tools = ["get-sum"]\ntool_timeout_sec = 7\n'
  const kept = { ...everything, allow: ['get-sum'], callTimeout: 7000 }

  it('moves with it, under another name, and the plan says what differs', async () => {
    const machine = madeUpMachine()
    machine.write(CURSOR, json('everything', everything))
    await machine.import(['--apply', '--yes'])
    machine.write(CODEX, restricted)
    const { printed } = await machine.import(['--apply', '--yes'])
    expect(serversOf(machine.own)).toEqual({ everything, 'everything-codex': kept })
    expect(printed).toContain(
      `everything-codex differs from everything in ${machine.own}: allowed tools get-sum instead of all; callTimeout 7 s instead of 120 s.`,
    )
    expect(machine.read(CODEX)).not.toContain('everything')
  })

  it('moves the same way in one import, and in the other order without it', async () => {
    const machine = madeUpMachine()
    machine.write(CURSOR, json('everything', everything))
    machine.write(CODEX, restricted)
    await machine.import(['--apply', '--yes'])
    expect(serversOf(machine.own)).toEqual({ everything, 'everything-codex': kept })
    await machine.import(['--undo', '--yes'])
    await machine.import(['--apply', '--yes', '--from', machine.path(CODEX)])
    await machine.import(['--apply', '--yes', '--from', machine.path(CURSOR)])
    expect(serversOf(machine.own)).toEqual({ everything: kept, 'everything-cursor': everything })
  })
})

it('one server under two names is called the same, and approvals of its tools stay in the client', async () => {
  const machine = madeUpMachine()
  const entry = '\ncommand = "npx"\nargs = ["-y", "everything"]\n'
  const approval = '[mcp_servers.a.tools.echo]\napproval_mode = "approve"\n'
  machine.write(CODEX, `[mcp_servers.a]${entry}${approval}[mcp_servers.b]${entry}`)
  const { printed } = await machine.import(['--apply', '--yes'])
  const server = { command: 'npx', args: ['-y', 'everything'] }
  expect(serversOf(machine.own)).toEqual({ a: server, b: server })
  expect(printed).toContain('b is the same as a under another name.')
})

const base = { command: 'npx', args: ['-y', 'pkg'] }

describe.each<[string, Entry, Entry, string]>([
  ['another folder', { args: ['pkg', '/a'] }, { args: ['pkg', '/b'] }, 'arguments /b instead of /a'],
  ['allowed tools', {}, { includeTools: ['a'] }, 'allowed tools a instead of all'],
  ['no tools', {}, { includeTools: [] }, 'denied tools * instead of none'],
  ['denied tools', { excludeTools: ['a'] }, {}, 'denied tools none instead of a'],
  ['a timeout', { timeout: 5000 }, {}, 'callTimeout 120 s instead of 5 s'],
  ['disabled', {}, { disabled: true }, 'disabled'],
  ['enabled', { disabled: true }, {}, 'not disabled'],
  ['a variable', { env: { A: '1' } }, {}, 'A only in s'],
  ['the folder it runs in', { cwd: '/a' }, { cwd: '/b' }, 'npx in /b instead of npx in /a'],
  ['another program', { command: 'uvx', args: [] }, {}, 'runs npx pkg instead of uvx'],
  ['an address', { command: undefined, url: 'https://x.test/mcp' }, {}, 'runs npx pkg instead of x.test'],
])('%s differ: %j %j', (_, first, second, difference) => {
  const [one, other] = [
    { ...base, ...first },
    { ...base, ...second },
  ]

  it.each(['one import', 'two imports'])('both move in %s, and neither changes', async (times) => {
    const machine = madeUpMachine()
    machine.write(CURSOR, json('s', one))
    if (times === 'two imports') await machine.import(['--apply', '--yes'])
    machine.write(GEMINI, json('s', other))
    const { printed, told } = await machine.import(['--apply', '--yes'])
    expect(Object.keys(serversOf(machine.own))).toEqual(['s', 's-gemini-cli'])
    expect(printed).toMatch(/^s-gemini-cli differs from s/m)
    expect(printed).toContain(`: ${difference}.`)
    expect(told).not.toContain('stays')
    for (const path of [CURSOR, GEMINI])
      expect(Object.keys(serversOf(machine.path(path)))).toEqual(['toolshelf'])
  })
})

it.each<[string, Entry, Entry]>([
  ['the order of rules', { excludeTools: ['a', 'b'] }, { excludeTools: ['b', 'a'] }],
  ['a rule that allows all', { includeTools: ['*'] }, {}],
  ['the default timeout', { timeout: 120_000 }, {}],
  ['what only the client uses', { trust: true }, {}],
])('%s is no difference', async (_, first, second) => {
  const machine = madeUpMachine()
  machine.write(CURSOR, json('s', { ...base, ...first }))
  machine.write(GEMINI, json('s', { ...base, ...second }))
  await machine.import(['--apply', '--yes'])
  expect(Object.keys(serversOf(machine.own))).toEqual(['s'])
})

it('what the user adds to our file is no difference, unless the entry sets it, too', async () => {
  const machine = madeUpMachine()
  const ours = { ...base, lazy: true, description: 'mine', elicitation: 'deny' }
  machine.write('.config/toolshelf/toolshelf.json', json('s', ours))
  machine.write(GEMINI, json('s', base))
  machine.write(CURSOR, json('s', { ...base, elicitation: 'ask' }))
  const { printed } = await machine.import(['--apply', '--yes'])
  expect(serversOf(machine.own)).toEqual({ s: ours, 's-cursor': { ...base, elicitation: 'ask' } })
  expect(printed).toMatch(/^s .* Gemini CLI .* kept$/m)
  expect(printed).toContain('another value of elicitation')
})

it('of servers with other names that look the same, the plan says only what they run', async () => {
  const machine = madeUpMachine()
  const one = { ...base, args: ['-y', 'pkg', '/a'] }
  const other = { ...base, args: ['-y', 'pkg', '/b'], timeout: 5000 }
  machine.write(CURSOR, JSON.stringify({ mcpServers: { one, other } }))
  const { printed } = await machine.import(['--apply', '--yes'])
  expect(printed).toContain('\nother differs from one: arguments /b instead of /a.\n')
})

it('a third client finds the server that was renamed for the second', async () => {
  const machine = madeUpMachine()
  machine.write(CURSOR, json('s', base))
  machine.write(GEMINI, json('s', { ...base, cwd: '/g' }))
  await machine.import(['--apply', '--yes'])
  machine.write('.qwen/settings.json', json('s', { ...base, cwd: '/g' }))
  const { printed } = await machine.import(['--apply', '--yes'])
  expect(printed).toMatch(/^s-gemini-cli +Qwen Code .* kept$/m)
  expect(Object.keys(serversOf(machine.own))).toEqual(['s', 's-gemini-cli'])
})

it('a server of a project keeps the folder it runs in', async () => {
  const machine = madeUpMachine()
  machine.write(CURSOR, json('s', base))
  const project = machine.write('../project/.cursor/mcp.json', json('s', base))
  await machine.import(['--apply', '--yes', '--from', machine.path(CURSOR), '--from', project])
  expect(serversOf(machine.own)).toEqual({ s: base, 's-cursor': { ...base, cwd: machine.machine.folder } })
})

it('an entry of our file that cannot be read keeps its name', async () => {
  const machine = madeUpMachine()
  machine.write('.config/toolshelf/toolshelf.json', json('s', { command: 5 }))
  machine.write(CURSOR, json('s', base))
  const { printed } = await machine.import(['--apply', '--yes'])
  expect(serversOf(machine.own)).toEqual({ s: { command: 5 }, 's-cursor': base })
  expect(printed).toContain(`s-cursor has another name: ${machine.own} has a server s that cannot be used.`)
})

it('a server whose login is limited to some scopes stays', async () => {
  const machine = madeUpMachine()
  const entry = (name: string, scopes: string) =>
    `[mcp_servers.${name}]\nurl = "https://${name}.test/mcp"\nscopes = ${scopes}\n`
  machine.write(CODEX, entry('a', '["read"]') + entry('b', '[]'))
  const { told } = await machine.import(['--apply', '--yes'])
  expect(Object.keys(serversOf(machine.own))).toEqual(['b'])
  expect(told).toContain(`a stays in ${machine.path(CODEX)}: "scopes": these scopes are not used`)
})
