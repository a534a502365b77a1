// What replicas share by a store, through the same interfaces as without one: pins, definitions, logins.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import { mcpCommand } from '../../packages/cli/src/mcp.ts'
import { storeIn } from '../../packages/cli/src/options.ts'
import { type StateStore, StoreError } from '../../packages/core/src/store.ts'
import { openStoredDefinitions } from '../../packages/mcp/src/cache/definition-cache.ts'
import { createOAuth } from '../../packages/mcp/src/oauth/authorize.ts'
import { login, logout } from '../../packages/mcp/src/oauth/login.ts'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import { watchPins } from '../../packages/mcp/src/pins/places.ts'
import type { ListedTool, ServerConfig } from '../../packages/mcp/src/types.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { freePort, newPlaceIn, startRedis } from '../../packages/testkit/src/store-servers.ts'
import { browse, startAuthServer } from '../mcp/support/auth-server.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

const PATIENT = { timeout: 60_000, interval: 10 }
const away = () => Promise.reject(new StoreError('the store is away'))

function newStore(): StateStore {
  const store = createMemoryStore()
  onTestFinished(() => store.close())
  return store
}

/** A store that can be made unreachable. */
function fragileStore(): StateStore & { isAway: boolean } {
  const store = newStore()
  const state = { isAway: false }
  return new Proxy(store as StateStore & { isAway: boolean }, {
    get(target, name) {
      if (name === 'isAway') return state.isAway
      const found = target[name as keyof StateStore]
      if (typeof found !== 'function' || name === 'onGap') return found
      return state.isAway ? away : found
    },
    set(_, name, value) {
      if (name === 'isAway') state.isAway = value
      return true
    },
  })
}

