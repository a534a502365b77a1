// Limits of a session at their edges: full lists, floods of events, streams that end at once, and last words that are cut.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { boundedFetch } from '../../src/mcp/session/index.ts'
import { createTail } from '../../src/mcp/session/tail.ts'
import { answering, greeted, messageOf, methods, openHttp } from './support/session.ts'

afterEach(() => void vi.restoreAllMocks())

describe('H6 a full list', () => {
  const half = 'x'.repeat(7_999_998)
  it.each<[string, () => unknown[]]>([
    ['50,000 entries', () => Array.from({ length: 50_000 }, () => 1)],
    ['16 million characters', () => [half, half]],
  ])('of %s is cut, and its next page not asked for', async (_, tools) => {
    const { session, asked } = await openHttp({
      initialize: greeted({ tools: {} }),
      'tools/list': ({ cursor }, { reply }) =>
        reply(cursor ? { tools: [] } : { tools: tools(), nextCursor: 'a' }),
    })
    const { entries, isCut } = await session.list('tools/list', 'tools', 60_000)
    expect([entries.length, isCut]).toEqual([tools().length, true])
    expect(methods(asked).filter((method) => method === 'tools/list')).toHaveLength(1)
  })
})

describe('H6 a stream of events', () => {
  it.each([
    [1900, []],
    [20_000, [5000]],
  ])('with %i at once is read with these pauses: %j', async (events, expected) => {
    const pauses: number[] = []
    const start = globalThis.setTimeout
    const response = await boundedFetch(1000)(`data:text/event-stream,${'%0A'.repeat(events)}`)
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
      // Others start timers, too.
      if (ms === 0 || ms === 5000) pauses.push(ms)
      return start(run, 0)
    }) as never)
    expect(await response.text()).toHaveLength(events)
    expect(pauses).toEqual(expected)
  })

  it('that ended at once is opened again after a pause, which its signal ends', async () => {
    const { url, asked } = await answering({ any: (_, { response }) => void response.end() })
    const bounded = boundedFetch(1000)
    const controller = new AbortController()
    const stream = { headers: { accept: 'text/event-stream' }, signal: controller.signal }
    await bounded(url, stream)
    const again = messageOf(bounded(url, stream))
    await bounded(url, { method: 'POST', body: '{}' })
    controller.abort()
    expect(await again).toContain('aborted')
    expect(methods(asked)).toEqual(['GET', undefined])
  })
})

describe('the last words of a process', () => {
  it('that were cut show no part of a secret that was cut, even if little remains', () => {
    const secret = `${'secret'.repeat(9)}!`
    const tail = createTail((text) => text.replaceAll(secret, '*'))
    for (let chunk = 0; chunk < 2; chunk++) tail.add(Buffer.from(secret.repeat(200)))
    expect(tail.text()).not.toContain('secret')
  })
})
