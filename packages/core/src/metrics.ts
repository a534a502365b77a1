// Metrics in Prometheus' text format: counters, gauges and histograms under names that both gateways share.

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
