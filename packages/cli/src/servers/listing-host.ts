// Starts servers once to list their definitions and store them in the cache, so that the gateway's first search knows
// all of them.
import { createPureShelf } from '@toolshelf/core/pure'
import { createMcpHost, type McpHost, type McpHostOptions, type ServerConfig } from '@toolshelf/mcp'
import { version } from '../version.ts'
import { pinsHint, withStoredLogins } from './start.ts'

const HOUR_MS = 3_600_000
/** A server that failed is not retried while the others start. */
const ONE_ATTEMPT = { firstRetryMs: HOUR_MS, maxRetryMs: HOUR_MS }
/** Milliseconds for prompts and resources, once the tools are listed. */
const MAX_LISTING_MS = 5000

type ListingOptions = Required<Pick<McpHostOptions, 'notify'>> & Pick<McpHostOptions, 'concurrency' | 'pins'>

/** Creates a host that reads nothing from the cache: only what servers list now counts. */
export function createListingHost(servers: readonly ServerConfig[], options: ListingOptions): McpHost {
  const host = createMcpHost({
    ...options,
    shelf: createPureShelf({}),
    servers,
    isCacheIgnored: true,
    acceptHint: pinsHint,
    ...withStoredLogins(options.notify),
    clientInfo: { name: 'toolshelf', version: version() },
    times: ONE_ATTEMPT,
  })
  host.watchLists()
  return host
}

/** Returns the configuration that starts a server now, even a lazy one, with the user's timeout. */
export function toStart(server: ServerConfig, timeout: number | undefined): ServerConfig {
  return { ...server, lazy: false, connectTimeoutMs: timeout ?? server.connectTimeoutMs }
}

/** Resolves when each server has failed or has listed everything. */
export async function listAll(host: McpHost): Promise<void> {
  host.start()
  await host.settled()
  await host.refreshStaleLists({ timeoutMs: MAX_LISTING_MS })
}
