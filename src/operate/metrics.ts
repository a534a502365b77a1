// Metrics in Prometheus' text format: a gateway's series, those of its process and of the shared store.
import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { StateStore } from '../store/types.ts'

/** Series about requests: how many came in, how long they took, how many searches ran. */
export const requestSeries = {
  toolshelf_requests_total: ['counter', 'Requests answered, by gateway, endpoint and status.'],
  toolshelf_request_seconds: [
    'histogram',
    'Time from a request to the end of its answer, without streams of notifications.',
  ],
  toolshelf_active_requests: ['gauge', 'Requests being answered now.'],
  toolshelf_searches_total: ['counter', 'Tool searches run.'],
} as const satisfies SeriesTable

/** Series of the store that replicas share; empty without one. */
export const storeSeries = {
  toolshelf_store_operations_total: ['counter', 'Operations of the shared store, by operation and outcome.'],
  toolshelf_store_seconds: ['histogram', 'Time of an operation of the shared store.'],
  toolshelf_store_bytes_total: [
    'counter',
    'Bytes of values and messages sent to and received from the store.',
  ],
} as const satisfies SeriesTable

/** Labels of a sample; their values come from fixed sets. */
export type Labels = { readonly [name: string]: string }

/** The series by name: kind and description. */
export type SeriesTable = {
  readonly [name: string]: readonly [kind: 'counter' | 'gauge' | 'histogram', help: string]
}

/** A value with its labels, as read from a gauge. */
export type Sample = { readonly labels?: Labels; readonly value: number }

/** The series of one gateway. */
export type MetricRegistry<Name extends string> = {
  /** Adds to a counter, or to a gauge that goes up and down. */
  readonly add: (name: Name, labels: Labels, amount?: number) => void
  /** Adds a value to a histogram. */
  readonly observe: (name: Name, labels: Labels, value: number) => void
  /** Registers a function that returns the samples of a series whenever they are scraped. */
  readonly read: (name: Name, samples: () => readonly Sample[]) => void
  /** Returns the page that Prometheus scrapes. */
  readonly text: () => string
}

/** Combinations of labels per series; more would mean that a label is not from a fixed set. */
const MAX_COMBINATIONS = 1000

/** Upper bounds of a histogram's buckets, in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

type Distribution = { readonly counts: number[]; sum: number; count: number }

/** Creates the series of the table, all of them empty. */
export function createMetricRegistry<Name extends string>(
  series: SeriesTable & { readonly [name in Name]: SeriesTable[string] },
): MetricRegistry<Name> {
  const values = new Map<string, Map<string, number>>()
  const distributions = new Map<string, Map<string, Distribution>>()
  const readers = new Map<string, () => readonly Sample[]>()

  function linesOf(name: string): string[] {
    const samples = readers.get(name)?.() ?? []
    return [
      ...[...(values.get(name) ?? [])].map(([labels, value]) => `${name}${braced(labels)} ${value}`),
      ...samples.map(({ labels = {}, value }) => `${name}${braced(written(labels))} ${value}`),
      ...[...(distributions.get(name) ?? [])].flatMap(([labels, found]) => bucketLines(name, labels, found)),
    ]
  }

  return {
    add(name, labels, amount = 1) {
      const known = entryOf(values, name, () => new Map<string, number>())
      const key = written(labels)
      const before = known.get(key)
      if (before === undefined && known.size >= MAX_COMBINATIONS) return
      known.set(key, (before ?? 0) + amount)
    },
    observe(name, labels, value) {
      const known = entryOf(distributions, name, () => new Map<string, Distribution>())
      const key = written(labels)
      if (!known.has(key) && known.size >= MAX_COMBINATIONS) return
      const found = entryOf(known, key, () => ({ counts: BOUNDS.map(() => 0), sum: 0, count: 0 }))
      const bucket = BOUNDS.findIndex((bound) => value <= bound)
      if (bucket >= 0) found.counts[bucket] = (found.counts[bucket] ?? 0) + 1
      found.sum += value
      found.count++
    },
    read: (name, samples) => void readers.set(name, samples),
    text() {
      const lines = Object.entries(series).flatMap(([name, [kind, help]]) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${kind}`,
        ...linesOf(name),
      ])
      return [...lines, ''].join('\n')
    },
  }
}

function bucketLines(name: string, labels: string, { counts, sum, count }: Distribution): string[] {
  const before = labels === '' ? '' : `${labels},`
  let below = 0
  const buckets = BOUNDS.map((bound, index) => {
    below += counts[index] ?? 0
    return `${name}_bucket{${before}le="${bound}"} ${below}`
  })
  return [
    ...buckets,
    `${name}_bucket{${before}le="+Inf"} ${count}`,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${count}`,
  ]
}

function entryOf<Value>(entries: Map<string, Value>, key: string, create: () => Value): Value {
  const known = entries.get(key)
  if (known !== undefined) return known
  const created = create()
  entries.set(key, created)
  return created
}

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

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
export type ProcessMetrics = {
  text(): Promise<string>
  close(): void
}

/** Milliseconds between two samples of the event loop. */
const RESOLUTION_MS = 20
const QUANTILES = [0.5, 0.99, 1]

/**
 * Watches the event loop from the first scrape on: that takes 50 timers per second, which a gateway without Prometheus
 * avoids.
 */
export function watchProcess(): ProcessMetrics {
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
