// Servers that write without end: memory stays bounded, the neighbour whole, and a reason says what was too much.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isThorough, sizeOf } from '../../packages/testkit/src/runs.ts'
import {
  expectWholeNeighbour,
  type OpenOptions,
  openHost,
  stateOf,
  statusOf,
  textOf,
  untilState,
} from './support/host.ts'
import { isAlive, until } from './support/processes.ts'
import { local } from './support/servers.ts'
import { neighbour } from './support/small-servers.ts'

const MAX_GROWTH = 300 * 2 ** 20

let before: number
let highest: number
let watch: NodeJS.Timeout

beforeEach(() => {
  before = process.memoryUsage.rss()
  highest = before
  watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }, 20)
})

afterEach(() => {
  clearInterval(watch)
  expect(highest - before).toBeLessThan(MAX_GROWTH)
})

const open = (script: string, given = {}, options: OpenOptions = {}) =>
  openHost([local('bad', script, given), neighbour()], options)

/** The limit of a line, and an answer above it; without the option the limit is 32 MB. */
const LINE: OpenOptions = isThorough ? {} : { limits: { maxMessageBytes: 1_000_000, graceMs: 1000 } }
const TOO_LARGE = { megabytes: sizeOf({ quick: 2, full: 100 }) }

describe('H6 servers that flood', () => {
  it.each([
    'flood garbage at-once',
    'flood line',
    ...(isThorough ? ['flood garbage', 'flood line at-once'] : []),
  ])('%s: a line that never ends is cut, the process ended, the size named', async (script) => {
    const all = open(script, {}, LINE)
    await expectWholeNeighbour(all)
    await until(
      () => /line of more than \d+ MB/.test(statusOf(all.host, 'bad').reason ?? ''),
      'it is stopped',
    )
    await expectWholeNeighbour(all)
  })

  it.each([
    'flood lines at-once',
    'flood braces',
    'flood requests',
    'flood notifications',
    'flood stderr-line',
    ...(isThorough ? ['lines', 'newlines', 'answers', 'stderr'].map((kind) => `flood ${kind}`) : []),
    ...(isThorough ? ['flood notifications at-once', 'flood stderr at-once'] : []),
  ])('%s: endless output is listened to with pauses, and its calls are answered or end', async (script) => {
    const all = open(script, { connectTimeoutMs: 15_000 })
    await expectWholeNeighbour(all)
    await until(() => stateOf(all.host, 'bad') !== 'pending', 'it is not pending')
    await expectWholeNeighbour(all)
    expect(statusOf(all.host, 'bad').stderr.length).toBeLessThan(20_000)
    const timeoutMs = sizeOf({ quick: 200, full: 1000 })
    await Promise.allSettled([all.host.call('bad', 'small', {}, { timeoutMs })])
  })

  it.each(['flood stderr', 'flood stderr-line'])('%s: output on stderr harms no call', async (script) => {
    const all = open(script)
    await untilState(all.host, 'bad', 'connected')
    for (let time = 0; time < 2; time += 1) {
      expect(textOf(await all.host.call('bad', 'small', {}))).toBe('still here')
    }
  })

  it('an answer longer than a line may be is refused with its size; the server can be called again', async () => {
    const all = open('flood answer', {}, LINE)
    await untilState(all.host, 'bad', 'connected')
    const [answer] = await Promise.allSettled([
      all.host.call('bad', 'big', TOO_LARGE),
      expectWholeNeighbour(all),
    ])
    expect(String((answer as PromiseRejectedResult).reason)).toMatch(/more than \d+ MB/)
    expect(textOf(await all.host.call('bad', 'small', {}))).toBe('still here')
  })

  it('answers to nothing are output that nobody asked for: what comes behind 8 MB of them comes late', async () => {
    const all = open('flood answer')
    await untilState(all.host, 'bad', 'connected')
    const late = expect(all.host.call('bad', 'behind', {}, { timeoutMs: 2000 })).rejects.toThrow(
      'did not answer within 2 s',
    )
    await expectWholeNeighbour(all)
    await late
  })

  it('close ends a server that floods', async () => {
    const { host } = open('flood lines')
    await untilState(host, 'bad', 'connected')
    const { pid } = statusOf(host, 'bad')
    await host.close()
    await until(() => !isAlive(pid!), 'its process is gone')
  })
})
