// The edges of what stores are made of, without a server: checks of a connection, too many calls, held locks.
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryStore, createStoredResults, type StateStore, withLock } from '../../src/store/index.ts'
import { checkRegularly, createLink } from '../../src/store/link.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)

describe('a connection', () => {
  test('is checked every ten seconds while it is open, until that is stopped', async () => {
    vi.useFakeTimers()
    let current: number | undefined
    let checks = 0
    const stop = checkRegularly({ current: () => current } as never, async () => {
      checks++
      throw new Error('no sign of life')
    })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(checks).toBe(0)
    current = 1
    await vi.advanceTimersByTimeAsync(9999)
    expect(checks).toBe(0)
    await vi.advanceTimersByTimeAsync(10_001)
    expect(checks).toBe(2)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(checks).toBe(2)
  })

  test('takes 20,000 calls at once, and more when some are answered', async () => {
    vi.useFakeTimers()
    const link = createLink<number>({ label: 'the server', timeoutMs: 1e6, open: async () => 1 })
    onTestFinished(() => link.close())
    const answers: (() => void)[] = []
    const use = () => link.use(() => new Promise<void>((resolve) => answers.push(resolve)))
    const calls = Array.from({ length: 20_000 }, use)
    expect(await messageOf(use())).toBe('! the server has 20000 unanswered requests; try again later')
    await vi.advanceTimersByTimeAsync(0)
    answers[0]?.()
    await calls[0]
    const next = use()
    await vi.advanceTimersByTimeAsync(0)
    answers.at(-1)?.()
    expect(await messageOf(next)).toBe('undefined')
  })
})

describe('in memory', () => {
  const newStore = () => {
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    return store
  }

  test('only to a number is added', async () => {
    const store = newStore()
    await store.set('a', 'text')
    expect(await messageOf(store.add('a', 1, 1000))).toBe('! cannot add to "a": its value is not a number')
    await store.set('b', '1.5')
    expect(await store.add('b', 1, 1000)).toBe(2.5)
  })

  test('waits for a held lock three times as long as it may last, or as long as configured', async () => {
    const store = newStore()
    await store.set('lock', 'x')
    const work = vi.fn(async () => {})
    expect(await messageOf(withLock(store, 'lock', 1, work))).toBe(
      '! the lock "lock" was not free within 3 ms; try again',
    )
    expect(await messageOf(withLock(store, 'lock', 1000, work, { waitMs: 0 }))).toBe(
      '! the lock "lock" was not free within 0 ms; try again',
    )
    expect(work).not.toHaveBeenCalled()
  })

  test('an index of results that always changes is given up after 50 attempts, and nothing counts', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const store = newStore()
    let attempts = 0
    const set: StateStore['set'] = async (key, value, options = {}) => {
      if (options.ifVersion === undefined) return store.set(key, value, options)
      attempts++
      return undefined
    }
    const results = createStoredResults({ store: { ...store, set } })
    expect(await messageOf(results.put('ann', 'result00', 'x'))).toBe(
      '! the index of results changes too fast; try again',
    )
    expect(attempts).toBe(50)
    expect((await store.list('result-bytes/')).map(({ value }) => value)).toEqual(['0'])
  })
})
