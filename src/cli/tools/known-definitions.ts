// Collects the definitions of servers for commands that only count them: from the cache, or by starting a server once.
import { createPureShelf, type Tool } from '../../core/index.ts'
import { createMcpHost, refuseMarks, toShelvedTool } from '../../mcp/host/index.ts'
import type { ServerConfig, ServerStatus } from '../../mcp/index.ts'
import { printableLine } from '../../terminal/index.ts'
import { CommandError, type Terminal } from '../command.ts'
import { withStoredLogins } from '../servers/index.ts'
import { version } from '../version.ts'

const MAX_WAIT_MS = 60_000

/** The definitions of all servers that could be listed. */
export type KnownDefinitions = {
  readonly tools: readonly Tool[]
  readonly servers: { readonly [name: string]: { readonly alwaysLoad?: boolean } }
}

/**
 * Collects definitions. Starts only servers that are not in the cache; `isFresh` starts all. Reports servers that
 * cannot be listed.
 */
export async function knownDefinitions(
  servers: readonly ServerConfig[],
  terminal: Terminal,
  { isFresh }: { readonly isFresh: boolean },
): Promise<KnownDefinitions> {
  const notify = (message: string) => terminal.report(printableLine(message))
  const host = createMcpHost({
    shelf: createPureShelf({}),
    // A lazy server whose definitions are cached is not started.
    servers: servers.map((server) => ({ ...server, lazy: !isFresh })),
    isCacheIgnored: isFresh,
    ...withStoredLogins(notify),
    notify: notify,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  try {
    host.start()
    await host.settled({ timeoutMs: MAX_WAIT_MS })
    const statuses = host.status()
    for (const { name, tools, state, reason } of statuses)
      if (tools.length === 0 && (state === 'failed' || state === 'pending'))
        notify(`Not counted: ${name}: ${reason ?? 'it is still starting'}`)
    const known = definitionsOf(statuses)
    if (known.tools.length === 0)
      throw new CommandError('no server lists any tools. Run "toolshelf doctor" to see their state.')
    return known
  } finally {
    await host.close()
  }
}

function definitionsOf(statuses: readonly ServerStatus[]): KnownDefinitions {
  const refusals = refuseMarks(statuses)
  const isRefused = (server: string, tool: string) => refusals.get(server)?.tools.has(tool) ?? false
  return {
    tools: statuses.flatMap(({ name, config, tools }) =>
      tools.map((listed) => toShelvedTool(listed, config, isRefused(name, listed.name))),
    ),
    servers: Object.fromEntries(
      statuses.map(({ name, config: { alwaysLoad } }) => [
        name,
        alwaysLoad === undefined ? {} : { alwaysLoad },
      ]),
    ),
  }
}
