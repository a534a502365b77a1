// Reports the state of the servers in a chat, and the session that it resumes.
import type { Message } from '@toolshelf/core'
import type { McpHost, ServerStatus } from '@toolshelf/mcp'
import { wordsOf } from '../sessions.ts'
import type { Item } from './items.ts'
import { type OutputLine, withLabel } from './output-line.ts'
import { itemsOf, partsOf } from './parts.ts'

type ServerReporter = {
  /** Their current state in a few words. */
  readonly show: (text: string) => void
  readonly notify: (line: OutputLine) => void
  readonly warn: (text: string) => void
}

/** Milliseconds until the servers are reported even though some are still starting. */
const SERVERS_TIMEOUT_MS = 20_000

/**
 * Reports the servers once all have settled, each failure when it happens, and each server that disconnects or returns.
 */
export function watchServers(host: McpHost, { show, notify, warn }: ServerReporter): () => void {
  const known = new Map<string, string>()
  const reasons = new Map<string, string>()
  let wasReported = false
  const look = () => {
    show(inShort(host.status()))
    for (const status of host.status()) {
      const before = known.get(status.name)
      known.set(status.name, status.state)
      if (before !== status.state) changed(status, before === 'connected')
    }
  }
  const changed = (status: ServerStatus, wasThere: boolean) => {
    const { name, state } = status
    if (wasThere || state === 'failed') gone(status, wasThere)
    else if (state === 'connected') {
      const isBack = reasons.delete(name)
      if (isBack || wasReported) notify(`${name} is ${isBack ? 'back' : 'there'}`)
    }
  }
  /** Each attempt may fail for the same reason, which is reported once. */
  const gone = ({ name, reason = '' }: ServerStatus, wasThere: boolean) => {
    if (reasons.get(name) === reason) return
    reasons.set(name, reason)
    const why = reason === '' ? '' : `: ${reason.replace(/\.$/, '')}`
    warn(
      wasThere
        ? `${name} disconnected${why}. Its tools work again when it reconnects.`
        : `${name} failed${why}.`,
    )
  }
  const stop = host.listen(look)
  look()
  void host.settled({ timeoutMs: SERVERS_TIMEOUT_MS }).then(() => {
    look()
    wasReported = true
    notify(withLabel('Servers', inFull(host.status()), 9))
  })
  return stop
}

const isThere = ({ state, isCached }: ServerStatus) => state === 'connected' || (state === 'idle' && isCached)

function inFull(statuses: readonly ServerStatus[]): string {
  if (statuses.length === 0) return 'none; configure them in .mcp.json or with --config'
  const there = statuses.filter(isThere).map(({ name, tools }) => `${name} ${tools.length}`)
  return there.length === 0 ? 'none is connected' : `${there.join(', ')} (tools)`
}

function inShort(statuses: readonly ServerStatus[]): string {
  const count = (state: string) => statuses.filter((status) => status.state === state).length
  const parts = [
    [count('pending'), 'starting'],
    [count('failed'), 'failed'],
  ] as const
  const counts = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`)
  return counts.length === 0 ? '' : `servers: ${counts.join(', ')}`
}

/** Returns the last exchange of a resumed session. */
export function resumedItems(messages: readonly Message[]): Item[] {
  if (messages.length === 0) return []
  const at = messages.findLastIndex((message) => wordsOf(message) !== '')
  const words = at < 0 ? '' : wordsOf(messages[at] as Message)
  return [
    { kind: 'output', text: `Resumed   ${messages.length} messages; the last of them:` },
    ...(words === '' ? [] : [{ kind: 'user', text: words } as const]),
    ...itemsOf(partsOf(messages.slice(at + 1)), false),
  ]
}
