// One table of laws over the stores, memory and Redis. Redis is opened twice, as two replicas would, and by another process.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { isThorough, sizeOf } from '../../packages/testkit/src/runs.ts'
import {
  freePort,
  newPlaceIn,
  type StoreServer,
  startRedis,
} from '../../packages/testkit/src/store-servers.ts'
import {
  createMemoryStore,
  createStoredResults,
  entriesIn,
  openStateStore,
  type StateStore,
  StoreError,
  withLock,
} from '../doors.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

/** A busy machine may take long for what usually takes milliseconds. */
const PATIENT = { timeoutMs: 60_000 }
const waitFor = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 15 })
const MINUTE = 60_000
const WRITERS = sizeOf({ quick: 30, full: 100 })
const times = (count: number, work: (number: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, number) => work(number)))
const keysOf = (entries: readonly { readonly key: string }[]) => entries.map(({ key }) => key)
const messageOf = (work: Promise<unknown>) =>
  work.then(String, (error: Error) => `${error.name}: ${error.message}`)

/** A law, told of a store as two replicas see it. */
type Law = (one: StateStore, other: StateStore) => Promise<void>

const values: { readonly [title: string]: Law } = {
  async 'a value is what was written, and another version after each write'(one, other) {
    expect(await one.get('plain/none')).toBeUndefined()
    const first = await one.set('plain/a', 'first')
    expect(await other.get('plain/a')).toEqual({ value: 'first', version: first })
    const second = await other.set('plain/a', 'second')
    expect(second).not.toBe(first)
    expect(await one.get('plain/a')).toEqual({ value: 'second', version: second })
    await one.set('plain/empty', '')
    expect((await other.get('plain/empty'))?.value).toBe('')
    expect(await other.delete('plain/empty')).toBe(true)
    expect(await one.delete('plain/empty')).toBe(false)
  },
  async 'values of a megabyte are kept'(one, other) {
    const value = `${'0123456789abcdé\n'.repeat(65_536)}\0end`
    const version = await one.set('large/a', value, { ttlMs: MINUTE })
    const found = await other.get('large/a')
    expect([found?.version, found?.value === value]).toEqual([version, true])
    expect(await other.set('large/a', 'small', { ifVersion: version ?? '' })).toBeDefined()
  },
  async 'a value ends with its time to live, and its version with it'(one, other) {
    const version = (await one.set('ttl/short', 'x', { ttlMs: 29.5 })) ?? ''
    await waitFor(async () => expect(await other.get('ttl/short')).toBeUndefined())
    expect(await one.list('ttl/short')).toEqual([])
    expect(await one.delete('ttl/short', { ifVersion: version })).toBe(false)
    expect(await one.set('ttl/short', 'y', { ifVersion: version })).toBeUndefined()
    expect(await other.set('ttl/short', 'again', { ifVersion: null, ttlMs: MINUTE })).toBeDefined()
  },
  async 'a write without a time to live makes a value stay, by version as well'(one) {
    await one.set('ttl/plain', 'x', { ttlMs: 40 })
    const held = await one.set('ttl/version', 'x', { ttlMs: 60_000 })
    const versions = [
      await one.set('ttl/plain', 'y'),
      await one.set('ttl/version', 'y', { ifVersion: held ?? '' }),
    ]
    const brief = await one.set('ttl/clock', 'x')
    expect(await one.set('ttl/clock', 'x', { ifVersion: brief ?? '', ttlMs: 60 })).toBeDefined()
    await waitFor(async () => expect(await one.get('ttl/clock')).toBeUndefined())
    expect(await one.get('ttl/plain')).toEqual({ value: 'y', version: versions[0] })
    expect(await one.get('ttl/version')).toEqual({ value: 'y', version: versions[1] })
  },
  async 'only the given version is written over or deleted'(one, other) {
    const first = (await one.set('cas/a', '1', { ifVersion: null })) ?? ''
    expect(await other.set('cas/a', '2', { ifVersion: null })).toBeUndefined()
    expect(await other.set('cas/none', '2', { ifVersion: first })).toBeUndefined()
    const second = (await other.set('cas/a', '2', { ifVersion: first })) ?? ''
    expect(await one.set('cas/a', '3', { ifVersion: first })).toBeUndefined()
    expect(await one.delete('cas/a', { ifVersion: first })).toBe(false)
    expect((await one.get('cas/a'))?.value).toBe('2')
    expect(await one.delete('cas/a', { ifVersion: second })).toBe(true)
    expect(await one.delete('cas/a')).toBe(false)
    // The next value of the key never has a version that was there before.
    expect([first, second]).not.toContain(await one.set('cas/a', '1'))
  },
  async 'counters lose nothing, keep fractions and end after their first addition'(one, other) {
    await times(WRITERS, (number) => (number % 2 === 0 ? one : other).add('race/count', 3, MINUTE))
    expect(await one.add('race/count', -50, MINUTE)).toBe(3 * WRITERS - 50)
    expect((await other.get('race/count'))?.value).toBe(String(3 * WRITERS - 50))
    expect(await one.add('race/part', 0.1, MINUTE)).toBe(0.1)
    expect(await one.add('race/part', 0.2, MINUTE)).toBe(0.1 + 0.2)
    expect(await one.add('race/large', 9_007_199_254_740_000, MINUTE)).toBe(9_007_199_254_740_000)
    expect(await one.add('race/large', 991, MINUTE)).toBe(Number.MAX_SAFE_INTEGER)
    // Long enough for the second addition, which a busy machine manages only with a longer life.
    let short = ''
    for (let ttlMs = 50; short === '' || (await other.add(short, 1, MINUTE)) !== 2; ttlMs *= 2) {
      short = `race/short-${ttlMs}`
      await one.add(short, 1, ttlMs)
    }
    await waitFor(async () => expect(await one.get(short)).toBeUndefined())
    expect(await one.add(short, 7, MINUTE)).toBe(7)
    const before = await one.get('race/count')
    await one.add('race/count', 1, MINUTE)
    expect(await one.set('race/count', '0', { ifVersion: before?.version ?? '' })).toBeUndefined()
    await one.set('race/text', 'none')
    await expect(one.add('race/text', 1, MINUTE)).rejects.toThrow(
      'cannot add to "race/text": its value is not a number',
    )
  },
  async 'keys are listed in order, page by page'(one, other) {
    // Without a limit a page has 1,000 keys.
    const limit = one.kind === 'memory' || isThorough ? undefined : 100
    const pageSize = limit ?? 1000
    const nameOf = (number: number) => `page/${String(number).padStart(4, '0')}`
    const names = Array.from({ length: 2.5 * pageSize }, (_, number) => nameOf(number))
    await Promise.all([...names].reverse().map((name) => one.set(name, name, { ttlMs: 10 * MINUTE })))
    await one.set('pagf', 'not of them')
    const sizes: number[] = []
    const found: string[] = []
    for (let after = ''; ; after = found.at(-1) ?? '') {
      const page = await other.list('page/', { after, ...(limit ? { limit } : {}) })
      sizes.push(page.length)
      found.push(...keysOf(page))
      if (page.length < pageSize) break
    }
    expect([sizes, found]).toEqual([[pageSize, pageSize, pageSize / 2], names])
    const three = await one.list('page/012', { limit: 3 })
    expect(three.map(({ key, value }) => [key, value])).toEqual(
      [120, 121, 122].map((n) => [nameOf(n), nameOf(n)]),
    )
    expect(await one.list('page/', { limit: 0 })).toEqual([])
    const all: string[] = []
    for await (const { key } of entriesIn(other, 'page/')) all.push(key)
    expect(all).toEqual(names)
  },
  async 'keys may hold any character, and differ by case'(one, other) {
    const names = [
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
    ]
    names.push(
      ...['A', 'a', 'ä', '日本', '\ufffd', '🔑', '~', '.draft', 'x'.repeat(300), `${'y'.repeat(300)}🔑`],
    )
    const keys = names.map((key) => `odd/${key}`)
    const sorted = [...keys].sort()
    for (const key of keys) await one.set(key, `value of ${key}`, { ttlMs: MINUTE })
    for (const key of keys) expect((await other.get(key))?.value).toBe(`value of ${key}`)
    expect(keysOf(await other.list('odd/'))).toEqual(sorted)
    expect(keysOf(await other.list('odd/a*'))).toEqual(['odd/a*b'])
    const after = sorted.slice(sorted.indexOf('odd/日本') + 1)
    expect(keysOf(await other.list('odd/', { after: 'odd/日本' }))).toEqual(after)
    for (const key of keys) expect(await other.delete(key)).toBe(true)
    expect(await one.list('odd/')).toEqual([])
  },
  async 'no store takes keys, values, times and amounts out of bounds'(one) {
    const uses: ((key: string) => Promise<unknown>)[] = [
      (key) => one.get(key),
      (key) => one.set(key, ''),
      (key) => one.delete(key),
      (key) => one.add(key, 1, MINUTE),
      (key) => one.publish(key, ''),
      (key) => one.subscribe(key, () => {}),
    ]
    for (const use of uses) {
      await use('ä'.repeat(500)).then(() => one.delete('ä'.repeat(500)))
      await expect(use('')).rejects.toThrow('invalid key of 0 bytes: expected 1 to 1000 bytes')
      await expect(use(`${'ä'.repeat(500)}k`)).rejects.toThrow('invalid key of 1001 bytes')
    }
    for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const message = `ttlMs is ${wrong}; expected a number of milliseconds above 0`
      await expect(one.set('a', 'x', { ttlMs: wrong })).rejects.toThrow(message)
      await expect(one.add('a', 1, wrong)).rejects.toThrow(message)
      if (!Number.isFinite(wrong)) await expect(one.add('a', wrong, 1)).rejects.toThrow(`amount is ${wrong}`)
    }
    const long = 'x'.repeat(64_000_001)
    for (const write of [one.set('a', long), one.publish('a', long)])
      await expect(write).rejects.toThrow('has 64000001 characters; the limit is 64000000')
  },
}

