// Tracks the log level that each client wants. Sets servers to the lowest of them.
import type { McpHost } from '../types.ts'

export type LogLevels = ReturnType<typeof createLogLevels>

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const INFO = LEVELS.indexOf('info')

/** Creates the levels of a gateway's clients. */
export function createLogLevels(host: McpHost) {
  const wishes = new Map<object, number>()
  /** The level sent to each server since it connected. */
  const sentLevels = new Map<string, number>()
  let isWished = false

  const stop = host.listen((event) => {
    if (event.type !== 'state') return
    if (event.status.state === 'connected') notify()
    else sentLevels.delete(event.server)
  })

  function notify(): void {
    if (!isWished || wishes.size === 0) return
    const lowest = Math.min(...wishes.values())
    for (const { name, state, capabilities } of host.status()) {
      if (state !== 'connected' || !capabilities.logging || sentLevels.get(name) === lowest) continue
      sentLevels.set(name, lowest)
      host.request(name, 'logging/setLevel', { level: LEVELS[lowest] }).catch(() => {}) // The server may not support it.
    }
  }

  return {
    /** Adds a client; until it sets a level it gets `info` and above. */
    join: (client: object) => void wishes.set(client, INFO),
    set(client: object, level: string) {
      isWished = true
      wishes.set(client, LEVELS.indexOf(level))
      notify()
    },
    isWanted: (client: object, level: string) => LEVELS.indexOf(level) >= (wishes.get(client) ?? INFO),
    leave(client: object) {
      wishes.delete(client)
      notify()
    },
    close: stop,
  }
}
