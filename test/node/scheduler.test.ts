// Turns of the event loop: shared by time, in the order of arrival.
import { expect, it } from 'vitest'
import { createScheduler } from '../../src/node/index.ts'

/** A clock and an event loop in the test's hands. */
function createLoop() {
  let time = 0
  let deferred: (() => void)[] = []
  const scheduler = createScheduler({
    sliceMs: 10,
    now: () => time,
    defer: (callback) => deferred.push(callback),
    soon: (callback) => void settle(10).then(callback),
  })
  const done: string[] = []
  return {
    done,
    spend: (milliseconds: number) => {
      time += milliseconds
    },
    /** Work of so many milliseconds, as soon as it is its turn. */
    work: (name: string, milliseconds: number) =>
      scheduler.turn().then((slice) => {
        done.push(name)
        time += milliseconds
        return slice
      }),
    /** The next pass of the event loop. */
    async pass() {
      const now = deferred
      deferred = []
      for (const callback of now) callback()
      await settle()
    },
    settle,
  }
}

async function settle(turns = 200): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve()
}

it('work that fits a slice is done at once', async () => {
  const { work, done, settle } = createLoop()
  void work('a', 3)
  await settle()
  void work('b', 3)
  await settle()
  expect(done).toEqual(['a', 'b'])
})

it('what comes when a slice is used up waits for the next pass, in order', async () => {
  const { work, done, pass, settle } = createLoop()
  void work('a', 12)
  await settle()
  for (const name of ['b', 'c', 'd']) void work(name, 12)
  await settle()
  expect(done).toEqual(['a'])
  await pass()
  expect(done).toEqual(['a', 'b'])
  void work('e', 1)
  await settle()
  await pass()
  await pass()
  expect(done).toEqual(['a', 'b', 'c', 'd'])
  await pass()
  expect(done).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('those who wait follow each other as long as a slice has time', async () => {
  const { work, done, pass, settle } = createLoop()
  void work('a', 12)
  await settle()
  for (const name of ['b', 'c', 'd', 'e']) void work(name, 4)
  await pass()
  expect(done).toEqual(['a', 'b', 'c', 'd'])
  await pass()
  expect(done).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('long work lets others go first whenever its slice is over', async () => {
  const { work, done, pass, settle, spend } = createLoop()
  void work('long 1', 11).then(async (slice) => {
    expect(slice.isOver()).toBe(true)
    await slice.next()
    expect(slice.isOver()).toBe(false)
    done.push('long 2')
    spend(11)
  })
  await settle()
  void work('other', 11)
  await settle()
  expect(done).toEqual(['long 1'])
  await pass()
  expect(done).toEqual(['long 1', 'long 2'])
  await pass()
  expect(done).toEqual(['long 1', 'long 2', 'other'])
})

it('is at rest when nobody waits', async () => {
  const { work, done, pass, settle } = createLoop()
  void work('a', 50)
  await settle()
  await pass()
  void work('b', 1)
  await settle()
  expect(done).toEqual(['a', 'b'])
})

it('those who ask at the same time have their turns one after the other', async () => {
  const { work, done, pass, settle } = createLoop()
  for (const name of ['a', 'b', 'c']) void work(name, 6)
  await settle()
  expect(done).toEqual(['a', 'b'])
  await pass()
  expect(done).toEqual(['a', 'b', 'c'])
})

it('work that continues in a later iteration, after I/O, has a slice there, too', async () => {
  const { work, pass, spend } = createLoop()
  const slice = await work('a', 1)
  await pass()
  expect(slice.isOver()).toBe(false)
  spend(11)
  expect(slice.isOver()).toBe(true)
})
