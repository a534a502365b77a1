// Ctrl-C for commands without a session of their own: the first stops what runs, the second ends at once.

/** Answers with what takes it back. */
export function onInterrupt(stop: AbortController): () => void {
  const interrupt = () => (stop.signal.aborted ? process.exit(130) : stop.abort())
  process.on('SIGINT', interrupt)
  return () => process.off('SIGINT', interrupt)
}
