// `toolshelf users credentials`, `login --user`, and personal servers in a configuration.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import { createLogin } from '../../packages/cli/src/login.ts'
import { personalParts } from '../../packages/cli/src/servers/personal-servers.ts'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import { thisMachine } from '../../packages/mcp/src/config/places.ts'
import { openCredentialStore, openKeyring } from '../../packages/mcp/src/personal/credential-store.ts'
import { loginFile } from '../../packages/mcp/src/personal/personal-hosts.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { openStateStore } from '../../packages/server/src/store/open.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { newPlaceIn, startRedis } from '../../packages/testkit/src/store-servers.ts'
import { browse, startAuthServer } from '../mcp/support/auth-server.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

const newKey = () => randomBytes(32).toString('base64')

function place() {
  const folder = temporaryFolder()
  const store = redis ? newPlaceIn(redis) : ''
  const environment = { HOME: folder, TOOLSHELF_STORE: store, TOOLSHELF_SECRET_KEY: newKey() }
  const credentials = (words: string, more: { piped?: string; key?: string } = {}) =>
    runHere(
      { folder, environment: { ...environment, ...(more.key ? { TOOLSHELF_SECRET_KEY: more.key } : {}) } },
      ['users', 'credentials', ...words.split(' ')],
      more.piped === undefined ? {} : { piped: more.piped },
    )
  return { folder, store, environment, credentials }
}

describe.skipIf(!redis)('toolshelf users credentials', () => {
  test('sets from standard input, lists names only, rotates and removes', async () => {
    const { credentials, environment, folder } = place()
    await runHere({ folder, environment }, ['users', 'add', 'ada'])
    const set = await credentials('set ada github TOKEN', { piped: 'the-value-of-ada\n' })
    expect(set).toMatchObject({ code: 0, out: 'Set TOKEN of ada for github; gateways use it from now on.\n' })
    await credentials('set ada github OTHER', { piped: 'another-value' })
    const listed = await credentials('list ada --json')
    expect(JSON.parse(listed.out)).toEqual({
      credentials: [{ user: 'ada', server: 'github', names: ['OTHER', 'TOKEN'], hasLogin: false }],
    })
    const key = newKey()
    const wrong = await credentials('list', { key })
    expect(wrong.out).toContain('which is not in TOOLSHELF_SECRET_KEY')
    for (const words of ['set ada github TOKEN', 'remove ada github TOKEN'])
      expect(await credentials(words, { key, piped: 'new' })).toMatchObject({
        code: 1,
        told: expect.stringMatching(
          /remove the record and set it again\. To remove it: toolshelf users credentials remove ada github$/m,
        ),
      })
    const rotated = await credentials('rotate', { key: `${key},${environment.TOOLSHELF_SECRET_KEY}` })
    expect(rotated.out).toContain('1 record is now encrypted')
    expect((await credentials('list', { key })).out).toContain('OTHER, TOKEN')
    expect((await credentials('remove ada github OTHER', { key })).code).toBe(0)
    expect((await credentials('remove ada github', { key })).code).toBe(0)
    const gone = await credentials('remove ada github', { key })
    expect(gone.code).not.toBe(0)
    expect(gone.told).toContain('ada has no such credential for github')
    for (const { out, told } of [set, listed, wrong, rotated])
      expect(out + told).not.toMatch(/value-of|another/)
  })

  test('go with their user: a later user of the same id does not get them', async () => {
    const { credentials, environment, folder } = place()
    const { TOOLSHELF_SECRET_KEY: _, ...keyless } = environment
    const cli = (...words: string[]) => runHere({ folder, environment: keyless }, words)
    await cli('users', 'add', 'ada')
    await cli('users', 'add', 'adam')
    for (const server of ['github', 'linear'])
      await credentials(`set ada ${server} TOKEN`, { piped: 'value-of-ada' })
    await credentials('set adam github TOKEN', { piped: 'value-of-adam' })
    const removed = await cli('users', 'remove', 'ada')
    expect(removed.out).toContain(
      'Removed user ada and all of their keys, and their credentials for 2 servers.',
    )
    expect(JSON.parse((await credentials('list --json')).out).credentials).toMatchObject([{ user: 'adam' }])
    expect((await cli('users', 'remove', 'ada')).told).toContain('there is no user "ada"')
  })

  test('says what is missing: the value, the key, the store, a good name', async () => {
    const { credentials, environment, folder } = place()
    expect((await credentials('set ada github TOKEN')).told).toContain('pipe the value in')
    expect((await credentials('set ada github TOKEN', { piped: '\n' })).told).toContain('the value is empty')
    expect((await credentials('set ada github TOKEN', { piped: 'a\nb' })).told).toContain('several lines')
    expect((await credentials('set ada github A-B', { piped: 'x' })).told).toContain('use letters, digits')
    expect((await credentials('list', { key: 'short' })).told).toContain('does not have 32 bytes')
    const { TOOLSHELF_SECRET_KEY: _, ...keyless } = environment
    expect((await runHere({ folder, environment: keyless }, ['users', 'credentials'])).told).toContain(
      'openssl rand',
    )
    const bare = await runHere({ folder, environment: { HOME: folder } }, ['users', 'credentials'])
    expect(bare.told).toContain('pass --store, or set TOOLSHELF_STORE')
  })
})

