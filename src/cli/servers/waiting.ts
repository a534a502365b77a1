// Reports which servers a command waits for, if they take longer than 1.5 seconds.
import type { McpHost } from '../../mcp/index.ts'

const SOON_MS = 1500

/** Reports the servers that are still starting after 1.5 seconds; the returned function cancels the report. */
export function reportWaiting(host: McpHost, notify: (message: string) => void): () => void {
  const timer = setTimeout(() => {
    const starting = startingServers(host)
    if (starting) notify(`waiting for ${starting.named} …`)
  }, SOON_MS)
  return () => clearTimeout(timer)
}

/** Returns the servers that are still starting, for a sentence; undefined if there are none. */
export function startingServers(
  host: McpHost,
): { readonly named: string; readonly verb: 'is' | 'are' } | undefined {
  const names = host.status().flatMap(({ name, state }) => (state === 'pending' ? [`"${name}"`] : []))
  if (names.length === 0) return undefined
  if (names.length === 1) return { named: `the server ${names[0]}`, verb: 'is' }
  return { named: `the servers ${names.join(', ')}`, verb: 'are' }
}
