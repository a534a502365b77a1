// Bad servers over HTTP, each beside a healthy process: states with reasons, bounded memory, calls that end.
import { describe, expect, it } from 'vitest'
import { expectWholeNeighbour, openHost, statusOf, textOf, toolsOf, untilState } from './support/host.ts'
import { until } from './support/processes.ts'
import { remote } from './support/remote.ts'
import { neighbour } from './support/servers.ts'

const open = async (behaviour: string, given = {}) =>
  openHost([await remote('bad', behaviour, { connectTimeout: 10_000, ...given }), neighbour()])

describe('H6 servers over HTTP', () => {
  it.each(['healthy', 'events'])('%s: listed and called', async (behaviour) => {
    const all = await open(behaviour)
    await untilState(all.host, 'bad', 'connected')
    expect(toolsOf(all.host, 'bad')).toEqual(['fetch_page', 'post_form'])
    expect(textOf(await all.host.call('bad', 'post_form', { text: 'hello' }))).toBe('hello')
  })

  it.each([
    ['hang', /did not answer within/],
    ['hang-body', /did not answer within/],
    ['endless-events', /did not answer within|more than \d+ MB/],
  ])('%s: it fails by its time-out', async (behaviour, reason) => {
    const all = await open(behaviour, { connectTimeout: 1500 })
    await expectWholeNeighbour(all)
    await untilState(all.host, 'bad', 'failed')
    expect(statusOf(all.host, 'bad').reason).toMatch(reason)
    await expectWholeNeighbour(all)
  })

  it.each([
    ['html', /text\/html|content.type/i],
    ['error', /500/],
    ['missing', /404/],
    ['unauthorized', /login|401/],
    ['redirects', /307/],
    ['broken', /JSON/],
    ['drop', /closed|reset|socket/i],
  ])('%s: the reason says what came back', async (behaviour, reason) => {
    const all = await open(behaviour)
    await untilState(all.host, 'bad', 'failed')
    expect(statusOf(all.host, 'bad').reason).toMatch(reason)
    await expectWholeNeighbour(all)
  })

  it('nobody listens at the address: it is named', async () => {
    const config = await remote('bad', 'healthy')
    const all = openHost([
      { ...config, transport: { kind: 'http', url: 'http://127.0.0.1:9/mcp', headers: {} } },
      neighbour(),
    ])
    await untilState(all.host, 'bad', 'failed')
    expect(statusOf(all.host, 'bad').reason).toMatch(/127\.0\.0\.1:9.*ECONNREFUSED|refused|bad port/is)
    await expectWholeNeighbour(all)
  })

  it('an address that is none fails by itself', async () => {
    const config = await remote('bad', 'healthy')
    const all = openHost([
      { ...config, transport: { kind: 'http', url: 'not an address', headers: {} } },
      neighbour(),
    ])
    await untilState(all.host, 'bad', 'failed')
    expect(statusOf(all.host, 'bad').reason).toContain('not an address')
    await expectWholeNeighbour(all)
  })

  it.each(['endless', 'endless-events', 'endless-event'])(
    '%s: what it sends does not fill the memory',
    async (behaviour) => {
      const before = process.memoryUsage.rss()
      let highest = before
      const watch = setInterval(() => {
        highest = Math.max(highest, process.memoryUsage.rss())
      }, 20)
      const all = await open(behaviour, { connectTimeout: 4000 })
      await expectWholeNeighbour(all)
      await untilState(all.host, 'bad', 'failed')
      clearInterval(watch)
      expect(statusOf(all.host, 'bad').reason).toBeTruthy()
      expect(highest - before).toBeLessThan(300 * 2 ** 20)
      await expectWholeNeighbour(all)
    },
  )

  it('behind-events: a flood of events is listened to with pauses, and what comes behind it comes late', async () => {
    const all = await open('behind-events', { callTimeout: 4000 })
    await untilState(all.host, 'bad', 'connected')
    const late = expect(all.host.call('bad', 'fetch_page', {})).rejects.toThrow('did not answer within 4 s')
    await expectWholeNeighbour(all)
    await late
    await expectWholeNeighbour(all)
  })

  it.each(['hang-call', 'drop-call'])('%s: the call ends with a reason', async (behaviour) => {
    const all = await open(behaviour, { callTimeout: 500 })
    await untilState(all.host, 'bad', 'connected')
    const rejected = expect(all.host.call('bad', 'fetch_page', {})).rejects.toThrow(/./)
    await expectWholeNeighbour(all)
    await rejected
  })

  it.each([
    ['files:read mail.send', 'run "toolshelf login bad --scope "files:read mail.send""'],
    ['$(touch owned)', 'run "toolshelf login bad"'],
    ['read; touch owned', 'run "toolshelf login bad"'],
    ['`touch owned`', 'run "toolshelf login bad"'],
    ['a'.repeat(501), 'run "toolshelf login bad"'],
  ])('scope %s: no command holds what a shell would run', async (text, command) => {
    const all = await open('scope')
    await untilState(all.host, 'bad', 'connected')
    await expect(all.host.call('bad', 'fetch_page', { text })).rejects.toThrow(command)
  })

  it('a server that forgets its session is asked for a new one: the next call works (H4)', async () => {
    const all = await open('forgets')
    await untilState(all.host, 'bad', 'connected')
    for (const text of ['one', 'two', 'three']) {
      expect(textOf(await all.host.call('bad', 'post_form', { text }))).toBe(text)
    }
    await until(() => statusOf(all.host, 'bad').state === 'connected', 'it is connected')
  })
})
