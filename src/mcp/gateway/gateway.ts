// The MCP gateway: one MCP server in front of many. Each client has its own session; the servers behind are shared.

import { Server } from '@modelcontextprotocol/server'
import type { Shelf } from '../../core/index.ts'
import type { Fields } from '../../lib/index.ts'
import type { ListingMode } from '../greeting/index.ts'
import { type GreetingOptions, greetingFor } from '../greeting/index.ts'
import type { HostEvent, McpHost, QuestionHandler } from '../types.ts'
import { createAddresses } from './addresses.ts'
import { canAnswer, capabilitiesOf } from './capabilities.ts'
import { createClientSession } from './client-session.ts'
import { modeFor } from './clients.ts'
import { createExchanges } from './exchanges.ts'
import { createIdentities } from './identities.ts'
import { versionOf } from './listed-tool.ts'
import { createLoadedTools, type LoadedToolsLimits } from './loaded-tools.ts'
import { createLogLevels } from './log-levels.ts'
import { tellOperator } from './operator-log.ts'
import { createPageTools } from './page-tools.ts'
import { createRelisting } from './relisting.ts'
import { answerRequests } from './requests.ts'
import { createResourcesAndPrompts } from './resources-and-prompts.ts'
import { sendable } from './sendable.ts'
import { createSubscriptions } from './subscriptions.ts'
import { keepInformed, type LogEvent, tellChanges } from './updates.ts'
import { createUrlElicitations } from './url-elicitations.ts'

/** Options of `createMcpGateway`; also `version` and `instructions`, which clients see. */
export type McpGatewayOptions = Pick<GreetingOptions, 'version' | 'instructions'> & {
  /** Made with `shelfOptions`. */
  readonly shelf: Shelf
  /** Creates the host; the given handler answers servers that ask outside of a call. */
  readonly makeHost: (asker: QuestionHandler) => McpHost
  /** `list` adds found tools to the client's list, `bridge` calls them through `CallTool`; `auto` decides by client. */
  readonly mode?: ListingMode | 'auto'
  /** Awaited before a call, so that what the shelf needs can be loaded late. */
  readonly ready?: () => Promise<unknown>
  /** The most loaded tools on a client's list in `list` mode. */
  readonly loadedTools?: LoadedToolsLimits
  /** Reports to the operator. */
  readonly notify?: (message: string) => void
}

export type McpGateway = {
  readonly host: McpHost
  /**
   * A server for one client: of one connection, or of one request where the protocol has no connections.
   * @internal
   */
  serve(client: ClientKind): Server
  /** Stateless clients have no server to notify: this callback is notified instead. */
  readonly onChange: (listener: (event: HostEvent) => void) => () => void
  /** URIs as clients know them. */
  readonly uriFor: (server: string, uri: string) => string
  /** Returns how many clients are connected. */
  readonly clients: () => number
  close(): Promise<void>
}

export type ClientKind = {
  /** The client speaks the newer protocol, which has no sessions. */
  readonly isStateless: boolean
  /** It stays connected anyway, and can be notified of changes. */
  readonly isLasting?: boolean
  /** Where a single request comes from, if only one client can come from there. */
  readonly origin?: string
}

