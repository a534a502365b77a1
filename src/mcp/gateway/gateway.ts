// The MCP gateway: one MCP server in front of many. Each client has its own session; the servers behind are shared.

import { Server } from '@modelcontextprotocol/server'
import type { ClientIdentity, OpenTrace, Shelf } from '../../core/index.ts'
import type { Fields } from '../../lib/index.ts'
import type { ListingMode } from '../greeting/index.ts'
import { type GreetingOptions, greetingFor } from '../greeting/index.ts'
import type { HostEvent, McpHost, QuestionHandler } from '../types.ts'
import { createAddresses } from './addresses.ts'
import { capabilitiesOf } from './capabilities.ts'
import { createClientSession } from './client-session.ts'
import { modeFor } from './clients.ts'
import { type ConnectedClients, createConnectedClients } from './connected-clients.ts'
import { createExchanges } from './exchanges.ts'
import { clientInfoIn, createIdentities } from './identities.ts'
import { versionOf } from './listed-tool.ts'
import { createLoadedTools, type LoadedToolsLimits } from './loaded-tools.ts'
import { createLogLevels } from './log-levels.ts'
import { countCall, createMcpMetrics, GATEWAY, type McpMetrics, reportServers } from './mcp-metrics.ts'
import { reportToOperator } from './operator-log.ts'
import { createPageTools } from './page-tools.ts'
import { createRelisting } from './relisting.ts'
import { answerRequests } from './requests.ts'
import { createResourcesAndPrompts } from './resources-and-prompts.ts'
import { createScripts, type GatewayScripts } from './scripts.ts'
import { createShelvedResults, type GatewayResults } from './shelved-results.ts'
import { createSkillShelf, type GatewaySkills } from './skills.ts'
import { createSubscriptions } from './subscriptions.ts'
import { createTracedClients } from './traced-clients.ts'
import { keepInformed, type LogEvent, notifyOfChanges } from './updates.ts'
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
  /** Starts a conversation of events for a client and returns their listener; without it none are built. */
  readonly openTrace?: OpenTrace | undefined
  /** Keeps long results out of the clients' context; without it all pass untouched. */
  readonly results?: GatewayResults | undefined
  /** Offers `CallTools`, several calls in one, to clients in `bridge` mode. Default: false. */
  readonly batches?: boolean
  /** Offers `RunScript`, small programs over the tools; `true` for the default limits. Default: false. */
  readonly scripts?: boolean | GatewayScripts
  /** How skills are searched, and which are offered besides those of servers. */
  readonly skills?: GatewaySkills | undefined
  /** Reports to the operator. */
  readonly notify?: (message: string) => void
  /** Counts searches, calls and requests for `/metrics`; default: its own. */
  readonly metrics?: McpMetrics
}

/** One MCP server in front of many, for any number of clients. */
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
  /** What `/metrics` shows. */
  readonly metrics: McpMetrics
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

/**
 * Creates an MCP gateway: clients see ToolSearch and the tools that it loads, in place of all tools of all servers.
 *
 * @example
 * const shelf = createShelf(shelfOptions)
 * const gateway = createMcpGateway({ shelf, makeHost: (asker) => createMcpHost({ shelf, servers, asker }) })
 * await runOnStdio(gateway)
 */
export function createMcpGateway(options: McpGatewayOptions): McpGateway {
  const clients = createConnectedClients()
  const host = options.makeHost(clients.asker)
  const shared = createSharedParts(options, host, clients)
  const { servers, addresses, subscriptions, logLevels, urlElicitations, pageTools } = shared
  const stopLogs = reportToOperator(
    host,
    (event) => event.client === undefined && clients.only() === undefined && clients.hasAny(),
    options.notify,
  )

  /** Everything that a sessionless client lists; our own tools name the servers. */
  const immediateTools = () =>
    `${servers().join()} ${options.shelf.partition().immediate.map(versionOf).join()} ${pageTools.version()} ${shared.skills.tools().length}`

  return {
    host,
    serve: (client) => serveClient(shared, client),
    onChange(listener) {
      let listed = immediateTools()
      return host.listen((event) => {
        if (event.type === 'servers') listed = immediateTools()
        if (event.type !== 'tools') listener(event)
        if (event.type !== 'tools' && event.type !== 'skills') return
        const now = immediateTools()
        if (now !== listed) listener(event.type === 'tools' ? event : { type: 'servers' })
        listed = now
      })
    },
    uriFor: addresses.uri,
    clients: () => clients.all().length,
    metrics: shared.metrics,
    async close() {
      subscriptions.close()
      logLevels.close()
      stopLogs()
      urlElicitations.close()
      await Promise.all(clients.all().map((client) => client.close().catch(() => {})))
      await host.close()
    },
  }
}

