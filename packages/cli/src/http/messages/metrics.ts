// What the Messages gateway counts for `/metrics`. Labels come from fixed sets, never from client input.
import {
  createMetricRegistry,
  type MetricRegistry,
  requestSeries,
  type SeriesTable,
  storeSeries,
} from '@toolshelf/core/internal'

/** Counters of a Messages gateway, as `/metrics` shows them. */
export type MessagesMetrics = MetricRegistry<keyof typeof series>

/** The label that distinguishes the series of the two gateways. */
export const GATEWAY_LABEL = { gateway: 'messages' } as const

/** Counters only grow. Savings are gauges: a request whose searches cost more than they save lowers them. */
const series = {
  ...requestSeries,
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
  ...storeSeries,
} as const satisfies SeriesTable

/** Creates the counters of a gateway, all zero. */
export function createMessagesMetrics(): MessagesMetrics {
  return createMetricRegistry<keyof typeof series>(series)
}
