// Counters, gauges and histograms, and the page that Prometheus reads.
import { expect, it } from 'vitest'
import { createMcpMetrics } from '../../src/mcp/gateway/index.ts'
import { createMetrics } from '../../src/messages/index.ts'
import { createMetricRegistry, meterStore, watchProcess } from '../../src/operate/index.ts'
import { createMemoryStore, StoreError } from '../../src/store/index.ts'
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
  registry.add('some_total', { kind: 'a' })
  registry.add('some_total', { kind: 'a' }, 2)
  for (const value of [0.001, 0.2, 0.25, 1000]) registry.observe('some_seconds', { kind: 'a' }, value)
  now = 4
  const text = registry.text()
  expect(text).toContain('some_total{kind="a"} 3\n')
  expect(text).toContain('some_now 4\nsome_now{kind="b"} 1\n')
  expect(text).toContain('some_seconds_bucket{kind="a",le="0.005"} 1\n')
  expect(text).toContain('some_seconds_bucket{kind="a",le="0.25"} 3\n')
  expect(text).toContain('some_seconds_bucket{kind="a",le="60"} 3\n')
  expect(text).toContain('some_seconds_bucket{kind="a",le="+Inf"} 4\n')
  expect(text).toContain('some_seconds_sum{kind="a"} 1000.451\nsome_seconds_count{kind="a"} 4\n')
  expect(problemsIn(text)).toEqual([])
})

it('keeps a bounded number of combinations of labels', () => {
  const registry = createMetricRegistry<keyof typeof table>(table)
  for (let index = 0; index < 5000; index++) {
    registry.add('some_total', { index: String(index) })
    registry.observe('some_seconds', { index: String(index) }, 1)
  }
  registry.add('some_total', { index: '7' })
  const lines = registry.text().split('\n')
  expect(lines.filter((line) => line.startsWith('some_total{'))).toHaveLength(1000)
  expect(lines.filter((line) => line.startsWith('some_seconds_count'))).toHaveLength(1000)
  expect(lines).toContain('some_total{index="7"} 2')
})

it('both gateways use one naming: what both count has the same kind and words', () => {
  const headOf = (text: string) => text.split('\n').filter((line) => line.startsWith('# '))
  const [mcp, messages] = [createMcpMetrics().text(), createMetrics().text()]
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

it('reports the process', async () => {
  const watched = watchProcess()
  const text = await watched.text()
  watched.close()
  expect(problemsIn(text)).toEqual([])
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect(value('process_start_time_seconds')).toBeGreaterThan(1.7e9)
  expect(text).toMatch(/^toolshelf_event_loop_delay_seconds\{quantile="0.99"\} \S+$/m)
})

it('a metered store does the same, and counts operations, failures and bytes', async () => {
  const metrics = createMcpMetrics()
  const memory = createMemoryStore()
  const failing = async () => {
    throw new StoreError('gone')
  }
  const store = meterStore({ ...memory, ping: failing }, metrics)
  await store.set('session/a', 'äb')
  expect(await store.get('session/a')).toMatchObject({ value: 'äb' })
  expect(await store.list('session/')).toHaveLength(1)
  const heard: string[] = []
  const stop = await store.subscribe('channel', (message) => heard.push(message))
  await store.publish('channel', 'hello')
  await expect.poll(() => heard).toEqual(['hello'])
  await stop()
  await expect(store.ping()).rejects.toThrow('gone')
  await store.close()
  const text = metrics.text()
  expect(text).toContain('toolshelf_store_operations_total{store="memory",operation="set",outcome="ok"} 1\n')
  expect(text).toContain(
    'toolshelf_store_operations_total{store="memory",operation="ping",outcome="failed"} 1\n',
  )
  expect(text).toContain('toolshelf_store_bytes_total{store="memory",direction="out"} 8\n')
  expect(text).toContain('toolshelf_store_bytes_total{store="memory",direction="in"} 11\n')
  expect(problemsIn(text)).toEqual([])
})
