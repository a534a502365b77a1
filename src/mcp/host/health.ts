// Pings an inactive server to check that it still answers. Only in the older protocol: the newer one has no ping.
import type { ServerSession } from '../session/index.ts'
import type { HostTimeouts } from './timers.ts'

export type HealthOptions = {
  readonly session: ServerSession
  readonly times: HostTimeouts
  readonly later: (task: () => unknown, milliseconds: number) => unknown
  /** A call is running: its own timeout detects a dead server. */
  readonly isBusy: () => boolean
  readonly isOver: () => boolean
  readonly onSilence: () => void
}

const MAX_MISSES = 2

export function watchHealth({ session, times, later, isBusy, isOver, onSilence }: HealthOptions): void {
  if (!session.isLegacy) return
  let misses = 0
  const look = async () => {
    if (isOver()) return
    if (!isBusy()) misses = (await answers()) ? 0 : misses + 1
    if (isOver()) return
    if (misses < MAX_MISSES) {
      later(look, times.healthIntervalMs)
      return
    }
    await session.close()
    onSilence()
  }
  const answers = () =>
    session.request('ping', undefined, { timeout: times.pingTimeoutMs }).then(
      () => true,
      (error: Error) => !/did not answer/.test(error.message),
    )
  later(look, times.healthIntervalMs)
}
