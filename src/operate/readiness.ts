// Readiness: whether a balancer should send requests to this process. It is apart from liveness, which only says that the
// process answers. What it says is for anyone, so it names no server, host or user.
import { withTimeout } from '../node/index.ts'

/** One condition of readiness. */
export type ReadinessCheck = {
  /** Shown to anyone as the reason, such as `store unreachable`. */
  readonly reason: string
  /** Resolves if all is well; rejects, or takes too long, if not. Its error is not shown. */
  readonly check: () => Promise<unknown>
}

/** The answer to `GET /ready`. */
export type ReadinessReport = {
  /** Balancers and Kubernetes read nothing else. */
  readonly httpStatus: 200 | 503
  readonly body: { readonly status: 'ready' | 'not ready'; readonly reasons: readonly string[] }
}

/** Decides whether a gateway is ready. */
export type Readiness = {
  /** Is not ready from now on: the process is about to end. */
  drain(): void
  readonly isDraining: () => boolean
  report(): Promise<ReadinessReport>
}

export type ReadinessOptions = {
  readonly checks: readonly ReadinessCheck[]
  /** Milliseconds that a check may take. Default: 2,000. */
  readonly timeoutMs?: number
  /** Milliseconds for which a result is reused, so that strangers cannot make the gateway ask the store. Default: 1,000. */
  readonly reuseMs?: number
}

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
