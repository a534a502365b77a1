// Logins to remote servers: through a browser that follows redirects, from a file that several share, and never silently.
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Terminal } from '../../packages/cli/src/command.ts'
import { readInput } from '../../packages/cli/src/command.ts'
import { browserCommand, createLogin } from '../../packages/cli/src/login.ts'
import { createOAuth } from '../../packages/mcp/src/oauth/authorize.ts'
import { type LoginOptions, login, logout } from '../../packages/mcp/src/oauth/login.ts'
import type { RemoteConfig, ServerConfig } from '../../packages/mcp/src/types.ts'
import { type AuthServer, browse, startAuthServer } from './support/auth-server.ts'
import { temporaryFolder } from './support/folder.ts'

const configOf = (url: string, name = 'notes', given: Partial<RemoteConfig> = {}): ServerConfig => ({
  name,
  transport: { kind: 'http', url, headers: {}, ...given },
  disabled: false,
  lazy: false,
  alwaysLoad: undefined,
  description: undefined,
  tools: {},
  allow: [],
  deny: [],
  connectTimeoutMs: 20_000,
  callTimeoutMs: 20_000,
  source: 'test',
})

const clientInfo = { name: 'test', version: '1' }

type Desk = {
  readonly folder: string
  readonly said: string[]
  readonly logIn: (given?: Partial<LoginOptions>) => ReturnType<typeof login>
  readonly provider: (name?: string, url?: string) => ReturnType<typeof createOAuth>
  readonly tools: (provider?: ReturnType<typeof createOAuth>) => Promise<string[]>
}

/** A folder for tokens, and everything reported on the way. */
function desk({ url }: AuthServer): Desk {
  const folder = join(temporaryFolder(), 'tokens')
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  for (const method of ['log', 'info', 'warn', 'error'] as const) {
    const spy = vi.spyOn(console, method).mockImplementation((...words) => say(words.join(' ')))
    onTestFinished(() => spy.mockRestore())
  }
  const provider = (server = 'notes', address = url) =>
    createOAuth({ folder, server, url: address, notify: say })
  return {
    folder,
    said,
    logIn: (given) =>
      login({
        config: configOf(url),
        folder,
        clientInfo,
        print: say,
        notify: say,
        openBrowser: browse,
        ...given,
      }),
    provider,
    tools: (used = provider()) => connect(url, used, async (client) => namesOf(await client.listTools())),
  }
}

const namesOf = ({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name)

async function connect<Value>(
  url: string,
  authProvider: ReturnType<typeof createOAuth>,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  const client = new Client(clientInfo, { versionNegotiation: { mode: 'auto' } })
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }))
    return await use(client)
  } finally {
    await client.close()
  }
}

function fileIn(folder: string): string {
  const [name] = readdirSync(folder).filter((found) => found.endsWith('.json'))
  return join(folder, name ?? '')
}

const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => 'it worked',
    (error: Error) => error.message,
  )