const messages: { readonly [title: string]: Law } = {
  async 'messages reach every subscriber of the channel, in order, long ones among them'(one, other) {
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
    for (const list of heard.slice(0, 2))
      expect(list.every((message, index) => message === sent[index])).toBe(true)
    expect(heard[2]).toEqual([''])
    await Promise.all(stops.map((stop) => stop()))
  },
  async 'who unsubscribed hears nothing more; the others do, though one of them throws'(one, other) {
    const heard: string[] = []
    const note = (who: string) => (message: string) => void heard.push(`${who} ${message}`)
    const stay = await other.subscribe('leave', note('stays'))
    const leave = await other.subscribe('leave', note('leaves'))
    await one.publish('leave', '1')
    await waitFor(() => expect(heard).toHaveLength(2))
    await leave()
    await leave()
    await one.publish('leave', '2')
    await waitFor(() => expect(heard).toContain('stays 2'))
    await stay()
    // Comes while the last one leaves.
    const [back] = await Promise.all([other.subscribe('leave', note('back')), stay()])
    await one.publish('leave', '3')
    await waitFor(() => expect(heard).toContain('back 3'))
    expect(heard).toEqual(['stays 1', 'leaves 1', 'stays 2', 'back 3'])
    await back()
  },
  async 'a lock has one holder at a time, and is free afterwards, whatever became of the work'(one, other) {
    let [holders, most, turns] = [0, 0, 0]
    const hold = async () => {
      most = Math.max(most, ++holders)
      await other.ping()
      turns++
      holders--
    }
    const waitMs = 10 * MINUTE
    await times(8, (number) => withLock(number % 2 === 0 ? one : other, 'lock/one', MINUTE, hold, { waitMs }))
    expect([most, turns, await one.get('lock/one')]).toEqual([1, 8, undefined])
    const failing = withLock(one, 'lock/one', MINUTE, () => Promise.reject(new Error('of the work')))
    await expect(failing).rejects.toThrow('of the work')
    expect(await one.get('lock/one')).toBeUndefined()
  },
  async 'a holder whose lock was taken learns it; who comes late is told how long they waited'(one, other) {
    const work = withLock(one, 'lock/lost', 3000, async () => {
      await other.set('lock/lost', 'another', { ttlMs: MINUTE })
      return new Promise(() => {})
    })
    await expect(work).rejects.toThrow('another process holds it now; run it again')
    expect((await one.get('lock/lost'))?.value).toBe('another')
    const late = (ttlMs: number, options?: { waitMs: number }) =>
      messageOf(withLock(one, 'lock/lost', ttlMs, async () => {}, options))
    expect(await late(10, { waitMs: 20 })).toContain('was not free within 20 ms; try again')
    expect(await late(1)).toContain('was not free within 3 ms')
  },
  async 'a lock is renewed while the work runs; work that ends after its time does not count'(one, other) {
    const versions = new Set<string | undefined>()
    await withLock(one, 'lock/renewed', 3000, () =>
      waitFor(async () => {
        versions.add((await other.get('lock/renewed'))?.version)
        expect(versions.size).toBeGreaterThan(1)
      }),
    )
    expect(versions).not.toContain(undefined)
    const busy = withLock(one, 'lock/busy', 20, async () => {
      const end = Date.now() + 30
      while (Date.now() < end);
    })
    await expect(busy).rejects.toThrow('its time to live passed')
  },
  async 'long results are read at any replica, by their owner alone; the newest that fit stay'(one, other) {
    const id = (name: string) => `result00${name}`
    const [results, others] = [one, other].map((store) => createStoredResults({ store, bytesPerOwner: 1000 }))
    if (!results || !others) throw new Error('there are two')
    await expect(results.put('ann', id('x'), 'x'.repeat(1001))).rejects.toThrow('1001 bytes')
    await expect(results.put('ann', 'A/B', 'x')).rejects.toThrow('letters and digits')
    for (const name of ['a', 'b', 'c', 'b', 'd']) await results.put('ann', id(name), name.repeat(400))
    const found = (owner: string) => times(4, (at) => others.get(owner, id('abcd'[at] ?? '')))
    expect(await found('ann')).toEqual([undefined, 'b'.repeat(400), undefined, 'd'.repeat(400)])
    expect([await others.get('bob', id('b')), await others.get('ann', '../x')]).toEqual([
      undefined,
      undefined,
    ])
    await times(9, (index) => (index % 2 ? results : others).put('bob', id(`p${index}`), 'p'.repeat(100)))
    const counted = (await one.list('result-bytes/')).reduce((sum, { value }) => sum + Number(value), 0)
    expect(counted).toBe(800 + 900)
    const full = createStoredResults({ store: one, bytes: 2000 })
    await expect(full.put('eve', id('e'), 'e'.repeat(600))).rejects.toThrow(
      'the store of results is full: 2000 bytes',
    )
    await others.drop('ann')
    await others.drop('nobody')
    expect(await found('ann')).toEqual([undefined, undefined, undefined, undefined])
    await full.put('eve', id('e'), 'e'.repeat(600))
    for (const owner of ['bob', 'eve']) await results.drop(owner)
    expect(keysOf(await one.list('result')).filter((key) => !key.startsWith('result-bytes/'))).toEqual([])
  },
}

