// Counts of what the gateway did, as Prometheus reads them. Labels are few and never a client's words.

export type Metrics = {
  readonly add: (name: CounterName, labels: Labels, amount?: number) => void
  /** Something that goes on: until the returned function is called. */
  readonly begin: () => () => void
  readonly text: () => string
}

export type Labels = { readonly [name: string]: string }

const counters = {
  toolshelf_requests_total: 'Requests answered, by endpoint, mode and status.',
  toolshelf_request_seconds_total: 'Time from a request to the end of its answer.',
  toolshelf_searches_total: 'Tool searches run.',
  toolshelf_rounds_total: 'Samplings of the upstream.',
  toolshelf_tools_offered_total: 'Tool definitions that clients sent.',
  toolshelf_tools_visible_total: 'Tool definitions that models saw.',
  toolshelf_tokens_saved_total: 'Tokens of definitions not sent, estimated by length.',
} as const

export type CounterName = keyof typeof counters

export function createMetrics(): Metrics {
  const values = new Map<CounterName, Map<string, number>>()
  let active = 0
  return {
    add(name, labels, amount = 1) {
      const series = values.get(name) ?? new Map<string, number>()
      const key = written(labels)
      series.set(key, (series.get(key) ?? 0) + amount)
      values.set(name, series)
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
      const lines = Object.entries(counters).flatMap(([name, help]) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} counter`,
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
