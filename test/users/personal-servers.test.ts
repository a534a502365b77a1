// Servers for which each user has credentials of their own: never mixed, opened anew when they change, hidden everywhere.
import { randomBytes } from 'node:crypto'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import { createShelf } from '../../packages/core/src/index.ts'
import type { StateStore } from '../../packages/core/src/store.ts'
import type { AccessRules, Authenticator, Profile, User } from '../../packages/core/src/users.ts'
import { createMcpGateway, gatewayShelfOptions } from '../../packages/mcp/src/gateway/gateway.ts'
import { createMcpHost } from '../../packages/mcp/src/host/host.ts'
import { login } from '../../packages/mcp/src/oauth/login.ts'
import { openCredentialStore, openKeyring } from '../../packages/mcp/src/personal/credential-store.ts'
import {
  createPersonalHosts,
  loginFile,
  type PersonalHostsOptions,
} from '../../packages/mcp/src/personal/personal-hosts.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import { browse, startAuthServer } from '../mcp/support/auth-server.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { type ClientOptions, connectWith, eras, textOf } from '../mcp/support/gateway.ts'
import { here } from '../mcp/support/server-here.ts'
import { defaults, local } from '../mcp/support/servers.ts'
import { startWhoServer } from './who-server.ts'

const everything: AccessRules = { allow: [], deny: [] }
const profile: Profile = { name: 'all', servers: everything, tools: everything, limits: {} }

/** How a configuration refers to the value TOKEN of the user. */
const VALUE_OF_USER = ['${', 'user:TOKEN}'].join('')

/** Tokens are names of users here. */
const users: Authenticator = {
  authenticate: async (token = '') =>
    token === '' ? { status: 401, message: 'who are you?' } : userNamed(token),
  refresh: async (user) => user,
  onChange: () => () => {},
  close: async () => {},
}
/** Servers that are hidden from some users. */
const DENIED: { readonly [user: string]: string } = { outsider: 'who', half: 'echo' }
const userNamed = (id: string): User => {
  const denied = DENIED[id]
  return {
    id,
    uid: id,
    profile: denied === undefined ? profile : { ...profile, servers: { allow: [], deny: [denied] } },
  }
}

const personal = (url: string, given: Partial<ServerConfig> = {}): ServerConfig => ({
  ...defaults('who'),
  transport: { kind: 'http', url, headers: { authorization: `Bearer ${VALUE_OF_USER}` } },
  credentials: 'user',
  ...given,
})

async function open(
  servers: readonly ServerConfig[],
  given: Partial<PersonalHostsOptions> & { readonly store?: StateStore } = {},
) {
  const store = given.store ?? createMemoryStore()
  onTestFinished(() => store.close())
  const credentials = openCredentialStore(store, openKeyring(randomBytes(32).toString('hex')))
  const notices: string[] = []
  const notify = (message: string) => void notices.push(message)
  const shelf = createShelf({ ...gatewayShelfOptions, rank: 'classic', notify })
  const host = createMcpHost({ shelf, servers: [here('echo', 'gateway-echo')], cacheFolder: false, notify })
  const hosts = createPersonalHosts({
    ...{ servers, credentials, shared: host, sharedShelf: shelf, notify },
    makeShelf: () => createShelf({ ...gatewayShelfOptions, rank: 'classic', notify }),
    makeHost: (options) => createMcpHost({ ...options, cacheFolder: false, notify }),
    ...given,
  })
  const gateway = createMcpGateway({ shelf, makeHost: () => host, personal: hosts, notify })
  const served = await serveMcpGatewayOnHttp(gateway, { port: 0, users })
  onTestFinished(() => served.close())
  await host.settled()
  const connect = (user: string, options: ClientOptions = {}) => {
    const requestInit = { headers: { authorization: `Bearer ${user}` } }
    const transport = new StreamableHTTPClientTransport(new URL(served.url), { requestInit })
    return connectWith(transport, options)
  }
  const set = (user: string, value: string, server = 'who') =>
    credentials.update(user, server, (before) => ({ values: { ...before?.values, TOKEN: value } }))
  return { connect, set, credentials, hosts, notices, store }
}

