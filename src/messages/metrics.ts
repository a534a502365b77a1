// Gateway metrics in Prometheus format. Labels come from a fixed set, never from client input.

/** Counters of a gateway, as `/metrics` shows them. */
export type Metrics = {
  readonly add: (name: CounterName, labels: Labels, amount?: number) => void
  /** Counts a request as active until the returned function is called. */
  readonly begin: () => () => void
  readonly text: () => string
}

export type Labels = { readonly [name: string]: string }

type Kind = 'counter' | 'gauge'

/** Counters only grow. Savings are gauges: a request whose searches cost more than they save lowers them. */
const series = {
  toolshelf_requests_total: ['counter', 'Requests answered, by endpoint, mode and status.'],
  toolshelf_request_seconds_total: ['counter', 'Time from a request to the end of its answer.'],
  toolshelf_searches_total: ['counter', 'Tool searches run.'],
  toolshelf_rounds_total: ['counter', 'Samplings of the upstream.'],
  toolshelf_extra_round_trips_total: ['counter', 'Samplings beyond one a request, which searches added.'],
  toolshelf_tools_offered_total: ['counter', 'Tool definitions that clients sent.'],
  toolshelf_tools_visible_total: ['counter', 'Tool definitions that models saw.'],
  toolshelf_tokens_without_total: [
    'counter',
    'Input tokens that requests would have had without tool search.',
  ],
  toolshelf_tokens_with_total: ['counter', 'Input tokens of all samplings, as the upstream reported them.'],
  toolshelf_tokens_saved: ['gauge', 'Input tokens without tool search minus those with it.'],
  toolshelf_search_output_tokens_total: ['counter', 'Output tokens of samplings that another one followed.'],
  toolshelf_dollars_without_total: ['counter', 'List price of requests without tool search, if it is known.'],
  toolshelf_dollars_with_total: ['counter', 'List price of all samplings of the same requests.'],
  toolshelf_dollars_saved: ['gauge', 'List price without tool search minus that with it.'],
} as const satisfies { readonly [name: string]: readonly [Kind, string] }

/** The name of a gateway counter or gauge. */
export type CounterName = keyof typeof series

/** Creates the counters of a gateway, all zero. */
export function createMetrics(): Metrics {
  const values = new Map<CounterName, Map<string, number>>()
  let active = 0
  return {
    add(name, labels, amount = 1) {
      const known = values.get(name) ?? new Map<string, number>()
      const key = written(labels)
      known.set(key, (known.get(key) ?? 0) + amount)
      values.set(name, known)
    },
    begin() {
      active++
      let isOver = false
      return () => {
        if (!isOver) active--
        isOver = true
      }
    },
    text() {
      const lines = Object.entries(series).flatMap(([name, [kind, help]]) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${kind}`,
        ...[...(values.get(name as CounterName) ?? [])].map(([labels, value]) => `${name}${labels} ${value}`),
      ])
      const gauge = [
        '# HELP toolshelf_active_requests Requests being answered now.',
        '# TYPE toolshelf_active_requests gauge',
      ]
      return [...lines, ...gauge, `toolshelf_active_requests ${active}`, ''].join('\n')
    },
  }
}

function written(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
