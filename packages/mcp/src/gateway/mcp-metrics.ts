// Defines what the MCP gateway counts for `/metrics`, under the names that the Messages gateway also uses.
import {
  createMetricRegistry,
  type MetricRegistry,
  requestSeries,
  storeSeries,
} from '@toolshelf/core/internal'
import type { CallOptions, CallOutput, McpHost } from '../types.ts'

const series = {
  ...requestSeries,
  toolshelf_calls_total: [
    'counter',
    'Calls of tools of servers, by outcome: ok, error, failed or cancelled.',
  ],
  toolshelf_call_seconds: ['histogram', 'Time that a server took for a call.'],
  toolshelf_sessions: ['gauge', 'Sessions of clients over HTTP that have one.'],
  toolshelf_streams: ['gauge', 'Open streams of notifications.'],
  toolshelf_servers: ['gauge', 'Configured servers, by state.'],
  toolshelf_tools: ['gauge', 'Tools that the servers list.'],
  ...storeSeries,
} as const

/** Counters of an MCP gateway, as `/metrics` shows them. */
export type McpMetrics = MetricRegistry<keyof typeof series>

/**
 * Creates the counters of an MCP gateway, all zero.
 *
 * @example
 * const metrics = createMcpMetrics()
 * const gateway = createMcpGateway({ shelf, makeHost, metrics })
 * console.log(metrics.text())
 */
export function createMcpMetrics(): McpMetrics {
  return createMetricRegistry<keyof typeof series>(series)
}

/** The value of the label `gateway`. */
export const GATEWAY = 'mcp'
const STATES = ['idle', 'pending', 'connected', 'failed', 'disabled'] as const

/** Reads the servers' states whenever metrics are scraped. */
export function reportServers(metrics: McpMetrics, host: McpHost): void {
  metrics.read('toolshelf_servers', () => {
    const states = host.status().map(({ state }) => state)
    return STATES.map((state) => ({ labels: { state }, value: states.filter((one) => one === state).length }))
  })
  metrics.read('toolshelf_tools', () => [
    { value: host.status().reduce((sum, { tools }) => sum + tools.length, 0) },
  ])
}

/** Runs a call of a server's tool, and counts it. */
export async function countCall(
  metrics: McpMetrics,
  { signal }: CallOptions,
  call: () => Promise<CallOutput>,
): Promise<CallOutput> {
  const started = performance.now()
  let outcome = 'failed'
  try {
    const output = await call()
    outcome = output.isError === true ? 'error' : 'ok'
    return output
  } finally {
    if (outcome === 'failed' && signal?.aborted) outcome = 'cancelled'
    metrics.add('toolshelf_calls_total', { outcome })
    metrics.observe('toolshelf_call_seconds', {}, (performance.now() - started) / 1000)
  }
}