const TOKENS = { 'token-one-of-ann': 'ann', 'token-one-of-bob': 'bob' }

describe('two users and one server', () => {
  test.each(eras)('each calls and lists with their own token, also at the same time (%s)', async (era) => {
    const who = await startWhoServer(TOKENS)
    const { connect, set } = await open([personal(who.url)])
    await set('ann', 'token-one-of-ann')
    await set('bob', 'token-one-of-bob')
    const [ann, bob] = await Promise.all([connect('ann', { era }), connect('bob', { era })])
    const found = await Promise.all([ann.search('secret tool'), bob.search('secret tool')])
    expect(found[0]).toContain('who__only_ann')
    expect(found[0]).not.toContain('only_bob')
    expect(found[1]).toContain('who__only_bob')
    expect(found[1]).not.toContain('only_ann')
    const calls = Array.from({ length: sizeOf({ quick: 8, full: 20 }) }, (_, index) =>
      (index % 2 === 0 ? ann : bob).run('who__whoami'),
    )
    const said = (await Promise.all(calls)).map(textOf)
    expect(said).toEqual(said.map((_, index) => `you are ${index % 2 === 0 ? 'ann' : 'bob'}`))
    const other = await bob.run('who__only_ann')
    expect(other.isError).toBe(true)
    expect(textOf(await ann.run('echo__meta'))).toContain('{')
    expect(who.knocks.every((knock) => /^Bearer token-one-of-/.test(knock ?? ''))).toBe(true)
  })

  test('a user without credentials learns what is missing and how to set it, and gets it without connecting again', async () => {
    const who = await startWhoServer(TOKENS)
    const { connect, set } = await open([personal(who.url)])
    const ann = await connect('ann')
    expect(await ann.search('whoami')).toContain(
      'TOKEN is not set for you; the operator of the gateway sets a value with: toolshelf users credentials set ann who TOKEN',
    )
    const refused = await ann.run('who__whoami')
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('toolshelf users credentials set ann who TOKEN')
    expect(who.knocks).toEqual([])
    await set('ann', 'token-one-of-ann')
    await expect
      .poll(async () => textOf(await ann.run('who__whoami')), { timeout: 60_000 })
      .toBe('you are ann')
  })

  test('changed credentials are used from then on, and nothing of the old ones remains', async () => {
    const who = await startWhoServer(TOKENS)
    const { connect, set, credentials } = await open([personal(who.url)])
    await set('ann', 'token-one-of-ann')
    const ann = await connect('ann')
    await ann.search('whoami')
    expect(textOf(await ann.run('who__whoami'))).toBe('you are ann')
    who.users.set('token-two-of-ann', 'ann')
    await set('ann', 'token-two-of-ann')
    await expect
      .poll(
        async () => {
          await ann.run('who__whoami')
          return who.calls.at(-1)
        },
        { timeout: 60_000 },
      )
      .toBe('token-two-of-ann')
    const before = who.knocks.length
    await Promise.all(Array.from({ length: 5 }, () => ann.run('who__whoami')))
    expect(new Set(who.knocks.slice(before))).toEqual(new Set(['Bearer token-two-of-ann']))
    await credentials.remove('ann', 'who')
    await expect
      .poll(async () => textOf(await ann.run('who__whoami')), { timeout: 60_000 })
      .toContain('TOKEN is not set for you')
  })

  test('another record in the place of a user’s is refused, and says so', async () => {
    const who = await startWhoServer(TOKENS)
    const { connect, set, store } = await open([personal(who.url)])
    await set('ann', 'token-one-of-ann')
    const stolen = await store.get('credential/ann/who')
    await store.set('credential/bob/who', stolen?.value ?? '')
    const bob = await connect('bob')
    expect(await bob.search('whoami')).toContain('belongs to another record')
    expect(who.knocks).toEqual([])
  })
})

