// Starts the servers of a configuration and lists their tools, for commands that only inspect them.
import { createPureShelf, type Tool } from '../../core/index.ts'
import { readConfig, thisMachine, userConfigFiles } from '../../mcp/config/index.ts'
import { createMcpHost } from '../../mcp/host/index.ts'
import type { ServerConfig } from '../../mcp/index.ts'
import { printable } from '../../terminal/index.ts'
import { CommandError, type Terminal } from '../command.ts'
import { movedServersAdvice, reportWaiting, toStart, withStoredLogins } from '../servers/index.ts'
import { version } from '../version.ts'
import { toolsOf } from './catalogue.ts'

/** How long to wait for the servers if the user passes no timeout. */
export const MAX_WAIT_SECONDS = 60

/**
 * Starts the servers and lists their tools; reports those that fail or take longer than `timeout` milliseconds.
 */
export async function listServerTools(
  named: readonly string[] | undefined,
  timeout: number | undefined,
  terminal: Terminal,
): Promise<Tool[]> {
  const notify = (message: string) => terminal.report(printable(message))
  const wait = timeout ?? MAX_WAIT_SECONDS * 1000
  const servers = await readServers(named, notify)
  const host = createMcpHost({
    shelf: createPureShelf({}),
    servers: servers.map((server) => toStart(server, timeout)),
    ...withStoredLogins(notify),
    notify,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  try {
    host.start()
    const stop = reportWaiting(host, notify)
    await host.settled({ timeoutMs: wait }).finally(stop)
    const statuses = host.status()
    for (const { name, state, reason } of statuses)
      if (state !== 'connected' && state !== 'disabled')
        notify(
          `Not searched: ${name}: ${reason ?? `no answer within ${wait / 1000} s; --timeout gives it longer`}`,
        )
    const tools = toolsOf(statuses)
    if (tools.length === 0)
      throw new CommandError('no server lists any tools. Run "toolshelf doctor" to see their state.')
    return tools
  } finally {
    await host.close()
  }
}

async function readServers(
  named: readonly string[] | undefined,
  notify: (message: string) => void,
): Promise<readonly ServerConfig[]> {
  const files = named ?? userConfigFiles(thisMachine())
  const { servers, problems } = await readConfig(files)
  const moved = named && servers.length === 0 ? await movedServersAdvice(problems, thisMachine()) : undefined
  if (moved !== undefined) throw new CommandError(moved)
  for (const { file, server, message } of problems)
    notify(`${file}${server ? `, server "${server}"` : ''}: ${message}`)
  if (servers.length > 0) return servers
  throw new CommandError(
    `no MCP server is configured in ${files.join(', ')}. Pass a configuration with --config or a file of tools with --catalog, or run "toolshelf connect --apply" to take over the servers of your clients, or "toolshelf add" to add one.`,
  )
}
