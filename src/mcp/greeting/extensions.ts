// Lists the protocol extensions that pass through the gateway, in both directions.
import type { Fields } from '../../lib/index.ts'
import { isReservedKey } from '../protocol/index.ts'
import type { KnownServer } from '../types.ts'

/** The MCP Apps extension, with which servers show pages to the user. */
export const PAGES = 'io.modelcontextprotocol/ui'

/** Merges the extensions that servers declare; if two declare the same one, the first wins. */
export function extensionsOf(servers: readonly KnownServer[]): Fields {
  const declared = servers.flatMap(({ state, capabilities }) =>
    state === 'disabled' ? [] : Object.entries(passableExtensions(capabilities.extensions)),
  )
  return Object.fromEntries(declared.reverse())
}

/**
 * Returns vendor extensions and MCP Apps. Other MCP extensions define requests of their own or concern a single
 * connection.
 */
export function passableExtensions(extensions: unknown): Fields {
  if (typeof extensions !== 'object' || extensions === null || Array.isArray(extensions)) return {}
  const passable = Object.entries(extensions).filter(([name]) => name === PAGES || !isReservedKey(name))
  return Object.fromEntries(passable.slice(0, MAX_EXTENSIONS))
}

const MAX_EXTENSIONS = 50
