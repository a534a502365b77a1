// Creates the host and the gateway of `toolshelf mcp`; loaded after the client has got its first response.
import { setTimeout as sleep } from 'node:timers/promises'
import { createShelf } from '../core/index.ts'
import type { DefinitionCache } from '../mcp/cache/index.ts'
import type { Config } from '../mcp/config/index.ts'
import type { McpGateway } from '../mcp/gateway/index.ts'
import { shelfOptions } from '../mcp/gateway/index.ts'
import type { ListingMode } from '../mcp/greeting/index.ts'
import { createMcpHost } from '../mcp/host/index.ts'
import type { McpHost, QuestionHandler } from '../mcp/index.ts'
import { defaultPinsFolder, openPins } from '../mcp/pins/index.ts'
import { startTimer } from '../node/index.ts'
import type { RankerName } from '../rankers/index.ts'
import { storedLogins } from './logins.ts'
import { tellOfServers } from './notices.ts'
import { version } from './version.ts'

export type OpenedHost = {
  readonly host: McpHost
  /** The gateway in front of the host; its modules are loaded now. */
  gateway(): Promise<McpGateway>
}

export type HostOptions = {
  readonly mode: ListingMode | 'auto'
  readonly ranker: RankerName
  readonly cache: DefinitionCache
  /** Reports to the operator. */
  readonly tell: (message: string) => void
}

export function openHost(
  { servers, settings }: Config,
  { mode, ranker, cache, tell }: HostOptions,
): OpenedHost {
  const { shelf, ready, warm } = openShelf(ranker, tell)
  const folder = defaultPinsFolder()
  let asker: QuestionHandler | undefined
  const host = createMcpHost({
    shelf,
    servers,
    cache,
    concurrency: settings.concurrency,
    onChange: settings.onChange,
    ...(folder ? { pins: openPins({ folder, notify: tell }) } : {}),
    authorize: storedLogins(tell),
    asker: {
      get client() {
        return asker?.client
      },
      ask: async (...question) => {
        if (!asker) throw new Error('no client is connected')
        return asker.ask(...question)
      },
    },
    notify: tell,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  tellOfServers(host, tell)
  void host
    .settled()
    .then(() => sleep(FIRST_MOMENTS, undefined, { ref: false }))
    .then(warm)
    .catch((error: Error) => tell(error.message))
  const { instructions } = settings
  async function gateway(): Promise<McpGateway> {
    const { createMcpGateway } = await import('../mcp/gateway/gateway.ts')
    const makeHost = (given: QuestionHandler) => {
      asker = given
      return host
    }
    return createMcpGateway({ shelf, mode, ready, version: version(), instructions, notify: tell, makeHost })
  }
  return { host, gateway }
}

/** Milliseconds reserved for the client's first requests: with lazy servers, the host settles before them. */
const FIRST_MOMENTS = 1000

const searching = () => import('../rankers/rankers.ts')
const validating = () => import('../validate/validate.ts')

/** Like the package's own shelf, but code that only searches and calls need is loaded later. */
function openShelf(ranker: RankerName, notify: (message: string) => void) {
  let validator: Awaited<ReturnType<typeof validating>> | undefined
  const shelf = createShelf({
    ...shelfOptions,
    notify,
    timer: startTimer,
    rank: async (tools, query, limit) => (await searching()).rankers[ranker](tools, query, limit),
    validate: (schema, input) => validator?.validateInput(schema, input) ?? [],
  })
  const ready = async () => {
    validator ??= await validating()
  }
  /** Runs while idle. The encoder, if it was asked for, is heavy, and is loaded only for an actual search. */
  const warm = async () => {
    await ready()
    await (await searching()).rankers.hybrid(shelf.partition().deferred, 'tools', 1)
  }
  return { shelf, ready, warm }
}
