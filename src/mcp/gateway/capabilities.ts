// What a client can do for the servers behind the gateway: said once for a connection, or with each request.
import { CLIENT_CAPABILITIES_META_KEY, type Server } from '@modelcontextprotocol/server'
import { isReservedKey } from '../host/meta.ts'
import type { McpHost } from '../types.ts'

type Fields = { readonly [name: string]: unknown }

const NEEDED: { readonly [method: string]: string } = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** The MCP Apps extension: a server's pages are shown to the user. */
export const PAGES = 'io.modelcontextprotocol/ui'

/** Those that servers are told: what they may ask for, and the extensions that pass through. */
export function capabilitiesOf(server: Server, envelope?: Fields): Fields {
  const given = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}) as Fields
  const asked = new Set(Object.values(NEEDED))
  const extensions = passableExtensions(given.extensions)
  return {
    ...Object.fromEntries(Object.entries(given).filter(([name]) => asked.has(name))),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  }
}

/** The client shows pages. */
export function showsPages({ extensions }: Fields): boolean {
  return ((extensions ?? {}) as Fields)[PAGES] !== undefined
}

/** What servers declare besides what the gateway does itself; of two that declare the same the first counts. */
export function extensionsOf(host: McpHost): Fields {
  const declared = host
    .status()
    .flatMap(({ state, capabilities }) =>
      state === 'disabled' ? [] : Object.entries(passableExtensions(capabilities.extensions)),
    )
  return Object.fromEntries(declared.reverse())
}

/** Vendors' own, and pages. MCP's others need requests of their own, or are about one connection. */
function passableExtensions(extensions: unknown): Fields {
  if (typeof extensions !== 'object' || extensions === null || Array.isArray(extensions)) return {}
  const passable = Object.entries(extensions).filter(([name]) => name === PAGES || !isReservedKey(name))
  return Object.fromEntries(passable.slice(0, MOST_EXTENSIONS))
}

const MOST_EXTENSIONS = 50

export function canAnswer(capabilities: Fields, method: string): boolean {
  const needed = NEEDED[method]
  return needed !== undefined && capabilities[needed] !== undefined
}
