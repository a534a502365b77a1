// Tracks the log level that each client wants. Sets servers to the lowest of them.
import type { McpHost } from '../types.ts'

export type LogLevels = {
  /** Adds a client; until it sets a level it gets `info` and above. */
  join(client: object): void
  set(client: object, level: string): void
  isWanted(client: object, level: string): boolean
  leave(client: object): void
  close(): void
}

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const INFO = LEVELS.indexOf('info')

/** Creates the levels of a gateway's clients. */
export function createLogLevels(host: McpHost): LogLevels {
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
    join: (client) => void wishes.set(client, INFO),
    set(client, level) {
      isWished = true
      wishes.set(client, LEVELS.indexOf(level))
      notify()
    },
    isWanted: (client, level) => LEVELS.indexOf(level) >= (wishes.get(client) ?? INFO),
    leave(client) {
      wishes.delete(client)
      notify()
    },
    close: stop,
  }
}
