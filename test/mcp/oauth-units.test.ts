// Stored logins without a browser: which are read, found and deleted, in files and in a store that replicas share.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createOAuth, logout, readCredentials } from '../../src/mcp/oauth/index.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import { temporaryFolder } from './support/folder.ts'

const url = 'https://notes.example/mcp'
const login = {
  ...{ server: 'notes', url, tokens: { access_token: 'access' }, client: { client_id: 'id' } },
  discovery: { authorizationServerUrl: 'https://login.example' },
}
/** The name under which the login is kept: a change of it would lose every login of today. */
const hash = createHash('sha256')
  .update(JSON.stringify(['notes', url]))
  .digest('hex')
const key = `notes-${hash.slice(0, 24)}`
const notRevoked =
  'the login is forgotten here, but login.example may still accept it: it does not support revocation'

test.each([
  ['server', { ...login, server: 1 }],
  ['url', { ...login, url: undefined }],
  ['token', { ...login, tokens: {} }],
  ['client', { ...login, client: {} }],
  ['authorization server', { ...login, discovery: {} }],
  ['tokens', { ...login, tokens: undefined }],
  ['whole client', { ...login, client: undefined }],
  ['discovery', { ...login, discovery: undefined }],
  ['value', undefined],
  ['object', null],
])('a login without its %s is none', (_, value) => {
  expect(readCredentials(login)).toBe(login)
  expect(readCredentials(value)).toBeUndefined()
})

describe('in a folder', () => {
  test('only the logins of the server are deleted, whatever else is there', async () => {
    const folder = temporaryFolder()
    mkdirSync(folder, { recursive: true })
    const files = ['notes-1.txt', 'elsewhere-1.json', 'other-1.json']
    for (const name of [...files, `${key}.json`]) writeFileSync(join(folder, name), JSON.stringify(login))
    writeFileSync(join(folder, 'notes-2-1.json'), JSON.stringify({ ...login, server: 'notes-2' }))
    const notices: string[] = []
    expect(await logout({ folder, server: 'notes', notify: (text) => void notices.push(text) })).toBe(1)
    expect(readdirSync(folder).sort()).toEqual([...files, 'notes-2-1.json'].sort())
    expect(notices).toEqual([notRevoked])
  })
})

describe('in a store', () => {
  function open() {
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    const clock = { now: 100_000 }
    const notices: string[] = []
    const notify = (message: string) => void notices.push(message)
    const given = { folder: temporaryFolder(), store, server: 'notes', notify }
    const holder = () => createOAuth({ ...given, url, now: () => clock.now })
    return { store, clock, notices, given, holder }
  }

  test('logins of the server are found and deleted, others are not', async () => {
    const { store, given, notices, holder } = open()
    await store.set(`login/${key}`, JSON.stringify(login))
    await store.set('login/notes-2-1', JSON.stringify({ ...login, server: 'notes-2' }))
    expect(await holder().token()).toBe('access')
    expect(await logout(given)).toBe(1)
    expect((await store.list('login/')).map((entry) => entry.key)).toEqual(['login/notes-2-1'])
    expect(notices).toEqual([notRevoked])
  })

  test.each([
    ['text that is no login', '{"server"'],
    ['a login of another server', JSON.stringify({ ...login, server: 'other' })],
    ['a login at another address', JSON.stringify({ ...login, url: 'https://else.example' })],
  ])('%s is removed and reported', async (_, value) => {
    const { store, notices, holder } = open()
    await store.set(`login/${key}`, value)
    expect(await holder().token()).toBeUndefined()
    expect(await store.list('login/')).toEqual([])
    expect(notices).toEqual(['the stored login of "notes" could not be read and was removed'])
  })

  test('a login is read again after five seconds', async () => {
    const { store, clock, holder } = open()
    const provider = holder()
    expect(await provider.token()).toBeUndefined()
    const get = store.get.bind(store)
    let reads = 0
    Object.assign(store, {
      get: (key: string) => {
        reads++
        return get(key)
      },
    })
    clock.now = 104_999
    await provider.token()
    expect(reads).toBe(0)
    clock.now = 105_000
    await provider.token()
    expect(reads).toBe(1)
  })

  test('the name of a login begins with forty characters of its server, without those that a file cannot have', async () => {
    const { store, given } = open()
    const server = `a/ b.${'c'.repeat(50)}`
    const digest = createHash('sha256')
      .update(JSON.stringify([server, url]))
      .digest('hex')
    const name = `login/a_b_${'c'.repeat(36)}-${digest.slice(0, 24)}`
    await store.set(name, JSON.stringify({ ...login, server }))
    expect(await createOAuth({ ...given, server, url }).token()).toBe('access')
    expect(await logout({ ...given, server })).toBe(1)
    expect(await store.list('login/')).toEqual([])
  })

  test('a login that another replica has renewed is used, and then read as seldom as before', async () => {
    const { store, holder } = open()
    const refused = { response: new Response(null), serverUrl: new URL(url), fetchFn: fetch }
    await store.set(`login/${key}`, JSON.stringify(login))
    const provider = holder()
    expect(await provider.token()).toBe('access')
    await store.set(`login/${key}`, JSON.stringify({ ...login, tokens: { access_token: 'renewed' } }))
    expect(await provider.token()).toBe('access')
    await provider.onUnauthorized?.(refused)
    expect(await provider.token()).toBe('renewed')
    await store.set(`login/${key}`, JSON.stringify({ ...login, tokens: { access_token: 'again' } }))
    expect(await provider.token()).toBe('renewed')
  })

  test('a login that another replica writes over a broken one stays', async () => {
    const { store, notices, holder } = open()
    await store.set(`login/${key}`, 'broken')
    const get = store.get.bind(store)
    Object.assign(store, {
      async get(name: string) {
        const found = await get(name)
        await store.set(name, JSON.stringify(login))
        return found
      },
    })
    expect(await holder().token()).toBeUndefined()
    expect((await get(`login/${key}`))?.value).toBe(JSON.stringify(login))
    expect(notices).toHaveLength(1)
  })

  test('while the store is away, the last login counts; without one there is an error', async () => {
    const { store, clock, holder } = open()
    await store.set(`login/${key}`, JSON.stringify(login))
    const [known, fresh] = [holder(), holder()]
    await known.token()
    Object.assign(store, { get: () => Promise.reject(new Error('away')) })
    clock.now = 106_000
    expect(await known.token()).toBe('access')
    await expect(fresh.token()).rejects.toThrow('away')
  })
})
