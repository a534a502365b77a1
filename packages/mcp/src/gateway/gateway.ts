// Implements the MCP gateway: one MCP server in front of many. Each client has its own session; the servers behind are
// shared.
import { Server } from '@modelcontextprotocol/server'
import type { Shelf } from '@toolshelf/core'
import type {
  ClientIdentity,
  Fields,
  OpenTrace,
  StateStore,
  UsageMeter,
  User,
} from '@toolshelf/core/internal'
import { type ClientWork, createClientWork } from '@toolshelf/core/internal/node'
import { type GreetingOptions, greetingFor, type ListingMode } from '../greeting/greeting.ts'
import { createAddresses, versionOf } from '../lists/lists.ts'
import type { PersonalHosts } from '../personal/personal-hosts.ts'
import type { HostEvent, McpHost, QuestionHandler } from '../types.ts'
import { ClientSession } from './client-session.ts'
import {
  type ConnectedClients,
  capabilitiesOf,
  clientInfoIn,
  createConnectedClients,
  createIdentities,
} from './clients.ts'
import { createExchanges } from './exchanges.ts'
import { createLoadedTools, type LoadedToolsLimits } from './loaded-tools.ts'
import { countCall, createMcpMetrics, GATEWAY, type McpMetrics, reportServers } from './mcp-metrics.ts'
import { answerRequests } from './requests.ts'
import { createShelvedResults, type GatewayResults } from './shelved-results.ts'
import { createScripts, type GatewayScripts } from './together.ts'
import { createTracedClients } from './traced-clients.ts'
import {
  createLogLevels,
  createRelisting,
  createSubscriptions,
  keepInformed,
  type LogEvent,
  notifyOfChanges,
  reportToOperator,
} from './updates.ts'
import { createUrlElicitations } from './url-elicitations.ts'
import { type ClientView, createViews, enabledServers } from './views.ts'

/** Options of `createMcpGateway`; also `version`, `instructions` and `noServersHint`, which clients see. */
export type McpGatewayOptions = Pick<GreetingOptions, 'version' | 'instructions' | 'noServersHint'> & {
  /** The shelf, created with `gatewayShelfOptions`. */
  readonly shelf: Shelf
  /** Creates the host; the handler answers servers that ask questions outside of a call. */
  readonly makeHost: (questionHandler: QuestionHandler) => McpHost
  /** `list` adds found tools to the client's list, `bridge` calls them through `CallTool`; `auto` decides by client. */
  readonly mode?: ListingMode | 'auto'
  /** Awaited before a call, to load late what the shelf needs. */
  readonly ready?: () => Promise<unknown>
  /** Limits of loaded tools on a client's list in `list` mode. */
  readonly loadedTools?: LoadedToolsLimits
  /** Starts a conversation of events for a client and returns their listener; without it none are built. */
  readonly openTrace?: OpenTrace | undefined
  /** Keeps long results out of the clients' context; without it all pass untouched. */
  readonly results?: GatewayResults | undefined
  /** Offers `CallTools`, several calls in one, to clients in `bridge` mode. Default: false. */
  readonly batches?: boolean
  /** Offers `RunScript`, small programs over the tools; `true` for the default limits. Default: false. */
  readonly scripts?: boolean | GatewayScripts
  /** Counts what users with limits use; without it none are limited. */
  readonly usage?: UsageMeter | undefined
  /**
   * Connects the gateway with others on the same store, so that a balancer may send each request of a sessionless client
   * to any of them, answers to questions included. The gateway does not close the store.
   */
  readonly store?: StateStore | undefined
  /** The servers for which each user has credentials of their own. */
  readonly personal?: PersonalHosts | undefined
  /** Called with messages for the operator. */
  readonly notify?: (message: string) => void
  /** Counts searches, calls and requests for `/metrics`. Default: new counters. */
  readonly metrics?: McpMetrics
}