type SharedParts = ReturnType<typeof createSharedParts>

/** What all clients of a gateway share. */
function createSharedParts(options: McpGatewayOptions, host: McpHost, clients: ConnectedClients) {
  const servers = () => host.status().flatMap(({ name, state }) => (state === 'disabled' ? [] : [name]))
  const addresses = createAddresses(servers())
  host.listen((event) => event.type === 'servers' && addresses.add(servers()))
  const { metrics = createMcpMetrics() } = options
  reportServers(metrics, host)
  return {
    options,
    metrics,
    host,
    clients,
    servers,
    addresses,
    resourcesAndPrompts: createResourcesAndPrompts(host, addresses),
    subscriptions: createSubscriptions(host),
    logLevels: createLogLevels(host),
    urlElicitations: createUrlElicitations(host),
    pageTools: createPageTools(host, addresses),
    skills: createSkillShelf(host, addresses, options.skills),
    exchanges: createExchanges(),
    identities: createIdentities(),
    results: options.results && createShelvedResults(options.results, options.notify),
    hasBatches: options.batches === true,
    scripts: createScripts(options.scripts ?? false),
    traceOf: createTracedClients(options.openTrace),
    /** A log message goes to the client in whose call it was written; outside of calls only to a sole client. */
    isLogFor: (client: Server, event: LogEvent) => client === (event.client ?? clients.only()),
  }
}

function serveClient(shared: SharedParts, { isStateless, isLasting = false, origin }: ClientKind): Server {
  const { options, host, clients, urlElicitations, identities } = shared
  const { shelf, ready, mode: forced = 'auto' } = options
  if (isStateless) clients.sawStateless()
  const { serverInfo, ...greeting } = greetingFor(host.status(), { ...options, isStateless })
  const server = new Server(serverInfo, { ...greeting, inputRequired: { maxRounds: 100 } })
  const relisting = createRelisting(
    () => clientSession.version(),
    () => server.sendToolListChanged().catch(() => {}),
  )
  // A client that cannot be recognised by its next request could not read what is kept for it.
  const isRecognised = !isStateless || isLasting || origin !== undefined
  const clientSession = createClientSession({
    ...shared,
    results: isRecognised ? shared.results : undefined,
    isRecognised,
    shelf: shelf.fork({ subAgent: false }),
    mode: () => modeFor(server.getClientVersion()?.name, forced, isStateless),
    identity: () => server.getClientVersion() ?? introduced,
    loaded: createLoadedTools(options.loadedTools),
    callServer: (name, tool, input, given = {}) =>
      urlElicitations.run(name, { client: server, isStateless, ...given }, () =>
        countCall(shared.metrics, given, () => host.call(name, tool, input, given)),
      ),
    onLoad: () => relisting.announce(),
    onSearch: () => shared.metrics.add('toolshelf_searches_total', { gateway: GATEWAY }),
  })
  let introduced: ClientIdentity | undefined
  const clientOf = (envelope: Fields | undefined) => {
    introduced = clientInfoIn(envelope) ?? introduced
    return origin === undefined ? server : identities.of(origin, envelope)
  }
  answerRequests({ ...shared, server, isStateless, clientOf, clientSession, relisting, ready })
  if (isStateless && isLasting) server.onclose = notifyOfChanges({ server, host, relisting })
  if (isStateless) return server

  const stop = keepInformed({ ...shared, server, relisting })
  server.oninitialized = () => {
    relisting.listed()
    host.start(capabilitiesOf(server))
  }
  server.onclose = () => {
    stop()
    urlElicitations.leave(server)
    shared.results?.leave(server)
    clients.delete(server)
  }
  clients.add(server)
  return server
}
