// Wraps the host for one user: servers and tools that their rights hide do not exist there. Everything that answers a
// client uses this view, so that no other code needs to check rights.
import { mcpName, type Pool, type Shelf } from '../../core/index.ts'
import { listedNames } from '../../core/tools/index.ts'
import type { Rights } from '../../users/index.ts'
import type { HostEvent, ListedTool, McpHost, ServerStatus } from '../types.ts'
import type { Addresses } from './addresses.ts'

/**
 * Returns the host as one user sees it.
 *
 * @param shelf - The shelf as this user sees it.
 */
export function visibleHost(host: McpHost, rights: Rights, shelf: Shelf): McpHost {
  const statusOf = createStatusView(rights)
  const status = () => host.status().flatMap((one) => (rights.seesServer(one.name) ? [statusOf(one)] : []))
  const isVisible = (name: string) => shelf.partition().pool.byName.has(name)
  const isOnShelf = (server: string, tool: string) => keysIn(shelf.partition().pool).has(`${server}/${tool}`)

  /**
   * Uses a server; rejects as the host does for one that is not configured. The host's own error would name all servers,
   * even if a visible server was only removed a moment ago.
   */
  async function using<Value>(server: string, work: () => Promise<Value>): Promise<Value> {
    const isSeen = rights.seesServer(server)
    try {
      if (isSeen) return await work()
    } catch (error) {
      if (status().some(({ name }) => name === server)) throw error
    }
    const names = status().map(({ name }) => name)
    throw new Error(`unknown server "${server}"; configured: ${names.join(', ') || 'none'}`)
  }

  return {
    ...host,
    status,
    call: (server, tool, input, options) =>
      using(server, async () => {
        const name = mcpName(server, tool, '')
        if (!isOnShelf(server, tool) && !rights.seesTool(name))
          throw new Error(`there is no tool named "${name}"`)
        return host.call(server, tool, input, options)
      }),
    request: (server, method, params, options) =>
      using(server, () => host.request(server, method, params, options)),
    async run(call, options) {
      if (isVisible(shelf.resolve(call).name)) return host.run(call, options)
      return shelf.result(call, `"${call.name}" is not a tool of an MCP server.`, { isError: true })
    },
    isReadOnly: (call) => isVisible(shelf.resolve(call).name) && host.isReadOnly(call),
    listen: (listener) =>
      host.listen((event) => {
        const visible = visibleEvent(event, rights, statusOf)
        if (visible) listener(visible)
      }),
    connect: (server) => using(server, () => host.connect(server)),
    disconnect: (server) => using(server, () => host.disconnect(server)),
    refresh: (server) => using(server, () => host.refresh(server)),
  }
}

/** Returns the addresses as one user sees them: URIs of hidden servers name no server. */
export function visibleAddresses(addresses: Addresses, rights: Rights): Addresses {
  return {
    ...addresses,
    uriBack(uri) {
      const owner = addresses.uriBack(uri)
      return owner && rights.seesServer(owner.server) ? owner : undefined
    },
  }
}

/** Returns a function that removes the hidden tools from a status. Lists without any stay the same objects. */
function createStatusView(rights: Rights): (status: ServerStatus) => ServerStatus {
  const lists = new WeakMap<readonly ListedTool[], readonly ListedTool[]>()

  function visible(server: string, tools: readonly ListedTool[]): readonly ListedTool[] {
    let shown = lists.get(tools)
    if (!shown) {
      const names = listedNames(tools.map(({ name: own }) => ({ server, own })))
      shown = tools.filter((_, index) => rights.seesTool(names[index] ?? ''))
      if (shown.length === tools.length) shown = tools
      lists.set(tools, shown)
    }
    return shown
  }

  return (status) => {
    const { name } = status
    const sees = (tool: string) => rights.seesTool(mcpName(name, tool, ''))
    return {
      ...status,
      tools: visible(name, status.tools),
      pageTools: visible(name, status.pageTools),
      hidden: status.hidden.filter(sees),
      held: status.held.filter(sees),
      problems: status.problems.filter(({ tool }) => sees(tool)),
    }
  }
}

function visibleEvent(
  event: HostEvent,
  rights: Rights,
  statusOf: (status: ServerStatus) => ServerStatus,
): HostEvent | undefined {
  if (event.type === 'servers') return event
  if (!rights.seesServer(event.server)) return undefined
  if (event.type === 'state' || event.type === 'tools') return { ...event, status: statusOf(event.status) }
  if (event.type !== 'pins' || event.kind !== 'tool') return event
  const names = event.names.filter((name) => rights.seesTool(mcpName(event.server, name, '')))
  return names.length > 0 || event.names.length === 0 ? { ...event, names } : undefined
}

const keys = new WeakMap<Pool, ReadonlySet<string>>()

/** Returns the tools by their names on their servers; computed once per pool. */
function keysIn(pool: Pool): ReadonlySet<string> {
  const known = keys.get(pool) ?? new Set(pool.tools.map(({ server, original }) => `${server}/${original}`))
  keys.set(pool, known)
  return known
}
