// Readiness, reloads and the addresses of clients, without a server.
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClientNetwork } from '../../packages/server/src/http/client-network.ts'
import { createReadiness, createReloads } from '../../packages/server/src/operate/service.ts'

describe('readiness', () => {
  it('does not wait for a check that hangs, and says no as soon as it drains', async () => {
    const hanging = { reason: 'store unreachable', check: () => new Promise(() => {}) }
    const readiness = createReadiness({ checks: [hanging], timeoutMs: 1 })
    expect((await readiness.report()).body.reasons).toEqual(['store unreachable'])
    readiness.drain()
    expect(await readiness.report()).toEqual({
      httpStatus: 503,
      body: { status: 'not ready', reasons: ['draining'] },
    })
  })

  it('asks once for many who ask at a time, and again later', async () => {
    let asked = 0
    const check = async () => {
      asked++
      if (asked === 1) throw new Error('not yet')
    }
    const often = createReadiness({ checks: [{ reason: 'store unreachable', check }], reuseMs: 600_000 })
    await Promise.all(Array.from({ length: 50 }, () => often.report()))
    expect(asked).toBe(1)
    const { report } = createReadiness({ checks: [{ reason: 'store unreachable', check }], reuseMs: 0 })
    expect((await report()).body.status).toBe('ready')
    expect((await report()).httpStatus).toBe(200)
    expect(asked).toBe(3)
  })
})

describe('readiness over time', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('uses an answer for a second, unless configured otherwise', async () => {
    for (const [options, ms] of [
      [{}, 1000],
      [{ reuseMs: 50 }, 50],
    ] as const) {
      let asked = 0
      const { report } = createReadiness({
        checks: [{ reason: 'x', check: async () => asked++ }],
        ...options,
      })
      await report()
      vi.advanceTimersByTime(ms - 1)
      await report()
      expect(asked).toBe(1)
      vi.advanceTimersByTime(1)
      await report()
      expect(asked).toBe(2)
    }
  })

  it('says that it drains although a check was under way', async () => {
    const { report, drain, isDraining } = createReadiness({
      checks: [{ reason: 'store unreachable', check: () => new Promise(() => {}) }],
    })
    const asked = report()
    expect(isDraining()).toBe(false)
    drain()
    expect(isDraining()).toBe(true)
    await vi.advanceTimersByTimeAsync(2000)
    expect((await asked).body.reasons).toEqual(['draining'])
  })
})

it('a reload reads everything again, whatever fails, one reload after another', async () => {
  const told: string[] = []
  const done: string[] = []
  const { onReload, reload } = createReloads((message) => told.push(message))
  onReload(async () => {
    await Promise.resolve()
    done.push('a')
    throw new Error('a cannot be read')
  })
  const stop = onReload(() => done.push('b'))
  await Promise.all([reload(), reload()])
  expect(done).toEqual(['a', 'b', 'a', 'b'])
  expect(told).toEqual(['a cannot be read', 'a cannot be read'])
  stop()
  await reload()
  expect(done.at(-1)).toBe('a')
})

describe('the address of a client', () => {
  const from = (remoteAddress: string, forwarded?: string) =>
    ({
      socket: { remoteAddress },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    }) as unknown as IncomingMessage

  it.each([
    ['no proxy is trusted', [], '10.0.0.1', '203.0.113.9', '10.0.0.1'],
    ['of a trusted proxy', ['10.0.0.1'], '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['as IPv6', ['10.0.0.0/8'], '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['made up by the client', ['10.0.0.0/8'], '10.0.0.1', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['through two proxies', ['10.0.0.0/8'], '10.0.0.1', '1.2.3.4, 203.0.113.9, 10.0.0.7', '203.0.113.9'],
    ['no address', ['10.0.0.1'], '10.0.0.1', '203.0.113.9, evil', '10.0.0.1'],
    ['without the header', ['10.0.0.1'], '10.0.0.1', undefined, '10.0.0.1'],
    ['of another peer', ['10.0.0.1'], '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['IPv6 is a network', ['fd00::/8'], 'fd00::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ])('%s', (_, proxies, peer, forwarded, expected) => {
    expect(createClientNetwork(proxies)(from(peer, forwarded))).toBe(expected)
  })

  it.each(['balancer', '10.0.0.0/33', '10.0.0.0/8/1', '', '10.0.0.0/x'])('refuses "%s" as proxy', (proxy) => {
    expect(() => createClientNetwork([proxy])).toThrow('is not an IP address or subnet')
  })
})
