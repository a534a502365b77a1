// Names and URIs of many servers in one client, and the exact way back.
import { mcpName } from '../../core/index.ts'
import { clashName } from '../../core/tools/names.ts'
import type { CallOutput } from '../types.ts'

export type Addresses = {
  /** `github+repo://x`: a URI that says which server's it is. */
  readonly uri: (server: string, uri: string) => string
  /** The server and its own URI; undefined when no server is named in it. */
  readonly uriBack: (uri: string) => { readonly server: string; readonly uri: string } | undefined
}

export function createAddresses(servers: readonly string[]): Addresses {
  const schemes = new Map<string, string>()
  const owners = new Map<string, string>()
  for (const server of servers) {
    const plain =
      server
        .toLowerCase()
        .replace(/[^a-z0-9.-]+/g, '-')
        .replace(/^[^a-z]+/, '') || 'server'
    let scheme = plain
    for (let count = 2; owners.has(scheme); count++) scheme = `${plain}-${count}`
    schemes.set(server, scheme)
    owners.set(scheme, server)
  }
  return {
    uri: (server, uri) => `${schemes.get(server)}+${uri}`,
    uriBack(uri) {
      const end = uri.indexOf('+')
      const server = end > 0 ? owners.get(uri.slice(0, end)) : undefined
      return server === undefined ? undefined : { server, uri: uri.slice(end + 1) }
    },
  }
}

/** `<server>__<prompt>`, unique among all. Of those that a server lists twice the first is taken. */
export function nameAll<Item extends { readonly server: string; readonly own: string }>(
  items: readonly Item[],
): Map<string, Item> {
  const named = new Map<string, Item>()
  const seen = new Set<string>()
  for (const item of items) {
    const key = JSON.stringify([item.server, item.own])
    if (seen.has(key)) continue
    seen.add(key)
    const plain = mcpName(item.server, item.own, '')
    const name = named.has(plain) ? clashName(item.server, item.own, '', (taken) => named.has(taken)) : plain
    named.set(name, item)
  }
  return named
}

type Fields = { readonly [name: string]: unknown }

/** Blocks whose resources the client can ask the gateway for. */
export function addressBlocks<Output extends Pick<CallOutput, 'content'>>(
  output: Output,
  server: string,
  { uri }: Addresses,
): Output {
  return { ...output, content: output.content.map((block) => addressBlock(block, server, uri)) }
}

export function addressBlock<Block>(block: Block, server: string, uri: Addresses['uri']): Block {
  const { type, uri: link, resource } = block as Fields
  if (type === 'resource_link' && typeof link === 'string') return { ...block, uri: uri(server, link) }
  const own = (resource as Fields | undefined)?.uri
  if (type === 'resource' && typeof own === 'string')
    return { ...block, resource: { ...(resource as Fields), uri: uri(server, own) } }
  return block
}
