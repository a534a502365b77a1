// Makes names and URIs of many servers unique for one client, and translates them back.

import { listedNames } from '../../core/tools/index.ts'
import type { Fields } from '../../lib/index.ts'
import type { CallOutput } from '../types.ts'

/** Maps URIs of servers to those that clients see, and back. */
export type Addresses = {
  /** Prefixes a URI with its server: `github+repo://x`, or `ui://github+x` for a page of an MCP App. */
  readonly uri: (server: string, uri: string) => string
  /** Returns the server and its own URI; undefined if the URI names no server. */
  readonly uriBack: (uri: string) => { readonly server: string; readonly uri: string } | undefined
}

/** Creates the addresses of the servers that there are at each time. A URI of one that is gone leads to no other one. */
export function createAddresses(servers: () => readonly string[]): Addresses {
  const owners = new Map<string, string>()
  const learn = () => {
    for (const server of servers()) owners.set(schemeOf(server), server)
  }
  learn()
  return {
    uri(server, uri) {
      const { start, rest } = split(uri)
      return `${start}${schemeOf(server)}+${rest}`
    },
    uriBack(uri) {
      learn()
      const { start, rest } = split(uri)
      const end = rest.indexOf('+')
      const server = end > 0 ? owners.get(rest.slice(0, end)) : undefined
      return server === undefined ? undefined : { server, uri: start + rest.slice(end + 1) }
    },
  }
}

/**
 * Returns a server's part of its URIs: different for different servers, as a server's name has neither `.` nor `__`. A
 * scheme is without case and `_`, and begins with a letter.
 */
function schemeOf(server: string): string {
  const plain = server.toLowerCase().replaceAll('_', '.')
  return /^[a-z]/.test(plain) ? plain : `s..${plain}`
}

/** Clients of MCP Apps recognise a page by the `ui://` at the start of its URI, so it must stay in front. */
const APP = 'ui://'

function split(uri: string): { start: string; rest: string } {
  return uri.startsWith(APP) ? { start: APP, rest: uri.slice(APP.length) } : { start: '', rest: uri }
}

/** Names entries `<server>__<prompt>`. If a server lists one twice, the first is used. */
export function nameAll<Item extends { readonly server: string; readonly own: string }>(
  items: readonly Item[],
): Map<string, Item> {
  const keyed = new Map(
    items.map((item) => [JSON.stringify([item.server, item.own]), item] as const).reverse(),
  )
  const listed = [...keyed.values()].reverse()
  const names = listedNames(listed)
  return new Map(listed.map((item, index) => [names[index] ?? item.own, item]))
}

/** Rewrites the URIs in a result so that the client can read them through the gateway. */
export function addressOutput(output: CallOutput, server: string, { uri }: Addresses): CallOutput {
  return addressMeta(
    { ...output, content: output.content.map((block) => addressBlock(block, server, uri)) },
    server,
    uri,
  )
}

/** Fields of `_meta` that name the page for a tool's results. */
export const PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate']

/** Rewrites the page URI of a tool or a result, so that it is read from its own server. */
export function addressMeta<Holder extends { readonly _meta?: unknown }>(
  holder: Holder,
  server: string,
  uri: Addresses['uri'],
): Holder {
  const meta = holder._meta as Fields | null | undefined
  if (typeof meta !== 'object' || meta === null) return holder
  const changed: { [key: string]: unknown } = {}
  for (const key of PAGE_KEYS) if (typeof meta[key] === 'string') changed[key] = uri(server, meta[key])
  const page = (meta.ui as Fields | null | undefined)?.resourceUri
  if (typeof page === 'string') changed.ui = { ...(meta.ui as Fields), resourceUri: uri(server, page) }
  return Object.keys(changed).length > 0 ? { ...holder, _meta: { ...meta, ...changed } } : holder
}

/** Rewrites the URI in a content block. */
export function addressBlock<Block>(block: Block, server: string, uri: Addresses['uri']): Block {
  if (typeof block !== 'object' || block === null) return block
  const { type, uri: link, resource } = block as Fields
  if (type === 'resource_link' && typeof link === 'string') return { ...block, uri: uri(server, link) }
  const own = (resource as Fields | undefined)?.uri
  if (type === 'resource' && typeof own === 'string')
    return { ...block, resource: { ...(resource as Fields), uri: uri(server, own) } }
  return block
}
