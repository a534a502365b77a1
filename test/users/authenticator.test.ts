// Keys, users and profiles: who a key belongs to, whatever keeps it, and that a revoked one stops at once.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type StateStore, StoreError } from '../../packages/core/src/store.ts'
import type { Profile } from '../../packages/core/src/users.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserFile, openUserStore, type UserDirectory } from '../../packages/server/src/users/directory.ts'
import { createKey } from '../../packages/server/src/users/records.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const developer: Profile = {
  name: 'developer',
  servers: { allow: [], deny: ['payroll'] },
  tools: { allow: [], deny: [] },
  limits: {},
}

async function fileIn(content: unknown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolshelf-users-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'users.json')
  if (content !== undefined)
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

async function fileDirectory(): Promise<UserDirectory> {
  const directory = await openUserFile(await fileIn(undefined), { mayCreate: true })
  closing.push(() => directory.close())
  return directory
}

function memoryStore(): StateStore {
  const store = createMemoryStore()
  closing.push(() => store.close())
  return store
}

async function storeDirectory(store: StateStore = memoryStore()): Promise<UserDirectory> {
  const directory = await openUserStore(store)
  closing.push(() => directory.close())
  return directory
}

async function withAda(directory: UserDirectory) {
  await directory.saveProfile(developer)
  await directory.saveUser('ada', { profile: 'developer' })
  const key = createKey('ada', { label: 'laptop' })
  await directory.saveKey(key.id, key.record)
  return key
}

function authenticatorOf(directory: UserDirectory, now?: () => number) {
  const users = createKeyAuthenticator({ directory, ...(now ? { now } : {}) })
  closing.push(() => users.close())
  return users
}

describe.each([
  ['a file', fileDirectory],
  ['a store', () => storeDirectory()],
])('users in %s', (_, open) => {
  test('a key finds its user and profile', async () => {
    const directory = await open()
    const { id, token } = await withAda(directory)
    const users = authenticatorOf(directory)
    expect(await users.authenticate(token)).toEqual({
      ...{ id: 'ada', uid: expect.stringMatching(/^[0-9a-f]{32}$/), profile: developer, keyId: id },
    })
    expect(await directory.lastUses()).toMatchObject(new Map([[id, expect.any(String)]]))
  })

  test('profiles stay the same object while they do not change', async () => {
    const directory = await open()
    await withAda(directory)
    const before = await directory.findProfile('developer')
    await directory.saveUser('bob', { profile: 'developer' })
    expect(await directory.findProfile('developer')).toBe(before)
    await directory.saveProfile({ ...developer, isOperator: true })
    expect(await directory.findProfile('developer')).toEqual({ ...developer, isOperator: true })
  })

  test('a wrong secret, an unknown id and no key at all get the same answer', async () => {
    const directory = await open()
    const { token } = await withAda(directory)
    const users = authenticatorOf(directory)
    const wrongSecret = token.slice(0, -4) + (token.endsWith('AAAA') ? 'BBBB' : 'AAAA')
    const answers = await Promise.all(
      [wrongSecret, createKey('ada').token, undefined, 'tsk_', 'x'.repeat(100_000)].map((one) =>
        users.authenticate(one),
      ),
    )
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]).toMatchObject({ status: 401 })
  })

  test('a deleted user takes all keys along', async () => {
    const directory = await open()
    const { token } = await withAda(directory)
    const second = createKey('ada')
    await directory.saveKey(second.id, second.record)
    const users = authenticatorOf(directory)
    await users.authenticate(second.token)
    expect(await directory.deleteUser('ada')).toBe(true)
    expect(await users.authenticate(token)).toMatchObject({ status: 401 })
    expect(await users.authenticate(second.token)).toMatchObject({ status: 401 })
    expect((await directory.all()).keys.size).toBe(0)
  })

  test('an expired key is refused with the reason, also where it was remembered', async () => {
    const directory = await open()
    await withAda(directory)
    let now = Date.parse('2026-01-01T00:00:00Z')
    const key = createKey('ada', { expires: new Date(now + 1000) })
    await directory.saveKey(key.id, key.record)
    const users = authenticatorOf(directory, () => now)
    expect(await users.authenticate(key.token)).toMatchObject({ id: 'ada' })
    now += 1000
    expect(await users.authenticate(key.token)).toMatchObject({
      status: 401,
      message: 'the key expired at 2026-01-01T00:00:01.000Z; ask the operator for a new one',
    })
  })

  test('a key created now works now, although it was wrong a moment ago', async () => {
    const directory = await open()
    await withAda(directory)
    const users = authenticatorOf(directory)
    const key = createKey('ada')
    expect(await users.authenticate(key.token)).toMatchObject({ status: 401 })
    await directory.saveKey(key.id, key.record)
    expect(await users.authenticate(key.token)).toMatchObject({ id: 'ada' })
  })
})

