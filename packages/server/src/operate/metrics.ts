// Measures what a gateway runs on: its process, and the store that replicas share.
import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import {
  createMetricRegistry,
  type MetricRegistry,
  type SeriesTable,
  type StateStore,
  type storeSeries,
} from '@toolshelf/core/internal'

/** Series about this process, in addition to those of its gateway. */
export const processSeries = {
  process_cpu_seconds_total: ['counter', 'CPU time of this process, user and system.'],
  process_resident_memory_bytes: [
    'gauge',
    'Resident memory of this process, without the servers that it started.',
  ],
  process_start_time_seconds: ['gauge', 'When this process started, as Unix time.'],
  process_open_fds: ['gauge', 'Open files and connections; only on Linux.'],
  toolshelf_heap_used_bytes: ['gauge', 'JavaScript heap in use.'],
  toolshelf_event_loop_delay_seconds: ['gauge', 'How late timers ran since the last scrape, by quantile.'],
  toolshelf_event_loop_utilization: [
    'gauge',
    'Share of the time since the last scrape in which the event loop was busy.',
  ],
} as const satisfies SeriesTable

/** Measures this process until it is closed. */
export type ProcessMetrics = ReturnType<typeof watchProcess>

/** Milliseconds between two samples of the event loop. */
const RESOLUTION_MS = 20
const QUANTILES = [0.5, 0.99, 1]

/**
 * Watches the event loop from the first scrape on: that takes 50 timers per second, which a gateway without Prometheus
 * avoids.
 */
export function watchProcess() {
  const registry = createMetricRegistry<keyof typeof processSeries>(processSeries)
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  let last = performance.eventLoopUtilization()
  let openFiles: number | undefined
  registry.read('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return [{ value: (user + system) / 1e6 }]
  })
  registry.read('process_resident_memory_bytes', () => [{ value: process.memoryUsage.rss() }])
  registry.read('process_start_time_seconds', () => [{ value: performance.timeOrigin / 1000 }])
  registry.read('process_open_fds', () => (openFiles === undefined ? [] : [{ value: openFiles }]))
  registry.read('toolshelf_heap_used_bytes', () => [{ value: process.memoryUsage().heapUsed }])
  registry.read('toolshelf_event_loop_delay_seconds', () => {
    const samples = QUANTILES.map((quantile) => ({
      labels: { quantile: String(quantile) },
      value: Math.max(0, delays.percentile(quantile * 100) / 1e9 - RESOLUTION_MS / 1000),
    }))
    delays.reset()
    return samples
  })
  registry.read('toolshelf_event_loop_utilization', () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return [{ value: utilization }]
  })
  return {
    async text() {
      delays.enable()
      openFiles = await readdir('/proc/self/fd').then(
        ({ length }) => length,
        () => undefined,
      )
      return registry.text()
    },
    close: () => void delays.disable(),
  }
}

type StoreMetrics = Pick<MetricRegistry<keyof typeof storeSeries>, 'add' | 'observe'>

/** Wraps a store to count its operations, their duration and the bytes transferred. */
export function meterStore(store: StateStore, metrics: StoreMetrics): StateStore {
  const count = (direction: 'in' | 'out', text: string) =>
    metrics.add('toolshelf_store_bytes_total', { store: store.kind, direction }, Buffer.byteLength(text))

  async function timed<Value>(operation: string, work: () => Promise<Value>): Promise<Value> {
    const started = performance.now()
    let outcome = 'failed'
    try {
      const value = await work()
      outcome = 'ok'
      return value
    } finally {
      const seconds = (performance.now() - started) / 1000
      metrics.add('toolshelf_store_operations_total', { store: store.kind, operation, outcome })
      metrics.observe('toolshelf_store_seconds', { store: store.kind, operation }, seconds)
    }
  }

  return {
    kind: store.kind,
    async get(key) {
      const found = await timed('get', () => store.get(key))
      count('in', found?.value ?? '')
      return found
    },
    async list(prefix, options) {
      const found = await timed('list', () => store.list(prefix, options))
      for (const { value } of found) count('in', value)
      return found
    },
    set(key, value, options) {
      count('out', value)
      return timed('set', () => store.set(key, value, options))
    },
    delete: (key, options) => timed('delete', () => store.delete(key, options)),
    add: (key, amount, ttlMs) => timed('add', () => store.add(key, amount, ttlMs)),
    publish(channel, message) {
      count('out', message)
      return timed('publish', () => store.publish(channel, message))
    },
    subscribe: (channel, listener) =>
      timed('subscribe', () =>
        store.subscribe(channel, (message) => {
          count('in', message)
          listener(message)
        }),
      ),
    onGap: (listener) => store.onGap(listener),
    ping: () => timed('ping', () => store.ping()),
    close: () => store.close(),
  }
}
