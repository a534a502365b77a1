// Ctrl-C, and being told to end, for every command that has something to put away: the first stops, the second ends.
import { isatty } from 'node:tty'

/** Without a terminal a hang-up is not for us: it is what `nohup` keeps away. */
const signals = (): NodeJS.Signals[] => [
  'SIGINT',
  'SIGTERM',
  ...([0, 1, 2].some(isatty) ? ['SIGHUP' as const] : []),
]

/** Answers with what takes it back. */
export function onInterrupt(stop: AbortController): () => void {
  const heard = signals()
  const forget = () => {
    for (const signal of heard) process.off(signal, interrupt)
  }
  const interrupt = () => {
    if (!stop.signal.aborted) return stop.abort()
    // A third one ends what even this does not: a read that never returns holds up an exit.
    forget()
    process.exit(130)
  }
  for (const signal of heard) process.on(signal, interrupt)
  return forget
}
