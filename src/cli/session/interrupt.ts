// Handles Ctrl-C and termination signals for commands that need to clean up: the first signal stops, the second exits.
import { isatty } from 'node:tty'

/** Without a terminal SIGHUP gets no handler: one would undo `nohup`. */
const signals = (): NodeJS.Signals[] => [
  'SIGINT',
  'SIGTERM',
  ...([0, 1, 2].some(isatty) ? ['SIGHUP' as const] : []),
]

/** Handles signals; returns a function that removes the handlers. */
export function onInterrupt(stop: AbortController): () => void {
  const heard = signals()
  const forget = () => {
    for (const signal of heard) process.off(signal, interrupt)
  }
  const interrupt = () => {
    if (!stop.signal.aborted) return stop.abort()
    // A third signal kills the process even if a blocking read delays the exit.
    forget()
    process.exit(130)
  }
  for (const signal of heard) process.on(signal, interrupt)
  return forget
}
