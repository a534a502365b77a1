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

/** A series by its labels, or read from a gauge whenever it is scraped. */
type Series = {
  readonly values: Map<string, number>
  readonly distributions: Map<string, Distribution>
  samples: () => readonly Sample[]
}

/** Creates the series of the table, all of them empty. */
export function createMetricRegistry<Name extends string>(
  series: SeriesTable & { readonly [name in Name]: SeriesTable[string] },
): MetricRegistry<Name> {
  const all = Object.fromEntries(Object.keys(series).map((name) => [name, newSeries()])) as {
    [name in Name]: Series
  }
  return {
    add(name, labels, amount = 1) {
      const { values } = all[name]
      const key = written(labels)
      const before = values.get(key)
      if (before === undefined && values.size >= MAX_COMBINATIONS) return
      values.set(key, (before ?? 0) + amount)
    },
    observe(name, labels, value) {
      const { distributions } = all[name]
      const key = written(labels)
      const found = distributions.get(key) ?? { counts: BOUNDS.map(() => 0), sum: 0, count: 0 }
      if (found.count === 0 && distributions.size >= MAX_COMBINATIONS) return
      distributions.set(key, found)
      const bucket = BOUNDS.findIndex((bound) => value <= bound)
      if (bucket >= 0) found.counts[bucket] = (found.counts[bucket] ?? 0) + 1
      found.sum += value
      found.count++
    },
    read(name, samples) {
      all[name].samples = samples
    },
    text() {
      const lines = Object.entries<Series>(all).flatMap(([name, { values, distributions, samples }]) => [
        `# HELP ${name} ${series[name]?.[1]}`,
        `# TYPE ${name} ${series[name]?.[0]}`,
        ...[...values].map(([labels, value]) => `${name}${braced(labels)} ${value}`),
        ...samples().map(({ labels = {}, value }) => `${name}${braced(written(labels))} ${value}`),
        ...[...distributions].flatMap(([labels, found]) => bucketLines(name, labels, found)),
      ])
      return [...lines, ''].join('\n')
    },
  }
}

function newSeries(): Series {
  return { values: new Map(), distributions: new Map(), samples: () => [] }
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

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
