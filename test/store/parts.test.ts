// What stores are made of, without a server: the bounds of input, time in memory, listeners, a connection that comes back,
// and locks.
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createChannels } from '../../src/store/channels.ts'
import {
  createMemoryStore,
  createStoredResults,
  openStateStore,
  type StateStore,
  StoreError,
  withLock,
} from '../../src/store/index.ts'
import { createLink } from '../../src/store/link.ts'

function newStore(now?: () => number): StateStore {
  const store = createMemoryStore(now ? { now } : {})
  onTestFinished(() => store.close())
  return store
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('input', () => {
  const operations: [name: string, run: (store: StateStore, key: string) => Promise<unknown>][] = [
    ['get', (store, key) => store.get(key)],
    ['set', (store, key) => store.set(key, '')],
    ['delete', (store, key) => store.delete(key)],
    ['add', (store, key) => store.add(key, 1, 1)],
    ['publish', (store, key) => store.publish(key, '')],
    ['subscribe', (store, key) => store.subscribe(key, () => {})],
  ]

  test.each(operations)('%s takes keys of 1 to 1,000 bytes', async (_, run) => {
    const store = newStore()
    await run(store, 'k')
    await run(store, 'ä'.repeat(500))
    await expect(run(store, '')).rejects.toThrow('invalid key of 0 bytes: expected 1 to 1000 bytes')
    await expect(run(store, `${'ä'.repeat(500)}k`)).rejects.toThrow('invalid key of 1001 bytes')
  })

  test('values and messages have at most 64 million characters', async () => {
    const store = newStore()
    const longest = 'x'.repeat(64_000_000)
    await store.publish('a', longest)
    await store.set('a', longest)
    await expect(store.set('a', `${longest}x`)).rejects.toThrow('has 64000001 characters')
    await expect(store.publish('a', `${longest}x`)).rejects.toThrow('the limit is 64000000')
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    '%d is no time to live and no amount',
    async (wrong) => {
      const store = newStore()
      const message = `ttlMs is ${wrong}; expected a number of milliseconds above 0`
      await expect(store.set('a', 'x', { ttlMs: wrong })).rejects.toThrow(message)
      await expect(store.add('a', 1, wrong)).rejects.toThrow(message)
      if (Number.isFinite(wrong)) expect(await store.add('a', wrong, 1)).toBe(wrong)
      else await expect(store.add('a', wrong, 1)).rejects.toThrow(`amount is ${wrong}`)
    },
  )
})

describe('a store in memory', () => {
  test('values end at their time, which is a whole millisecond; adding keeps it', async () => {
    let now = 1000
    const store = newStore(() => now)
    const version = await store.set('set', 'x', { ttlMs: 9.1 })
    await store.add('count', 1, 10)
    await store.set('stays', 'x')
    now += 4
    expect(await store.add('count', 1, 100)).toBe(2)
    now += 5
    expect(await store.get('set')).toEqual({ value: 'x', version })
    expect(await store.list('')).toHaveLength(3)
    now++
    expect((await store.list('')).map(({ key }) => key)).toEqual(['stays'])
    expect(await store.delete('set', { ifVersion: version ?? '' })).toBe(false)
    expect(await store.set('set', 'x', { ifVersion: version ?? '' })).toBeUndefined()
    expect(await store.add('count', 1, 10)).toBe(1)
    now += 14
    expect(await store.get('stays')).toBeDefined()
  })

  test('lists what comes behind a key, up to the limit', async () => {
    const store = newStore()
    for (const key of ['b', 'a/2', 'a/1', 'a/3', 'a']) await store.set(key, '')
    const keys = async (...given: Parameters<StateStore['list']>) =>
      (await store.list(...given)).map(({ key }) => key)
    expect(await keys('')).toEqual(['a', 'a/1', 'a/2', 'a/3', 'b'])
    expect(await keys('a/', { limit: 2 })).toEqual(['a/1', 'a/2'])
    expect(await keys('a/', { after: 'a/1' })).toEqual(['a/2', 'a/3'])
    expect(await keys('a/', { after: 'a/3' })).toEqual([])
    expect(await keys('', { limit: 0 })).toEqual([])
  })

  test('is empty and silent once it is closed', async () => {
    const store = createMemoryStore()
    let count = 0
    await store.subscribe('a', () => count++)
    await store.set('a', 'x')
    await store.close()
    await store.publish('a', 'x')
    await turn()
    expect([count, await store.list('')]).toEqual([0, []])
  })
})

describe('channels', () => {
  function open(fails: { readonly [call: string]: boolean } = {}) {
    const asked: string[] = []
    const ask = (name: string) => async (channel: string) => {
      asked.push(`${name} ${channel}`)
      await turn()
      if (fails[name]) throw new Error(`no ${name}`)
    }
    return { channels: createChannels({ join: ask('join'), leave: ask('leave') }), asked }
  }

  test('the server is asked once for a channel, and once when its last listener has left', async () => {
    const { channels, asked } = open()
    const heard: string[] = []
    const listener = (message: string) => void heard.push(message)
    const stops = await Promise.all(['a', 'a', 'b'].map((name) => channels.subscribe(name, listener)))
    expect(asked).toEqual(['join a', 'join b'])
    channels.dispatch('a', '1')
    channels.dispatch('b', '2')
    channels.dispatch('c', '3')
    expect(heard).toEqual([])
    await turn()
    expect(heard).toEqual(['1', '1', '2'])
    expect(channels.names()).toEqual(['a', 'b'])
    await stops[0]?.()
    await stops[0]?.()
    expect(asked).toHaveLength(2)
    channels.dispatch('a', '4')
    const left = stops[1]?.()
    await turn()
    expect(heard).toHaveLength(3)
    await left
    expect(asked.slice(2)).toEqual(['leave a'])
    expect(channels.names()).toEqual(['b'])
  })

  test('who comes while the last one leaves is joined again', async () => {
    const { channels, asked } = open()
    const heard: string[] = []
    const leave = await channels.subscribe('a', () => {})
    const left = leave()
    for (let tick = 0; tick < 5; tick++) await Promise.resolve()
    const stay = await channels.subscribe('a', (message) => heard.push(message))
    await left
    channels.dispatch('a', '1')
    await turn()
    expect(heard).toEqual(['1'])
    expect(asked).toEqual(['join a', 'leave a', 'join a'])
    await stay()
    expect(asked.at(-1)).toBe('leave a')
  })

  test('a channel that cannot be joined has no listener, and can be tried again', async () => {
    const fails = { join: true, leave: true }
    const { channels, asked } = open(fails)
    await expect(channels.subscribe('a', () => {})).rejects.toThrow('no join')
    expect([channels.names(), asked]).toEqual([[], ['join a']])
    fails.join = false
    const stop = await channels.subscribe('a', () => {})
    await stop()
    expect(asked).toEqual(['join a', 'join a', 'leave a'])
  })

  test('gaps reach every listener that did not stop', async () => {
    const { channels } = open()
    const heard: string[] = []
    const stop = channels.onGap(() => heard.push('a'))
    channels.onGap(() => heard.push('b'))
    channels.reportGap()
    await turn()
    stop()
    channels.reportGap()
    await turn()
    expect(heard).toEqual(['a', 'b', 'b'])
    channels.clear()
    channels.reportGap()
    await turn()
    expect(heard).toHaveLength(3)
  })
})

describe('a connection', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  type Opened = { readonly signal: AbortSignal; readonly lose: (error: unknown) => void }

  function open() {
    const opened: Opened[] = []
    const state: { failure?: Error; isHanging?: boolean; reopened: number } = { reopened: 0 }
    const link = createLink<number>({
      label: 'the server',
      timeoutMs: 100,
      async open(signal, lose) {
        opened.push({ signal, lose })
        if (state.isHanging) await new Promise(() => {})
        if (state.failure) throw state.failure
        return opened.length
      },
      onReopened: () => state.reopened++,
    })
    onTestFinished(() => link.close())
    const use = () =>
      link
        .use(async (connection) => `on ${connection}`)
        .catch((error: Error) => `${error.name}: ${error.message}`)
    return { link, opened, state, use }
  }

  test('is opened at the first use, once for many', async () => {
    const { link, opened, use } = open()
    expect([opened.length, link.current()]).toEqual([0, undefined])
    expect(await Promise.all([use(), use()])).toEqual(['on 1', 'on 1'])
    expect(await use()).toBe('on 1')
    expect([opened.length, link.current()]).toEqual([1, 1])
  })

  test('that is lost is opened again by itself; meanwhile calls fail with the reason', async () => {
    const { link, opened, use, state } = open()
    await use()
    opened[0]?.lose(new Error('reset'))
    opened[0]?.lose(new Error('and again'))
    expect(link.current()).toBeUndefined()
    expect(opened[0]?.signal.aborted).toBe(true)
    expect(await use()).toBe('StoreError: the server failed: reset')
    expect([opened.length, state.reopened]).toEqual([1, 0])
    await vi.advanceTimersByTimeAsync(50)
    expect([opened.length, state.reopened]).toEqual([2, 1])
    expect(await use()).toBe('on 2')
    opened[0]?.lose(new Error('late'))
    expect(await use()).toBe('on 2')
  })

  test('that cannot be opened is retried ever less often, and reports no gap the first time', async () => {
    const { opened, use, state } = open()
    state.failure = new Error('refused')
    expect(await use()).toBe('StoreError: the server failed: refused')
    expect(await use()).toBe('StoreError: the server failed: refused')
    expect(opened).toHaveLength(1)
    for (const [index, ms] of [50, 100, 200, 400, 800, 1600, 2000, 2000].entries()) {
      // A delay is between half and all of it.
      await vi.advanceTimersByTimeAsync(ms / 2 - 1)
      expect(opened).toHaveLength(index + 1)
      await vi.advanceTimersToNextTimerAsync()
      expect(opened).toHaveLength(index + 2)
    }
    delete state.failure
    await vi.advanceTimersToNextTimerAsync()
    expect(await use()).toMatch(/^on \d+$/)
    expect(state.reopened).toBe(0)
    const before = opened.length
    opened.at(-1)?.lose(new Error('reset'))
    await vi.advanceTimersByTimeAsync(50)
    expect([opened.length, state.reopened]).toEqual([before + 1, 1])
  })

  test('that does not open in time is given up', async () => {
    const { opened, use, state } = open()
    state.isHanging = true
    const used = use()
    await vi.advanceTimersByTimeAsync(100)
    expect(await used).toMatch(/did not answer within 100 ms|no answer within 100 ms/)
    expect(opened[0]?.signal.aborted).toBe(true)
  })

  test('on which a call gets no answer is opened anew', async () => {
    const { link, opened, use } = open()
    const hanging = link.use(() => new Promise(() => {})).catch((error: Error) => error.message)
    await vi.advanceTimersByTimeAsync(99)
    expect(opened[0]?.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await hanging).toBe('the server did not answer within 100 ms; check that it is up')
    expect(opened[0]?.signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(50)
    expect(await use()).toBe('on 2')
  })

  test('of a store that is closed ends, and is not opened again', async () => {
    const { link, opened, use } = open()
    await use()
    link.close()
    expect([opened[0]?.signal.aborted, link.current()]).toEqual([true, undefined])
    expect(await use()).toBe('StoreError: the server: the store is closed')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(opened).toHaveLength(1)
  })

  test('that is being opened while its store is closed ends', async () => {
    const { link, opened, use, state } = open()
    state.isHanging = true
    const used = use()
    await vi.advanceTimersByTimeAsync(1)
    link.close()
    expect(opened[0]?.signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await used).toContain('StoreError')
    expect(opened).toHaveLength(1)
  })

  test.each<[error: unknown, message: string]>([
    [new StoreError('as it is'), 'as it is'],
    [new Error('refused'), 'the server failed: refused'],
    [
      new AggregateError([new Error('the first'), new Error('the second')], ''),
      'the server failed: the first',
    ],
    [new AggregateError([new Error('the first')], 'both'), 'the server failed: both'],
    [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'the server failed: ECONNRESET'],
    [new TypeError(''), 'the server failed: TypeError'],
    ['a text', 'the server failed: a text'],
  ])('an error of the client becomes one of the store: %s', async (error, message) => {
    const { link } = open()
    const failed = await link.use(() => Promise.reject(error)).catch((found: unknown) => found)
    expect(failed).toBeInstanceOf(StoreError)
    expect((failed as Error).message).toBe(message)
  })
})

describe('a lock', () => {
  test('is lost when it cannot be renewed until its time is over', async () => {
    const store = newStore()
    let isAway = false
    const set: StateStore['set'] = async (...given) => {
      if (isAway) throw new StoreError('the store is away')
      return store.set(...given)
    }
    const work = withLock({ ...store, set }, 'lock', 30, () => {
      isAway = true
      return new Promise(() => {})
    })
    await expect(work).rejects.toThrow(
      'the lock "lock" was lost while work under it ran: the store is away; run it again',
    )
  })

  test('does not count for work that ended after its time', async () => {
    const work = withLock(newStore(), 'lock', 2, async () => {
      const end = Date.now() + 5
      while (Date.now() < end);
    })
    await expect(work).rejects.toThrow('its time to live passed')
  })

  test('is waited for, and taken when it is free', async () => {
    const store = newStore()
    const done: string[] = []
    const first = withLock(store, 'lock', 60_000, async () => {
      await turn()
      done.push('first')
    })
    await withLock(store, 'lock', 60_000, async () => done.push('second'))
    await first
    expect(done).toEqual(['first', 'second'])
  })
})

describe('long results', () => {
  const id = (name: string) => `result00${name}`
  const countOf = async (store: StateStore) =>
    (await store.list('result-bytes/')).reduce((sum, { value }) => sum + Number(value), 0)

  test.each([
    ['a'.repeat(8), 'a'.repeat(7)],
    ['0'.repeat(64), '0'.repeat(65)],
    ['abcd1234', 'ABCD1234'],
    ['abcd1234', '-abcd1234'],
  ])('%s can be an id, %s cannot', async (right, wrong) => {
    const results = createStoredResults({ store: newStore() })
    await results.put('ann', right, 'x')
    expect(await results.get('ann', right)).toBe('x')
    await expect(results.put('ann', wrong, 'x')).rejects.toThrow('lower-case letters and digits')
    expect(await results.get('ann', wrong)).toBeUndefined()
  })

  test('bytes are counted once, up to both limits, and given back if a result cannot be stored', async () => {
    const store = newStore()
    const results = createStoredResults({ store, bytes: 10, bytesPerOwner: 8 })
    await results.put('ann', id('a'), 'ä'.repeat(4))
    await results.put('ann', id('a'), 'ä'.repeat(4)).catch(() => {})
    await results.put('bob', id('b'), 'bb')
    expect(await countOf(store)).toBe(10)
    await expect(results.put('bob', id('c'), 'c')).rejects.toThrow('the store of results is full: 10 bytes')
    await expect(results.put('bob', id('c'), 'c'.repeat(9))).rejects.toThrow(
      'it has 9 bytes, and one owner may store 8',
    )
    expect(await countOf(store)).toBe(10)
    await results.drop('ann')
    await results.drop('ann')
    expect(await countOf(store)).toBe(2)
    const away = createStoredResults({
      store: { ...store, set: () => Promise.reject(new StoreError('away')) },
    })
    await expect(away.put('ann', id('d'), 'dddd')).rejects.toThrow('away')
    expect(await countOf(store)).toBe(2)
  })

  test('an owner has the newest that fit, and at most 1,000', async () => {
    const store = newStore()
    const results = createStoredResults({ store, bytesPerOwner: 1000 })
    await results.put('ann', id('a'), 'a')
    const [index] = await store.list('result-index/')
    const kept = JSON.parse(index?.value ?? '') as { id: string }[]
    const many = Array.from({ length: 999 }, (_, number) => ({ ...kept[0], id: id(`x${number}`) }))
    await store.set(index?.key ?? '', JSON.stringify([...kept, ...many]))
    await results.put('ann', id('b'), '')
    const left = JSON.parse((await store.get(index?.key ?? ''))?.value ?? '') as { id: string }[]
    expect([left.length, left[0]?.id, left.at(-1)?.id]).toEqual([1000, id('x0'), id('b')])
    expect(await results.get('ann', id('a'))).toBeUndefined()
  })

  test('are counted while any of their window may be there, and not given back later', async () => {
    let now = 600_000
    const store = newStore(() => now)
    const results = createStoredResults({ store, bytes: 10, maxAgeMs: 600, now: () => now })
    await results.put('ann', id('a'), '12345678')
    for (const ms of [599, 100]) {
      now += ms
      await expect(results.put('bob', id('b'), '123')).rejects.toThrow('full')
    }
    now += 1
    await results.put('bob', id('b'), '123')
    expect(
      (await store.list('result-bytes/')).map(({ value }) => Number(value)).reduce((a, b) => a + b),
    ).toBeGreaterThan(2)
  })
})

describe('a URL', () => {
  test.each([
    ['memory:', 'memory'],
    ['MEMORY:', 'memory'],
    [undefined, 'memory'],
    ['valkey://127.0.0.1:1', 'redis'],
    ['VALKEYS://127.0.0.1:1', 'redis'],
    ['rediss://127.0.0.1:1', 'redis'],
  ])('%s opens a store in %s', async (url, kind) => {
    const store = await openStateStore(url)
    expect(store.kind).toBe(kind)
    await store.close()
  })
})
