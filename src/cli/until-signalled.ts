// Keeps a gateway running until a signal ends it: gently at the first, at once at the second. SIGHUP reloads what is read from
// files, as service managers expect, unless the process has a terminal: there it means that the terminal is gone.
import { isatty } from 'node:tty'

/** Below the 30 s that service managers usually grant. */
export const DRAIN_MS = 25_000

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
  const first = await nextSignal(ending)
  const second = nextSignal(ending)
  await Promise.race([service.drain(first !== 'SIGTERM'), second.then(() => service.close())])
  process.off('SIGHUP', reload)
}

function nextSignal<Signal extends NodeJS.Signals>(signals: readonly Signal[]): Promise<Signal> {
  return new Promise((resolve) => {
    const heard = (signal: NodeJS.Signals) => {
      for (const one of signals) process.off(one, heard)
      resolve(signal as Signal)
    }
    for (const one of signals) process.on(one, heard)
  })
}
