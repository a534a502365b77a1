// Serves health, readiness and metrics of the MCP gateway over HTTP.
import type { McpMetrics } from '@toolshelf/mcp/internal/gateway'
import type { ProcessMetrics, Readiness } from '@toolshelf/server/internal'
import type { TokenAccess } from '@toolshelf/server/internal/oauth'

export const METRICS_PATH = '/metrics'

/** The pages besides the gateway itself. */
export type HttpPages = ReturnType<typeof createHttpPages>

type HttpPagesOptions = {
  readonly readiness: Readiness
  readonly metrics: McpMetrics
  readonly processMetrics: ProcessMetrics
  /** Whether metrics need no key. */
  readonly hasOpenMetrics: boolean
  readonly sessions: () => number
}

export function createHttpPages(options: HttpPagesOptions) {
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
    /**
     * Answers requests that need no key; returns undefined for every other path.
     * @param isKnownHost - False for probes, which use a container's address as host and learn only whether it is healthy.
     */
    open(path: string, isKnownHost: boolean) {
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

export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>