describe('pins', () => {
  const tool = (description: string): ListedTool => ({
    name: 'read',
    description,
    inputSchema: { type: 'object' },
  })

  test('a change accepted at one replica holds at all, which hear of it', async () => {
    const store = newStore()
    const [one, other] = [openPins({ folder: undefined, store }), openPins({ folder: undefined, store })]
    const heard: (string | undefined)[] = []
    const stop = await watchPins(store, (server) => heard.push(server))
    await one.judge('notes', [tool('Reads.')])
    expect(await other.judge('notes', [tool('Reads all.')])).toHaveLength(1)
    expect((await one.list())[0]?.changed).toHaveLength(1)
    expect(await one.accept('notes')).toEqual(['read'])
    await vi.waitFor(() => expect(heard).toEqual(['notes']), PATIENT)
    expect(await other.judge('notes', [tool('Reads all.')])).toEqual([])
    expect(await other.forget('notes')).toBe(true)
    expect(await one.list()).toEqual([])
    await stop()
  })

  test('replicas that see a server first at the same moment agree', async () => {
    const store = newStore()
    const all = Array.from({ length: 5 }, () => openPins({ folder: undefined, store }))
    const verdicts = await Promise.all(
      all.map((pins, index) => pins.judge('notes', [tool(`Text ${index}.`)])),
    )
    expect(verdicts.filter(({ length }) => length === 0)).toHaveLength(1)
  })

  test('while the store is away, uses the pins last read, and reports it once', async () => {
    const store = fragileStore()
    const told: string[] = []
    const pins = openPins({ folder: undefined, store, notify: (message) => told.push(message) })
    const changes = async () => (await pins.judge('notes', [tool('Steals.')])).length
    await pins.judge('notes', [tool('Reads.')])
    await pins.judge('mail', [tool('Sends.')])
    store.isAway = true
    expect(await changes()).toBe(1)
    expect((await pins.list()).map(({ server }) => server)).toEqual(['mail', 'notes'])
    expect(await pins.accept('notes')).toEqual(['read'])
    expect(await changes()).toBe(0)
    expect([await pins.forget('mail'), await pins.forget('mail')]).toEqual([true, false])
    expect(told).toEqual([expect.stringContaining('the store is away')])
    store.isAway = false
    // What was decided meanwhile is not in the store.
    expect(await changes()).toBe(1)
    expect((await pins.list()).map(({ server }) => server)).toEqual(['mail', 'notes'])
    store.isAway = true
    expect(await changes()).toBe(1)
    expect(told).toHaveLength(2)
  })

  test('pins that somebody else deleted or spoilt are not remembered', async () => {
    const store = fragileStore()
    const told: string[] = []
    const pins = openPins({ folder: undefined, store, notify: (message) => told.push(message) })
    const changes = async (description: string) => (await pins.judge('notes', [tool(description)])).length
    await pins.judge('mail', [tool('Sends.')])
    expect(await changes('Reads.')).toBe(0)
    await store.set('pins/notes', '{}')
    expect((await pins.list()).map(({ server }) => server)).toEqual(['mail'])
    expect(await changes('Reads all.')).toBe(0)
    const broken = expect.stringContaining('are broken (it is of another version)')
    expect(told).toEqual([broken, broken])
    await store.delete('pins/notes')
    expect(await pins.accept('notes')).toEqual([])
    store.isAway = true
    expect(await changes('Reads more.')).toBe(0)
  })

  test('work that the store interrupts is not run twice', async () => {
    const store = newStore()
    let reads = 0
    /** Lets the lock expire as soon as the work under it has begun. */
    const losing = new Proxy(store, {
      get: (target, name) => {
        const found = target[name as keyof StateStore]
        if (name !== 'get') return found
        return async (key: string) => {
          reads++
          vi.setSystemTime(Date.now() + 60_000)
          return target.get(key)
        }
      },
    })
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const pins = openPins({ folder: undefined, store: losing })
    expect(await pins.judge('notes', [tool('Reads.')])).toEqual([])
    expect(reads).toBe(1)
  })

  test('whoever watches hears of a gap, until they stop', async () => {
    const store = newStore()
    const gaps = new Set<() => void>()
    const heard: (string | undefined)[] = []
    const onGap: StateStore['onGap'] = (listener) => {
      gaps.add(listener)
      return () => gaps.delete(listener)
    }
    const stop = await watchPins({ ...store, onGap }, (server) => heard.push(server))
    for (const gap of gaps) gap()
    expect(heard).toEqual([undefined])
    await stop()
    expect(gaps.size).toBe(0)
    await store.publish('pins', 'notes')
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual([undefined])
  })

  test.skipIf(!redis)('toolshelf trust accepts those of the store', async () => {
    const folder = temporaryFolder()
    const url = newPlaceIn(redis!)
    const store = await storeIn(readInput(mcpCommand, ['--store', url]))
    const pins = openPins({ folder: undefined, store })
    await pins.judge('notes', [tool('Reads.')])
    await pins.judge('notes', [tool('Reads all.')])
    const environment = { HOME: folder, TOOLSHELF_STORE: url }
    const { code, out } = await runHere({ folder, environment }, ['trust', 'notes', '--yes'])
    expect([code, out]).toEqual([0, expect.stringContaining('read')])
    expect(await pins.judge('notes', [tool('Reads all.')])).toEqual([])
    await store?.close()
  })
})

const configOf = (url: string): ServerConfig => ({
  name: 'notes',
  transport: { kind: 'http', url, headers: {} },
  ...{
    disabled: false,
    lazy: false,
    alwaysLoad: undefined,
    description: undefined,
    tools: {},
    allow: [],
    deny: [],
  },
  ...{ connectTimeoutMs: 20_000, callTimeoutMs: 20_000, source: 'test' },
})

