// Two users of one gateway: what one of them causes does not stop the other, and nothing that is kept for somebody belongs to
// a name that another may have.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { exportJWK, SignJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import { createShelf } from '../../packages/core/src/index.ts'
import { isRefusal, type User } from '../../packages/core/src/users.ts'
import { createMcpGateway, gatewayShelfOptions } from '../../packages/mcp/src/gateway/gateway.ts'
import { createMcpHost } from '../../packages/mcp/src/host/host.ts'
import { openCredentialStore, openKeyring } from '../../packages/mcp/src/personal/credential-store.ts'
import { createPersonalHosts } from '../../packages/mcp/src/personal/personal-hosts.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserFile, openUserStore, type UserDirectory } from '../../packages/server/src/users/directory.ts'
import { createPeople, createTokenAccess } from '../../packages/server/src/users/oauth/access.ts'
import { readOAuthSettings } from '../../packages/server/src/users/oauth/token.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { createUsageMeter } from '../../packages/server/src/users/usage.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { connectWith, textOf } from '../mcp/support/gateway.ts'
import { until } from '../mcp/support/processes.ts'
import { initialized, serveHere, text } from '../mcp/support/server-here.ts'
import { defaults } from '../mcp/support/servers.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { newPlace } from '../terminal/support.ts'
import { startWhoServer } from '../users/who-server.ts'
import { call, openSession, said } from './requests.ts'
import { startGateway, usersByHand } from './served-gateway.ts'

describe('H10 users take turns', () => {
  async function open(tools: readonly object[], answer: (name: string) => unknown = () => text('done')) {
    const place = newPlace()
    const { file, keys } = usersByHand({ ada: {}, bob: {} })
    place.file('users.json', file)
    const url = serveHere(() => ({
      initialize: (params) => initialized(params),
      'tools/list': () => ({ tools }),
      'tools/call': ({ name }) => answer(name),
    }))
    place.file('toolshelf.json', { mcpServers: { shop: { url } } })
    mkdirSync(join(place.folder, 'home/.config/toolshelf'), { recursive: true })
    place.file('home/.config/toolshelf/permissions.json', { allow: ['readonly:shop'] })
    const words = ['mcp', '--http', '--scripts', '--mode', 'bridge', '--config', 'toolshelf.json']
    const gateway = await startGateway(place, [...words, '--users', 'users.json'])
    const [ada, bob] = [
      await openSession(gateway.url, keys.ada ?? ''),
      await openSession(gateway.url, keys.bob ?? ''),
    ]
    return { ...gateway, ada, bob }
  }
  const reading = (name: string) => tool(name, { annotations: { readOnlyHint: true } })

  test('H10 scripts of one user that wait do not stop a script of another', async () => {
    const waiting: (() => void)[] = []
    const { ada, bob } = await open([reading('wait'), reading('look')], (name) =>
      name === 'look' ? text('seen') : new Promise((resolve) => waiting.push(() => resolve(text('late')))),
    )
    const script = (name: string) => ({ script: `return await tools.shop.${name}({})` })
    const scripts = [1, 2, 3, 4, 5, 6].map((id) => ada(call(id, 'RunScript', script('wait'))))
    await until(
      () => waiting.length === 4,
      () => `${waiting.length} scripts are waiting`,
    )
    expect(said((await bob(call(1, 'RunScript', script('look')))).get(1))).toBe('seen')
    expect(waiting).toHaveLength(4)
    for (let done = 0; done < scripts.length; done++) {
      await until(() => waiting.length > 0, 'the next script waits')
      waiting.shift()?.()
    }
    expect((await Promise.all(scripts)).flatMap((answers) => [...answers.values()].map(said))).toEqual(
      Array(6).fill('late'),
    )
  })

  test('H10 a body of 100 searches over 3,000 tools: those of another user come in between', async () => {
    const tools = Array.from({ length: 3000 }, (_, index) =>
      tool(`t${index}_order`, { description: 'Handles orders. '.repeat(20) }),
    )
    const { ada, bob, url } = await open(tools)
    await bob(call(1, 'ToolSearch', { query: 'order' }))
    const order: string[] = []
    const queries = [
      'select:shop__ordre_t1,shop__odrer_t2,x',
      '+order handles',
      '+handles +t12',
      'handle an order',
    ]
    const all = Array.from({ length: 100 }, (_, id) => call(id, 'ToolSearch', { query: queries[id % 4] }))
    const searches = ada(all).then((answers) => {
      order.push('a hundred searches')
      return answers
    })
    await bob(call(2, 'ToolSearch', { query: 'order' }))
    order.push('another search')
    await fetch(new URL('/health', url))
    order.push('health')
    const answers = await searches
    expect(order).toEqual(['another search', 'health', 'a hundred searches'])
    expect(answers.size).toBe(100)
    expect(said(answers.get(0))).toContain('There is no tool named "shop__ordre_t1". Nearest: ')
  })
})

