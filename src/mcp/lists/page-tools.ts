// Manages tools that the pages of MCP Apps call: hidden from the model, listed to clients that show pages, and callable
// by their own names from a page that the client has read.

import type { Fields } from '../../lib/index.ts'
import { isForPages } from '../protocol/index.ts'
import type { ListedTool, McpHost } from '../types.ts'
import { type Addresses, addressMeta, nameAll } from './addresses.ts'
import { listableTool } from './listable.ts'

/** The tools that pages may call. */
export type PageTools = {
  /** Returns the tools that only pages may call, for clients that show pages. */
  list(): Fields[]
  /** Changes when the list changes. */
  version(): string
  /** Records that the client has read a page of this server. */
  read(client: object, server: string): void
  /**
   * Finds the tool of a call: by the gateway's name for it, or by its own name if the client has read a page of its
   * server.
   */
  find(name: string, client: object | undefined): PageTool | undefined
}

/** A tool and its server. */
export type PageTool = { readonly server: string; readonly tool: string }

const MAX_LISTED = 200
const MAX_CHARACTERS = 500_000

/** Creates the page tools of a host. */
export function createPageTools(host: McpHost, addresses: Addresses): PageTools {
  /** The servers whose pages each client has read. */
  const readBy = new WeakMap<object, Set<string>>()

  /** Returns tools for pages under unique names, so that no server can answer for another one. */
  const hidden = () => {
    const tools = host
      .status()
      .filter(({ state }) => state !== 'disabled')
      .flatMap(({ name: server, pageTools }) => pageTools.map((tool) => ({ server, own: tool.name, tool })))
    return [...nameAll(tools)].map(([name, { server, tool }]) => ({ name, server, tool }))
  }

  function listed(): { readonly name: string; readonly server: string; readonly tool: ListedTool }[] {
    let size = 0
    return hidden()
      .slice(0, MAX_LISTED)
      .filter(({ tool }) => {
        size += JSON.stringify(tool).length
        return size <= MAX_CHARACTERS
      })
  }

  return {
    list: () =>
      listed().map(({ name, server, tool }) => {
        const { execution: _, ...own } = listableTool(tool)
        return addressMeta<Fields>({ ...own, name }, server, addresses.uri)
      }),
    version: () => JSON.stringify(listed()),
    read(client, server) {
      readBy.set(client, (readBy.get(client) ?? new Set()).add(server))
    },
    find(name, client) {
      const ours = hidden().find((one) => one.name === name)
      if (ours) return { server: ours.server, tool: ours.tool.name }
      const servers = client ? readBy.get(client) : undefined
      if (!servers) return undefined
      const owners = host
        .status()
        .filter(
          ({ name: server, state, tools, pageTools }) =>
            servers.has(server) &&
            state !== 'disabled' &&
            [...tools, ...pageTools].some((tool) => tool.name === name && isForPages(tool)),
        )
      if (owners.length > 1)
        throw new Error(
          `several pages are open whose servers have a tool "${name}": ${owners.map((one) => one.name).join(', ')}; call it as "<server>__${name}"`,
        )
      return owners[0] && { server: owners[0].name, tool: name }
    },
  }
}
