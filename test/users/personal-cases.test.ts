// Layers of users over fake hosts: which host gets what, which user is evicted for another, and which values are filled in.
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createShelf } from '../../src/index.ts'
import type { HostEvent, McpHost, ServerConfig, ServerStatus } from '../../src/mcp/index.ts'
import { createPersonalHosts, loginFile, type PersonalHostsOptions } from '../../src/mcp/personal/index.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import { type CredentialStore, openCredentialStore, openKeyring } from '../../src/users/credentials/index.ts'
import type { User } from '../../src/users/index.ts'
import { defaults } from '../mcp/support/servers.ts'
import { profileOf } from './support.ts'

const userValue = (name: string) => ['${', `user:${name}}`].join('')
const turn = () => new Promise((resolve) => setImmediate(resolve))
const settled = async (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 2 })

const server = (
  name: string,
  headers: { [name: string]: string } = { 'x-key': userValue('KEY') },
): ServerConfig => ({
  ...defaults(name),
  transport: { kind: 'http', url: `http://127.0.0.1/${name}`, headers },
})
const user = (id: string, deny: readonly string[] = []): User => ({
  id,
  uid: id,
  profile: profileOf({ servers: { allow: [], deny } }),
})

type Notes = { readonly log: string[]; readonly states: Map<string, ServerStatus['state']> }

