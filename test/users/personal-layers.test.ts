// Layers of users over fake hosts: which host gets what, and which user is evicted for another.
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createShelf } from '../../packages/core/src/index.ts'
import type { User } from '../../packages/core/src/users.ts'
import { openCredentialStore, openKeyring } from '../../packages/mcp/src/personal/credential-store.ts'
import {
  createPersonalHosts,
  type PersonalHostsOptions,
} from '../../packages/mcp/src/personal/personal-hosts.ts'
import type { HostEvent, McpHost, ServerConfig, ServerStatus } from '../../packages/mcp/src/types.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
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
