// Reports which servers a command waits for, if they take more than a moment.
import type { McpHost } from '../../mcp/index.ts'

/** Milliseconds. */
const SOON = 1500

/** Names the servers that are still starting after a moment; the returned function cancels it. */
export function reportWaiting(host: McpHost, notify: (message: string) => void): () => void {
  const timer = setTimeout(() => {
    const names = startingServers(host)
    if (names !== '') notify(`waiting for the server ${names} …`)
  }, SOON)
  return () => clearTimeout(timer)
}

/** The names of the servers that are still starting, quoted; empty if there are none. */
export function startingServers(host: McpHost): string {
  const pending = host.status().filter(({ state }) => state === 'pending')
  return pending.map(({ name }) => `"${name}"`).join(', ')
}