/** A host that notes what it is asked for; servers have the state that a test gives them. */
function fakeHost(name: string, servers: readonly ServerConfig[] = []) {
  let configs = servers
  const notes: Notes = { log: [], states: new Map() }
  const listeners = new Set<(event: HostEvent) => void>()
  const noted =
    (method: string) =>
    async (...given: unknown[]) => {
      notes.log.push(
        [method, ...given.filter((one) => one !== undefined).map((one) => JSON.stringify(one))].join(' '),
      )
      return { of: name } as never
    }
  const status = () =>
    configs.map(
      (config) =>
        ({ name: config.name, config, state: notes.states.get(config.name) ?? 'idle' }) as ServerStatus,
    )
  const host: McpHost = {
    ...{
      readCache: noted('readCache'),
      publishCachedTools: noted('publishCachedTools'),
      run: noted('run'),
      call: noted('call'),
    },
    ...{ request: noted('request'), settled: noted('settled'), connect: noted('connect') },
    ...{
      disconnect: noted('disconnect'),
      refresh: noted('refresh'),
      refreshStaleLists: noted('refreshStaleLists'),
    },
    ...{ close: noted('close'), status },
    start: (given) => void noted('start')(given),
    notifyServers: (given) => void noted('notifyServers')(given),
    watchLists: () => void noted('watchLists')(),
    isReadOnly: (call) => {
      void noted('isReadOnly')(call.name)
      return true
    },
    folderOf: () => undefined,
    async configure(next) {
      configs = next
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const emit = (event: object) => {
    for (const listener of listeners) listener(event as HostEvent)
  }
  const connect = (one: string) => {
    notes.states.set(one, 'connected')
    const found = status().find((given) => given.name === one)
    emit({ type: 'state', server: one, status: found })
  }
  return { host, notes, emit, connect, configs: () => configs, listening: () => listeners.size }
}

function open(servers: readonly ServerConfig[], given: Partial<PersonalHostsOptions> = {}) {
  const store = createMemoryStore()
  onTestFinished(() => store.close())
  const credentials = openCredentialStore(store, openKeyring(randomBytes(32).toString('hex')))
  const shared = fakeHost('shared', [server('common', {})])
  const sharedShelf = createShelf()
  const made: ReturnType<typeof fakeHost>[] = []
  const authorizers: ((config: ServerConfig) => unknown)[] = []
  const hosts = createPersonalHosts({
    ...{ servers, credentials, shared: shared.host, sharedShelf, makeShelf: () => createShelf() },
    makeHost(options) {
      const fake = fakeHost(`own${made.length}`, options.servers)
      made.push(fake)
      authorizers.push(options.authorize)
      return fake.host
    },
    ...given,
  })
  const set = (id: string, name: string, values: { [name: string]: string }) =>
    credentials.update(id, name, () => ({ values }))
  return { hosts, credentials, shared, made, authorizers, set, store }
}

describe('a layer', () => {
  test('is the same for the same user and rights, and there is none without a server that the user may see', () => {
    const { hosts, made } = open([server('a'), { ...server('b'), disabled: true }])
    expect(hosts.names()).toEqual(['a', 'b'])
    const layer = hosts.layerFor(user('ann'))
    expect(hosts.layerFor(user('ann'))).toBe(layer)
    expect(hosts.layerFor(user('ann', ['other']))).not.toBe(layer)
    expect(hosts.layerFor(user('bob'))?.id).not.toBe(layer?.id)
    expect(hosts.layerFor(user('ann', ['a']))).toBeUndefined()
    expect(made.map(({ configs }) => configs().map(({ name }) => name))).toEqual([['a'], ['a'], ['a']])
    expect(made[0]?.configs()[0]?.blocked).toBe('its credentials are being read')
  })

  test('has its values filled in, again at each change of this user', async () => {
    const { hosts, made, set, credentials } = open([
      server('a'),
      server('b', { x: `${userValue('ONE')} ${userValue('TWO')}` }),
    ])
    await set('ann', 'a', { KEY: 'of-ann', ONE: 'not of b' })
    hosts.layerFor(user('ann'))
    hosts.layerFor(user("o'neil x"))
    const headers = (index: number, at = 0) => made[index]?.configs()[at]?.transport
    await settled(() => expect(headers(0)).toMatchObject({ headers: { 'x-key': 'of-ann' } }))
    expect(made[0]?.configs()[0]).toMatchObject({ lazy: true, variables: { KEY: 'of-ann' } })
    expect(made[0]?.configs()[0]).not.toHaveProperty('blocked')
    expect(made[0]?.configs()[1]?.blocked).toBe(
      'ONE, TWO are not set for you; the operator of the gateway sets a value with: toolshelf users credentials set ann b ONE',
    )
    await settled(() =>
      expect(made[1]?.configs()[0]?.blocked).toBe(
        "KEY is not set for you; the operator of the gateway sets a value with: toolshelf users credentials set 'o'\\''neil x' a KEY",
      ),
    )
    await set("o'neil x", 'a', { KEY: 'of-neil' })
    await settled(() => expect(headers(1)).toMatchObject({ headers: { 'x-key': 'of-neil' } }))
    await set('ann', 'b', { ONE: '1', TWO: '2' })
    await settled(() => expect(headers(0, 1)).toMatchObject({ headers: { x: '1 2' } }))
    await credentials.update('ann', 'a', () => undefined)
    await settled(() => expect(made[0]?.configs()[0]?.blocked).toContain('KEY is not set for you'))
  })

  test('says why credentials cannot be used or read, and reads them again', async () => {
    let problem: Error | undefined = new Error('the store is away')
    const { hosts, made, set, credentials, store } = open([server('a')])
    const given = open([server('a')], {
      retryMs: 1,
      credentials: {
        ...credentials,
        readAll: (id) => (problem ? Promise.reject(problem) : credentials.readAll(id)),
      },
    })
    given.hosts.layerFor(user('ann'))
    await settled(() =>
      expect(given.made[0]?.configs()[0]?.blocked).toBe(
        'your credentials cannot be read now: the store is away',
      ),
    )
    await set('ann', 'a', { KEY: 'x' })
    problem = undefined
    await settled(() => expect(given.made[0]?.configs()[0]).not.toHaveProperty('blocked'))
    await store.set('credential/bob/a', 'nonsense')
    hosts.layerFor(user('bob'))
    await settled(() =>
      expect(made[0]?.configs()[0]?.blocked).toMatch(
        /^your credentials cannot be used: .*not an encrypted record/,
      ),
    )
    await given.hosts.close()
  })

  test('of servers that failed is connected again once its credentials change, unless something is missing', async () => {
    const { hosts, made, set } = open([server('a'), server('b'), server('c')])
    for (const name of ['a', 'b']) await set('ann', name, { KEY: 'x' })
    hosts.layerFor(user('ann'))
    await settled(() => expect(made[0]?.configs()[0]).not.toHaveProperty('blocked'))
    made[0]?.notes.states.set('a', 'failed').set('c', 'failed')
    await set('ann', 'b', { KEY: 'y' })
    await settled(() => expect(made[0]?.notes.log).toEqual(['connect "a"']))
    await set('ann', 'c', { KEY: 'y' })
    await settled(() => expect(made[0]?.notes.log).toEqual(['connect "a"', 'connect "a"']))
  })

  test('follows the configuration of the gateway', async () => {
    const { hosts, made, set } = open([server('a')])
    await set('ann', 'b', { KEY: 'x' })
    hosts.layerFor(user('ann'))
    hosts.layerFor(user('bob', ['b']))
    hosts.configure([server('b'), server('c'), { ...server('d'), disabled: true }])
    expect(hosts.names()).toEqual(['b', 'c', 'd'])
    const names = (index: number) => made[index]?.configs().map(({ name }) => name)
    await settled(() => expect([names(0), names(1)]).toEqual([['b', 'c'], ['c']]))
    expect(made[0]?.configs()[0]?.transport).toMatchObject({ headers: { 'x-key': 'x' } })
  })

  test('reports gaps, and a store that cannot be watched', async () => {
    const notices: string[] = []
    const watch: CredentialStore['watch'] = () => Promise.reject(new Error('no channel'))
    const { credentials } = open([])
    const { hosts } = open([server('a')], {
      credentials: { ...credentials, watch },
      notify: (message) => void notices.push(message),
    })
    await settled(() => expect(notices).toEqual(['cannot watch for changed credentials: no channel']))
    await hosts.close()
    let listener: (id: string | undefined) => void = () => {}
    let reads = 0
    const watched = open([server('a')], {
      credentials: {
        ...credentials,
        readAll: async () => {
          reads++
          return new Map()
        },
        watch: async (given) => {
          listener = given
          return async () => {
            listener = () => {}
          }
        },
      },
    })
    for (const id of ['ann', 'bob']) watched.hosts.layerFor(user(id))
    await settled(() => expect(reads).toBe(2))
    listener('ann')
    await settled(() => expect(reads).toBe(3))
    listener(undefined)
    await settled(() => expect(reads).toBe(5))
    await watched.hosts.close()
    expect(watched.made.map(({ notes }) => notes.log)).toEqual([['close'], ['close']])
    expect(watched.shared.listening()).toBe(0)
    const before = reads
    listener(undefined)
    await turn()
    expect(reads).toBe(before)
  })
})

describe('room', () => {
  test('is made by closing the layers that were used longest ago, except those in use', async () => {
    const { hosts, made } = open([server('a')], { maxUsers: 2 })
    const layers = ['ann', 'bob'].map((id) => hosts.layerFor(user(id)))
    hosts.layerFor(user('ann'))
    const stop = layers[0]?.host.listen(() => {})
    const closed = () => made.map(({ notes }) => notes.log.includes('close'))
    hosts.layerFor(user('carl'))
    expect(closed()).toEqual([false, true, false])
    hosts.layerFor(user('dora'))
    expect(closed()).toEqual([false, true, true, false])
    stop?.()
    stop?.()
    hosts.layerFor(user('eve'))
    expect(closed()).toEqual([true, true, true, false, false])
  })

  test('for connections is made by idle servers of who was away longest', async () => {
    const { hosts, made, set } = open([server('a'), server('b')], { maxConnections: 2 })
    const ids = ['ann', 'bob', 'carl']
    for (const id of ids) for (const name of ['a', 'b']) await set(id, name, { KEY: 'x' })
    const layers = ids.map((id) => hosts.layerFor(user(id)))
    await settled(() => expect(made[2]?.configs()[1]).not.toHaveProperty('blocked'))
    const logs = () => made.map(({ notes }) => notes.log.filter((line) => line.startsWith('disconnect')))
    made[0]?.connect('a')
    made[1]?.connect('a')
    expect(logs()).toEqual([[], [], []])
    await layers[0]?.host.call('a', 'x', {})
    made[2]?.connect('a')
    expect(logs()).toEqual([[], ['disconnect "a"'], []])
    made[1]?.notes.states.clear()
    let finish = () => {}
    const running = new Promise<void>((resolve) => {
      finish = resolve
    })
    if (made[0]) Object.assign(made[0].host, { call: () => running })
    const call = layers[0]?.host.call('a', 'x', {})
    await turn()
    hosts.layerFor(user('carl'))
    made[2]?.connect('b')
    expect(logs()).toEqual([[], ['disconnect "a"'], ['disconnect "a"', 'disconnect "b"']])
    finish()
    await call
    made[0]?.emit({ type: 'state', server: 'a', status: { state: 'failed' } })
    made[0]?.emit({ type: 'tools', server: 'a', status: { state: 'connected' } })
    expect(logs()[0]).toEqual([])
  })
})

describe('the login of a user', () => {
  const place = { server: 'notes', url: 'http://127.0.0.1/notes' }
  const login = {
    tokens: { access_token: 't' },
    client: { client_id: 'c' },
    discovery: { authorizationServerUrl: 'http://127.0.0.1' },
  }

  test('is kept beside their values, with or without a notification, and only for its address', async () => {
    const { credentials, set } = open([])
    const heard: (string | undefined)[] = []
    await credentials.watch((id) => void heard.push(id))
    await set('ann', 'notes', { KEY: 'x' })
    const file = loginFile(credentials, 'ann', place)
    expect(await file.read()).toBeUndefined()
    await file.write(login)
    await loginFile(credentials, 'ann', place, true).write(login)
    expect(await file.read()).toEqual({ ...place, ...login })
    expect(heard).toEqual(['ann', 'ann'])
    for (const other of [
      { ...place, url: 'http://127.0.0.1/other' },
      { ...place, server: 'other' },
    ])
      expect(await loginFile(credentials, 'ann', other).read()).toBeUndefined()
    expect(await loginFile(credentials, 'bob', place).read()).toBeUndefined()
    expect((await credentials.read('ann', 'notes'))?.values).toEqual({ KEY: 'x' })
    await file.remove()
    expect(await credentials.read('ann', 'notes')).toEqual({ values: { KEY: 'x' } })
    const bare = loginFile(credentials, 'bob', place)
    await bare.write(login)
    expect(await credentials.read('bob', 'notes')).toEqual({ values: {}, login: { ...place, ...login } })
    await bare.remove()
    await bare.remove()
    expect(await credentials.read('bob', 'notes')).toBeUndefined()
    expect(await file.alone(async () => 7)).toBe(7)
  })

  test.each([
    ['a remote server', server('notes', { 'x-key': 'y' }), true],
    ['one with a header of its own', server('notes', { Authorization: userValue('KEY') }), false],
    [
      'a program',
      {
        ...defaults('p'),
        transport: { kind: 'stdio', command: 'p', args: [], env: {}, cwd: undefined },
      } as ServerConfig,
      false,
    ],
  ])('is used for %s: %s', (_, config, isUsed) => {
    const { hosts, authorizers } = open([config])
    hosts.layerFor(user('ann'))
    expect(authorizers[0]?.(config) !== undefined).toBe(isUsed)
  })
})