/** One MCP server in front of many, for any number of clients. */
export type McpGateway = {
  /** The host behind the gateway. */
  readonly host: McpHost
  /**
   * Creates a server for one client: for one connection, or for one request if the protocol has no connections.
   * @internal
   */
  serve(client: ClientKind): Server
  /** Calls the listener at changes that the user can see, for stateless clients, which have no server to notify. */
  readonly onChange: (listener: (event: HostEvent) => void, user?: User) => () => void
  /**
   * Returns what the clients of a user see; its id is the same for users with the same rights.
   * @internal
   */
  readonly viewOf: (user: User | undefined) => Pick<ClientView, 'id' | 'shelf' | 'host'>
  /**
   * Returns the owner of a user's work.
   * @internal
   */
  readonly workOf: (user: User) => ClientWork
  /** Returns a URI as clients see it. */
  readonly uriFor: (server: string, uri: string) => string
  /** Returns how many clients are connected. */
  readonly clients: () => number
  /**
   * Resolves when the calls that other replicas follow have ended, or after the timeout.
   * @internal
   */
  drain(timeoutMs: number): Promise<void>
  /** What `/metrics` shows. */
  readonly metrics: McpMetrics
  /** Disconnects all clients and stops all servers. */
  close(): Promise<void>
}

/**
 * How a client is connected, and who it acts for.
 * @internal
 */
export type ClientKind = {
  /** Whether the client speaks the newer protocol, which has no sessions. */
  readonly isStateless: boolean
  /** Whether it stays connected anyway, and can be notified of changes. */
  readonly isLasting?: boolean
  /** Identifies the client of a single request, if only one client can have this origin. */
  readonly origin?: string
  /** The user that the client acts for, who determines what it sees. Without a user it sees everything. */
  readonly user?: User | undefined
}

/**
 * Creates an MCP gateway: clients see ToolSearch and the tools that it loads, in place of all tools of all servers.
 *
 * @example
 * const shelf = createShelf(gatewayShelfOptions)
 * const gateway = createMcpGateway({ shelf, makeHost: (questionHandler) => createMcpHost({ shelf, servers, questionHandler }) })
 * await serveMcpGatewayOnStdio(gateway)
 */
export function createMcpGateway(options: McpGatewayOptions): McpGateway {
  const clients = createConnectedClients()
  // Other replicas may have clients, so none counts as the only one.
  if (options.store) clients.disableSoleClient()
  const host = options.makeHost(clients.questionHandler)
  const parts = createSharedParts(options, host, clients)
  const { addresses, subscriptions, logLevels, urlElicitations, exchanges, viewOf } = parts
  const stopLogs = reportToOperator(
    host,
    (event) => event.client === undefined && clients.soleClient() === undefined && clients.hasAny(),
    options.notify,
  )

  return {
    host,
    serve: (client) => serveClient(parts, client),
    onChange: (listener, user) => onViewChange(viewOf(user), listener),
    viewOf,
    workOf: (user) => createClientWork({ client: user.uid, user, usage: options.usage }),
    uriFor: addresses.uri,
    clients: () => clients.all().length,
    drain: exchanges.drain,
    metrics: parts.metrics,
    async close() {
      subscriptions.close()
      logLevels.close()
      stopLogs()
      urlElicitations.close()
      await Promise.all(clients.all().map((client) => client.close().catch(() => {})))
      await Promise.all([options.personal?.close(), host.close(), exchanges.close()])
    },
  }
}

/** Calls the listener at changes that a sessionless client can see. */
function onViewChange(view: ClientView, listener: (event: HostEvent) => void): () => void {
  const { servers, shelf, pageTools } = view
  /** Returns everything that a sessionless client lists; the gateway's own tools name the servers. */
  const immediateTools = () =>
    `${servers().join()} ${shelf.partition().immediate.map(versionOf).join()} ${pageTools.version()}`
  let listed = immediateTools()
  return view.host.listen((event) => {
    if (event.type === 'servers') listed = immediateTools()
    if (event.type !== 'tools') return listener(event)
    const now = immediateTools()
    if (now !== listed) listener(event)
    listed = now
  })
}

/** Creates what all clients of a gateway share. */
function createSharedParts(options: McpGatewayOptions, host: McpHost, clients: ConnectedClients) {
  const addresses = createAddresses(() => [
    ...enabledServers(options.shelf),
    ...(options.personal?.names() ?? []),
  ])
  const { metrics = createMcpMetrics() } = options
  reportServers(metrics, host)
  return {
    options,
    metrics,
    host,
    clients,
    addresses,
    viewOf: createViews({ ...options, host, addresses }),
    subscriptions: createSubscriptions(host),
    logLevels: createLogLevels(host),
    urlElicitations: createUrlElicitations(host),
    exchanges: createExchanges(options.store),
    identities: createIdentities(),
    results: options.results && createShelvedResults(options.results, options.notify),
    hasBatches: options.batches === true,
    scripts: createScripts(options.scripts ?? false),
    traceOf: createTracedClients(options.openTrace),
    /** Sends a log message to the client in whose call it was written; outside of calls only to a sole client. */
    isLogFor: (client: Server, event: LogEvent) => client === (event.client ?? clients.soleClient()),
  }
}

