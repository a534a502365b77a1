// Limits in fixed windows: exact over replicas, and without a store access where there is no limit.
import { expect, onTestFinished, test } from 'vitest'
import { type StateStore, StoreError } from '../../packages/core/src/store.ts'
import type { AccessRefusal, BegunUse, UsageLimits, User } from '../../packages/core/src/users.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createUsageMeter } from '../../packages/server/src/users/usage.ts'
import { profileOf } from './support.ts'

const userWith = (limits: UsageLimits, id = 'ada'): User => ({ id, uid: id, profile: profileOf({ limits }) })

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

/** What has begun; throws if it may not. */
function asBegun(outcome: AccessRefusal | BegunUse): BegunUse {
  if ('status' in outcome) throw new Error(outcome.message)
  return outcome
}

test('requests at once, at any replicas, begin only as far as their estimates fit', async () => {
  const { meter } = open()
  const replicas = [meter(), meter()]
  const user = userWith({ tokensPerDay: 1000 })
  const begin = (index: number) => replicas[index % 2]!.begin(user, 'tokens', 300)
  const all = await Promise.all(Array.from({ length: 40 }, (_, index) => begin(index)))
  const begun = all.flatMap((one) => ('status' in one ? [] : [one]))
  const refused = all.find((one) => 'status' in one)
  // The last one begins below the limit, with 900 of 1,000 expected.
  expect(begun.length).toBeLessThanOrEqual(4)
  expect(refused).toEqual({
    status: 429,
    message:
      'your requests in progress may use up your limit of 1000 tokens per day; try again when they are answered',
    retryAfter: 2,
  })
  await Promise.all(begun.map((one) => one.settle(10)))
  const next = await Promise.all([begin(0), begin(1), begin(2)])
  for (const one of next) await asBegun(one).settle(0)
})

test('estimates of a replica that was killed are forgotten after ten minutes', async () => {
  const { clock, meter } = open()
  const user = userWith({ tokensPerDay: 1000 })
  asBegun(await meter().begin(user, 'tokens', 1000))
  const begin = () => meter().begin(user, 'tokens', 1)
  clock.pass(300_000)
  expect(await begin()).toMatchObject({ status: 429 })
  clock.pass(300_000)
  const late = asBegun(await begin())
  clock.pass(3_600_000)
  // One that is settled when its estimate is long forgotten frees nothing that others have begun.
  const other = asBegun(await meter().begin(user, 'tokens', 999))
  await late.settle(1)
  expect(await meter().begin(user, 'tokens', 1)).toMatchObject({ status: 429 })
  await other.settle(0)
})

test.each([
  ['23:59:00', '60 s'],
  ['23:58:00', '120 s'],
  ['23:57:59', '3 min'],
  ['23:01:00', '59 min'],
  ['23:00:30', '1 h 0 min'],
  ['00:00:00', '24 h 0 min'],
])('at %s the next day comes in %s', async (time, wait) => {
  const { clock, meter } = open()
  clock.pass(Date.parse(`2026-01-02T${time}Z`) - clock.now())
  const refusal = await meter().take(userWith({ requestsPerDay: 0 }), 'requests')
  expect(refusal?.message).toBe(`your limit of 0 requests per day is reached; try again in ${wait}`)
})

test('a user without a limit does not touch the store', async () => {
  const { counts, meter } = open()
  const usage = meter()
  const user = userWith({ searchesPerDay: 1 })
  expect(await usage.take(user, 'requests')).toBeUndefined()
  await asBegun(await usage.begin(user, 'tokens', 10)).settle(10)
  expect(counts.adds).toBe(0)
})

test('a store that is away: 503 with when to come back; what has happened is counted as far as possible', async () => {
  let isAway = false
  const { meter, store } = open()
  const fragile: StateStore = {
    ...store,
    async add(...counted) {
      if (isAway) throw new StoreError('the store is away')
      return store.add(...counted)
    },
  }
  const said: string[] = []
  const usage = createUsageMeter({ store: fragile, notify: (message) => void said.push(message) })
  const user = userWith({ requestsPerDay: 1, tokensPerDay: 1 })
  const begun = asBegun(await usage.begin(user, 'tokens', 10))
  isAway = true
  expect(await usage.take(user, 'requests')).toMatchObject({ status: 503, retryAfter: 5 })
  expect(await usage.begin(user, 'tokens', 10)).toMatchObject({ status: 503, retryAfter: 5 })
  await begun.settle(10)
  expect(said).toEqual(Array(3).fill('limits cannot be counted: the store is away'))
  expect(await meter().take(user, 'requests')).toBeUndefined()
  const broken = open({ add: () => Promise.reject(new RangeError('a mistake')) })
  await expect(broken.meter().take(user, 'requests')).rejects.toThrow(RangeError)
})
