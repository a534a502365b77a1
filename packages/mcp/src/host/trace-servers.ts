// Reports the states of servers and changes of their definitions as events.
import type { TraceListener } from '@toolshelf/core'
import type { McpHost, ServerStatus } from '../types.ts'

/** Passes what happens to the host's servers to `trace` until the returned function is called. */
export function traceServers(host: McpHost, trace: TraceListener): () => void {
  const reported = new Map<string, string>()
  const report = (server: string, { state, reason, tools, startMilliseconds }: ServerStatus) => {
    const now = `${state} ${tools.length} ${reason ?? ''}`
    if (reported.get(server) === now) return
    reported.set(server, now)
    trace({ type: 'server', server, state, reason, tools: tools.length, startMilliseconds })
  }
  return host.listen((event) => {
    if (event.type === 'state' || event.type === 'tools') report(event.server, event.status)
    if (event.type === 'pins') trace(event)
    if (event.type !== 'servers') return
    const names = new Set(host.status().map(({ name }) => name))
    for (const name of reported.keys()) if (!names.has(name)) reported.delete(name)
  })
}
