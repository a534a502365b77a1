// Servers that write without end: memory stays bounded, the neighbour whole, and a reason says what was too much.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { expectWholeNeighbour, openHost, stateOf, statusOf, textOf, untilState } from './support/host.ts'
import { isAlive, until } from './support/processes.ts'
import { local, neighbour } from './support/servers.ts'

const MOST_GROWTH = 300 * 2 ** 20

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
  expect(highest - before).toBeLessThan(MOST_GROWTH)
})

const open = (script: string, given = {}) => openHost([local('bad', script, given), neighbour()])

describe('H6 servers that flood', () => {
  it.each(['flood garbage', 'flood garbage at-once', 'flood line', 'flood line at-once'])(
    '%s: a line that never ends is cut, the process ended, the size named',
    async (script) => {
      const all = open(script)
      await expectWholeNeighbour(all)
      await until(
        () => /line of more than \d+ MB/.test(statusOf(all.host, 'bad').reason ?? ''),
        'it is stopped',
      )
      await expectWholeNeighbour(all)
    },
  )

  it.each([
    'flood lines',
    'flood lines at-once',
    'flood newlines',
    'flood braces',
    'flood requests',
    'flood answers',
    'flood notifications',
    'flood notifications at-once',
    'flood stderr',
    'flood stderr at-once',
    'flood stderr-line',
  ])('%s: endless output is listened to with pauses, and its calls are answered or end', async (script) => {
    const all = open(script, { connectTimeout: 15_000, callTimeout: 15_000 })
    await expectWholeNeighbour(all)
    await until(() => stateOf(all.host, 'bad') !== 'pending', 'it is not pending')
    for (let time = 0; time < 3; time += 1) await expectWholeNeighbour(all)
    expect(statusOf(all.host, 'bad').stderr.length).toBeLessThan(20_000)
    await Promise.allSettled([all.host.call('bad', 'small', {})])
  })

  it.each(['flood stderr', 'flood stderr-line'])(
    '%s: what is said on stderr harms no call',
    async (script) => {
      const all = open(script)
      await untilState(all.host, 'bad', 'connected')
      for (let time = 0; time < 5; time += 1) {
        expect(textOf(await all.host.call('bad', 'small', {}))).toBe('still here')
      }
    },
  )

  it('an answer of 100 MB is refused with its size; the server can be called again', async () => {
    const all = open('flood answer')
    await untilState(all.host, 'bad', 'connected')
    const [answer] = await Promise.allSettled([all.host.call('bad', 'big', {}), expectWholeNeighbour(all)])
    expect(String((answer as PromiseRejectedResult).reason)).toMatch(/more than \d+ MB/)
    expect(textOf(await all.host.call('bad', 'small', {}))).toBe('still here')
  })

  it('answers to nothing are output that nobody asked for: what comes behind 8 MB of them comes late', async () => {
    const all = open('flood answer', { callTimeout: 5000 })
    await untilState(all.host, 'bad', 'connected')
    const late = expect(all.host.call('bad', 'behind', {})).rejects.toThrow('did not answer within 5 s')
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
