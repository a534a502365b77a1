// Health, readiness and metrics of the MCP gateway over HTTP.
import type { ProcessMetrics, Readiness } from '../../operate/index.ts'
import type { McpMetrics } from './mcp-metrics.ts'

export const METRICS_PATH = '/metrics'

export type HttpPages = {
  /**
   * Answers what needs no key; undefined for every other path.
   * @param isKnownHost - Probes use the address of a container as host: they learn whether it is well, and nothing else.
   */
  open(path: string, isKnownHost: boolean): Promise<Response> | undefined
  metrics(): Promise<Response>
}

export type HttpPagesOptions = {
  readonly readiness: Readiness
  readonly metrics: McpMetrics
  readonly processMetrics: ProcessMetrics
  /** Metrics need no key. */
  readonly hasOpenMetrics: boolean
  readonly sessions: () => number
}

export function createHttpPages(options: HttpPagesOptions): HttpPages {
  const { readiness, metrics, processMetrics, hasOpenMetrics, sessions } = options

  async function ready(): Promise<Response> {
    const { httpStatus, body } = await readiness.report()
    return Response.json(body, { status: httpStatus })
  }

  async function metricsPage(): Promise<Response> {
    const text = `${metrics.text()}${await processMetrics.text()}`
    return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4' } })
  }

  return {
    open(path, isKnownHost) {
      if (path === '/health')
        return Promise.resolve(
          Response.json({ status: 'ok', ...(isKnownHost ? { clients: sessions() } : {}) }),
        )
      if (path === '/ready') return ready()
      return path === METRICS_PATH && hasOpenMetrics ? metricsPage() : undefined
    },
    metrics: metricsPage,
  }
}
