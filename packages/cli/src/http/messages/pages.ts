// Health, readiness and metrics of the Messages gateway over HTTP.
import type { ProcessMetrics, Readiness } from '@toolshelf/server/internal'
import type { MessagesMetrics } from './metrics.ts'

/** Answers requests for health, readiness and metrics. */
export type ServerPages = ReturnType<typeof createServerPages>

type ServerPagesOptions = {
  readonly readiness: Readiness
  readonly metrics: MessagesMetrics
  readonly processMetrics: ProcessMetrics
  /** Metrics need no key. */
  readonly hasOpenMetrics: boolean
}

export function createServerPages(options: ServerPagesOptions) {
  const { readiness, metrics, processMetrics, hasOpenMetrics } = options
  return {
    /** Whether a path is one of these pages and needs no key. */
    isOpen: (path: string) =>
      path === '/health' || path === '/ready' || (hasOpenMetrics && path === '/metrics'),
    async ready() {
      const { httpStatus, body } = await readiness.report()
      const headers = { 'content-type': 'application/json' }
      return { status: httpStatus, headers, body: JSON.stringify(body) }
    },
    async metrics() {
      const body = `${metrics.text()}${await processMetrics.text()}`
      return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4' }, body }
    },
  }
}
