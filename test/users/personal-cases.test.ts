// Layers of users over fake hosts: which host gets what, which user is evicted for another, and which values are filled in.
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createShelf, type Shelf } from '../../src/index.ts'
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
  return { hosts, credentials, shared, sharedShelf, made, authorizers, set, store }
}

const tool = (name: string, more: object = {}) => ({
  name,
  description: name,
  input_schema: { type: 'object' },
  ...more,
})
const namesOn = (shelf: Shelf | undefined) =>
  shelf
    ?.tools()
    .map(({ server: of, original }) => `${of}/${original}`)
    .sort()

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

describe('the joined host', () => {
  async function joined() {
    const opened = open([server('a')])
    await opened.set('ann', 'a', { KEY: 'x' })
    opened.sharedShelf.setServer('common', {})
    opened.sharedShelf.replace('common', [tool('read'), tool('write')] as never)
    const layer = opened.hosts.layerFor(user('ann'))
    if (!layer) throw new Error('there is no layer')
    layer.shelf.setServer('a', {})
    layer.shelf.replace('a', [tool('own')] as never)
    const [own] = opened.made
    if (!own) throw new Error('there is no host')
    const logs = () => [opened.shared.notes.log.splice(0), own.notes.log.splice(0)]
    return { ...opened, layer, host: layer.host, own, logs }
  }

  test('asks the host of the server, its own only when its credentials were read', async () => {
    const { host, logs, own } = await joined()
    expect(own.configs()[0]?.blocked).toBeDefined()
    const calls = (name: string) => [
      () => host.call(name, 't', {}),
      () => host.request(name, 'm', { p: 1 }),
      () => host.connect(name),
      () => host.disconnect(name),
      () => host.refresh(name),
    ]
    for (const call of calls('a')) expect(await call()).toEqual({ of: 'own0' })
    expect(own.configs()[0]?.blocked).toBeUndefined()
    const asked = (name: string) => [
      ...[`call "${name}" "t" {}`, `request "${name}" "m" {"p":1}`, `connect "${name}"`],
      ...[`disconnect "${name}"`, `refresh "${name}"`],
    ]
    expect(logs()).toEqual([[], asked('a')])
    for (const call of calls('common')) expect(await call()).toEqual({ of: 'shared' })
    expect(logs()).toEqual([asked('common'), []])
  })

  test('starts, settles, freshens, notifies and watches both; recalls and primes the shared one; closes its own', async () => {
    const { host, logs } = await joined()
    await host.readCache()
    await host.publishCachedTools()
    host.start({ roots: {} })
    await host.settled({ timeoutMs: 5 })
    await host.refreshStaleLists({ timeoutMs: 6 })
    host.notifyServers('n')
    host.watchLists()
    const both = [
      'settled {"timeoutMs":5}',
      'refreshStaleLists {"timeoutMs":6}',
      'notifyServers "n"',
      'watchLists',
    ]
    expect(logs()).toEqual([
      ['readCache', 'publishCachedTools', 'start {"roots":{}}', ...both],
      ['start {"roots":{}}', ...both],
    ])
    expect(host.status().map(({ name }) => name)).toEqual(['common', 'a'])
    await host.close()
    expect(logs()).toEqual([[], ['close']])
    await expect(host.configure([])).rejects.toThrow('the servers of a user follow those of the gateway')
  })

  test('runs a call where its tool is, by the name that it has there', async () => {
    const { host, logs, layer, sharedShelf } = await joined()
    const nameOf = (shelf: Shelf, of: string, original: string) =>
      shelf.tools().find((one) => one.server === of && one.original === original)?.name ?? ''
    const use = (name: string) => ({ type: 'tool_use', id: '1', name, input: {} }) as const
    await host.run(use(nameOf(layer.shelf, 'a', 'own')))
    await host.run(use(nameOf(layer.shelf, 'common', 'read')))
    await host.run(use('nobody__knows'))
    expect(host.isReadOnly(use(nameOf(layer.shelf, 'a', 'own')))).toBe(true)
    expect(host.isReadOnly(use(nameOf(layer.shelf, 'common', 'write')))).toBe(true)
    expect(host.isReadOnly(use('nobody__knows'))).toBe(true)
    const ran = (name: string) => `run ${JSON.stringify(use(name))}`
    expect(logs()).toEqual([
      [
        ran(nameOf(sharedShelf, 'common', 'read')),
        ran('nobody__knows'),
        `isReadOnly "${nameOf(sharedShelf, 'common', 'write')}"`,
        'isReadOnly "nobody__knows"',
      ],
      [ran(nameOf(layer.shelf, 'a', 'own')), `isReadOnly "${nameOf(layer.shelf, 'a', 'own')}"`],
    ])
  })

  test('passes on events of both until it is stopped', async () => {
    const { host, shared, own } = await joined()
    const heard: string[] = []
    const stop = host.listen(({ type }) => heard.push(type))
    shared.emit({ type: 'pins' })
    own.emit({ type: 'log' })
    stop()
    shared.emit({ type: 'pins' })
    own.emit({ type: 'log' })
    expect(heard).toEqual(['pins', 'log'])
  })

  test('shows the tools of the shared shelf as they are now, without those of its own servers', async () => {
    const { layer, sharedShelf, shared } = await joined()
    expect(namesOn(layer.shelf)).toEqual(['a/own', 'common/read', 'common/write'])
    sharedShelf.replace('common', [tool('read'), tool('list')] as never)
    sharedShelf.setServer('a', {})
    sharedShelf.replace('a', [tool('of another')] as never)
    expect(namesOn(layer.shelf)).toContain('common/write')
    shared.emit({ type: 'log', server: 'common' })
    expect(namesOn(layer.shelf)).toContain('common/write')
    shared.emit({ type: 'tools', server: 'common' })
    expect(namesOn(layer.shelf)).toEqual(['a/own', 'common/list', 'common/read'])
    sharedShelf.setServer('more', {})
    sharedShelf.replace('more', [tool('x')] as never)
    shared.emit({ type: 'state', server: 'more' })
    sharedShelf.replace('common', [])
    shared.emit({ type: 'servers' })
    expect(namesOn(layer.shelf)).toEqual(['a/own', 'more/x'])
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
