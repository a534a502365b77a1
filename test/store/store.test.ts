// One suite over both stores: memory and Redis. Redis is opened twice, as two replicas would.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openStateStore, type StateStore, StoreError, withLock } from '../../src/store/index.ts'
import { isThorough, sizeOf } from '../support/runs.ts'
import { freePort, type StoreServer, startRedis } from '../support/store-servers.ts'

const redis = await startRedis()

type Kind = { readonly name: string; readonly url: string; readonly server?: StoreServer | undefined }
const kinds: Kind[] = [
  { name: 'memory', url: 'memory:' },
  ...(redis ? [{ name: 'redis', url: redis.url, server: redis }] : []),
]
const restartable = kinds.filter(({ server }) => server?.isOwn)

afterAll(async () => {
  await redis?.stop()
})

/** A busy machine may take long for what usually takes milliseconds. */
const PATIENT = { timeoutMs: 60_000 }
const waitFor = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 15 })
const MINUTE = 60_000
const WRITERS = sizeOf({ quick: 30, full: 100 })

/** Runs the work for every number, some at a time. */
async function forEachOf(count: number, work: (number: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, number) => work(number)))
}

describe.each(kinds)('$name', ({ url, name }) => {
  let one: StateStore
  let other: StateStore
  beforeAll(async () => {
    one = await openStateStore(url, PATIENT)
    other = name === 'memory' ? one : await openStateStore(url, PATIENT)
  })
  afterAll(async () => {
    await Promise.all([one.close(), other.close()])
  })

  test('says its kind and that it answers', async () => {
    expect(one.kind).toBe(name)
    await one.ping()
  })

  test('a value is what was written, and another version after each write', async () => {
    expect(await one.get('plain/none')).toBeUndefined()
    const first = await one.set('plain/a', 'first')
    expect(await other.get('plain/a')).toEqual({ value: 'first', version: first })
    const second = await other.set('plain/a', 'second')
    expect(second).not.toBe(first)
    expect(await one.get('plain/a')).toEqual({ value: 'second', version: second })
    await one.set('plain/empty', '')
    expect((await other.get('plain/empty'))?.value).toBe('')
  })

  test('a value expires', async () => {
    const version = await one.set('ttl/short', 'x', { ttlMs: 30 })
    await waitFor(async () => expect(await other.get('ttl/short')).toBeUndefined())
    expect(await one.list('ttl/short')).toEqual([])
    expect(await one.delete('ttl/short', { ifVersion: version ?? '' })).toBe(false)
    expect(await other.set('ttl/short', 'again', { ifVersion: null, ttlMs: MINUTE })).toBeDefined()
  })

  test('a write without a time to live makes a value stay', async () => {
    await one.set('ttl/stays', 'x', { ttlMs: 40 })
    const version = await one.set('ttl/stays', 'y')
    await one.set('ttl/clock', 'x', { ttlMs: 60 })
    await waitFor(async () => expect(await one.get('ttl/clock')).toBeUndefined())
    expect(await one.get('ttl/stays')).toEqual({ value: 'y', version })
  })

  test('writes and deletes only the given version', async () => {
    const first = await one.set('cas/a', '1', { ifVersion: null })
    expect(await other.set('cas/a', '2', { ifVersion: null })).toBeUndefined()
    expect(await other.set('cas/none', '2', { ifVersion: first ?? '' })).toBeUndefined()
    const second = await other.set('cas/a', '2', { ifVersion: first ?? '' })
    expect(await one.set('cas/a', '3', { ifVersion: first ?? '' })).toBeUndefined()
    expect(await one.delete('cas/a', { ifVersion: first ?? '' })).toBe(false)
    expect((await one.get('cas/a'))?.value).toBe('2')
    expect(await one.delete('cas/a', { ifVersion: second ?? '' })).toBe(true)
    expect(await one.delete('cas/a')).toBe(false)
    // The next value of the key never has a version that was there before.
    expect([first, second]).not.toContain(await one.set('cas/a', '1'))
  })

  test('writers that each add one by versions lose none', async () => {
    await forEachOf(WRITERS, async (number) => {
      const store = number % 2 === 0 ? one : other
      for (;;) {
        const found = await store.get('race/cas')
        const next = String(Number(found?.value ?? 0) + 1)
        if (await store.set('race/cas', next, { ifVersion: found?.version ?? null, ttlMs: MINUTE })) return
        // Not all at once again: the machine has other work.
        await sleep(Math.random() * 300)
      }
    })
    expect((await one.get('race/cas'))?.value).toBe(String(WRITERS))
  })

  /** Adds to a short-lived counter before it expires, which a busy machine manages only with a longer life. */
  async function addTwice(ttlMs = 50): Promise<string> {
    const key = `race/short-${ttlMs}`
    await one.add(key, 1, ttlMs)
    return (await other.add(key, 1, MINUTE)) === 2 ? key : addTwice(2 * ttlMs)
  }

  test('counters lose nothing and expire after the first addition', async () => {
    await forEachOf(WRITERS, (number) => (number % 2 === 0 ? one : other).add('race/count', 3, MINUTE))
    expect(await one.add('race/count', -50, MINUTE)).toBe(3 * WRITERS - 50)
    expect((await other.get('race/count'))?.value).toBe(String(3 * WRITERS - 50))
    expect(await one.add('race/part', 0.1, MINUTE)).toBe(0.1)
    expect(await one.add('race/part', 0.2, MINUTE)).toBe(0.1 + 0.2)
    expect(await one.add('race/large', 9_007_199_254_740_000, MINUTE)).toBe(9_007_199_254_740_000)
    expect(await one.add('race/large', 991, MINUTE)).toBe(Number.MAX_SAFE_INTEGER)
    const short = await addTwice()
    await waitFor(async () => expect(await one.get(short)).toBeUndefined())
    expect(await one.add(short, 7, MINUTE)).toBe(7)
    await one.set('race/text', 'none')
    await expect(one.add('race/text', 1, MINUTE)).rejects.toThrow(/not a number/)
  })

  test('lists keys in order, page by page', async () => {
    // Without a limit a page has 1,000 keys.
    const limit = name === 'memory' || isThorough ? undefined : 100
    const pageSize = limit ?? 1000
    const count = 2.5 * pageSize
    const nameOf = (number: number) => `page/${String(number).padStart(4, '0')}`
    await forEachOf(count, (number) => one.set(nameOf(number), String(number), { ttlMs: 10 * MINUTE }))
    await one.set('pagf', 'not of them')
    const sizes: number[] = []
    const found: string[] = []
    for (let after = ''; ; ) {
      const page = await other.list('page/', { after, ...(limit ? { limit } : {}) })
      sizes.push(page.length)
      found.push(...page.map(({ key }) => key))
      after = page.at(-1)?.key ?? after
      if (page.length < pageSize) break
    }
    expect(sizes).toEqual([pageSize, pageSize, pageSize / 2])
    expect(found).toEqual(Array.from({ length: count }, (_, number) => nameOf(number)))
    const three = await one.list('page/012', { limit: 3 })
    expect(three.map(({ key, value }) => [key, value])).toEqual(
      [120, 121, 122].map((number) => [nameOf(number), String(number)]),
    )
  })

  test('keys may hold any character, and differ by case', async () => {
    const keys = [
      ...[
        'a b',
        'a*b',
        'a?b',
        'a[b]',
        'a\\b',
        'a%b',
        "a'b",
        'a"b',
        'a/b/',
        'a..',
        '../a',
        'a\nb',
        'a\0b',
        'a\u0001b',
      ],
      ...[
        'A',
        'a',
        'ä',
        '日本',
        '\ufffd',
        '🔑',
        '~',
        '.draft',
        'x'.repeat(300),
        `${'y'.repeat(300)}🔑`,
        'con',
      ],
    ].map((key) => `odd/${key}`)
    for (const key of keys) await one.set(key, `value of ${key}`, { ttlMs: MINUTE })
    for (const key of keys) expect((await other.get(key))?.value).toBe(`value of ${key}`)
    const sorted = [...keys].sort()
    expect((await other.list('odd/')).map(({ key }) => key)).toEqual(sorted)
    expect((await other.list('odd/a*')).map(({ key }) => key)).toEqual(['odd/a*b'])
    expect((await other.list('odd/', { after: 'odd/日本' })).map(({ key }) => key)).toEqual(
      sorted.slice(sorted.indexOf('odd/日本') + 1),
    )
    for (const key of keys) expect(await other.delete(key)).toBe(true)
    expect(await one.list('odd/')).toEqual([])
  })

  test('refuses keys and times that no store takes', async () => {
    await expect(one.set('', 'x')).rejects.toThrow(StoreError)
    await expect(one.get('x'.repeat(1001))).rejects.toThrow(/1001 bytes/)
    await expect(one.set('x', 'x', { ttlMs: 0 })).rejects.toThrow(/ttlMs is 0/)
    await expect(one.add('x', Number.NaN, 10)).rejects.toThrow(/amount is NaN/)
  })

  test('keeps values of a megabyte', async () => {
    const value = `${'0123456789abcdé\n'.repeat(65_536)}\0end`
    const version = await one.set('large/a', value, { ttlMs: MINUTE })
    const found = await other.get('large/a')
    expect(found?.version).toBe(version)
    expect(found?.value === value).toBe(true)
    expect(await other.set('large/a', 'small', { ifVersion: version ?? '', ttlMs: MINUTE })).toBeDefined()
  })

  test('messages reach every subscriber of the channel, in order, long ones among them', async () => {
    const heard: string[][] = [[], [], []]
    const stops = await Promise.all([
      one.subscribe('news/1', (message) => heard[0]?.push(message)),
      other.subscribe('news/1', (message) => heard[1]?.push(message)),
      other.subscribe('news/2', (message) => heard[2]?.push(message)),
    ])
    const long = `${'ü'.repeat(sizeOf({ quick: 100_000, full: 1_000_000 }))}\0`
    const sent = Array.from({ length: 60 }, (_, number) =>
      number % 20 === 10 ? long + number : `m${number}`,
    )
    await Promise.all([...sent.map((message) => one.publish('news/1', message)), one.publish('news/2', '')])
    await waitFor(() => expect(heard.map(({ length }) => length)).toEqual([60, 60, 1]))
    expect(heard[0]?.every((message, index) => message === sent[index])).toBe(true)
    expect(heard[1]?.every((message, index) => message === sent[index])).toBe(true)
    expect(heard[2]).toEqual([''])
    await Promise.all(stops.map((stop) => stop()))
  })

  test('who unsubscribed hears nothing more; the others do', async () => {
    const heard: string[] = []
    const stay = await other.subscribe('leave', (message) => heard.push(`stays ${message}`))
    const leave = await other.subscribe('leave', (message) => heard.push(`leaves ${message}`))
    await one.publish('leave', '1')
    await waitFor(() => expect(heard).toHaveLength(2))
    await leave()
    await one.publish('leave', '2')
    await waitFor(() => expect(heard).toContain('stays 2'))
    await stay()
    const back = await other.subscribe('leave', (message) => heard.push(`back ${message}`))
    await one.publish('leave', '3')
    await waitFor(() => expect(heard).toContain('back 3'))
    expect(heard).toEqual(['stays 1', 'leaves 1', 'stays 2', 'back 3'])
    await back()
  })

  test('a lock has one holder at a time', async () => {
    let holders = 0
    let most = 0
    const turns: number[] = []
    await forEachOf(8, (number) =>
      withLock(
        number % 2 === 0 ? one : other,
        'lock/one',
        MINUTE,
        async () => {
          most = Math.max(most, ++holders)
          await other.ping()
          turns.push(number)
          holders--
        },
        { waitMs: 10 * MINUTE },
      ),
    )
    expect(most).toBe(1)
    expect(turns).toHaveLength(8)
    expect(await one.get('lock/one')).toBeUndefined()
  })

  test('a holder whose lock was taken learns it', async () => {
    const work = withLock(one, 'lock/lost', 3000, async () => {
      await other.set('lock/lost', 'another', { ttlMs: MINUTE })
      return new Promise(() => {})
    })
    await expect(work).rejects.toThrow('another process holds it now')
    expect((await one.get('lock/lost'))?.value).toBe('another')
    const late = withLock(one, 'lock/lost', 10, async () => {}, { waitMs: 20 })
    await expect(late).rejects.toThrow(/not free within 20 ms/)
  })

  test('a lock is renewed while the work runs, and ends with it', async () => {
    const versions = new Set<string | undefined>()
    await withLock(one, 'lock/renewed', 3000, async () => {
      await waitFor(async () => {
        versions.add((await other.get('lock/renewed'))?.version)
        expect(versions.size).toBeGreaterThan(1)
      })
      expect(versions).not.toContain(undefined)
    })
    expect(await other.get('lock/renewed')).toBeUndefined()
  })

  test('an error of the work is the error of the lock, which is free afterwards', async () => {
    const failing = withLock(one, 'lock/failing', MINUTE, () => Promise.reject(new Error('of the work')))
    await expect(failing).rejects.toThrow('of the work')
    expect(await one.get('lock/failing')).toBeUndefined()
  })
})