export function createMcpGateway(options: McpGatewayOptions): McpGateway {
  const { shelf, ready, mode: forced = 'auto' } = options
  const connected = new Set<Server>()
  const exchanges = createExchanges()
  const identities = createIdentities()
  let hadStateless = false
  const host = options.makeHost({
    ask: askTheOnly,
    get client() {
      return theOnly()
    },
  })
  const servers = () => host.status().flatMap(({ name, state }) => (state === 'disabled' ? [] : [name]))
  const addresses = createAddresses(servers())
  host.listen((event) => event.type === 'servers' && addresses.add(servers()))
  const resourcesAndPrompts = createResourcesAndPrompts(host, addresses)
  const subscriptions = createSubscriptions(host)
  const logLevels = createLogLevels(host)
  const urlElicitations = createUrlElicitations(host)
  const pageTools = createPageTools(host, addresses)

  /**
   * Outside of a call, a question can be routed only if there is a single client; a sessionless client counts even if
   * it called long ago.
   */
  function theOnly(): Server | undefined {
    const [only, ...others] = connected
    return others.length === 0 && !hadStateless ? only : undefined
  }

  /** Servers read the roots when they start; all other questions belong to a call. */
  async function askTheOnly(method: string, params: Fields): Promise<Fields> {
    const only = theOnly()
    if (method !== 'roots/list') throw new Error('questions are passed on only during a call')
    if (!only || !canAnswer(capabilitiesOf(only), method)) throw new Error(`no client can do ${method}`)
    return (await only.request(sendable({ method, params }) as never, { timeout: LONGEST_ANSWER })) as Fields
  }

  /** A log message goes to the client in whose call it was written; outside of calls only to a sole client. */
  const isLogFor = (client: Server, event: LogEvent) => client === (event.client ?? theOnly())

  const stopLogs = tellOperator(
    host,
    (event) => event.client === undefined && theOnly() === undefined && (connected.size > 0 || hadStateless),
    options.notify,
  )

  function serve({ isStateless, isLasting = false, origin }: ClientKind): Server {
    hadStateless ||= isStateless
    const { serverInfo, ...greeting } = greetingFor(host.status(), { ...options, isStateless })
    const server = new Server(serverInfo, { ...greeting, inputRequired: { maxRounds: 100 } })
    const mode = () => modeFor(server.getClientVersion()?.name, forced, isStateless)
    const relisting = createRelisting(
      () => clientSession.version(),
      () => server.sendToolListChanged().catch(() => {}),
    )
    const clientSession = createClientSession({
      shelf,
      host,
      addresses,
      servers,
      mode,
      loaded: createLoadedTools(options.loadedTools),
      pageTools,
      callServer: (name, tool, input, given = {}) =>
        urlElicitations.run(name, { client: server, isStateless, ...given }, () =>
          host.call(name, tool, input, given),
        ),
      onLoad: () => relisting.announce(),
    })
    answerRequests({
      server,
      isStateless,
      clientOf: (envelope) => (origin === undefined ? server : identities.of(origin, envelope)),
      host,
      clientSession,
      resourcesAndPrompts,
      exchanges,
      pageTools,
      relisting,
      ready,
    })
    if (isStateless && isLasting) server.onclose = tellChanges({ server, host, relisting })
    if (isStateless) return server

    const stop = keepInformed({
      server,
      host,
      relisting,
      resourcesAndPrompts,
      addresses,
      subscriptions,
      logLevels,
      isLogFor,
    })
    server.oninitialized = () => {
      relisting.listed()
      host.start(capabilitiesOf(server))
    }
    server.onclose = () => {
      stop()
      urlElicitations.leave(server)
      connected.delete(server)
    }
    connected.add(server)
    return server
  }

  /** Everything that a sessionless client lists; our own tools name the servers. */
  const immediateTools = () =>
    `${servers().join()} ${shelf.shelving().immediate.map(versionOf).join()} ${pageTools.version()}`

  return {
    host,
    serve,
    onChange(listener) {
      let listed = immediateTools()
      return host.listen((event) => {
        if (event.type === 'servers') listed = immediateTools()
        if (event.type !== 'tools') return listener(event)
        const now = immediateTools()
        if (now !== listed) listener(event)
        listed = now
      })
    },
    uriFor: addresses.uri,
    clients: () => connected.size,
    async close() {
      subscriptions.close()
      logLevels.close()
      stopLogs()
      urlElicitations.close()
      await Promise.all([...connected].map((server) => server.close().catch(() => {})))
      await host.close()
    },
  }
}

/** A person may need time to answer. */
const LONGEST_ANSWER = 600_000