describe('toolshelf login --user', () => {
  test('keeps the login among the encrypted credentials of the user', async () => {
    const server = await startAuthServer()
    const { folder, store: url, environment } = place()
    await runHere({ folder, environment }, ['users', 'add', 'ada'])
    const config = join(folder, 'servers.json')
    writeFileSync(config, JSON.stringify({ mcpServers: { notes: { url: server.url, credentials: 'user' } } }))
    const machine = () => ({ ...thisMachine(), environment, home: folder, folder })
    const command = createLogin({ machine, openBrowser: browse })
    const said: string[] = []
    const say = (text: string) => void said.push(text)
    const words = ['notes', '--user', 'ada', '--config', config]
    const terminal = { print: say, report: say, isInteractive: false }
    expect(await command.run(readInput(command, words), terminal)).toBe(0)
    expect(said.at(-1)).toBe('Logged in to notes: 2 tools.')
    const store = await openStateStore(url)
    onTestFinished(() => store.close())
    const keyring = openKeyring(environment.TOOLSHELF_SECRET_KEY)
    const credentials = openCredentialStore(store, keyring)
    const [{ user } = { user: '' }, ...others] = await credentials.list()
    expect([user, others]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), []])
    const found = await loginFile(credentials, user, { server: 'notes', url: server.url }).read()
    expect(server.secrets.has(found?.tokens.access_token ?? '')).toBe(true)
    const elsewhere = { server: 'notes', url: 'http://127.0.0.1:1/other' }
    expect(await loginFile(credentials, user, elsewhere).read()).toBeUndefined()
    expect(await loginFile(credentials, 'bob', { server: 'notes', url: server.url }).read()).toBeUndefined()
    const stored = JSON.stringify(await store.list(''))
    for (const secret of server.secrets) expect(stored + said.join()).not.toContain(secret)
  })
})

describe('personal servers in a configuration', () => {
  const reference = ['${', 'user:TOKEN}'].join('')
  const read = async (entry: object) => {
    const folder = temporaryFolder()
    const file = join(folder, 'servers.json')
    writeFileSync(file, JSON.stringify({ mcpServers: { one: entry } }))
    return readConfig([file], {}, thisMachine())
  }

  test('are those with a value of the user in headers or env, or that say so', async () => {
    const url = 'https://example.com/mcp'
    const [byHeader, byEnv, bySetting, shared] = await Promise.all([
      read({ url, headers: { Authorization: `Bearer ${reference}` } }),
      read({ command: 'server', env: { TOKEN: reference } }),
      read({ url, credentials: 'user' }),
      read({ url }),
    ])
    for (const { servers } of [byHeader, byEnv])
      expect(servers[0]).toMatchObject({
        credentials: 'user',
        blocked: 'it needs TOKEN of each user; only an HTTP gateway with users fills that in',
      })
    expect(bySetting.servers[0]).toMatchObject({ credentials: 'user' })
    expect(bySetting.servers[0]?.blocked).toBeUndefined()
    expect(shared.servers[0]?.credentials).toBeUndefined()
  })

  test('cannot choose a program or a host by a value of the user', async () => {
    for (const entry of [
      { url: `https://${reference}.example.com/` },
      { command: reference },
      { command: 'server', args: [reference] },
      { command: 'server', cwd: reference },
    ]) {
      const { servers, problems } = await read(entry)
      expect(servers).toEqual([])
      expect(problems[0]?.message).toContain('can only be used in')
    }
  })

  test('are opened only with users, a store and a key; otherwise they say what is missing', async () => {
    const { servers } = await read({ url: 'https://example.com/mcp', credentials: 'user' })
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    const key = { TOOLSHELF_SECRET_KEY: newKey() }
    const blockedIn = (given: Parameters<typeof personalParts>[0], environment = {}) =>
      personalParts(given, environment).split(servers).servers[0]?.blocked
    expect(blockedIn({ isOnePerson: false }, key)).toContain('pass --users')
    expect(blockedIn({ isOnePerson: false, hasUsers: true }, key)).toContain('pass --store')
    expect(blockedIn({ isOnePerson: false, hasUsers: true, store })).toContain('set TOOLSHELF_SECRET_KEY')
    expect(blockedIn({ isOnePerson: true })).toBeUndefined()
    const all = personalParts({ isOnePerson: false, hasUsers: true, store }, key).split(servers)
    expect([all.servers.length, all.personal.length]).toEqual([0, 1])
  })
})