describe('toolshelf login, H1', () => {
  test('logs in through the browser, stores the tokens privately, and connects with them', async () => {
    const server = await startAuthServer()
    const { folder, logIn, said, tools } = desk(server)
    expect(await logIn()).toEqual({ tools: 2, isLoggedIn: true })
    expect(said.join('\n')).toContain(`${server.issuer}/authorize?`)
    expect(await tools()).toEqual(['whoami', 'ping'])
    expect(server.asked('/authorize')).toHaveLength(1)
    expect(server.asked('/authorize')[0]?.get('scope')).toBe('tools')
    expect(server.asked('/authorize')[0]?.get('resource')).toBe(server.url)
    expect(readdirSync(folder)).toHaveLength(1)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600)
  })

  test('a folder that others can read is closed to them', async () => {
    const { folder, logIn } = desk(await startAuthServer())
    mkdirSync(folder, { mode: 0o755 })
    await logIn()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  test('with a server that names its issuer, its transport left open', async () => {
    const server = await startAuthServer({ namesIssuer: true })
    const { logIn } = desk(server)
    expect(await logIn({ config: configOf(server.url, 'notes', { kind: 'auto' }) })).toMatchObject({
      tools: 2,
    })
  })

  test('an answer in the name of another issuer is refused, and its words are not shown', async () => {
    const server = await startAuthServer({ namesIssuer: true })
    const { folder, logIn } = desk(server)
    const openBrowser = async (url: string) => {
      const { headers } = await fetch(url, { redirect: 'manual' })
      const answer = new URL(headers.get('location') ?? '')
      answer.searchParams.set('iss', 'https://evil.example')
      return browse(answer.href)
    }
    const message = await messageOf(logIn({ openBrowser }))
    expect(message).toContain('is not the expected one')
    expect(message).not.toContain('evil')
    expect(readdirSync(temporaryParent(folder))).toEqual([])
  })

  test('headers of the configuration reach the server, never the authorization server', async () => {
    const server = await startAuthServer()
    const { logIn } = desk(server)
    await logIn({ config: configOf(server.url, 'notes', { headers: { 'x-key': 'for the server only' } }) })
    expect(server.knocks.every((headers) => headers['x-key'] === 'for the server only')).toBe(true)
    expect(server.foreignHeaders).toEqual([])
  })

  test('reports a refusal, and leaves the last login as it was', async () => {
    const server = await startAuthServer()
    const { folder, logIn, tools } = desk(server)
    await logIn()
    const before = readFileSync(fileIn(folder), 'utf8')
    const openBrowser = async (url: string) => {
      const asked = new URL(url).searchParams
      return browse(`${asked.get('redirect_uri')}?state=${asked.get('state')}&error=access_denied`)
    }
    expect(await messageOf(logIn({ openBrowser }))).toContain('access_denied')
    expect(readFileSync(fileIn(folder), 'utf8')).toBe(before)
    expect(await tools()).toHaveLength(2)
  })

  test('one that lets everyone in and knows a login gets it: its calls may want it', async () => {
    const { logIn, provider } = desk(await startAuthServer({ isOpen: true }))
    expect(await logIn()).toEqual({ tools: 2, isLoggedIn: true })
    expect(await provider().token()).toMatch(/^access-/)
  })

  test('gives up when nobody answers, and when it is cancelled', async () => {
    const { logIn } = desk(await startAuthServer())
    const openBrowser = async () => true
    expect(await messageOf(logIn({ openBrowser, timeoutMs: 1 }))).toContain('the login timed out')
    const cancelled = new AbortController()
    const waits = messageOf(
      logIn({ openBrowser: async () => cancelled.abort() === undefined, signal: cancelled.signal }),
    )
    expect(await waits).toContain('cancelled')
  })

  test('a login page that is not https is not opened', async () => {
    const server = await startAuthServer()
    const { logIn } = desk(server)
    const opened: string[] = []
    const original = globalThis.fetch
    const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const response = await original(input, init)
      if (!String(input).includes('oauth-authorization-server')) return response
      const metadata = (await response.json()) as object
      return Response.json({ ...metadata, authorization_endpoint: 'file:///usr/bin/evil' })
    })
    onTestFinished(() => spy.mockRestore())
    const openBrowser = async (url: string) => opened.push(url) > 0
    expect(await messageOf(logIn({ openBrowser }))).toContain('is not https and was not opened')
    expect(opened).toEqual([])
  })
})