type Kind = { readonly name: string; readonly url: string; readonly server?: StoreServer }
const kinds: Kind[] = [
  { name: 'memory', url: 'memory:' },
  ...(redis ? [{ name: 'redis', url: newPlaceIn(redis), server: redis }] : []),
]
const restartable = kinds.filter(({ server }) => server?.isOwn)

describe.each(kinds)('$name', ({ url, name }) => {
  let [one, other]: StateStore[] = []
  beforeAll(async () => {
    one = await openStateStore(url, PATIENT)
    other = name === 'memory' ? one : await openStateStore(url, PATIENT)
    expect(one.kind).toBe(name)
    await one.ping()
  })
  afterAll(() => Promise.all([one?.close(), other?.close()]))

  test.each(Object.entries({ ...values, ...messages }))('%s', (_, law) => law(one!, other!))
})

test('a store in memory is empty and silent once it is closed; its clock decides what has ended', async () => {
  let [now, heard] = [1000, 0]
  const store = createMemoryStore({ now: () => now })
  await store.subscribe('a', () => heard++)
  await store.set('a', 'x', { ttlMs: 9.1 })
  await store.add('count', 1, 10)
  now += 9
  expect(await store.add('count', 1, 100)).toBe(2)
  expect(keysOf(await store.list(''))).toEqual(['a', 'count'])
  now++
  expect(await store.list('')).toEqual([])
  await store.set('a', 'x')
  await store.close()
  await store.publish('a', 'x')
  await new Promise((resolve) => setImmediate(resolve))
  expect([heard, await store.list('')]).toEqual([0, []])
})

