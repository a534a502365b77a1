// Each command from a process of its own, as the package starts it: its help, what it does, and one mistake with its exit
// code and message.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lightBinary } from '../../cli/light-demo.ts'
import { browse, startAuthServer } from '../../mcp/support/auth-server.ts'
import { serveHere, text } from '../../mcp/support/server-here.ts'
import { newPlace, type Place, type Ran, run, start } from './place.ts'

const shop = serveHere(() => ({
  'tools/list': () => ({
    tools: ['close_issue', 'send_mail'].map((name) => ({
      name,
      description: `Can ${name}.`,
      inputSchema: { type: 'object' },
    })),
  }),
  'tools/call': () => text('done'),
}))
const configuration = { mcpServers: { shop: { url: shop } } }
const script = { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'Good morning.' }

/** A place with a configuration, a script for a model and a catalogue. */
function furnished(): Place {
  const place = newPlace()
  mkdirSync(join(place.folder, 'home/.config/toolshelf'), { recursive: true })
  place.file('home/.config/toolshelf/toolshelf.json', configuration)
  place.file('script.json', script)
  place.file('tools.jsonl', JSON.stringify({ name: 'send_mail', description: 'Sends a mail', server: 'hub' }))
  return place
}

const parsed = ({ out }: Ran) => JSON.parse(out)
const said = (place: Place, line: string, program?: readonly string[]) => run(place, line.split(' '), program)
const own = (place: Place) =>
  JSON.parse(readFileSync(join(place.folder, 'home/.config/toolshelf/toolshelf.json'), 'utf8')).mcpServers

const post = (url: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  })

type Row = {
  /** What it does when all is well. */
  readonly works: (place: Place) => Promise<void>
  /** A command line, its exit code, and how its message begins. */
  readonly fails: readonly [line: string, code: number, message: string]
}

