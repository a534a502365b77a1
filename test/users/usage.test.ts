// Limits in fixed windows: exact over replicas, and without a store access where there is no limit.
import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore, type StateStore, StoreError } from '../../src/store/index.ts'
import { createUsageMeter, type UsageLimits, type User } from '../../src/users/index.ts'
import { profileOf } from './support.ts'

const userWith = (limits: UsageLimits, id = 'ada'): User => ({ id, profile: profileOf({ limits }) })

function open(given: Partial<StateStore> = {}) {
  let now = Date.parse('2026-01-01T10:00:30Z')
  const clock = {
    now: () => now,
    pass(ms: number) {
      now += ms
    },
  }
  const memory = createMemoryStore({ now: clock.now })
  onTestFinished(() => memory.close())
  const counts = { adds: 0 }
  const store: StateStore = {
    ...memory,
    async add(...counted) {
      counts.adds++
      return memory.add(...counted)
    },
    ...given,
  }
  const meter = () => createUsageMeter({ store, now: clock.now })
  return { clock, counts, meter, store }
}

test('two replicas admit exactly the limit, and the next window admits again', async () => {
  const { clock, meter } = open()
  const replicas = [meter(), meter()]
  const user = userWith({ requestsPerMinute: 10 })
  const take = () =>
    Promise.all(Array.from({ length: 30 }, (_, i) => replicas[i % 2]?.take(user, 'requests')))
  const first = await take()
  expect(first.filter((one) => one === undefined)).toHaveLength(10)
  expect(first.find((one) => one)).toEqual({
    status: 429,
    message: 'your limit of 10 requests per minute is reached; try again in 30 s',
    retryAfter: 30,
  })
  clock.pass(30_000)
  expect((await take()).filter((one) => one === undefined)).toHaveLength(10)
})

test('what a minute refuses does not count for the day; users and kinds count apart', async () => {
  const { clock, meter } = open()
  const usage = meter()
  const user = userWith({ requestsPerMinute: 1, requestsPerDay: 2, searchesPerDay: 1 })
  expect(await usage.take(user, 'requests')).toBeUndefined()
  for (let i = 0; i < 5; i++) expect(await usage.take(user, 'requests')).toMatchObject({ status: 429 })
  clock.pass(60_000)
  expect(await usage.take(user, 'requests')).toBeUndefined()
  clock.pass(60_000)
  expect(await usage.take(user, 'requests')).toMatchObject({
    message: expect.stringContaining('per day is reached; try again in 13 h 58 min'),
  })
  expect(await usage.take(user, 'searches')).toBeUndefined()
  expect(await usage.take(userWith(user.profile.limits, 'ada/requests'), 'requests')).toBeUndefined()
})

test('tokens are checked before and added after', async () => {
  const usage = open().meter()
  const user = userWith({ tokensPerMinute: 100 })
  expect(await usage.check(user, 'tokens')).toBeUndefined()
  await usage.add(user, 'tokens', 99)
  expect(await usage.check(user, 'tokens')).toBeUndefined()
  await usage.add(user, 'tokens', 5)
  expect(await usage.check(user, 'tokens')).toMatchObject({ status: 429, retryAfter: 30 })
})

test('a user without a limit does not touch the store', async () => {
  const { counts, meter } = open()
  const usage = meter()
  const user = userWith({ searchesPerDay: 1 })
  expect(await usage.take(user, 'requests')).toBeUndefined()
  expect(await usage.check(user, 'tokens')).toBeUndefined()
  await usage.add(user, 'tokens', 10)
  expect(counts.adds).toBe(0)
})

test('a store that is away: 503 with when to come back, and adding does not fail', async () => {
  const away = async () => {
    throw new StoreError('the store is away')
  }
  const usage = open({ add: away }).meter()
  const user = userWith({ requestsPerDay: 1, tokensPerDay: 1 })
  expect(await usage.take(user, 'requests')).toMatchObject({ status: 503, retryAfter: 5 })
  await usage.add(user, 'tokens', 10)
})

test('a user with the longest id is counted as others are', async () => {
  const { meter } = open()
  const user = userWith({ requestsPerMinute: 1 }, '語'.repeat(200))
  expect(await meter().take(user, 'requests')).toBeUndefined()
  expect(await meter().take(user, 'requests')).toMatchObject({ status: 429 })
  const other = userWith({ requestsPerMinute: 1 }, `${'語'.repeat(199)}文`)
  expect(await meter().take(other, 'requests')).toBeUndefined()
})
