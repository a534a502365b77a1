// Creates the host and the gateway of `toolshelf mcp`; loaded after the client has got its first response.
import { hostname, userInfo } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PermissionRule } from '@toolshelf/agent'
import type { RankerName, Shelf, TraceListener } from '@toolshelf/core'
import type { OpenTrace, StateStore, UsageMeter } from '@toolshelf/core/internal'
import { startTimer, turns } from '@toolshelf/core/internal/node'
import { createDiskResults } from '@toolshelf/core/node'
import { createPureShelf } from '@toolshelf/core/pure'
import {
  createMcpHost,
  gatewayShelfOptions,
  type LoadedConfig,
  type McpGateway,
  type McpHost,
  openPins,
  type QuestionHandler,
  type ServerConfig,
} from '@toolshelf/mcp'
import {
  type DefinitionCache,
  defaultPinsFolder,
  type GatewayResults,
  type ListingMode,
  type Pins,
  thisMachine,
  traceServers,
  watchPins,
} from '@toolshelf/mcp/internal'
import type { McpMetrics } from '@toolshelf/mcp/internal/gateway'
import { openAudit } from '../audit.ts'
import type { AuditSettings } from '../options.ts'
import { personalParts } from '../servers/personal-servers.ts'
import { loginHint, noServersHint, pinsHint, storedLogins } from '../servers/start.ts'
import { annotationTrust, openUserRules } from '../user-files/permission-file.ts'
import { resultsFolder } from '../user-files/session-files.ts'
import { version } from '../version.ts'
import type { InspectedParts, McpInspectorOptions } from './inspected-servers.ts'
import { reportServerChanges } from './notices.ts'

/** The host with everything around it. */
export type OpenedHost = ReturnType<typeof openHost>

export type HostOptions = {
  readonly mode: ListingMode | 'auto'
  readonly ranker: RankerName
  readonly cache: DefinitionCache
  /** What replicas share: pins, logins and long results are kept there. */
  readonly store?: StateStore | undefined
  /** Counts what `/metrics` shows; the gateway's own if left out. */
  readonly metrics?: McpMetrics | undefined
  /** Counts the searches of users who have a limit. */
  readonly usage?: UsageMeter | undefined
  /** Clients act for users, who may have credentials of their own. */
  readonly hasUsers?: boolean
  /** All clients act for one person. */
  readonly isOnePerson: boolean
  /** Offers RunScript to clients. */
  readonly hasScripts: boolean
  /** Where events are written. */
  readonly audit: AuditSettings | undefined
  /** Keeps events for the inspector. */
  readonly isInspected: boolean
  /** Reports to the operator. */
  readonly notify: (message: string) => void
}

/** Opens the host with its shelf and its events. */
export function openHost(config: LoadedConfig, hostOptions: HostOptions) {
  const { servers: configured, settings } = config
  const { mode, ranker, cache, store, isOnePerson, hasScripts, isInspected, notify } = hostOptions
  const audit = openAudit(hostOptions.audit, { isInspected, notify })
  audit?.setServers(configured)
  const parts = personalParts(hostOptions)
  const { servers } = parts.split(configured)
  const shelfParts = { ranker, notify, trace: audit?.stream.trace }
  const { shelf, ready, warm } = openShelf(shelfParts)
  const pins = sharedPins(store, notify)
  let questionHandler: QuestionHandler | undefined
  const common = commonOptions(settings, pins, notify)
  const host = createMcpHost({
    ...common,
    shelf,
    servers,
    cache,
    authorize: storedLogins(notify, store),
    questionHandler: laterAsker(() => questionHandler),
  })
  const personal = parts.open(configured, {
    shared: host,
    sharedShelf: shelf,
    notify,
    makeShelf: () => openReadyShelf(shelfParts),
    makeHost: (given) => createMcpHost({ ...common, ...given, cacheFolder: false }),
  })
  reportServerChanges(host, notify)
  const stopWatching = store && followPins(store, host, notify)
  if (audit) traceServers(host, audit.stream.trace)
  warmWhenIdle(host, warm, notify)
  const { instructions, batches } = settings
  /** Creates the gateway in front of the host; loads its modules. */
  async function gateway(): Promise<McpGateway> {
    const { createMcpGateway } = await import('@toolshelf/mcp/internal/gateway')
    const makeHost = (handler: QuestionHandler) => {
      questionHandler = handler
      return host
    }
    const openTrace: OpenTrace | undefined = audit && ((start) => audit.stream.open('mcp', start).trace)
    const options = {
      shelf,
      mode,
      ready,
      version: version(),
      instructions,
      noServersHint,
      batches,
      notify,
      makeHost,
    }
    const { metrics, usage } = hostOptions
    return createMcpGateway({
      ...options,
      ...(isOnePerson ? {} : { store }),
      openTrace,
      results: await keptResults(settings.resultBudget, hostOptions),
      scripts: hasScripts,
      usage,
      personal,
      ...(metrics ? { metrics } : {}),
    })
  }
  let configs = configured
  const configure = (next: readonly ServerConfig[]) => {
    configs = next
    audit?.setServers(next)
    personal?.configure(parts.split(next).personal)
    return host.configure(parts.split(next).servers)
  }
  const inspected = { configs: () => configs, onChange: settings.onChange, pins }
  const inspector = (options: McpInspectorOptions) =>
    openInspector(inspected, isInspected ? audit : undefined, options)
  async function closeEvents(): Promise<void> {
    await (await stopWatching)?.().catch(() => {})
    await audit?.close()
  }
  return { host, configure, gateway, inspector, trace: audit?.stream.trace, closeEvents }
}

