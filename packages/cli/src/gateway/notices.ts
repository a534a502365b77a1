// Shows the operator what happens to the servers, each event once.
import type { McpHost, ServerStatus } from '@toolshelf/mcp'
import { idleRules } from '@toolshelf/mcp/internal'

/** Reports failed servers, and rules that match no tool. */
export function reportServerChanges(host: McpHost, notify: (message: string) => void): void {
  const failures = new Map<string, string | undefined>()
  const rules = new Set<string>()

  /** Reports each failure once, not each attempt. */
  function reportFailure({ name, state, reason }: ServerStatus): void {
    if (state === 'failed' && failures.get(name) !== reason) notify(`server "${name}" failed: ${reason}`)
    if (state === 'failed' || state === 'connected') failures.set(name, reason)
  }

  function reportIdleRules(status: ServerStatus): void {
    for (const rule of idleRules(status)) {
      const message = `server "${status.name}": no tool matches the rule ${rule}`
      if (!rules.has(message)) notify(message)
      rules.add(message)
    }
  }

  host.listen((event) => {
    if (event.type === 'state') reportFailure(event.status)
    if (event.type === 'state' || event.type === 'tools') reportIdleRules(event.status)
  })
}
