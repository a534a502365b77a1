// Counters, gauges and histograms, and the page that Prometheus reads.
import { expect, it } from 'vitest'
import { createMessagesMetrics } from '../../packages/cli/src/http/messages/metrics.ts'
import { createMetricRegistry } from '../../packages/core/src/metrics.ts'
import { StoreError } from '../../packages/core/src/store.ts'
import { createMcpMetrics } from '../../packages/mcp/src/gateway/mcp-metrics.ts'
import { meterStore, watchProcess } from '../../packages/server/src/operate/metrics.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { problemsIn } from './support/prometheus.ts'

const table = {
  some_total: ['counter', 'Some.'],
  some_seconds: ['histogram', 'Time.'],
  some_now: ['gauge', 'Now.'],
} as const

it('adds up counters, sorts values into buckets and reads gauges when asked', () => {
  const registry = createMetricRegistry<keyof typeof table>(table)
  let now = 3
  registry.read('some_now', () => [{ value: now }, { labels: { kind: 'b' }, value: 1 }])
  registry.add('some_total', { kind: 'a', of: 'b' })
  registry.add('some_total', { kind: 'a', of: 'b' }, 2)
  registry.add('some_total', {})
  for (const value of [0.001, 0.2, 0.25, 1000]) registry.observe('some_seconds', { kind: 'a' }, value)
  now = 4
  const text = registry.text()
  expect(text.replaceAll(/some_seconds_bucket\{kind="a",le="([^"]+)"\} /g, '$1: ')).toBe(
    [
      ...[
        '# HELP some_total Some.',
        '# TYPE some_total counter',
        'some_total{kind="a",of="b"} 3',
        'some_total 1',
      ],
      ...['# HELP some_seconds Time.', '# TYPE some_seconds histogram'],
      ...['0.005: 1', '0.01: 1', '0.025: 1', '0.05: 1', '0.1: 1', '0.25: 3', '0.5: 3', '1: 3', '2.5: 3'],
      ...['5: 3', '10: 3', '30: 3', '60: 3', '+Inf: 4'],
      ...['some_seconds_sum{kind="a"} 1000.451', 'some_seconds_count{kind="a"} 4'],
      ...['# HELP some_now Now.', '# TYPE some_now gauge', 'some_now 4', 'some_now{kind="b"} 1', ''],
    ].join('\n'),
  )
  expect(problemsIn(text)).toEqual([])
  registry.observe('some_seconds', {}, 2)
  expect(registry.text()).toContain(
    'some_seconds_bucket{le="1"} 0\nsome_seconds_bucket{le="2.5"} 1\nsome_seconds_bucket{le="5"} 1\n',
  )
  expect(registry.text()).toContain('le="+Inf"} 1\nsome_seconds_sum 2\nsome_seconds_count 1\n')
})

it('keeps a bounded number of combinations of labels', () => {
  const registry = createMetricRegistry<keyof typeof table>(table)
  for (let index = 0; index < 5000; index++) {
    registry.add('some_total', { index: String(index) })
    registry.observe('some_seconds', { index: String(index) }, 1)
  }
  registry.add('some_total', { index: '7' })
  registry.observe('some_seconds', { index: '7' }, 1)
  const lines = registry.text().split('\n')
  expect(lines.filter((line) => line.startsWith('some_total{'))).toHaveLength(1000)
  expect(lines.filter((line) => line.startsWith('some_seconds_count'))).toHaveLength(1000)
  expect(lines).toContain('some_total{index="7"} 2')
  expect(lines).toContain('some_seconds_count{index="7"} 2')
})

it('both gateways use one naming: what both count has the same kind and words', () => {
  const headOf = (text: string) => text.split('\n').filter((line) => line.startsWith('# '))
  const [mcp, messages] = [createMcpMetrics().text(), createMessagesMetrics().text()]
  const shared = headOf(mcp).filter((line) => headOf(messages).includes(line))
  for (const name of [
    'requests_total',
    'request_seconds',
    'searches_total',
    'active_requests',
    'store_operations_total',
  ])
    expect(shared.some((line) => line.startsWith(`# TYPE toolshelf_${name} `))).toBe(true)
  expect([...problemsIn(mcp), ...problemsIn(messages)]).toEqual([])
})