const commands: { readonly [name: string]: Row } = {
  demo: {
    async works(place) {
      const { code, out } = await said(place, 'demo --json', lightBinary())
      expect([code, JSON.parse(out)]).toMatchObject([0, { total: { definitionTokens: expect.any(Number) } }])
    },
    fails: ['demo --live', 1, 'toolshelf demo: no model is configured. Set ANTHROPIC_API_KEY, '],
  },
  doctor: {
    async works(place) {
      const ran = await said(place, 'doctor --json')
      expect(ran.code).toBe(0)
      expect(parsed(ran)).toMatchObject({ servers: [{ name: 'shop', state: 'connected', tools: 2 }] })
    },
    fails: ['doctor --config none.json', 1, 'toolshelf doctor: no server to start.\n'],
  },
  connect: {
    async works(place) {
      place.file('client.json', { mcpServers: { mine: { command: 'run' } } })
      const ran = await said(place, 'connect --from client.json --to all.json --yes --json --no-start')
      expect(ran.code).toBe(0)
      expect(parsed(ran)).toMatchObject({ isWritten: true, servers: [{ name: 'mine', state: 'new' }] })
      expect(readFileSync(join(place.folder, 'all.json'), 'utf8')).toContain('"mine"')
    },
    fails: ['connect --apply --undo', 2, 'toolshelf connect: use either --apply or --undo.\n'],
  },
  mcp: {
    async works(place) {
      const gateway = start(place, ['mcp', '--mode', 'list'])
      const say = (message: object) => gateway.type(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
      const params = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      }
      say({ id: 1, method: 'initialize', params })
      await gateway.hears(/"id":1\b.*\n/)
      say({ method: 'notifications/initialized' })
      say({ id: 2, method: 'tools/list' })
      await gateway.hears(/"id":2\b.*\n/)
      gateway.end()
      const { code, out } = await gateway.ended
      expect(code).toBe(0)
      const messages = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const list = messages.find(({ id }) => id === 2)
      expect(list.result.tools.map(({ name }: { name: string }) => name)).toContain('ToolSearch')
    },
    fails: ['mcp --port 5', 2, 'toolshelf mcp: --port requires --http.\n'],
  },
  serve: {
    async works(place) {
      const gateway = start(place, ['serve', '--upstream', 'script:script.json', '--port', '0', '--json'])
      const [url] = await gateway.hears(/http:\/\/127\.0\.0\.1:\d+/)
      const reply = await post(`${url}/v1/messages`, {
        model: 'any',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hello' }],
      })
      expect(await reply.json()).toMatchObject({
        content: [{ type: 'text', text: expect.stringMatching(/^Good morning\.\n/) }],
      })
      gateway.end('SIGTERM')
      const ran = await gateway.ended
      expect([ran.code, parsed(ran)]).toEqual([0, expect.objectContaining({ status: 200 })])
    },
    fails: [
      'serve --upstream script:none.json',
      1,
      'toolshelf serve: cannot read the script none.json (ENOENT)',
    ],
  },
  chat: {
    async works(place) {
      await said(place, 'run hello --script script.json')
      const ran = await said(place, 'chat --list --json')
      expect([ran.code, parsed(ran)]).toEqual([0, expect.objectContaining({ sessions: [expect.anything()] })])
    },
    fails: [
      'chat --script demo',
      1,
      'toolshelf chat: a chat needs a terminal. Without one, use "toolshelf run".\n',
    ],
  },
  run: {
    async works(place) {
      const { code, out } = await said(place, 'run hello --script script.json')
      expect([code, out]).toEqual([0, "Good morning.\n(Toolshelf's offline script, not a model)\n"])
    },
    fails: ['run hello', 1, 'toolshelf run: no model is configured. Set ANTHROPIC_API_KEY, '],
  },
  add: {
    async works(place) {
      const { code, out } = await said(place, 'add files -- npx -y pkg --flag')
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/^Added files \(npx pkg\) to .*toolshelf\.json\.\n$/),
      ])
      expect(own(place).files).toEqual({ command: 'npx', args: ['-y', 'pkg', '--flag'] })
    },
    fails: ['add shop -- run', 1, 'toolshelf add: '],
  },
  list: {
    async works(place) {
      const ran = await said(place, 'list --json')
      expect(ran.code).toBe(0)
      expect(parsed(ran).servers).toEqual([
        expect.objectContaining({ name: 'shop', state: 'connected', tools: 2 }),
      ])
    },
    fails: ['list --config none.json', 1, 'toolshelf list: no server to list. '],
  },
  remove: {
    async works(place) {
      expect(await said(place, 'remove shop')).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^Removed shop from /),
      })
      expect(own(place)).toEqual({})
    },
    fails: ['remove shoe', 1, 'toolshelf remove: '],
  },
  login: {
    async works(place) {
      const { url } = await startAuthServer()
      place.file('remote.json', { mcpServers: { wiki: { url } } })
      const login = start(place, ['login', 'wiki', '--no-browser', '--json', '--config', 'remote.json'])
      const [address = ''] = await login.hears(/http:\S+code_challenge\S+/)
      await browse(address)
      const ran = await login.ended
      expect([ran.code, parsed(ran)]).toEqual([
        0,
        { server: 'wiki', isLoggedIn: true, tools: expect.any(Number) },
      ])
      expect(parsed(await said(place, 'login wiki --forget --json --config remote.json'))).toEqual({
        server: 'wiki',
        wasLoggedIn: true,
      })
    },
    fails: ['login none', 1, 'toolshelf login: no server "none" is configured. Remote servers: shop.\n'],
  },
  search: {
    async works(place) {
      const ran = await said(place, 'search mail --catalog tools.jsonl --json')
      expect([ran.code, parsed(ran)]).toMatchObject([0, { hits: [{ name: 'send_mail', server: 'hub' }] }])
    },
    fails: [
      'search mail --limit 0',
      2,
      'toolshelf search: --limit is "0"; use a whole number of at least 1.\n',
    ],
  },
  inspect: {
    async works(place) {
      writeFileSync(join(place.folder, 'events.jsonl'), '')
      const inspector = start(place, ['inspect', 'events.jsonl', '--no-open'])
      const [, url = ''] = await inspector.hears(/^The inspector is at (http:\S+\/)/)
      expect(await (await fetch(url)).text()).toMatch(/^<!doctype html>/i)
      inspector.end('SIGTERM')
      expect((await inspector.ended).code).toBe(0)
    },
    fails: ['inspect none.jsonl', 1, 'toolshelf inspect: there is no file '],
  },
  trust: {
    async works(place) {
      place.file('.mcp.json', { mcpServers: { theirs: { command: 'run' } } })
      expect(await said(place, 'trust --yes')).toMatchObject({
        code: 0,
        out: expect.stringContaining('is trusted: 1 server.\n'),
      })
      expect(parsed(await said(place, 'trust list --json')).folders).toHaveLength(1)
    },
    fails: ['trust none', 1, 'toolshelf trust: no known server "none". '],
  },
  users: {
    async works(place) {
      const { code, out } = await said(place, 'users add ada')
      expect([code, out]).toEqual([0, expect.stringMatching(/^tsk_\S+\n$/)])
      expect(parsed(await said(place, 'users --json')).users).toEqual([
        expect.objectContaining({ id: 'ada' }),
      ])
    },
    fails: ['users add ada --profile none', 1, 'toolshelf users: there is no profile "none" '],
  },
}

const commandsOf = (overview: string) =>
  [...overview.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name)

it('the overview names every command', async () => {
  const { code, out, told } = await run(newPlace(), ['--help'])
  expect([code, told]).toEqual([0, ''])
  expect(commandsOf(out).sort()).toEqual(Object.keys(commands).sort())
  await expect(out).toMatchFileSnapshot('help/overview.txt')
})

describe.each(Object.entries(commands))('toolshelf %s', (name, { works, fails }) => {
  it('helps', async () => {
    const { code, out, told } = await run(newPlace(), [name, '--help'])
    expect([code, told]).toEqual([0, ''])
    await expect(out).toMatchFileSnapshot(`help/${name}.txt`)
  })

  it('works', () => works(furnished()))

  it('fails', async () => {
    const [line, code, message] = fails
    const ran = await said(furnished(), line)
    expect([ran.code, ran.out, ran.told.slice(0, message.length)]).toEqual([code, '', message])
  })
})

it('a running gateway takes up what is added and removed, and keeps its servers while a file is broken', async () => {
  const place = furnished()
  const gateway = start(place, ['mcp', '--http', '--port', '0'])
  await gateway.hears(/ready at/)
  await said(place, `add other ${serveHere(() => ({ 'tools/list': () => ({ tools: [] }) }))}`)
  await gateway.hears(/the configuration has changed: added other\.\n/)
  const broken = place.file('home/.config/toolshelf/toolshelf.json', '{')
  await gateway.hears(/keeping its servers as they are until it can be read\.\n/)
  writeFileSync(broken, JSON.stringify(configuration))
  await gateway.hears(/the configuration has changed: removed other\.\n/)
  gateway.end('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})