describe.each(restartable)('$name of two processes', ({ url }) => {
  test('lose nothing of what they count, lock and write by versions, and hear each other', async () => {
    const store = await openStateStore(url, PATIENT)
    onTestFinished(() => store.close())
    const heard: string[] = []
    await store.subscribe('two/news', (message) => heard.push(message))
    const writer = await bundled({
      file: fileURLToPath(new URL('../../packages/testkit/src/store-writer.ts', import.meta.url)),
    })
    const children = [1, 2].map(() => spawn(process.execPath, [writer, url, '20'], { stdio: 'inherit' }))
    onTestFinished(() => children.forEach((child) => void child.kill('SIGKILL')))
    const ends = await Promise.all(children.map((child) => once(child, 'exit')))
    expect(ends).toEqual([
      [0, null],
      [0, null],
    ])
    const found = await Promise.all(['count', 'locked', 'version'].map((key) => store.get(`two/${key}`)))
    expect(found.map((one) => one?.value)).toEqual(['40', '40', '40'])
    await waitFor(() => expect(heard.sort()).toEqual(children.map(({ pid }) => `${pid} has written`).sort()))
  })
})

describe.each(restartable)('$name that fails', ({ url, server }) => {
  test('calls fail with a reason, then work again; subscribers learn of the gap and receive again', async () => {
    const store = await openStateStore(url)
    const quiet = await openStateStore(url)
    const heard: string[] = []
    let [gaps, silent] = [0, 0]
    store.onGap(() => gaps++)
    store.onGap(() => silent++)()
    await store.subscribe('gap', (message) => heard.push(message))
    await quiet.ping()
    await server?.kill()
    const calls = [
      () => store.set('gap/a', 'x'),
      () => store.publish('gap', 'lost'),
      () => quiet.get('gap/a'),
    ]
    for (const call of [...calls, () => store.subscribe('gap/2', () => {})])
      await expect(call()).rejects.toThrow(StoreError)
    expect(gaps).toBe(0)
    await server?.restart()
    await waitFor(() => expect(gaps).toBe(1))
    await waitFor(() => quiet.publish('gap', 'after'))
    await waitFor(() => expect(heard).toContain('after'))
    await waitFor(() => store.set('gap/a', 'y'))
    expect([(await quiet.get('gap/a'))?.value, silent]).toEqual(['y', 0])
    await Promise.all([store.close(), quiet.close()])
  })

  test('a server that hangs fails calls in time, and is used again when it answers', async () => {
    const store = await openStateStore(url, { timeoutMs: 150 })
    await waitFor(() => store.set('hang', 'x'))
    server?.pause()
    await expect(store.get('hang')).rejects.toThrow(/did not answer within 150 ms; check that it is up/)
    await expect(store.publish('hang', 'x')).rejects.toThrow(StoreError)
    server?.resume()
    await waitFor(async () => expect((await store.get('hang'))?.value).toBe('x'))
    server?.pause()
    const late = store.get('hang').catch((error: unknown) => error)
    await store.close()
    expect(await late).toBeInstanceOf(StoreError)
    server?.resume()
  })

  test('a prefix keeps two gateways apart, and what another program wrote is not read as ours', async () => {
    const stores = await Promise.all(
      ['first_', 'second_'].map((prefix) => openStateStore(`${redis?.url}?prefix=${prefix}`, PATIENT)),
    )
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))))
    const [one, other] = stores
    await one?.set('apart', 'x')
    expect(await other?.get('apart')).toBeUndefined()
    expect(await other?.list('')).toEqual([])
  })
})