it('reports the process, in the units that the names say', async () => {
  const secondsOf = ({ user, system } = process.cpuUsage()) => (user + system) / 1e6
  const before = secondsOf()
  const watched = watchProcess()
  const text = (await watched.text()) && (await watched.text())
  watched.close()
  expect(problemsIn(text)).toEqual([])
  const value = (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    )
  expect(value('process_cpu_seconds_total')).toBeGreaterThanOrEqual(before)
  expect(value('process_cpu_seconds_total')).toBeLessThanOrEqual(secondsOf())
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(value('toolshelf_heap_used_bytes'))
  expect(value('toolshelf_heap_used_bytes')).toBeGreaterThan(1_000_000)
  expect(value('process_start_time_seconds')).toBe(performance.timeOrigin / 1000)
  if (process.platform === 'linux') expect(value('process_open_fds')).toBeGreaterThan(3)
  for (const name of [
    ...['0.5', '0.99', '1'].map((quantile) => `toolshelf_event_loop_delay_seconds{quantile="${quantile}"}`),
    'toolshelf_event_loop_utilization',
  ]) {
    expect(value(name)).toBeGreaterThanOrEqual(0)
    expect(value(name)).toBeLessThan(name.endsWith('utilization') ? 1.01 : 1000)
  }
})

it('a metered store does the same, and counts operations, failures and bytes', async () => {
  const startedAt = performance.now()
  const metrics = createMcpMetrics()
  const memory = createMemoryStore()
  const gaps: (() => void)[] = []
  const failing = async () => {
    throw new StoreError('gone')
  }
  const onGap = (listener: () => void) => {
    gaps.push(listener)
    return () => void gaps.pop()
  }
  const store = meterStore({ ...memory, onGap, ping: failing }, metrics)
  expect(store.kind).toBe('memory')
  const version = await store.set('session/a', 'äb', { ttlMs: 1000 })
  expect(await store.set('session/a', 'cd', { ifVersion: null })).toBeUndefined()
  expect(await store.get('session/a')).toEqual({ value: 'äb', version })
  expect(await store.get('session/none')).toBeUndefined()
  await store.set('session/b', 'ef')
  expect(await store.list('session/', { limit: 1 })).toMatchObject([{ key: 'session/a' }])
  expect(await store.delete('session/a', { ifVersion: 'x' })).toBe(false)
  expect(await store.add('count', 2, 1000)).toBe(2)
  const heard: string[] = []
  const stop = await store.subscribe('channel', (message) => heard.push(message))
  await store.publish('channel', 'hello')
  await expect.poll(() => heard, { timeout: 60_000 }).toEqual(['hello'])
  await stop()
  await expect(store.ping()).rejects.toThrow('gone')
  const stopGaps = store.onGap(() => heard.push('gap'))
  gaps[0]?.()
  stopGaps()
  expect([heard, gaps.length]).toEqual([['hello', 'gap'], 0])
  await store.close()
  expect(await memory.list('')).toEqual([])
  const text = metrics.text()
  const lines = text
    .split('\n')
    .filter((line) => /^toolshelf_store_(?:operations|bytes|seconds_count)/.test(line))
  const [operations, seconds] = ['operations_total', 'seconds_count'].map((name) =>
    lines.flatMap((line) => {
      const [, operation, outcome = '', count] =
        new RegExp(
          `^toolshelf_store_${name}{store="memory",operation="(.*?)"(?:,outcome="(.*)")?} (.*)$`,
        ).exec(line) ?? []
      return operation === undefined ? [] : [`${operation}${outcome && ` ${outcome}`} ${count}`]
    }),
  )
  expect(operations).toEqual([
    ...['set ok 3', 'get ok 2', 'list ok 1', 'delete ok 1', 'add ok 1', 'subscribe ok 1'],
    ...['publish ok 1', 'ping failed 1'],
  ])
  const sums = [...text.matchAll(/^toolshelf_store_seconds_sum\{.*\} (.*)$/gm)].map(([, sum]) => Number(sum))
  expect(sums.reduce((all, sum) => all + sum)).toBeLessThan((performance.now() - startedAt) / 1000)
  expect(seconds).toEqual(operations?.map((line) => line.replace(/ ok| failed/, '')))
  expect(text).toContain('toolshelf_store_bytes_total{store="memory",direction="out"} 12\n')
  expect(text).toContain('toolshelf_store_bytes_total{store="memory",direction="in"} 11\n')
  expect(problemsIn(text)).toEqual([])
})
