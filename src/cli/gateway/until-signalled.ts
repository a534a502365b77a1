// Keeps a gateway running until a signal ends it: gently at the first, at once at the second. SIGHUP reloads what is read from
// files, as service managers expect, unless the process has a terminal: there it means that the terminal is gone.
import { isatty } from 'node:tty'

/** Time to finish requests: less than the 30 s that service managers usually grant. */
export const DRAIN_MS = 25_000

/** A gateway, as signals control it. */
export type RunningService = {
  /** Reads configuration, certificates and users again. */
  reload(): Promise<void>
  /**
   * Ends gently.
   * @param isUrgent - A person waits at the terminal, so that balancers get no time to notice.
   */
  drain(isUrgent: boolean): Promise<void>
  /** Ends at once. */
  close(): Promise<void>
}

/** Resolves when the service has ended. */
export async function untilSignalled(
  service: RunningService,
  { hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor)) } = {},
): Promise<void> {
  const reload = () => void service.reload()
  if (!hasTerminal) process.on('SIGHUP', reload)
  const ending = hasTerminal ? (['SIGINT', 'SIGTERM', 'SIGHUP'] as const) : (['SIGINT', 'SIGTERM'] as const)
  const first = await nextSignal(ending).heard
  const second = nextSignal(ending)
  await Promise.race([service.drain(first !== 'SIGTERM'), second.heard.then(() => service.close())])
  second.stop()
  process.off('SIGHUP', reload)
}

/** Waits for the next of these signals, until it is stopped. Listens no longer once it has heard one. */
export function nextSignal(signals: readonly NodeJS.Signals[]) {
  let stop = () => {}
  const heard = new Promise<NodeJS.Signals>((resolve) => {
    const hear = (signal: NodeJS.Signals) => {
      stop()
      resolve(signal)
    }
    stop = () => {
      for (const one of signals) process.off(one, hear)
    }
    for (const one of signals) process.on(one, hear)
  })
  return { heard, stop: () => stop() }
}
