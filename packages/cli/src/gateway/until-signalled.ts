// Keeps a gateway running until a signal ends it: the first one drains it, the second ends it at once. SIGHUP reloads
// configuration, certificates and users, as service managers expect, unless the process has a terminal, where it
// means that the terminal was closed.
import { isatty } from 'node:tty'

/** Time to finish requests: less than the 30 s that service managers usually grant. */
export const DRAIN_MS = 25_000

/** A gateway, as signals control it. */
type RunningService = {
  /** Reads configuration, certificates and users again. */
  reload(): Promise<void>
  /**
   * Finishes running requests, then ends.
   * @param isUrgent - A person waits at the terminal, so skip the delay for load balancers.
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

/** Waits for the next of these signals; `stop` gives up. Removes its listeners after the first signal. */
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
