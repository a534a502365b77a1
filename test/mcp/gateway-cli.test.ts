// `toolshelf mcp` as a client starts it, what it refuses to do, and that it keeps secrets.
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { serveMcpGatewayOnStdio } from '../../packages/mcp/src/gateway/stdio.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { temporaryFolder } from './support/folder.ts'
import { connectWith, type Desk, openGateway, textOf } from './support/gateway.ts'
import { startMcpHere } from './support/mcp-here.ts'
import { descendantsOf, isAlive, startsIn, until } from './support/processes.ts'
import { local, scriptPath } from './support/servers.ts'
import { script } from './support/shell-server.ts'
import { neighbour, tool } from './support/small-servers.ts'

/** A server with these capabilities, in a shell, which starts in a few milliseconds; notes each of its starts if a file is given. */
function inShell(capabilities: object, results: { readonly [method: string]: object }) {
  const initialized = {
    protocolVersion: '2025-11-25',
    capabilities,
    serverInfo: { name: 'shell', version: '1' },
  }
  const answers = Object.entries({ initialize: initialized, ...results }).map(([method, result]) => [
    method,
    `reply '${JSON.stringify(result)}'`,
  ])
  const { command, args } = script(Object.fromEntries(answers))
  const [flag, source] = args
  return { command, args: [flag, `if [ -n "$STARTS_FILE" ]; then echo $$ >>"$STARTS_FILE"; fi\n${source}`] }
}

const calculator = inShell(
  { tools: {} },
  {
    'tools/list': { tools: [tool('add', { description: 'Adds two numbers' })] },
    'tools/call': { content: [{ type: 'text', text: '3' }] },
  },
)
const offering = inShell(
  { tools: {}, resources: {}, prompts: {} },
  {
    'tools/list': { tools: [tool('draw')] },
    'resources/list': { resources: [{ uri: 'x://one', name: 'one' }] },
    'resources/templates/list': { resourceTemplates: [] },
    'prompts/list': { prompts: [{ name: 'greet' }] },
  },
)

/** A home of its own with a configuration; nothing of the person who runs the tests is read or written. */
function home(servers: object, gateway: object = {}) {
  const folder = temporaryFolder()
  const config = join(folder, 'toolshelf.json')
  writeFileSync(config, JSON.stringify({ mcpServers: servers, gateway }))
  const state = join(folder, 'state')
  mkdirSync(state)
  const env = { HOME: state, XDG_CACHE_HOME: state, XDG_STATE_HOME: state, XDG_CONFIG_HOME: state }
  return { config, state, env }
}

type Home = ReturnType<typeof home>

function command({ config }: Home, ...words: readonly string[]): string[] {
  return [...binary, 'mcp', '--config', config, ...words]
}

/** The command as a process of its own, with a client on its stdin and stdout. */
async function start(at: Home, words: readonly string[] = []) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: command(at, ...words),
    env: { PATH: process.env.PATH ?? '', ...at.env },
    stderr: 'pipe',
  })
  let told = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    told += chunk
  })
  const desk = await connectWith(transport)
  return { ...desk, transport, told: () => told }
}

/** The command in this process, for what does not depend on one of its own. */
const startHere = (at: Home, words: readonly string[] = []) =>
  startMcpHere(placeOf(at), ['--config', at.config, ...words])

/** Another command in the same home. */
async function runCommand(at: Home, words: readonly string[]): Promise<void> {
  expect(await runHere(placeOf(at), words)).toMatchObject({ code: 0 })
}

const placeOf = ({ env, state }: Home) => ({
  folder: state,
  environment: { PATH: process.env.PATH ?? '', ...env },
})

