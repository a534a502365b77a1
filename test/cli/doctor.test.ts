// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf doctor` through its own door, with a host that says what the test wants.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CommandError, readInput } from '../../packages/cli/src/command.ts'
import { createDoctor, type DoctorSurroundings } from '../../packages/cli/src/doctor.ts'
import { runCli } from '../../packages/cli/src/main.ts'
import type { McpHostOptions } from '../../packages/mcp/src/host/host.ts'
import { openPins, type Pins } from '../../packages/mcp/src/pins/pins.ts'
import type { HostEvent, McpHost, ServerConfig, ServerStatus } from '../../packages/mcp/src/types.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A folder with one configuration. */
function configured(servers: object, file = '.mcp.json'): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, file), JSON.stringify({ mcpServers: servers }))
  return folder
}

const fakeTools = Array.from({ length: 30 }, (_, index) => ({
  name: `tool${index}`,
  description: `${index}`.padEnd(400, 'x'),
  inputSchema: { type: 'object' },
}))

type Outcome = Partial<ServerStatus>

/** Each server comes to the state that the test names, one after the other; one that stays pending never settles. */
function fakeHost(
  servers: readonly ServerConfig[],
  outcomes: { readonly [name: string]: Outcome },
  pins?: McpHostOptions['pins'],
) {
  const started: ServerConfig[] = []
  let isClosed = false
  const listeners = new Set<(event: HostEvent) => void>()
  const statuses = new Map(servers.map((config) => [config.name, pendingOf(config)]))
  const none = () => Promise.reject(new Error('not in this test'))
  const host: McpHost = {
    readCache: async () => {},
    watchLists() {},
    refreshStaleLists: async () => {},
    publishCachedTools: async () => {},
    configure: none,
    start() {
      started.push(...servers)
    },
    status: () => [...statuses.values()],
    run: none,
    folderOf: () => undefined,
    isReadOnly: () => false,
    call: none,
    request: none,
    async settled() {
      for (const [server, status] of statuses) {
        const outcome: Outcome = outcomes[server] ?? {
          state: 'connected',
          tools: fakeTools,
          startMilliseconds: 90,
        }
        if (outcome.state === 'pending') await new Promise(() => {})
        await pins?.judge(server, outcome.tools ?? [])
        statuses.set(server, { ...status, ...outcome })
        const event = { type: 'state', server, status: { ...status, ...outcome } } as const
        for (const listener of listeners) listener(event)
      }
    },
    notifyServers: () => {},
    refresh: none,
    connect: none,
    disconnect: none,
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      isClosed = true
    },
  }
  return { host, started, isClosed: () => isClosed }
}

function pendingOf(config: ServerConfig): ServerStatus {
  return {
    name: config.name,
    state: 'pending',
    reason: undefined,
    category: undefined,
    config,
    tools: [],
    hidden: [],
    held: [],
    isCached: false,
    problems: [],
    info: undefined,
    protocol: undefined,
    capabilities: {},
    instructions: undefined,
    startMilliseconds: undefined,
    pid: undefined,
    stderr: '',
    isRemembered: false,
    prompts: undefined,
    resources: undefined,
    resourceTemplates: undefined,
    hasListed: false,
    pageTools: [],
  }
}

type Scene = {
  readonly folder?: string
  /** The folder's servers are started; true if left out. */
  readonly isTrusting?: boolean
  readonly outcomes?: { readonly [name: string]: Outcome }
  readonly columns?: number
  readonly isInteractive?: boolean
  readonly pins?: Pins
  readonly environment?: NodeJS.ProcessEnv
  readonly onInterrupt?: DoctorSurroundings['onInterrupt']
  /** Gets what is printed, also when the command fails in the end. */
  readonly out?: string[]
}