describe.each(restartable)('$name, killed and started again', ({ url, server }) => {
  test('calls fail with a reason, then work again; subscribers learn of the gap and receive again', async () => {
    const store = await openStateStore(url)
    const quiet = await openStateStore(url)
    const heard: string[] = []
    let gaps = 0
    store.onGap(() => gaps++)
    await store.subscribe('gap', (message) => heard.push(message))
    await quiet.ping()
    await server?.kill()
    await expect(store.set('gap/a', 'x')).rejects.toThrow(StoreError)
    await expect(store.publish('gap', 'lost')).rejects.toThrow(StoreError)
    await expect(store.subscribe('gap/2', () => {})).rejects.toThrow(StoreError)
    await expect(quiet.get('gap/a')).rejects.toThrow(StoreError)
    await server?.restart()
    await waitFor(() => expect(gaps).toBe(1))
    await waitFor(() => quiet.publish('gap', 'after'))
    await waitFor(() => expect(heard).toContain('after'))
    await waitFor(() => store.set('gap/a', 'y'))
    expect((await quiet.get('gap/a'))?.value).toBe('y')
    await Promise.all([store.close(), quiet.close()])
  })

  test('a server that hangs fails calls in time, and is used again when it answers', async () => {
    const store = await openStateStore(url, { timeoutMs: 150 })
    await waitFor(() => store.set('hang', 'x'))
    server?.pause()
    await expect(store.get('hang')).rejects.toThrow(/did not answer within 150 ms/)
    await expect(store.publish('hang', 'x')).rejects.toThrow(StoreError)
    server?.resume()
    await waitFor(async () => expect((await store.get('hang'))?.value).toBe('x'))
    server?.pause()
    const late = store.get('hang').catch((error: unknown) => error)
    await store.close()
    expect(await late).toBeInstanceOf(StoreError)
    server?.resume()
  })
})