describe('definitions', () => {
  const server = {
    ...{ tools: [{ name: 'read' }], freshUntil: 0, lists: {}, info: undefined },
    ...{ clientCapabilities: {}, capabilities: {} },
    ...{ instructions: 'Use it.', isLegacy: false },
  }

  test('a new replica knows what another listed; a name in the store betrays no secret', async () => {
    const store = newStore()
    const told: string[] = []
    const [one, other] = [1000, 1500].map((time) =>
      openStoredDefinitions(
        store,
        (message) => told.push(message),
        () => time,
      ),
    )
    const config = configOf('http://127.0.0.1/?key=geheim')
    expect(await one?.read(config)).toBeUndefined()
    await one?.write(config, server)
    expect(await other?.read(config)).toEqual({ ...server, ageMs: 500 })
    expect(await other?.read(configOf('http://127.0.0.1/?key=other'))).toBeUndefined()
    expect(JSON.stringify(await store.list(''))).not.toContain('geheim')
    expect(told).toEqual([])
  })

  test('never rejects', async () => {
    const store = fragileStore()
    const told: string[] = []
    const cache = openStoredDefinitions(store, (message) => told.push(message))
    store.isAway = true
    expect(await cache.read(configOf('http://a'))).toBeUndefined()
    await cache.write(configOf('http://a'), server)
    expect(told).toEqual([expect.stringContaining('the store is away')])
  })
})

describe('logins', () => {
  async function listTools(url: string, authProvider: ReturnType<typeof createOAuth>): Promise<number> {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }))
    const { tools } = await client.listTools()
    await client.close()
    return tools.length
  }

  test('a login at one replica works at all; of those refused together one refreshes', async () => {
    const server = await startAuthServer({ rotates: true })
    const store = fragileStore()
    const folder = temporaryFolder()
    const notify = () => {}
    await login({
      ...{ config: configOf(server.url), folder, store, clientInfo: { name: 'test', version: '1' } },
      ...{ print: notify, notify, openBrowser: browse },
    })
    const provider = () => createOAuth({ folder, store, server: 'notes', url: server.url, notify })
    const replicas = [provider(), provider(), provider()]
    for (const replica of replicas) expect(await listTools(server.url, replica)).toBeGreaterThan(0)
    server.expire()
    await Promise.all(replicas.map((replica) => listTools(server.url, replica)))
    const refreshes = server.asked('/token').filter((asked) => asked.get('grant_type') === 'refresh_token')
    expect(refreshes).toHaveLength(1)
    store.isAway = true
    expect(await listTools(server.url, replicas[0] ?? provider())).toBeGreaterThan(0)
    store.isAway = false
    expect(await logout({ folder, store, server: 'notes', notify })).toBe(1)
    expect(await store.list('login/')).toEqual([])
  })

  test('while the store is away, a server that had no login is asked without one', async () => {
    const store = fragileStore()
    let now = 0
    const given = { folder: temporaryFolder(), store, server: 'notes', url: 'https://notes.example/mcp' }
    const open = () => createOAuth({ ...given, notify: () => {}, now: () => now })
    const known = open()
    expect(await known.token()).toBeUndefined()
    store.isAway = true
    now += 60_000
    expect(await known.token()).toBeUndefined()
    await expect(open().token()).rejects.toThrow('the store is away')
  })
})

describe('--store', () => {
  const input = (...words: string[]) => readInput(mcpCommand, words)

  test('opens nothing if none is named', async () => {
    expect(await storeIn(input(), {})).toBeUndefined()
    expect(await storeIn(input(), { TOOLSHELF_STORE: '' })).toBeUndefined()
  })

  test('the option wins over the environment; errors name their source, never the password', async () => {
    const store = await storeIn(input('--store', 'memory:'), { TOOLSHELF_STORE: 'mysql://a:geheim@b' })
    expect(store?.kind).toBe('memory')
    await store?.close()
    const wrong = storeIn(input(), { TOOLSHELF_STORE: 'mysql://a:geheim@b' })
    await expect(wrong).rejects.toThrow(/^TOOLSHELF_STORE: unknown store "mysql:…": expected redis/)
    const port = await freePort()
    const gone = storeIn(input('--store', `redis://a:geheim@127.0.0.1:${port}`), {}, 1)
    await expect(gone).rejects.toThrow(
      new RegExp(`^--store: Redis at 127.0.0.1:${port} failed: .*ECONNREFUSED`),
    )
    await expect(gone).rejects.not.toThrow(/geheim/)
  })
})