const pair = generateKeyPairSync('ed25519')
const jwk = await exportJWK(pair.publicKey)

/** A users file that is edited by hand. */
function usersFile(content: Loose) {
  const path = join(temporaryFolder(), 'users.json')
  const write = (next: Loose) => writeFileSync(path, JSON.stringify(next))
  write(content)
  return { path, write, read: (): Loose => JSON.parse(readFileSync(path, 'utf8')) }
}

async function opened(path: string): Promise<UserDirectory> {
  const directory = await openUserFile(path)
  onTestFinished(() => directory.close())
  return directory
}

describe('a user who is created again inherits nothing', () => {
  const profiles = { p: { resultBudget: 8, limits: { requestsPerDay: 1000 } } }
  const adaWith = (...keys: ReturnType<typeof createKey>[]) => ({
    profiles,
    users: { ada: { profile: 'p' } },
    keys: Object.fromEntries(keys.map(({ id, record }) => [id, record])),
  })

  /** A gateway for a file, with a server for which each user has a token. */
  async function open(path: string) {
    const directory = await opened(path)
    const users = createKeyAuthenticator({ directory })
    const store = createMemoryStore()
    const credentials = openCredentialStore(store, openKeyring(randomBytes(32).toString('hex')))
    const who = await startWhoServer({ 'token-of-the-first': 'first' })
    const headers = { authorization: `Bearer ${['${', 'user:TOKEN}'].join('')}` }
    const config = { ...defaults('who'), transport: { kind: 'http', url: who.url, headers } } as const
    const notify = () => {}
    const makeShelf = () => createShelf({ ...gatewayShelfOptions, rank: 'classic', notify })
    const shelf = makeShelf()
    const host = createMcpHost({ shelf, servers: [], cacheFolder: false, notify })
    const personal = createPersonalHosts({
      servers: [{ ...config, credentials: 'user' }],
      ...{ credentials, shared: host, sharedShelf: shelf, makeShelf, notify },
      makeHost: (options) => createMcpHost({ ...options, cacheFolder: false, notify }),
    })
    const gateway = createMcpGateway({
      shelf,
      makeHost: () => host,
      mode: 'bridge',
      personal,
      results: {},
      store,
      usage: createUsageMeter({ store }),
    })
    const served = await serveMcpGatewayOnHttp(gateway, { port: 0, users })
    onTestFinished(() => served.close())
    const connect = async (token: string) => {
      const requestInit = { headers: { authorization: `Bearer ${token}` } }
      const transport = new StreamableHTTPClientTransport(new URL(served.url), { requestInit })
      return { ...(await connectWith(transport, { era: 'legacy' })), session: transport.sessionId }
    }
    const userOf = async (token: string) => {
      const user = await users.authenticate(token)
      if (isRefusal(user)) throw new Error(user.message)
      return user
    }
    const setToken = async (token: string) => {
      const { id, uid = id }: Partial<User> & { id: string } = await userOf(token)
      await credentials.update(uid, 'who', () => ({ values: { TOKEN: 'token-of-the-first' } }))
    }
    return { directory, users, store, who, served, connect, userOf, setToken }
  }

  test.each(['in one edit', 'in two edits', 'by the commands'])('%s', async (way) => {
    const [first, second] = [createKey('ada'), createKey('ada')]
    const file = usersFile(adaWith(first))
    const { directory, store, who, served, connect, setToken } = await open(file.path)
    await setToken(first.token)
    const before = await connect(first.token)
    const long = textOf(await before.run('who__whoami'))
    const handle = /handle="(\w+)"/.exec(long)?.[1]
    expect(handle).toBeDefined()
    expect(textOf(await before.call('ReadResult', { handle, page: 1 }))).toContain('you are first')
    const counted = (await store.list('limit/')).length

    if (way === 'by the commands') {
      await directory.deleteUser('ada')
      await directory.saveUser('ada', { profile: 'p' })
      await directory.saveKey(second.id, second.record)
    } else {
      if (way === 'in two edits') {
        file.write({ profiles })
        await directory.sync()
      }
      file.write(adaWith(second))
    }
    await directory.sync()

    const { status } = await fetch(served.url, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${second.token}`, 'mcp-session-id': String(before.session) },
        ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    expect([before.session === undefined, status]).toEqual([false, 404])
    const after = await connect(second.token)
    const calls = who.calls.length
    expect(textOf(await after.run('who__whoami'))).toContain('TOKEN is not set for you')
    expect(who.calls).toHaveLength(calls)
    expect(textOf(await after.call('ReadResult', { handle, page: 1 }))).not.toContain('you are first')
    expect((await store.list('limit/')).length).toBeGreaterThan(counted)
  })

  test('a key that was left in the file does not open the door of the next user of that name', async () => {
    const key = createKey('ada')
    const file = usersFile(adaWith(key))
    const directory = await opened(file.path)
    const users = createKeyAuthenticator({ directory })
    expect(await users.authenticate(key.token)).toMatchObject({ id: 'ada' })
    const { keys } = file.read()
    file.write({ profiles, users: { ada: { profile: 'p' } }, keys })
    await expect(openUserFile(file.path)).rejects.toThrow('is of an earlier user "ada"')
    const store = createMemoryStore()
    const shared = await openUserStore(store)
    await shared.saveProfile((await directory.findProfile('p'))!)
    await shared.saveUser('ada', { profile: 'p' })
    await shared.saveKey(key.id, key.record)
    await store.delete('user/ada')
    await shared.saveUser('ada', { profile: 'p' })
    const refused = await createKeyAuthenticator({ directory: shared }).authenticate(key.token)
    expect(refused).toMatchObject({ status: 401 })
  })

  test('nobody takes over another by a copy of their entry', async () => {
    const file = usersFile({ profiles, users: { ada: { profile: 'p' } } })
    await opened(file.path)
    const { ada } = file.read().users
    expect(ada.uid).toMatch(/^[0-9a-f]{32}$/)
    file.write({ profiles, users: { ada, bob: ada } })
    await expect(openUserFile(file.path)).rejects.toThrow('users.bob.uid is that of the user "ada"')
  })

  test('a uid survives edits, restarts and four gateways at once', async () => {
    const file = usersFile(adaWith(createKey('ada')))
    const uids = await Promise.all(
      Array.from({ length: 4 }, async () => (await (await opened(file.path)).findUser('ada'))?.uid),
    )
    expect(new Set(uids).size).toBe(1)
    expect(uids[0]).toMatch(/^[0-9a-f]{32}$/)
    const directory = await opened(file.path)
    await directory.saveUser('ada', { profile: 'p' })
    const content = file.read()
    content.users.bob = { profile: 'p' }
    file.write(content)
    await directory.sync()
    expect((await directory.findUser('ada'))?.uid).toBe(uids[0])
    expect(file.read().users.bob.uid).toBe((await directory.findUser('bob'))?.uid)
  })

  test.runIf(process.platform === 'linux')('without a uid nobody is a user', async () => {
    const file = usersFile(adaWith(createKey('ada')))
    const handle = await openFile(file.path)
    onTestFinished(() => handle.close())
    unlinkSync(file.path)
    // It can be read, and nothing can be written there.
    const opening = openUserFile(`/proc/self/fd/${handle.fd}`)
    await expect(opening).rejects.toThrow(/users without "uid".* cannot be changed.*toolshelf users/)
  })
})

describe('the owner of a token is an issuer and a subject', () => {
  const RESOURCE = 'https://tools.example.com/mcp'
  const [A, B] = ['https://a.example.com', 'https://b.example.com']
  const sign = (claims: object, issuer = A) =>
    new SignJWT({ iss: issuer, aud: RESOURCE, exp: Date.now() / 1000 + 600, ...claims })
      .setProtectedHeader({ alg: 'EdDSA' })
      .sign(pair.privateKey)
  /** Both providers sign with one key: what tells them apart is what is under test. */
  const fetchKeys = (async (address: unknown) => {
    const issuer = String(address).replace(/\.well-known.*|jwks$/, '')
    const named = [A, B, `${A}/`].find((one) => `${one}/` === issuer) ?? issuer
    return Response.json(
      String(address).endsWith('jwks') ? { keys: [jwk] } : { issuer: named, jwks_uri: `${A}/jwks` },
    )
  }) as typeof fetch

  async function open(content: Loose, issuers: readonly string[] = [A, B]) {
    const file = usersFile(content)
    const start = async () => {
      const directory = await opened(file.path)
      const access = createTokenAccess({
        ...readOAuthSettings({ issuer: issuers }),
        ...{ resource: RESOURCE, fetch: fetchKeys, people: createPeople(directory) },
        profileNamed: directory.findProfile,
      })
      onTestFinished(() => access.close())
      return access
    }
    return { file, start, access: await start() }
  }
  const shown = (outcome: Loose) => outcome.id ?? outcome.status

  test('two issuers share nothing, whatever their tokens say of themselves', async () => {
    expect(() => readOAuthSettings({ issuer: A, userClaim: 'email' })).toThrow('"userClaim"')
    const { access } = await open({})
    const claims = { sub: 'ann', email: 'ann@example.com', email_verified: true, name: 'ann' }
    const users = await Promise.all(
      [A, B].map(async (issuer) => access.authenticate(await sign(claims, issuer))),
    )
    expect(users).toMatchObject([
      { id: `${A}|ann`, uid: `${A}|ann` },
      { id: `${B}|ann`, uid: `${B}|ann` },
    ])
    expect(() => readOAuthSettings({ issuer: `${A}/x|ann` })).toThrow('cannot be used')
  })

  test('an address gives rights to one person of one issuer, verified, once', async () => {
    const named = { profile: 'operator', token: { issuer: A, email: 'Ada@example.com' } }
    const content = { profiles: { operator: { operator: true } }, users: { ada: named } }
    const { access, file, start } = await open(content)
    const email = 'ada@example.com'
    const ask = async (claims: object, issuer = A, by = access) =>
      shown(await by.authenticate(await sign({ sub: 'mallory', email, ...claims }, issuer)))
    for (const verified of [undefined, false, 'true', 1, null])
      expect([verified, await ask({ email_verified: verified })]).toEqual([verified, 403])
    expect(await ask({ email_verified: true }, B)).toBe(403)
    for (const other of ['ada@example.com.evil', 'ad\u0430@example.com', ['ada@example.com'], ''])
      expect(await ask({ email: other, email_verified: true })).toBe(403)
    expect(file.read().users.ada.token.subject).toBeUndefined()

    // The first who has it is the owner, whoever else comes at the same moment.
    const crowd = Array.from({ length: 8 }, (_, at) => ask({ sub: `one-${at}`, email_verified: true }))
    const outcomes = await Promise.all(crowd)
    expect(outcomes.filter((outcome) => outcome === 'ada')).toHaveLength(1)
    const owner = `one-${outcomes.indexOf('ada')}`
    expect(file.read().users.ada).toMatchObject({ token: { ...named.token, subject: owner } })
    // The address is somebody else's now; the owner stays, with another address or none, after a restart too.
    for (const by of [access, await start()]) {
      expect(await ask({ sub: 'next', email_verified: true }, A, by)).toBe(403)
      expect(await ask({ sub: owner, email: 'married@example.com' }, A, by)).toBe('ada')
      expect(await ask({ sub: owner, email_verified: true }, B, by)).toBe(403)
    }
    const { uid } = (await access.authenticate(await sign({ sub: owner }))) as User
    // Removed and named again, the address is resolved anew, for a new user.
    file.write(content)
    expect(await ask({ sub: 'next', email_verified: true })).toBe('ada')
    const next = (await access.authenticate(await sign({ sub: 'next' }))) as User
    expect(next.uid).not.toBe(uid)
    expect(await ask({ sub: owner })).toBe(403)
    expect(await access.refresh({ ...next, uid })).toBeUndefined()
  })
})
