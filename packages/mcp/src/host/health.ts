// Pings an inactive server to check that it still answers. Only in the older protocol: the newer one has no ping.
// Implements H6.
import type { ServerSession } from '../session/session.ts'
import { isSilence } from '../session/silence.ts'
import type { HostTimeouts } from './timers.ts'

type HealthOptions = {
  readonly session: ServerSession
  readonly times: HostTimeouts
  readonly later: (task: () => unknown, milliseconds: number) => unknown
  /** Returns whether a call is running, whose own timeout detects a dead server. */
  readonly isBusy: () => boolean
  readonly isOver: () => boolean
  readonly onSilence: () => void
}

const MAX_MISSES = 2

/** Pings the server regularly until the session is over. */
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
    session.request('ping', undefined, { timeoutMs: times.pingTimeoutMs }).then(
      () => true,
      (error: unknown) => !isSilence(error),
    )
  later(look, times.healthIntervalMs)
}