async function refused(at: Home, ...words: readonly string[]) {
  for (const [name, value] of Object.entries(at.env)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const told: string[] = []
  const terminal = { print: () => {}, report: (text: string) => void told.push(text), isInteractive: false }
  const code = await runCli(['mcp', '--config', at.config, ...words], terminal)
  return { code, told: told.join('\n') }
}

describe('as a process', () => {
  it('serves its client, leaves no process when it goes, and starts no server too early the next time', async () => {
    const starts = join(temporaryFolder(), 'starts')
    const at = home({ calculator: { ...calculator, env: { STARTS_FILE: starts } } })
    const first = await start(at, ['--scripts'])
    expect(await first.names()).toEqual(['ToolSearch', 'RunScript'])
    expect(textOf(await first.call('RunScript', { script: 'return 1 + 1' }))).toBe('2')
    expect(await first.search('adds two numbers')).toContain('calculator__add')
    expect(textOf(await first.call('calculator__add', { a: 1, b: 2 }))).toBe('3')
    const pid = first.transport.pid ?? 0
    const family = [pid, ...descendantsOf(pid)]
    await first.client.close()
    await until(() => !family.some(isAlive), 'all processes are gone')

    expect(startsIn(starts)).toHaveLength(1)
    const { names, call } = await startHere(at, ['--mode', 'bridge', '--lazy', '--scripts'])
    expect(await names()).toEqual(['ToolSearch', 'CallTool', 'RunScript'])
    expect(startsIn(starts)).toHaveLength(1)
    expect(textOf(await call('CallTool', { name: 'calculator__add', arguments: { a: 1, b: 2 } }))).toBe('3')
    expect(startsIn(starts)).toHaveLength(2)
  })
})

describe('on pipes', () => {
  it.each([
    ['doctor', (file: string) => ['doctor', '--config', file]],
    ['connect', (file: string, to: string) => ['connect', '--from', file, '--to', to, '--yes']],
  ])('%s warms the cache: the first search and the lists need no server to be up', async (_, words) => {
    const starts = join(temporaryFolder(), 'starts')
    const at = home({ offers: { ...offering, env: { STARTS_FILE: starts } } })
    const to = join(at.state, 'imported.json')
    await runCommand(at, words(at.config, to))
    const before = startsIn(starts)
    expect(before).not.toEqual([])
    const desk = await startHere(existsSync(to) ? { ...at, config: to } : at, ['--lazy'])
    expect(await desk.search('draw')).toContain('offers__draw')
    expect((await desk.client.listPrompts()).prompts).toMatchObject([{ name: 'offers__greet' }])
    expect((await desk.client.listResources()).resources).toMatchObject([{ uri: 'offers+x://one' }])
    expect(startsIn(starts)).toEqual(before)
  })

  it('reports rules that match no tool once; what a server says cannot steer the terminal', async () => {
    const tools = { ad: { alwaysLoad: true }, add: { hint: 'sum' } }
    const words = 'printf "\\033]0;owned\\007\\302\\2332Jbye\\n" >&2; exit 1'
    const at = home({
      calculator: { ...neighbour().transport, deny: ['delete_*'], allow: ['*'], tools },
      'rude\u001b[2J': { command: 'sh', args: ['-c', words] },
    })
    const desk = await startHere(at)
    expect(await desk.search('adds two numbers')).toContain('calculator__add')
    const lines = desk
      .told()
      .split('\n')
      .filter((line) => line.includes('no tool matches the rule'))
    expect(lines).toEqual([
      'toolshelf mcp: server "calculator": no tool matches the rule "deny" "delete_*"',
      'toolshelf mcp: server "calculator": no tool matches the rule "tools" "ad"; did you mean "add"?',
    ])
    await until(() => /failed.*bye/.test(desk.told()), 'it has failed')
    expect(desk.told()).not.toMatch(/[^\P{C}\n]/u)
  })
})

describe('what it refuses', () => {
  const at = () => home({ calculator })

  it('a port in use: exit code 1 and a line that says so', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { code, told } = await refused(at(), '--http', '--port', String(port))
    expect(code).toBe(1)
    expect(told).toContain(`port ${port} is in use`)
    expect(told).not.toMatch(/^\s+at /m)
  })

  it('an address beyond loopback without a key: exit code 1 and what to do', async () => {
    vi.stubEnv('TOOLSHELF_KEY', '')
    const { code, told } = await refused(at(), '--http', '--port', '0', '--address', '0.0.0.0')
    expect(code).toBe(1)
    expect(told).toContain('TOOLSHELF_KEY')
  })
})

