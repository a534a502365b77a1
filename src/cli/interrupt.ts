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
  const interrupt = () => (stop.signal.aborted ? process.exit(130) : stop.abort())
  const heard = signals()
  for (const signal of heard) process.on(signal, interrupt)
  return () => {
    for (const signal of heard) process.off(signal, interrupt)
  }
}
