// Defines the series that both gateways have, with the same names and labels.
import type { SeriesTable } from './registry.ts'

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
