// Keys, users and profiles: who a key belongs to, whatever keeps it, and that a revoked one stops at once.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createMemoryStore, type StateStore, StoreError } from '../../src/store/index.ts'
import {
  createKey,
  createKeyAuthenticator,
  openUserFile,
  openUserStore,
  type Profile,
  type UserDirectory,
} from '../../src/users/index.ts'

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
    expect(await users.authenticate(token)).toEqual({ id: 'ada', profile: developer, keyId: id })
    expect(users.recall(token)).toMatchObject({ id: 'ada' })
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

  test('a revoked key stops at once, also where it was remembered', async () => {
    const directory = await open()
    const { id, token } = await withAda(directory)
    const users = authenticatorOf(directory)
    const user = await users.authenticate(token)
    expect(await directory.deleteKey(id)).toBe(true)
    expect(await users.authenticate(token)).toMatchObject({ status: 401 })
    expect('id' in user && (await users.refresh(user))).toBeUndefined()
    expect(await directory.deleteKey(id)).toBe(false)
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
    expect(await directory.findUser('ada')).toEqual({ profile: 'p' })
    expect(notices).toEqual([expect.stringContaining('its last good content stays in use')])
  })

  test('takes edits of many at once', async () => {
    const directory = await fileDirectory()
    await withAda(directory)
    const keys = Array.from({ length: 8 }, () => createKey('ada'))
    await Promise.all(keys.map(({ id, record }) => directory.saveKey(id, record)))
    expect((await directory.all()).keys.size).toBe(9)
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
    await expect(openUserFile(await fileIn(undefined))).rejects.toThrow('toolshelf keys create')
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

  test('is not read for keys that are remembered, nor for a wrong key that is repeated', async () => {
    const { store, counts } = countingStore()
    const directory = await storeDirectory(store)
    const { token } = await withAda(directory)
    const users = authenticatorOf(directory)
    await users.authenticate(token)
    counts.reads = 0
    for (let i = 0; i < 10; i++) await users.authenticate(token)
    expect(counts.reads).toBe(0)
    const wrong = createKey('ada').token
    for (let i = 0; i < 10; i++) await users.authenticate(wrong)
    expect(counts.reads).toBe(1)
  })

  test('is read once for a wrong secret and once for an unknown id', async () => {
    const { store, counts } = countingStore()
    const directory = await storeDirectory(store)
    const { token, id } = await withAda(directory)
    const users = authenticatorOf(directory)
    await users.authenticate(token)
    counts.reads = 0
    await users.authenticate(`tsk_${id}_${'A'.repeat(43)}`)
    expect(counts.reads).toBe(1)
    await users.authenticate(`tsk_${'0'.repeat(16)}_${'A'.repeat(43)}`)
    expect(counts.reads).toBe(2)
  })

  test('is not flooded: of many keys at once, most are refused without a read', async () => {
    const { store, counts } = countingStore()
    const directory = await storeDirectory(store)
    await withAda(directory)
    const users = authenticatorOf(directory)
    counts.reads = 0
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => users.authenticate(createKey('x').token)),
    )
    expect(counts.reads).toBeLessThanOrEqual(100)
    expect(answers).toContainEqual(expect.objectContaining({ status: 503 }))
  })

  test('that is away: remembered keys go on, others get 503; after a gap all are read again', async () => {
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

  test('tells every replica of a revoked key', async () => {
    const store = memoryStore()
    const [one, other] = [await storeDirectory(store), await storeDirectory(store)]
    const { id, token } = await withAda(one)
    const replicas = [authenticatorOf(one), authenticatorOf(other)]
    for (const users of replicas) expect(await users.authenticate(token)).toMatchObject({ id: 'ada' })
    await one.deleteKey(id)
    for (const users of replicas) expect(await users.authenticate(token)).toMatchObject({ status: 401 })
  })
})
