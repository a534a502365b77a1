// Which protocol extensions pass through the gateway, in both directions.
import type { Fields } from '../../lib/index.ts'
import { isReservedKey } from '../protocol/index.ts'
import type { KnownServer } from '../types.ts'

/** The MCP Apps extension: a server's pages are shown to the user. */
export const PAGES = 'io.modelcontextprotocol/ui'

/** What servers declare besides what the gateway does itself; of two that declare the same the first counts. */
export function extensionsOf(servers: readonly KnownServer[]): Fields {
  const declared = servers.flatMap(({ state, capabilities }) =>
    state === 'disabled' ? [] : Object.entries(passableExtensions(capabilities.extensions)),
  )
  return Object.fromEntries(declared.reverse())
}

/** Vendors' own, and pages. MCP's others need requests of their own, or are about one connection. */
export function passableExtensions(extensions: unknown): Fields {
  if (typeof extensions !== 'object' || extensions === null || Array.isArray(extensions)) return {}
  const passable = Object.entries(extensions).filter(([name]) => name === PAGES || !isReservedKey(name))
  return Object.fromEntries(passable.slice(0, MOST_EXTENSIONS))
}

const MOST_EXTENSIONS = 50