/** Opens the inspector's part of the gateway; undefined if no events are kept for it. */
async function openInspector(
  inspected: InspectedParts,
  audit: ReturnType<typeof openAudit>,
  options: McpInspectorOptions,
) {
  if (!audit?.feed) return undefined
  const inspector = await import('./inspected-servers.ts')
  return inspector.openMcpInspector(inspected, { ...audit, feed: audit.feed }, options)
}

/** Loads what searches need once the servers have started and the client's first requests are answered. */
function warmWhenIdle(host: McpHost, warm: () => Promise<void>, notify: (message: string) => void): void {
  void host
    .settled()
    .then(() => sleep(WARM_DELAY_MS, undefined, { ref: false }))
    .then(warm)
    .catch((error: Error) => notify(error.message))
}

/** Passes servers' questions to the gateway's clients, once there are any. */
function laterAsker(current: () => QuestionHandler | undefined): QuestionHandler {
  return {
    get client() {
      return current()?.client
    },
    async ask(...question) {
      const questionHandler = current()
      if (!questionHandler) throw new Error('no client is connected')
      return questionHandler.ask(...question)
    },
  }
}

/** Reads the user's permission rules in the background; until then, and if they cannot be read, there are none. */
function userRules(notify: (message: string) => void): () => readonly PermissionRule[] {
  let rules: readonly PermissionRule[] = []
  const report = (error: Error) => notify(error.message)
  openUserRules(thisMachine())
    .read()
    .then((read) => {
      rules = read
    })
    .catch(report)
  return () => rules
}

/** Returns the options of the shared host and of the hosts of users. */
function commonOptions(
  { concurrency, onChange }: LoadedConfig['settings'],
  pins: Pins | undefined,
  notify: (message: string) => void,
) {
  return {
    concurrency,
    trustsAnnotations: annotationTrust(userRules(notify)),
    onChange,
    acceptHint: pinsHint,
    loginHint,
    ...(pins ? { pins } : {}),
    notify,
    clientInfo: { name: 'toolshelf', version: version() },
  }
}

function sharedPins(store: StateStore | undefined, notify: (message: string) => void): Pins | undefined {
  const folder = defaultPinsFolder()
  return folder === undefined && !store ? undefined : openPins({ folder, store, notify })
}

/** Compares a server's definitions again when a user has accepted or forgotten pins at another replica. */
async function followPins(store: StateStore, host: McpHost, notify: (message: string) => void) {
  const refresh = (name: string | undefined) => {
    for (const { name: server, state } of host.status())
      if (state === 'connected' && server === (name ?? server)) host.refresh(server).catch(() => {})
  }
  return watchPins(store, refresh).catch((error: Error) =>
    notify(`cannot watch for pins changed at other replicas: ${error.message}`),
  )
}

/**
 * Results are stored on disk, or in the store that replicas share; on stdio, those of this folder's client are found again
 * after a restart.
 */
async function keptResults(
  budget: number,
  { store: shared, isOnePerson }: HostOptions,
): Promise<GatewayResults | undefined> {
  if (budget === 0) return undefined
  if (!shared) {
    const store = createDiskResults({ folder: resultsFolder() })
    return { store, budget, ...(isOnePerson ? { owner: process.cwd() } : {}) }
  }
  const { createStoredResults } = await import('@toolshelf/server/internal/store')
  // Another machine may have the same folder.
  const owner = JSON.stringify([hostname(), userInfo().username, process.cwd()])
  return { store: createStoredResults({ store: shared }), budget, ...(isOnePerson ? { owner } : {}) }
}

/** Milliseconds reserved for the client's first requests: with lazy servers, the host settles before them. */
const WARM_DELAY_MS = 1000

const searching = () => import('@toolshelf/core/internal/rankers')
const validating = () => import('@toolshelf/core/internal/validate')

type ShelfParts = {
  readonly ranker: RankerName
  readonly notify: (message: string) => void
  readonly trace: TraceListener | undefined
}

/** A shelf that loads everything now. */
function openReadyShelf(parts: ShelfParts): Shelf {
  const { shelf, ready } = openShelf(parts)
  void ready()
  return shelf
}

/** Like the package's own shelf, but code that only searches and calls need is loaded later. */
function openShelf({ ranker, notify, trace }: ShelfParts) {
  let validator: Awaited<ReturnType<typeof validating>> | undefined
  const shelf = createPureShelf({
    ...gatewayShelfOptions,
    notify,
    ...(trace ? { trace } : {}),
    timer: startTimer,
    pause: turns.pause,
    rank: async (tools, query, limit) => (await searching()).rankers[ranker](tools, query, limit),
    validate: (schema, input) => validator?.validateInput(schema, input) ?? [],
  })
  const ready = async () => {
    validator ??= await validating()
  }
  /** Runs while idle. */
  const warm = async () => {
    await ready()
    await (await searching()).rankers.hybrid(shelf.partition().deferred, 'tools', 1)
  }
  return { shelf, ready, warm }
}
