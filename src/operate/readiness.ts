// Determines readiness: whether a load balancer should send requests to this process. Liveness, by contrast, only means
// that the process answers. The report is public, so it names no server, host or user.
import { withTimeout } from '../node/index.ts'

/** One condition of readiness. */
export type ReadinessCheck = {
  /** The public reason if the check fails, such as `store unreachable`. */
  readonly reason: string
  /** Resolves if the condition holds; otherwise rejects or times out. Its error is not shown. */
  readonly check: () => Promise<unknown>
}

/** The answer to `GET /ready`. */
export type ReadinessReport = {
  /** All that load balancers and Kubernetes read. */
  readonly httpStatus: 200 | 503
  readonly body: { readonly status: 'ready' | 'not ready'; readonly reasons: readonly string[] }
}

/** Decides whether a gateway is ready. */
export type Readiness = {
  /** Reports not ready from now on, because the process is about to end. */
  drain(): void
  readonly isDraining: () => boolean
  report(): Promise<ReadinessReport>
}

/** Options of `createReadiness`. */
export type ReadinessOptions = {
  readonly checks: readonly ReadinessCheck[]
  /** Milliseconds that a check may take. Default: 2,000. */
  readonly timeoutMs?: number
  /** Milliseconds for which a result is reused, so that anonymous requests cannot load the store. Default: 1,000. */
  readonly reuseMs?: number
}

/** Creates the readiness of a gateway from its checks. */
export function createReadiness({ checks, timeoutMs = 2000, reuseMs = 1000 }: ReadinessOptions): Readiness {
  let isDraining = false
  let last: { readonly at: number; readonly reasons: Promise<readonly string[]> } | undefined

  async function failing(): Promise<readonly string[]> {
    const reasons = await Promise.all(
      checks.map(async ({ reason, check }) =>
        withTimeout(check(), timeoutMs, reason).then(
          () => [],
          () => [reason],
        ),
      ),
    )
    return reasons.flat()
  }

  return {
    drain() {
      isDraining = true
    },
    isDraining: () => isDraining,
    async report() {
      if (isDraining) return reportOf(['draining'])
      if (!last || performance.now() - last.at >= reuseMs)
        last = { at: performance.now(), reasons: failing() }
      const reasons = await last.reasons
      return reportOf(isDraining ? ['draining'] : reasons)
    },
  }
}

function reportOf(reasons: readonly string[]): ReadinessReport {
  return reasons.length === 0
    ? { httpStatus: 200, body: { status: 'ready', reasons } }
    : { httpStatus: 503, body: { status: 'not ready', reasons } }
}