function serveClient(parts: ReturnType<typeof createSharedParts>, client: ClientKind): Server {
  const { isStateless, isLasting = false, origin, user } = client
  const { options, clients, urlElicitations, identities } = parts
  const { ready, usage } = options
  const view = parts.viewOf(user)
  const { host, shelf } = view
  const forced = user?.profile.listing ?? options.mode ?? 'auto'
  // Questions and logs outside of calls must not go to whichever user happens to be the only one connected.
  if (isStateless || user) clients.disableSoleClient()
  // Servers that a user may not see are none of their business.
  const noServersHint = user ? undefined : options.noServersHint
  const greeted = { ...options, noServersHint, isStateless }
  const { serverInfo, ...greeting } = greetingFor(host.status(), greeted)
  const server = new Server(serverInfo, { ...greeting, inputRequired: { maxRounds: 100 } })
  const work = createClientWork({ client: origin ?? server, user, usage })
  const relisting = createRelisting(
    () => clientSession.version(),
    () => server.sendToolListChanged().catch(() => {}),
  )
  const loaded = createLoadedTools(options.loadedTools)
  // A client whose next request cannot be recognised could not read what is stored for it.
  const isRecognised = !isStateless || isLasting || origin !== undefined
  const clientSession = new ClientSession({
    ...parts,
    ...view,
    results: isRecognised ? parts.results : undefined,
    user,
    work,
    shelf: shelf.fork({ isSubAgent: false }),
    mode: () => listingModeFor(server.getClientVersion()?.name, forced, isStateless),
    identity: () => server.getClientVersion() ?? introduced,
    loaded,
    noServersHint,
    callServer: (name, tool, input, given = {}) =>
      urlElicitations.run(name, { client: server, isStateless, ...given }, () =>
        countCall(parts.metrics, given, () => host.call(name, tool, input, given)),
      ),
    onLoad: relisting.announce,
    onSearch: () => parts.metrics.add('toolshelf_searches_total', { gateway: GATEWAY }),
  })
  let introduced: ClientIdentity | undefined
  const clientOf = (envelope: Fields | undefined) => {
    introduced = clientInfoIn(envelope) ?? introduced
    return origin === undefined ? server : identities.of(origin, envelope)
  }
  const request = { server, isStateless, clientOf, clientSession, work, relisting, ready }
  answerRequests({ ...parts, ...view, ...request, uid: user?.uid })
  if (isStateless && isLasting) server.onclose = notifyOfChanges({ server, host, relisting })
  if (isStateless) return server

  const stop = keepInformed({ ...parts, ...view, server, relisting })
  server.oninitialized = () => {
    relisting.listed()
    host.start(capabilitiesOf(server))
  }
  server.onclose = () => {
    stop()
    urlElicitations.leave(server)
    parts.results?.leave(server)
    clients.delete(server)
  }
  clients.add(server)
  return server
}

/**
 * Values of `clientInfo.name` of clients that get `list` mode: those that accept new tools in the middle of a turn and send
 * them to the model unchanged. The protocol does not declare this, so the table lists what was observed. Claude Code defers
 * new tools, however they are marked, if the model does not support additions in mid-conversation.
 */
const TAKES_NEW_TOOLS: ReadonlySet<string> = new Set(['gemini-cli-mcp-client', 'kilo', 'opencode'])

function listingModeFor(
  clientName: string | undefined,
  forced: ListingMode | 'auto',
  isStateless: boolean,
): ListingMode {
  if (forced !== 'auto') return isStateless ? 'bridge' : forced
  return !isStateless && TAKES_NEW_TOOLS.has(clientName ?? '') ? 'list' : 'bridge'
}

/**
 * No prefix and no tool search of the shelf itself: clients add their own prefix to tool names, and see tools only
 * through MCP.
 */
export const gatewayShelfOptions = { namePrefix: '', toolSearch: false } as const