describe('a stored login in the background, H2', () => {
  test('without one the reason names the command, and nothing is opened, registered or written', async () => {
    const server = await startAuthServer()
    const { folder, provider } = desk(server)
    const failure = await connect(server.url, provider(), async () => {}).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UnauthorizedError)
    expect((failure as Error).message).toBe('needs a login: run "toolshelf login notes"')
    expect([...server.asked('/register'), ...server.asked('/authorize')]).toEqual([])
    expect(readdirSync(temporaryParent(folder))).toEqual([])
  })

  test('an expired token is refreshed; a second login is not needed', async () => {
    const server = await startAuthServer()
    const { logIn, tools } = desk(server)
    await logIn()
    for (let round = 0; round < 3; round++) {
      server.expire()
      expect(await tools()).toHaveLength(2)
    }
    expect(server.asked('/token')).toHaveLength(4)
    expect(server.asked('/authorize')).toHaveLength(1)
  })

  test('requests that are refused together refresh once', async () => {
    const server = await startAuthServer()
    const { logIn, provider } = desk(server)
    await logIn()
    await connect(server.url, provider(), async (client) => {
      server.expire()
      await Promise.all(Array.from({ length: 20 }, () => client.callTool({ name: 'whoami' })))
    })
    expect(server.asked('/token')).toHaveLength(2)
  })

  test('of several holders of one file none uses a refresh token that another has used', async () => {
    const server = await startAuthServer()
    const { logIn, provider, tools } = desk(server)
    await logIn()
    const holders = Array.from({ length: 5 }, () => provider())
    await Promise.all(holders.map((holder) => tools(holder)))
    server.expire()
    await Promise.all(holders.map((holder) => tools(holder)))
    expect(server.asked('/token')).toHaveLength(2)
    expect(await tools()).toHaveLength(2)
  })

  test('a login made meanwhile is used without a new start', async () => {
    const server = await startAuthServer()
    const { logIn, provider, tools } = desk(server)
    const early = provider()
    await expect(tools(early)).rejects.toThrow('needs a login')
    await logIn()
    expect(await tools(early)).toHaveLength(2)
  })

  test('reports a revoked login, and asks for a new one once it is forgotten', async () => {
    const server = await startAuthServer()
    const { logIn, tools } = desk(server)
    await logIn()
    server.expire()
    server.revoke()
    expect(await messageOf(tools())).toBe(
      'needs a login (the last one is no longer accepted: invalid_grant): run "toolshelf login notes"',
    )
    expect(await messageOf(tools())).toBe('needs a login: run "toolshelf login notes"')
    await logIn()
    expect(await tools()).toHaveLength(2)
  })

  test('an authorization server that is down costs no login, and what it echoes is not shown', async () => {
    const server = await startAuthServer()
    const { logIn, said, tools } = desk(server)
    await logIn()
    server.expire()
    server.breakRefresh((token, response) => response.writeHead(500).end(`cannot refresh ${token}`))
    const message = await messageOf(tools())
    expect(message).toMatch(
      /^its login could not be renewed at 127\.0\.0\.1:\d+: .*cannot refresh \[hidden\]/,
    )
    server.breakRefresh((_, response) => response.destroy())
    expect(await messageOf(tools())).toContain('could not be renewed')
    server.breakRefresh(undefined)
    expect(await tools()).toHaveLength(2)
    expectNoSecrets(server, [message, ...said])
  })

  test('an authorization server that answers without end is heard only up to a size', async () => {
    const server = await startAuthServer()
    const { logIn, tools } = desk(server)
    await logIn()
    server.expire()
    const spaces = Buffer.alloc(2 ** 20, 32)
    const pour = (response: ServerResponse) => {
      while (!response.destroyed && response.write(spaces)) {}
      if (!response.destroyed) response.once('drain', () => pour(response))
    }
    server.breakRefresh((_, response) =>
      pour(response.writeHead(200, { 'content-type': 'application/json' })),
    )
    expect(await messageOf(tools())).toMatch(/could not be renewed.*more than 32 MB/)
  })

  test('a lock that a killed process left behind does not last', async () => {
    const server = await startAuthServer()
    const { folder, logIn, tools } = desk(server)
    await logIn()
    server.expire()
    const left = `${fileIn(folder)}.lock`
    writeFileSync(left, '')
    utimesSync(left, new Date(0), new Date(0))
    expect(await tools()).toHaveLength(2)
  })

  test('sets a broken file aside, reports it, and treats it as no login', async () => {
    const server = await startAuthServer()
    const { folder, logIn, said, tools } = desk(server)
    await logIn()
    const path = fileIn(folder)
    for (const text of [
      '{"server": "no',
      '[]',
      'null',
      JSON.stringify({ ...storedIn(folder), tokens: {} }),
    ]) {
      writeFileSync(path, text)
      await expect(tools()).rejects.toThrow('needs a login')
      expect(readFileSync(`${path}.broken`, 'utf8')).toBe(text)
    }
    expect(said.filter((text) => text.includes(`was set aside as ${path}.broken`))).toHaveLength(4)
    await logIn()
    expect(await tools()).toHaveLength(2)
  })

  test('tokens belong to one name at one address', async () => {
    const [first, second] = [await startAuthServer(), await startAuthServer()]
    const { folder, logIn, provider } = desk(first)
    await logIn()
    const own = await provider().token()
    expect(await provider('notes', second.url).token()).toBeUndefined()
    expect(await provider('other').token()).toBeUndefined()
    await logIn({ config: configOf(second.url, 'other') })
    expect(second.secrets).toContain(await provider('other', second.url).token())
    expect(await provider().token()).toBe(own)
    expect(readdirSync(folder)).toHaveLength(2)
    await connect(second.url, provider('other', second.url), async () => {})
    const sent = second.knocks.map(({ authorization }) => authorization?.slice(7))
    expect(sent.filter((token) => token && first.secrets.has(token))).toEqual([])
  })

  test('a file copied to another address gives nothing', async () => {
    const server = await startAuthServer()
    const { folder, logIn, provider } = desk(server)
    await logIn()
    const stored = { ...storedIn(folder), url: 'https://elsewhere.example/mcp' }
    writeFileSync(fileIn(folder), JSON.stringify(stored))
    expect(await provider().token()).toBeUndefined()
  })
})