async function examine(words: readonly string[], scene: Scene = {}) {
  const { folder = configured({ a: { command: 'a' }, b: { command: 'b' } }), outcomes = {} } = scene
  const { out = [] } = scene
  const told: string[] = []
  let fake: ReturnType<typeof fakeHost> | undefined
  const command = createDoctor({
    machine: () => ({ home: folder, folder, platform: 'linux', environment: scene.environment ?? {} }),
    createHost: ({ servers }, { pins }) => {
      fake = fakeHost(servers, outcomes, pins)
      return fake.host
    },
    pins: () => scene.pins,
    columns: () => scene.columns,
    onInterrupt: scene.onInterrupt ?? (() => () => {}),
  })
  const given = scene.isTrusting === false ? words : [...words, '--trust-project']
  const code = await command.run(readInput(command, given), {
    print: (text) => void out.push(text),
    report: (text) => void told.push(text),
    isInteractive: scene.isInteractive ?? false,
  })
  return { code, out: out.join('\n'), told, fake: fake! }
}

describe('toolshelf doctor', () => {
  it('prints JSON alone on standard output, with the shape that the help names', async () => {
    const { code, out, told, fake } = await examine(['--json'], {
      outcomes: { b: { state: 'failed', reason: 'gone', stderr: 'last words' } },
    })
    expect(code).toBe(1)
    const { servers, total, projection, method, findings } = JSON.parse(out)
    expect(servers.map((one: { name: string }) => one.name)).toEqual(['a', 'b'])
    expect(servers[0]).toMatchObject({
      state: 'connected',
      reason: null,
      startMilliseconds: 90,
      tools: 30,
      tokens: expect.any(Number),
      share: expect.any(Number),
      tokensSavedPerRequest: expect.any(Number),
      problems: [],
      alwaysLoadAdvice: null,
    })
    expect(servers[0].heaviest).toHaveLength(5)
    expect(servers[1]).toMatchObject({
      state: 'failed',
      reason: 'gone',
      stderr: 'last words',
      tools: 0,
      tokens: 0,
    })
    expect(total).toMatchObject({ servers: 2, connected: 1, failed: 1, tools: 30 })
    expect(projection).toMatchObject({ requests: 20, extraRoundTrips: 1, pricedAs: 'claude-sonnet-5-5' })
    expect(method).toContain('estimates')
    expect(findings[0]).toMatchObject({
      ...{ level: 'error', server: 'b', title: 'did not connect: gone', details: ['stderr: last words'] },
      remedy: expect.any(String),
    })
    expect(told).toEqual(['a: connected, 30 tools, 90 ms', 'b: failed: gone'])
    expect(fake.isClosed()).toBe(true)
  })

  it('JSON holds no character that steers a terminal, and gives each back', async () => {
    const reason = 'a\u009b2Jb\u202ec\u001b[2Jd'
    const { out } = await examine(['--json'], { outcomes: { a: { state: 'failed', reason } } })
    expect(out).toMatch(/^[ -~−×]*$/)
    expect(JSON.parse(out).servers[0].reason).toBe(reason)
  })

  it('shows the line that names the error of a server that crashed, however long its output', async () => {
    const frames = Array.from({ length: 9 }, (_, index) => `    at frame ${index}`)
    const stderr = ['node:internal:1', '  throw err;', "Error: Cannot find '/n.js'", ...frames].join('\n')
    const { out } = await examine([], { outcomes: { b: { state: 'failed', reason: 'gone', stderr } } })
    const shown = [...out.matchAll(/stderr: (.*)/g)].map(([, line]) => line)
    expect(shown).toEqual(["Error: Cannot find '/n.js'", '…', ...[5, 6, 7, 8].map((at) => `at frame ${at}`)])
  })

  it('counts servers that cannot be started among those left out', async () => {
    const folder = configured({
      a: { command: 'a', nope: 1 },
      odd: { args: [] },
      unset: { command: '${NOT_SET}' },
    })
    expect((await examine([], { folder })).out).toContain('3 servers, 1 connected, 2 left out, 30 tools')
  })

  it('draws for a terminal, and writes plainly elsewhere; NO_COLOR takes the colours alone', async () => {
    const drawn = await examine([], { columns: 80 })
    expect(drawn.out).toContain('█')
    const colourless = await examine([], { columns: 80, environment: { NO_COLOR: '1' } })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are taken away
    expect(colourless.out).toBe(drawn.out.replace(/\u001b\[\d+m/g, ''))
    const plainly = [await examine([]), await examine([], { columns: 80, environment: { TERM: 'dumb' } })]
    for (const { out } of plainly) expect(out).toMatch(/^[\n -~]*$/)
  })

  it.each([
    ['report', 'used all the same', []],
    ['hold', 'held back', ['tool1']],
  ])(
    'reports which pinned tools have changed, where the gateway would %s them',
    async (onChange, outcome, held) => {
      const pins = openPins({ folder: undefined })
      const [first, second, ...rest] = fakeTools
      await pins.judge('a', [first!, { ...second!, description: 'As it was.' }, ...rest])
      const folder = temporaryFolder()
      const mcpServers = { a: { command: 'a' }, b: { command: 'b' } }
      const file = join(folder, 'toolshelf.json')
      writeFileSync(file, JSON.stringify({ mcpServers, gateway: { onChange } }))
      const outcomes = {
        a: { state: 'connected', tools: fakeTools },
        b: { state: 'connected', tools: fakeTools },
      } as const
      const { out } = await examine(['--config', file], { folder, pins, outcomes })
      expect(out.replace(/\s+/g, ' ')).toContain(
        `a changed 1 text since first seen; ${outcome} by toolshelf mcp tool1`,
      )
      expect(out).toContain('toolshelf trust a')
      const { servers } = JSON.parse(
        (await examine(['--json', '--config', file], { folder, pins, outcomes })).out,
      )
      expect(servers[0]).toMatchObject({ changed: ['tool1'], held })
      expect(servers[1]).toMatchObject({ changed: [], held: [] })
      expect((await pins.list()).map(({ server }) => server)).toEqual(['a'])
    },
  )

  it('writes the tools as a catalogue that search reads', async () => {
    const file = join(temporaryFolder(), 'tools.jsonl')
    const folder = configured({ a: { command: 'a', tools: { send: { hint: 'telegram' } } } })
    const send = { name: 'send', description: 'Sends a message', inputSchema: { type: 'object' } }
    const outcomes = { a: { state: 'connected', tools: [...fakeTools, send] } } as const
    const { told } = await examine(['--catalog', file], { folder, outcomes })
    expect(told.at(-1)).toContain(`The tools are in ${file}`)
    const out: string[] = []
    const terminal = { print: (text: string) => void out.push(text), report: () => {}, isInteractive: false }
    expect(await runCli(['search', 'telegram', '--catalog', file, '--json'], terminal)).toBe(0)
    expect(JSON.parse(out.join()).hits[0]).toMatchObject({ name: 'send', server: 'a' })
  })

  it('rewrites one line of progress on a terminal', async () => {
    const { told } = await examine([], { isInteractive: true, columns: 80 })
    expect(told[0]).toContain('0 of 2 servers after 0 s, waiting for a, b')
    expect(told.slice(1).every((line) => line.startsWith('\u001b[1A\u001b[2K'))).toBe(true)
    expect(told.at(-1)).toBe('\u001b[1A\u001b[2K')
    const dumb = await examine([], { isInteractive: true, columns: 80, environment: { TERM: 'dumb' } })
    expect(dumb.told.join()).not.toContain('\u001b')
  })

  it('starts lazy servers too, within the time that is given', async () => {
    const folder = configured({ a: { command: 'a', lazy: true } })
    const { fake } = await examine(['--timeout', '2.5'], { folder })
    expect(fake.started).toMatchObject([{ name: 'a', lazy: false, connectTimeoutMs: 2500 }])
  })

  it('reports without the rest when the person stops waiting', async () => {
    const { code, out, told, fake } = await examine([], {
      outcomes: { b: { state: 'pending' } },
      onInterrupt: (listener) => {
        const timer = setTimeout(listener, 20)
        return () => clearTimeout(timer)
      },
    })
    expect(code).toBe(130)
    expect(told.at(-1)).toMatch(/^interrupted/)
    expect(out).toMatch(/^\+ a /m)
    expect(out).toContain('b was still starting when you interrupted')
    expect(out).not.toMatch(/--timeout|undefined/)
    expect(out).toContain('-> Run the doctor again, and let it finish.')
    expect(out).toMatch(/^Next {2}toolshelf doctor again/m)
    expect(fake.isClosed()).toBe(true)
  })

  it('a file that cannot be written does not cost the report', async () => {
    const out: string[] = []
    const failing = examine(['--catalog', join(temporaryFolder(), 'no', 'such', 'tools.jsonl')], { out })
    await expect(failing).rejects.toThrow(CommandError)
    await expect(failing).rejects.toThrow(/cannot write .*tools\.jsonl \(ENOENT\)/)
    expect(out.join()).toContain('2 servers, 2 connected')
  })

  it('names the one command to do next', async () => {
    expect((await examine([])).out).toMatch(/Next {2}toolshelf connect --apply$/)
    const folder = configured({ a: { command: 'a' } }, 'toolshelf.json')
    expect((await examine([], { folder })).out).toMatch(/Next {2}toolshelf mcp$/)
    const outcomes = { a: { state: 'connected', tools: fakeTools.slice(0, 2) } } as const
    const { out } = await examine([], { folder, outcomes })
    expect(out).toMatch(
      /does not pay off for so few tools[\s\S]*Next {2}nothing: keep your servers as they are$/,
    )
  })

  it('notices the clients that start these servers through Toolshelf already', async () => {
    const folder = temporaryFolder()
    const write = (file: string, servers: object) => {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), JSON.stringify({ mcpServers: servers }))
    }
    write('.config/toolshelf/toolshelf.json', { a: { command: 'a' } })
    write('.cursor/mcp.json', {
      toolshelf: { command: 'toolshelf', args: ['mcp', '--config', '/other.json'] },
    })
    expect((await examine([], { folder })).out).toMatch(/Next {2}toolshelf mcp$/)
    write('.cursor/mcp.json', { toolshelf: { command: 'toolshelf', args: ['mcp'] } })
    const one = 'nothing: Cursor already starts these servers through Toolshelf'
    expect((await examine([], { folder })).out.replaceAll(/\s+/g, ' ')).toContain(`Next ${one}`)
    write('.claude.json', { toolshelf: { command: 'toolshelf', args: ['mcp'] } })
    const both = 'nothing: Claude Code and Cursor already start these servers through Toolshelf'
    expect((await examine([], { folder })).out.replaceAll(/\s+/g, ' ')).toContain(`Next ${both}`)
  })

  it('servers that all failed are corrected first', async () => {
    const failed = { state: 'failed', reason: 'the command "a" was not found; install it' } as const
    const all = await examine([], { outcomes: { a: failed, b: failed } })
    expect(all.out).toMatch(/Next {2}correct the entries above, then toolshelf doctor again$/)
    const one = await examine([], { outcomes: { a: failed } })
    expect(one.out).toMatch(/Next {2}toolshelf connect --apply$/)
  })

  it('advises more time only for a server that was late', async () => {
    const examineReal = async (servers: object, ...words: string[]) => {
      const out: string[] = []
      const config = join(configured(servers), '.mcp.json')
      const terminal = { print: (text: string) => void out.push(text), report() {}, isInteractive: false }
      expect(await runCli(['doctor', '--config', config, ...words], terminal)).toBe(1)
      return out.join('\n').replaceAll(/\s+/g, ' ')
    }
    expect(await examineReal({ a: { command: '/no/such/command' } })).toMatch(
      /was not found.* Run the command by hand, or correct the entry/,
    )
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const silent = { a: { url: `http://127.0.0.1:${port}/mcp` } }
    expect(await examineReal(silent, '--timeout', '0.2')).toContain('or give it longer with --timeout')
  })

  it('takes several files, and reports errors in one while it uses the others', async () => {
    const folder = configured({ a: { command: 'a' } }, 'one.json')
    writeFileSync(join(folder, 'two.json'), '{ "mcpServers": ')
    const { out, code } = await examine(['--config', 'one.json', '--config', 'two.json'], { folder })
    expect(code).toBe(0)
    expect(out).toContain('1 server, 1 connected')
    expect(out).toContain('it is not valid JSON')
  })
})