describe('without servers', () => {
  it('a file that starts Toolshelf alone: it says where the servers are', async () => {
    const folder = temporaryFolder()
    const entry = { command: 'toolshelf', args: ['mcp', '--config', '/x/cursor.json'] }
    const config = join(folder, 'client.json')
    writeFileSync(config, JSON.stringify({ mcpServers: { toolshelf: entry } }))
    const { told } = await startMcpHere({ folder, environment: { HOME: folder } }, ['--config', config])
    expect(told()).toContain('its servers are in /x/cursor.json. Pass --config /x/cursor.json instead.')
  })

  it('what a file is called cannot steer the terminal', async () => {
    const folder = temporaryFolder()
    const { told } = await startMcpHere({ folder, environment: { HOME: folder } }, [
      '--config',
      '/no\u001b[2J.json',
    ])
    expect(told()).toMatch(/no\?\[2J\.json/)
    expect(told()).not.toContain('\u001b')
  })

  it.each([
    ['an empty configuration', '{"mcpServers": {}}'],
    ['no configuration', undefined],
    ['one that cannot be read', '{'],
  ])('S8 %s: it starts, says so, and takes up what is added', async (_, text) => {
    const folder = temporaryFolder()
    const config = join(folder, 'toolshelf.json')
    if (text !== undefined) writeFileSync(config, text)
    const environment = {
      HOME: folder,
      XDG_CACHE_HOME: folder,
      XDG_STATE_HOME: folder,
      XDG_CONFIG_HOME: folder,
    }
    const desk = await startMcpHere({ folder, environment }, ['--config', config])
    expect(desk.told()).toMatch(
      /no MCP server is configured in .*toolshelf\.json.*toolshelf connect.*toolshelf add/,
    )
    for (const said of [desk.client.getInstructions(), await desk.search('add numbers')])
      expect(said).toMatch(/No service is configured yet.*toolshelf connect --apply.*toolshelf add/)
    writeFileSync(config, JSON.stringify({ mcpServers: { calculator } }))
    await until(async () => (await desk.search('add numbers')).includes('calculator__add'), 'it is taken up')
    expect(await desk.search('add numbers')).not.toContain('No service is configured')
    expect((await desk.client.listTools()).tools[0]?.description).toContain('services: calculator.')
    expect(await desk.close()).toBe(0)
  })
})

describe('stdin and stdout', () => {
  it('a message without end ends the gateway, and its servers', async () => {
    const { gateway, host } = openGateway([local('garbled', 'garbled not')])
    host.start()
    await host.settled()
    const pid = host.status()[0]?.pid ?? 0
    const input = new PassThrough()
    const over = serveMcpGatewayOnStdio(gateway, { input, output: new PassThrough() })
    // In few parts: with each, all that came before is copied.
    for (let count = 0; count < 3; count++) input.write('x'.repeat(11_000_000))
    await expect(over).rejects.toThrow('the client sent a message of more than 32 MB; send less at once')
    await until(() => !isAlive(pid), 'the server is gone')
  })

  it('skips lines that are not messages', async () => {
    const { gateway } = openGateway([])
    const [input, output] = [new PassThrough(), new PassThrough()]
    const over = serveMcpGatewayOnStdio(gateway, { input, output })
    input.write('hello?\n{"jsonrpc":\n[]\n')
    input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    const [answer] = await once(output, 'data')
    expect(JSON.parse(String(answer))).toMatchObject({ id: 1 })
    input.end()
    await over
  })

  it('no listener to signals is left behind', async () => {
    const count = () => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM')
    const before = count()
    const input = new PassThrough()
    const over = serveMcpGatewayOnStdio(openGateway([]).gateway, { input, output: new PassThrough() })
    input.end()
    await over
    expect(count()).toBe(before)
  })
})

describe('secrets', () => {
  const words = {
    environment: 'sk-environment-4711',
    flag: 'sk-flag-4712',
    word: 'sk-word-4713',
    header: 'sk-header-4714',
    query: 'sk-query-4715',
    password: 'sk-password-4716',
  }

  const leaky = (behaviour: string) => ({
    command: process.execPath,
    args: [scriptPath('gateway-leaky'), behaviour, `--access-token=${words.flag}`, '--api-key', words.word],
    env: {
      ACME_KEY: words.environment,
    },
  })

  /** Refuses everybody, and says what they brought. */
  async function refusing(): Promise<string> {
    const server = createServer((request, response) => {
      response.writeHead(500).end(`${request.url} ${JSON.stringify(request.headers)}`)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const filesIn = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
    )

  const refusal = (answer: Promise<unknown>) =>
    answer.then(String, ({ message, data }) => JSON.stringify([message, data]))

  async function everythingSaid({ search, call, names, client }: Omit<Desk, 'told'>) {
    const said = [
      await search('refuse'),
      await search('nothing like that'),
      await refusal(client.getPrompt({ name: 'stay__refuse' })),
      await refusal(client.readResource({ uri: 'stay+leak://one' })),
      await refusal(call('stay__refuse')),
    ]
    for (const answer of said.slice(2)) expect(answer).toMatch(/refused: \[hidden\].*"why":\["\[hidden\]/)
    for (const name of ['stay__crash', 'start__refuse', 'remote__any'])
      said.push(JSON.stringify(await call(name)))
    return [...said, ...(await names())].join('\n')
  }

  it('are not in the status of a server', async () => {
    const { command, args, env } = leaky('start')
    const transport = { kind: 'stdio', command, args, env, cwd: undefined } as const
    const { host } = openGateway([{ ...neighbour(), transport }])
    host.start()
    await host.settled()
    const [{ config: _, ...status } = { config: undefined }] = host.status()
    expect(status).toMatchObject({ state: 'failed', stderr: expect.stringContaining('[hidden]') })
    const all = JSON.stringify(status)
    for (const [kind, secret] of Object.entries(words)) expect(all.includes(secret), kind).toBe(false)
  })

  it('of a configuration never appear: not to the user, not to the model, not in a file', async () => {
    const host = await refusing()
    const url = `http://ann:${words.password}@${host}/mcp?api_key=${words.query}`
    const remote = { type: 'http', url, headers: { Authorization: `Bearer ${words.header}` } }
    const at = home({ stay: leaky('stay'), start: leaky('start'), remote })
    const desk = await startHere(at)
    await desk.names()
    await until(
      () => /"start" failed/.test(desk.told()) && /"remote" failed/.test(desk.told()),
      'both have failed',
    )
    const said = await everythingSaid(desk)
    expect(said).toContain('[hidden]')
    expect(await desk.close()).toBe(0)
    const files = filesIn(at.state).map((file) => readFileSync(file, 'utf8'))
    expect(files.length).toBeGreaterThan(0)
    const all = [said, desk.told(), ...files].join('\n')
    for (const [kind, secret] of Object.entries(words)) expect(all.includes(secret), kind).toBe(false)
  })
})