describe('forgetting a login', () => {
  test('revokes, and forgets', async () => {
    const server = await startAuthServer()
    const { folder, logIn, said, tools } = desk(server)
    await logIn()
    const { tokens } = storedIn(folder)
    expect(await logout({ folder, server: 'notes', notify: (text) => void said.push(text) })).toBe(1)
    expect(server.asked('/revoke').map((asked) => asked.get('token'))).toEqual([
      tokens.refresh_token,
      tokens.access_token,
    ])
    expect(readdirSync(folder)).toEqual([])
    await expect(tools()).rejects.toThrow('needs a login')
  })

  test('forgets a login even if the server cannot be reached, says so, and leaves others alone', async () => {
    const server = await startAuthServer({ revokes: false })
    const { folder, logIn, provider } = desk(server)
    await logIn()
    await logIn({ config: configOf(server.url, 'notes 2') })
    const notices: string[] = []
    expect(await logout({ folder, server: 'notes', notify: (text) => notices.push(text) })).toBe(1)
    expect(notices.join()).toContain('may still accept it: it does not support revocation')
    expect(await provider('notes 2').token()).toMatch(/^access-/)
    expect(await logout({ folder: join(folder, 'none'), server: 'notes', notify: () => {} })).toBe(0)
  })
})

describe('the commands', () => {
  function terminal() {
    const lines: string[] = []
    const say = (text: string) => void lines.push(text)
    return { lines, terminal: { print: say, report: say, isInteractive: false } satisfies Terminal }
  }

  async function commands(server: AuthServer) {
    const folder = temporaryFolder()
    const opened: string[] = []
    const mcpServers = { notes: { type: 'http', url: server.url }, local: { command: 'node' } }
    mkdirSync(join(folder, 'toolshelf'))
    writeFileSync(join(folder, 'toolshelf', 'toolshelf.json'), JSON.stringify({ mcpServers }))
    const surroundings = {
      machine: () => ({
        home: folder,
        folder,
        platform: process.platform,
        environment: { XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder },
      }),
      openBrowser: async (url: string) => browse(url).finally(() => opened.push(url)),
    }
    const login = createLogin(surroundings)
    const { lines, terminal: screen } = terminal()
    const run = (...words: string[]) => login.run(readInput(login, words), screen)
    return { run, lines, opened }
  }

  test('log in and out, and never print a secret', async () => {
    const server = await startAuthServer()
    const { run, lines } = await commands(server)
    expect(await run('notes')).toBe(0)
    expect(lines.at(-1)).toBe('Logged in to notes: 2 tools.')
    expect(await run('--forget', 'notes')).toBe(0)
    expect(lines.at(-1)).toBe('Logged out of notes.')
    await run('--forget', 'notes')
    expect(lines.at(-1)).toBe('No login of notes is stored.')
    expect(server.secrets.size).toBeGreaterThan(3)
    expectNoSecrets(server, lines)
  })

  test('--json prints for programs', async () => {
    const { run, lines } = await commands(await startAuthServer())
    await run('notes', '--json')
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ server: 'notes', isLoggedIn: true, tools: 2 })
    await run('--forget', 'notes', '--json')
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ server: 'notes', wasLoggedIn: true })
  })

  test('--no-browser only prints the address', async () => {
    const server = await startAuthServer()
    const { run, lines, opened } = await commands(server)
    const running = run('notes', '--no-browser')
    await vi.waitUntil(() => lines.length > 0, { timeout: 60_000 })
    await browse(/http:\S+/.exec(lines.join('\n'))?.[0] ?? '')
    expect(await running).toBe(0)
    expect(opened).toEqual([])
  })

  test('where no client can be registered, the error names the flags', async () => {
    const { run } = await commands(await startAuthServer({ registers: false }))
    const failure = expect(run('notes')).rejects
    await failure.toThrow(/^notes: .* with its id and the same port; use --client-id and --port$/)
  })

  test.each([
    [['no-such'], 'no server "no-such" is configured. Remote servers: notes.'],
    [[], 'name a server, such as "toolshelf login linear".'],
    [['local'], '"local" runs on this machine and needs no login'],
    [['notes', '--port', '99999'], '--port is "99999"; use a number from 1 to 65535'],
  ])('rejects wrong arguments: %j', async (words, message) => {
    const { run } = await commands(await startAuthServer())
    await expect(run(...words)).rejects.toThrow(message)
  })

  test('a server that is left out is reported with the reason only', async () => {
    const { run } = await commands(await startAuthServer())
    const file = join(temporaryFolder(), 'docs.json')
    const headers = { Authorization: 'Bearer $' + '{NEVER_SET_DOCS_KEY}' }
    writeFileSync(file, JSON.stringify({ mcpServers: { docs: { url: 'https://docs.test/mcp', headers } } }))
    await expect(run('docs', '--config', file)).rejects.toThrow(
      `${file}, server "docs": the environment variable NEVER_SET_DOCS_KEY is not set. The server is left out until it is.`,
    )
  })

  test('the browser is started without a shell', () => {
    const url = 'https://login.example/?a=1&b=`touch x`'
    expect(browserCommand(url, 'linux')).toEqual(['xdg-open', [url]])
    expect(browserCommand(url, 'darwin')).toEqual(['open', [url]])
    expect(browserCommand(url, 'win32')).toEqual(['rundll32', ['url.dll,FileProtocolHandler', url]])
  })
})

const temporaryParent = (folder: string) => join(folder, '..')

function storedIn(folder: string): { tokens: { access_token?: string; refresh_token?: string } } {
  return JSON.parse(readFileSync(fileIn(folder), 'utf8'))
}

function expectNoSecrets({ secrets }: AuthServer, texts: readonly string[]): void {
  const all = texts.join('\n')
  expect([...secrets].filter((secret) => all.includes(secret))).toEqual([])
}