describe('a store that cannot be reached', () => {
  test('every call says which, never the password', async () => {
    const port = await freePort()
    const store = await openStateStore(`redis://tester:geheim@127.0.0.1:${port}/0`)
    const calls = [
      () => store.get('a'),
      () => store.list('a'),
      () => store.set('a', 'b'),
      () => store.set('a', 'b', { ifVersion: null }),
      () => store.delete('a'),
      () => store.add('a', 1, 10),
      () => store.publish('a', 'b'),
      () => store.subscribe('a', () => {}),
      () => store.ping(),
    ]
    for (const call of calls) {
      const error = await call().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(StoreError)
      expect(String(error)).toContain(`127.0.0.1:${port}`)
      expect(String(error)).not.toContain('geheim')
    }
    await store.close()
    await expect(store.get('a')).rejects.toThrow(/closed/)
  })

  test.each([
    ['mysql://tester:geheim@host', /unknown store "mysql:…": expected redis:/],
    ['tester', /unknown store without a scheme: expected redis:/],
    ['redis://tester:ge#h@eim@[', /the URL of the Redis store is not valid/],
    ['postgres://tester:geheim@host/db', /unknown store "postgres:…": expected redis:/],
    ['file:folder', /unknown store "file:…": expected redis:/],
  ])('%s is refused', async (url, reason) => {
    const error = await openStateStore(url).catch((found: unknown) => found)
    expect(error).toBeInstanceOf(StoreError)
    expect(String(error)).toMatch(reason)
    expect(String(error)).not.toContain('geheim')
  })
})

describe('options', () => {
  test.each(restartable)('$name: a prefix keeps two gateways apart', async ({ url }) => {
    const stores = await Promise.all(
      ['first_', 'second_'].map((value) => openStateStore(`${url}?prefix=${value}`, PATIENT)),
    )
    const [one, other] = stores
    await one?.set('apart', 'x')
    expect(await other?.get('apart')).toBeUndefined()
    expect(await other?.list('')).toEqual([])
    await Promise.all(stores.map((store) => store.close()))
  })
})