describe('logins of users', () => {
  test('each user’s own login is used and renewed; who has none learns which command logs in', async () => {
    const notes = await startAuthServer()
    const config: ServerConfig = {
      ...defaults('notes'),
      transport: { kind: 'http', url: notes.url, headers: {} },
      credentials: 'user',
    }
    const { connect, credentials } = await open([config])
    const logIn = (user: string) =>
      login({
        ...{
          config,
          folder: temporaryFolder(),
          clientInfo: { name: 'test', version: '1' },
          openBrowser: browse,
        },
        ...{ print: () => {}, notify: () => {} },
        file: loginFile(credentials, user, { server: 'notes', url: notes.url }),
      })
    const ann = await connect('ann')
    expect(await ann.search('whoami')).toContain('toolshelf login notes --user ann')
    await logIn('ann')
    await expect.poll(async () => textOf(await ann.run('notes__whoami')), { timeout: 60_000 }).toBe('whoami')
    notes.expire()
    expect(textOf(await ann.run('notes__whoami'))).toBe('whoami')
    const bob = await connect('bob')
    expect(await bob.search('whoami')).toContain('toolshelf login notes --user bob')
    const found = await loginFile(credentials, 'ann', { server: 'notes', url: notes.url }).read()
    expect(notes.secrets.has(found?.tokens.access_token ?? '')).toBe(true)
  })
})

describe('secrets and limits', () => {
  test('H8: credentials appear in no definition, error or message, even if the server repeats them', async () => {
    const env = { API_TOKEN: VALUE_OF_USER }
    const servers = [
      local('box', 'hostile-echo stay', { env, credentials: 'user' }),
      local('broken', 'hostile-echo start', { env, credentials: 'user' }),
    ]
    const { connect, set, notices, hosts } = await open(servers)
    const users = ['ann', 'bob']
    for (const user of users)
      for (const { name } of servers) await set(user, `a-secret-value-of-${user}`, name)
    const said: unknown[] = [notices]
    for (const user of users) {
      const client = await connect(user)
      said.push(await client.search('refuse speak'), client.client.getInstructions())
      said.push(
        await client
          .run('box__refuse')
          .catch((error: Error & { data?: unknown }) => [error.message, error.data]),
      )
      said.push(await client.run('broken__x'), client.told)
      said.push(hosts.layerFor(userNamed(user))?.host.status())
    }
    const all = JSON.stringify(said)
    expect(all).toContain('box__refuse')
    expect(all).toContain('[hidden]')
    expect(all).not.toMatch(/a-secret-value/)
  })

  test('connections are bounded: the oldest idle one is closed, and opened again by the next call', async () => {
    const who = await startWhoServer({ ...TOKENS, 'token-of-eve': 'eve' })
    const { connect, set, hosts } = await open([personal(who.url)], { maxConnections: 2 })
    const tokens = { ann: 'token-one-of-ann', bob: 'token-one-of-bob', eve: 'token-of-eve' }
    for (const [user, token] of Object.entries(tokens)) await set(user, token)
    const stateOf = (user: string) =>
      hosts
        .layerFor(userNamed(user))
        ?.host.status()
        .find(({ name }) => name === 'who')?.state
    const clients: { [user: string]: Awaited<ReturnType<typeof connect>> } = {}
    for (const user of Object.keys(tokens)) {
      const client = await connect(user)
      clients[user] = client
      await client.search('whoami')
      expect(textOf(await client.run('who__whoami'))).toBe(`you are ${user}`)
    }
    await expect.poll(() => stateOf('ann'), { timeout: 60_000 }).toBe('idle')
    expect(stateOf('eve')).toBe('connected')
    expect(textOf((await clients.ann?.run('who__whoami')) ?? {})).toBe('you are ann')
  })

  test('while the store cannot be read the server says so, and comes back by itself', async () => {
    const who = await startWhoServer(TOKENS)
    const memory = createMemoryStore()
    let isDown = true
    const list: StateStore['list'] = async (...given) => {
      if (isDown) throw new Error('the store does not answer')
      return memory.list(...given)
    }
    const { connect, set } = await open([personal(who.url)], { store: { ...memory, list }, retryMs: 20 })
    await set('ann', 'token-one-of-ann')
    const ann = await connect('ann')
    expect(await ann.search('whoami')).toContain('your credentials cannot be read now')
    expect(textOf(await ann.run('echo__meta'))).toContain('{')
    isDown = false
    await expect
      .poll(async () => textOf(await ann.run('who__whoami')), { timeout: 60_000 })
      .toBe('you are ann')
  })
})
