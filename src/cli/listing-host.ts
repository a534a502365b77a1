// Starts servers once to list what they have. The gateway finds it in the cache, and its first search knows all of them.
import { createShelf } from '../core/index.ts'
import { createMcpHost, type McpHostOptions } from '../mcp/host/index.ts'
import type { McpHost, ServerConfig } from '../mcp/index.ts'
import { storedLogins } from './logins.ts'
import { version } from './version.ts'

const HOUR = 3_600_000
/** A server that failed is not tried again while the others start. */
const ONE_ATTEMPT = { firstRetry: HOUR, longestRetry: HOUR }
/** Milliseconds for prompts and resources, once the tools are there. */
const LONGEST_LISTING = 5000

export type ListingOptions = Required<Pick<McpHostOptions, 'notify'>> &
  Pick<McpHostOptions, 'concurrency' | 'pins'>

/** Reads nothing from the cache: what servers say now is what counts. */
export function createListingHost(servers: readonly ServerConfig[], options: ListingOptions): McpHost {
  const host = createMcpHost({
    ...options,
    shelf: createShelf({}),
    servers,
    isCacheIgnored: true,
    authorize: storedLogins(options.notify),
    clientInfo: { name: 'toolshelf', version: version() },
    times: ONE_ATTEMPT,
  })
  host.watchLists()
  return host
}

/** Lazy servers too, and within a time that the person may give. */
export function toStart(server: ServerConfig, timeout: number | undefined): ServerConfig {
  return { ...server, lazy: false, connectTimeout: timeout ?? server.connectTimeout }
}

/** Resolves when each server has failed or has listed what it has. */
export async function listAll(host: McpHost): Promise<void> {
  host.start()
  await host.settled()
  await host.freshen({ timeout: LONGEST_LISTING })
}
