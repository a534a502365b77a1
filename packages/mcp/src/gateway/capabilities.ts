// Reads what a client can do for the servers behind the gateway: declared once per connection, or with each request.
import { CLIENT_CAPABILITIES_META_KEY, type Server } from '@modelcontextprotocol/server'
import type { Fields } from '@toolshelf/core/internal'
import { PAGES, passableExtensions } from '../greeting/greeting.ts'

const NEEDED: { readonly [method: string]: string } = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** Returns the capabilities to forward to servers: what they may request, and the extensions that pass through. */
export function capabilitiesOf(server: Server, envelope?: Fields): Fields {
  const given = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}) as Fields
  const asked = new Set(Object.values(NEEDED))
  const extensions = passableExtensions(given.extensions)
  return {
    ...Object.fromEntries(Object.entries(given).filter(([name]) => asked.has(name))),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  }
}

/** Returns whether the client renders MCP App pages. */
export function showsPages({ extensions }: Fields): boolean {
  return ((extensions ?? {}) as Fields)[PAGES] !== undefined
}

/** Returns whether the client can answer requests of this method. */
export function canAnswer(capabilities: Fields, method: string): boolean {
  const needed = NEEDED[method]
  return needed !== undefined && capabilities[needed] !== undefined
}
