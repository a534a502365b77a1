// Shows the operator the servers' warnings and errors that belong to no client.
import { oneLine } from '@toolshelf/core/internal'
import type { McpHost } from '../types.ts'
import type { LogEvent } from './updates.ts'

const TOLD: ReadonlySet<string> = new Set(['warning', 'error', 'critical', 'alert', 'emergency'])
/** Messages per server. */
const MAX_PER_MINUTE = 10
const MINUTE_MS = 60_000

/** Reports the servers' warnings and errors that go to no client, a few per minute, until the returned function is called. */
export function reportToOperator(
  host: McpHost,
  isForOperator: (event: LogEvent) => boolean,
  notify: (message: string) => void = () => {},
): () => void {
  const recent = new Map<string, number[]>()
  return host.listen((event) => {
    if (event.type !== 'log' || !TOLD.has(event.level) || !isForOperator(event)) return
    const now = Date.now()
    const times = (recent.get(event.server) ?? []).filter((at) => now - at < MINUTE_MS)
    recent.set(event.server, times)
    if (times.length >= MAX_PER_MINUTE) return
    times.push(now)
    const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
    notify(`server "${event.server}" logs (${event.level}): ${oneLine(text ?? '', 300)}`)
  })
}