describe('a file', () => {
  test('is written for its owner alone, without the key, and read again when another process changes it', async () => {
    const directory = await fileDirectory()
    const { id, token, record } = await withAda(directory)
    const text = await readFile(directory.place, 'utf8')
    expect(text).not.toContain(token)
    expect(text).toContain(record.hash)
    expect((await stat(directory.place)).mode & 0o777).toBe(0o600)
    const users = authenticatorOf(directory)
    await users.authenticate(token)
    const other = await openUserFile(directory.place)
    closing.push(() => other.close())
    await other.deleteKey(id)
    expect(await users.authenticate(token)).toMatchObject({ status: 401 })
  })

  test('with a mistake keeps its last good content, and says so', async () => {
    const notices: string[] = []
    const path = await fileIn({ profiles: { p: {} }, users: { ada: { profile: 'p' } } })
    const directory = await openUserFile(path, { notify: (message) => notices.push(message) })
    closing.push(() => directory.close())
    await writeFile(path, '{ "profiles": ')
    await directory.sync()
    expect(await directory.findUser('ada')).toMatchObject({ profile: 'p' })
    expect(notices).toEqual([expect.stringContaining('its last good content stays in use')])
  })

  test('says once that its content cannot be used, whatever is wrong, and uses it again when it is mended', async () => {
    const notices: string[] = []
    const content = { profiles: { p: {} }, users: { ada: { profile: 'p' } } }
    const path = await fileIn(content)
    const directory = await openUserFile(path, { notify: (message) => notices.push(message) })
    closing.push(() => directory.close())
    let changes = 0
    directory.onChange(() => changes++)
    for (const wrong of [undefined, { users: { ada: { profile: 'q' } } }]) {
      await rm(path, { force: true })
      if (wrong) await writeFile(path, JSON.stringify(wrong))
      await directory.sync()
      await directory.sync()
    }
    expect(notices).toEqual([
      `${path}: the file or its folder is gone; its last good content stays in use`,
      expect.stringMatching(/users\.ada\.profile is "q".*; its last good content stays in use$/),
    ])
    expect(changes).toBe(0)
    await writeFile(path, JSON.stringify({ ...content, users: { bob: { profile: 'p' } } }))
    await directory.sync()
    expect(await directory.findUser('bob')).toMatchObject({ profile: 'p' })
    expect(changes).toBe(1)
    await directory.sync()
    expect([changes, notices.length]).toEqual([1, 2])
  })

  test('is left as it is by a change of nothing or a wrong one; a deleted user leaves the keys of others', async () => {
    const directory = await fileDirectory()
    const { id } = await withAda(directory)
    await directory.saveUser('bob', { profile: 'developer' })
    const key = createKey('bob')
    await directory.saveKey(key.id, key.record)
    const before = await stat(directory.place)
    expect(await directory.deleteKey('f'.repeat(16))).toBe(false)
    expect(await directory.deleteUser('nobody')).toBe(false)
    await expect(directory.saveUser('carl', { profile: 'none' })).rejects.toThrow('profiles has developer')
    expect((await stat(directory.place)).ino).toBe(before.ino)
    expect(await directory.deleteUser('bob')).toBe(true)
    expect([...(await directory.all()).keys.keys()]).toEqual([id])
    await rm(directory.place)
    await directory.saveProfile(developer)
    expect(JSON.parse(await readFile(directory.place, 'utf8'))).toMatchObject({ profiles: { developer: {} } })
    expect(await readdir(dirname(directory.place))).toEqual(['users.json'])
  })

  test('keeps when its keys were used beside it, together with what others noted', async () => {
    const directory = await fileDirectory()
    const { id } = await withAda(directory)
    const path = `${directory.place}.last-used`
    await writeFile(path, JSON.stringify({ [id]: '2026-01-01T00:00:00Z', gone: '2026', other: 7 }))
    expect(await directory.lastUses()).toEqual(
      new Map([
        [id, '2026-01-01T00:00:00Z'],
        ['gone', '2026'],
      ]),
    )
    const other = await openUserFile(directory.place)
    await other.close()
    expect(await readFile(path, 'utf8')).toContain('gone')
    directory.noteUse(id)
    const used = (await directory.lastUses()).get(id)
    expect(used).not.toBe('2026-01-01T00:00:00Z')
    await directory.close()
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ [id]: used })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await readdir(dirname(path))).sort()).toEqual(['users.json', 'users.json.last-used'])
    await writeFile(path, '[')
    expect(await directory.lastUses()).toEqual(new Map())
  })

  test.each([
    ['{', 'is not JSON'],
    [{ user: {} }, 'unknown field "user"; known are profiles, users, keys'],
    [{ users: { ada: { profile: 'p' } } }, 'users.ada.profile is "p", but profiles has none'],
    [
      { profiles: { p: { servers: { allow: 'x' } } } },
      'profiles.p.servers.allow is "x"; expected a list of names',
    ],
    [{ profiles: { p: { limits: { requestsPerMinute: -1 } } } }, 'limits.requestsPerMinute is -1'],
    [
      { profiles: { p: { listing: 'all' } } },
      'profiles.p.listing is "all"; expected one of auto, list, bridge',
    ],
    [{ profiles: { p: { operator: 1 } } }, 'profiles.p.operator is 1; expected true or false'],
    [{ keys: { x: { user: 'a', hash: '', created: '' } } }, 'the id must be 16 hexadecimal digits'],
    [
      { keys: { '0123456789abcdef': { user: 'a', hash: 'tsk_secret', created: '' } } },
      'expected the SHA-256 of the key in hexadecimal, never the key itself',
    ],
    [
      { keys: { '0123456789abcdef': { user: 'a', hash: '0'.repeat(64), created: '2026-01-01T00:00:00Z' } } },
      'keys.0123456789abcdef.user is "a", but there is no such user',
    ],
    [{ profiles: { ' p': {} } }, 'cannot be a name'],
  ])('%j is refused: %s', async (content, message) => {
    const path = await fileIn(content)
    await expect(openUserFile(path)).rejects.toThrow(message)
    await expect(openUserFile(path)).rejects.toThrow(path)
  })

  test('that is missing is refused with what to do', async () => {
    await expect(openUserFile(await fileIn(undefined))).rejects.toThrow(/: no such file$/)
  })
})

