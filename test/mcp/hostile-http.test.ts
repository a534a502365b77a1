// Bad servers over HTTP beside a healthy process: states with reasons, bounded memory, calls that end.
import { describe, expect, it } from 'vitest'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import {
  expectWholeNeighbour,
  type OpenOptions,
  openHost,
  shareHost,
  statusOf,
  textOf,
  toolsOf,
  untilFailed,
  untilState,
} from './support/host.ts'
import { until } from './support/processes.ts'
import { shareRemote } from './support/remote.ts'
import { neighbour } from './support/small-servers.ts'

describe('H6 servers over HTTP', () => {
  const silent = [
    ['hang', /did not answer within/],
    ['hang-body', /did not answer within/],
  ] as const
  const failing = [
    ['html', /text\/html|content.type/i],
    ['error', /500/],
    ['missing', /404/],
    ['unauthorized', /login|401/],
    ['redirects', /307/],
    ['broken', /JSON/],
    ['drop', /closed|reset|socket/i],
  ] as const
  const serving = ['healthy', 'events', 'scope', 'forgets']
  const failingCalls = ['hang-call', 'drop-call']

  const behaving = shareRemote()
  const open = (behaviour: string, given = {}, options: OpenOptions = {}) =>
    openHost([behaving('bad', behaviour, { connectTimeoutMs: 10_000, ...given }), neighbour()], options)
  /** Servers named after their behaviour, all at once beside one neighbour. */
  const shared = shareHost(
    () => [
      ...silent.map(([name]) => behaving(name, name, { connectTimeoutMs: 1500 })),
      ...failing.map(([name]) => behaving(name, name)),
      ...serving.map((name) => behaving(name, name)),
      ...failingCalls.map((name) => behaving(name, name, { callTimeoutMs: 500 })),
      { ...behaving('nobody', 'healthy'), transport: http('http://127.0.0.1:9/mcp') },
      { ...behaving('nowhere', 'healthy'), transport: http('not an address') },
      neighbour(),
    ],
    { concurrency: 20, times: { firstRetryMs: 5000 } },
  )

  it.each(['healthy', 'events'])('%s: listed and called', async (name) => {
    const { host } = shared()
    await untilState(host, name, 'connected')
    expect(toolsOf(host, name)).toEqual(['fetch_page', 'post_form'])
    expect(textOf(await host.call(name, 'post_form', { text: 'hello' }))).toBe('hello')
  })

  it.each(silent)('%s: it fails by its time-out', async (name, reason) => {
    await untilFailed(shared(), name, reason)
    await expectWholeNeighbour(shared())
  })

  it.each(failing)('%s: the reason says what came back', async (name, reason) => {
    await untilFailed(shared(), name, reason)
    await expectWholeNeighbour(shared())
  })

  it('nobody listens at the address: it is named', async () => {
    await untilFailed(shared(), 'nobody', /127\.0\.0\.1:9.*ECONNREFUSED|refused|bad port/is)
    await expectWholeNeighbour(shared())
  })

  it('an address that is none fails by itself', async () => {
    await untilFailed(shared(), 'nowhere', /not an address/)
    await expectWholeNeighbour(shared())
  })

  it.each(['endless', 'endless-events', 'endless-event'])(
    '%s: it fails by its time-out or its size, and what it sends does not fill the memory',
    async (behaviour) => {
      const before = process.memoryUsage.rss()
      let highest = before
      const watch = setInterval(() => {
        highest = Math.max(highest, process.memoryUsage.rss())
      }, 20)
      const limits = { maxMessageBytes: sizeOf({ quick: 4_000_000, full: 32_000_000 }), graceMs: 1000 }
      const all = open(behaviour, { connectTimeoutMs: 2000 }, { limits })
      await expectWholeNeighbour(all)
      await untilState(all.host, 'bad', 'failed')
      clearInterval(watch)
      expect(statusOf(all.host, 'bad').reason).toMatch(/did not answer within|more than \d+ MB/)
      expect(highest - before).toBeLessThan(300 * 2 ** 20)
      await expectWholeNeighbour(all)
    },
  )

  it('behind-events: a flood of events is listened to with pauses, and what comes behind it comes late', async () => {
    const all = open('behind-events')
    await untilState(all.host, 'bad', 'connected')
    const late = expect(all.host.call('bad', 'fetch_page', {}, { timeoutMs: 2000 })).rejects.toThrow(
      'did not answer within 2 s',
    )
    await expectWholeNeighbour(all)
    await late
    await expectWholeNeighbour(all)
  })

  it.each(failingCalls)('%s: the call ends with a reason', async (name) => {
    const { host } = shared()
    await untilState(host, name, 'connected')
    const rejected = expect(host.call(name, 'fetch_page', {})).rejects.toThrow(/./)
    await expectWholeNeighbour(shared())
    await rejected
  })

  it.each([
    ['files:read mail.send', 'supply a token with the scope "files:read mail.send" through'],
    ['$(touch owned)', 'supply a token through the option "authorize"'],
    ['read; touch owned', 'supply a token through the option "authorize"'],
    ['`touch owned`', 'supply a token through the option "authorize"'],
    ['a'.repeat(501), 'supply a token through the option "authorize"'],
  ])('scope %s: no command holds what a shell would run', async (text, command) => {
    const { host } = shared()
    await untilState(host, 'scope', 'connected')
    await expect(host.call('scope', 'fetch_page', { text })).rejects.toThrow(command)
  })

  it('a server that forgets its session is asked for a new one: the next call works (H4)', async () => {
    const { host } = shared()
    await untilState(host, 'forgets', 'connected')
    for (const text of ['one', 'two', 'three']) {
      expect(textOf(await host.call('forgets', 'post_form', { text }))).toBe(text)
    }
    await until(() => statusOf(host, 'forgets').state === 'connected', 'it is connected')
  })
})

function http(url: string) {
  return { kind: 'http', url, headers: {} } as const
}