describe('a store that cannot be reached', () => {
  test('every call says which, never the password', async () => {
    const port = await freePort()
    const store = await openStateStore(`redis://tester:geheim@127.0.0.1:${port}/0`)
    const calls = [
      () => store.get('a'),
      () => store.list('a'),
      () => store.set('a', 'b', { ifVersion: null }),
      () => store.delete('a'),
      () => store.add('a', 1, 10),
      () => store.publish('a', 'b'),
      () => store.subscribe('a', () => {}),
      () => store.ping(),
    ]
    for (const call of calls) {
      const message = await messageOf(call())
      expect(message).toMatch(new RegExp(`^StoreError: Redis at 127.0.0.1:${port} failed: .*ECONNREFUSED`))
      expect(message).not.toContain('geheim')
    }
    await store.close()
    expect(await messageOf(store.get('a'))).toContain('the store is closed')
  })

  test.each([
    ['mysql://tester:geheim@host', /unknown store "mysql:…": expected redis:/],
    ['tester', /unknown store without a scheme: expected redis:/],
    ['redis://tester:ge#h@eim@[', /the URL of the Redis store is not valid/],
    ['postgres://tester:geheim@host/db', /unknown store "postgres:…": expected redis:/],
    ['file:folder', /unknown store "file:…": expected redis:/],
  ])('%s is refused', async (url, reason) => {
    const message = await messageOf(openStateStore(url))
    expect(message).toMatch(reason)
    expect(message).not.toContain('geheim')
  })

  test('a lock that cannot be renewed until its time is over is lost', async () => {
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    let isAway = false
    const set: StateStore['set'] = (...given) =>
      isAway ? Promise.reject(new StoreError('the store is away')) : store.set(...given)
    const work = withLock({ ...store, set }, 'lock', 30, () => {
      isAway = true
      return new Promise(() => {})
    })
    await expect(work).rejects.toThrow('was lost while work under it ran: the store is away; run it again')
  })

  test('results that a store does not take are not counted', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    const set: StateStore['set'] = async (key, value, options = {}) =>
      options.ifVersion === undefined ? store.set(key, value, options) : undefined
    const results = createStoredResults({ store: { ...store, set } })
    expect(await messageOf(results.put('ann', 'result00', 'x'))).toContain(
      'the index of results changes too fast',
    )
    expect((await store.list('result-bytes/')).map(({ value }) => value)).toEqual(['0'])
  })
})