describe('a store', () => {
  /** Counts reads, and fails while `isAway`. */
  function countingStore() {
    const store = memoryStore()
    const counts = { reads: 0, isAway: false }
    const gaps: (() => void)[] = []
    const wrapped: StateStore = {
      ...store,
      async get(key) {
        counts.reads++
        if (counts.isAway) throw new StoreError('the store is away')
        return store.get(key)
      },
      onGap: (listener) => {
        gaps.push(listener)
        return () => {}
      },
    }
    return { store: wrapped, counts, gap: () => gaps.forEach((listener) => void listener()) }
  }

  test('is not flooded: of many keys at once, most are refused without a read', async () => {
    const { store, counts } = countingStore()
    const directory = await storeDirectory(store)
    const { token } = await withAda(directory)
    const users = authenticatorOf(directory)
    counts.reads = 0
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => users.authenticate(createKey('x').token)),
    )
    expect(counts.reads).toBe(100)
    expect(answers.filter((answer) => 'status' in answer && answer.status === 503)).toHaveLength(400)
    expect(await users.authenticate(token)).toMatchObject({ id: 'ada' })
  })

  test('that is away: remembered keys keep working, others get 503; after a gap all are read again', async () => {
    const { store, counts, gap } = countingStore()
    const directory = await storeDirectory(store)
    const { token } = await withAda(directory)
    const users = authenticatorOf(directory)
    await users.authenticate(token)
    counts.isAway = true
    expect(await users.authenticate(token)).toMatchObject({ id: 'ada' })
    expect(await users.authenticate(createKey('ada').token)).toMatchObject({ status: 503, retryAfter: 5 })
    gap()
    expect(await users.authenticate(token)).toMatchObject({ status: 503 })
    counts.isAway = false
    expect(await users.authenticate(token)).toMatchObject({ id: 'ada' })
  })

  test('is asked again for a good key after five minutes, and for a wrong one after half a minute', async () => {
    const { store, counts } = countingStore()
    const directory = await storeDirectory(store)
    const { token } = await withAda(directory)
    let now = 0
    const users = authenticatorOf(directory, () => now)
    const wrong = createKey('ada').token
    const readsFor = async (key: string) => {
      counts.reads = 0
      await users.authenticate(key)
      return counts.reads
    }
    for (const [key, reads, ms] of [
      [token, 3, 300_000],
      [wrong, 1, 30_000],
    ] as const) {
      expect(await readsFor(key)).toBe(reads)
      now += ms - 1
      expect(await readsFor(key)).toBe(0)
      now++
      expect(await readsFor(key)).toBe(reads)
    }
  })

  test('without the profile of a user refuses their keys, and says so', async () => {
    const store = memoryStore()
    const directory = await storeDirectory(store)
    const { token, id } = await withAda(directory)
    await directory.saveUser('ada', { profile: 'gone' })
    const said: string[] = []
    const users = createKeyAuthenticator({ directory, notify: (message) => said.push(message) })
    closing.push(() => users.close())
    expect(await users.authenticate(token)).toMatchObject({ status: 401 })
    expect(said).toEqual([
      'user "ada" has the profile "gone", which does not exist; refusing the user\'s keys',
    ])
    expect(await users.refresh({ id: 'ada', uid: 'ada', profile: developer, keyId: id })).toBeUndefined()
    await store.delete('user/ada')
    expect(await users.authenticate(token)).toMatchObject({ status: 401 })
    expect(said).toHaveLength(2)
  })

  test('with a record that cannot be read answers 503 and says why; what else goes wrong is thrown', async () => {
    const store = memoryStore()
    const directory = await storeDirectory(store)
    const { token } = await withAda(directory)
    await store.set('user/ada', '{')
    const said: string[] = []
    const notify = (message: string) => void said.push(message)
    const users = createKeyAuthenticator({ directory, notify })
    closing.push(() => users.close())
    expect(await users.authenticate(token)).toMatchObject({ status: 503, retryAfter: 5 })
    expect(said).toEqual([
      'a key cannot be checked: the value of "user/ada" in the store is not JSON; write it again with "toolshelf users import"',
    ])
    const findUser = () => Promise.reject(new RangeError('a mistake'))
    const broken = createKeyAuthenticator({ directory: { ...directory, findUser }, notify })
    closing.push(() => broken.close())
    await expect(broken.authenticate(token)).rejects.toThrow(RangeError)
  })

  test('a connected user has their present rights, until their key expires or is deleted', async () => {
    const directory = await storeDirectory()
    await withAda(directory)
    let now = Date.parse('2026-01-01T00:00:00Z')
    const { id, token, record } = createKey('ada', { expires: new Date(now + 1000) })
    await directory.saveKey(id, record)
    const users = authenticatorOf(directory, () => now)
    const user = await users.authenticate(token)
    if ('status' in user) throw new Error(user.message)
    expect(user.expiresAt).toBe(now + 1000)
    expect(await users.refresh(user)).toEqual(user)
    await directory.saveProfile({ ...developer, name: 'guest' })
    await directory.saveUser('ada', { profile: 'guest' })
    expect((await users.refresh(user))?.profile.name).toBe('guest')
    expect(await users.refresh({ id: 'ada', uid: 'ada', profile: developer })).toBeUndefined()
    now += 1000
    expect(await users.refresh(user)).toBeUndefined()
  })

  test('that is closed reports no more changes', async () => {
    const store = memoryStore()
    const directory = await openUserStore(store)
    let changes = 0
    const stop = directory.onChange(() => changes++)
    await store.publish('users', 'key/1')
    expect(changes).toBe(1)
    stop()
    await store.publish('users', 'key/1')
    directory.onChange(() => changes++)
    await directory.close()
    await store.publish('users', 'key/1')
    expect(changes).toBe(1)
  })
})
