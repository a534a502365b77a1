// What the doctor measured: plain data, the same for the terminal, the page and `--json`.
import type { GatewaySettings } from '../config/keys.ts'
import { idleRules } from '../config/rules.ts'
import { scan, scanText, type Finding as TextFinding } from '../safety/scan.ts'
import type { ConfigProblem, ServerState, ServerStatus, ToolProblem } from '../types.ts'
import { count } from './format.ts'
import { groupBy } from './groups.ts'
import { descriptionLimit, type Measured, type MeasuredTool, measure } from './measure.ts'
import { type NameProblem, nameProblems, type SharedName, sharedNames } from './names.ts'

export type Report = {
  readonly servers: readonly ServerReport[]
  readonly total: Total
  /** The five heaviest of all servers. */
  readonly heaviest: readonly HeavyTool[]
  readonly sharedNames: readonly SharedName[]
  readonly configProblems: readonly ConfigProblem[]
  /** How the tokens were counted, and how what deferral saves was reckoned. */
  readonly method: string
  readonly arithmetic: string
}

export type ServerReport = {
  readonly name: string
  readonly state: ServerState
  readonly reason: string | null
  /** The last lines of stderr of a server that did not connect. */
  readonly stderr: string
  readonly startMilliseconds: number | null
  readonly transport: string
  /** The configuration it came from. */
  readonly source: string
  /** As the server calls itself. */
  readonly software: string | null
  readonly protocol: string | null
  readonly tools: number
  readonly tokens: number
  /** Of the window, from 0 to 1 and beyond. */
  readonly share: number
  /** Tokens of the tools that are never deferred. */
  readonly alwaysLoaded: number
  readonly savedPerTurn: number
  readonly savedPer20Turns: number
  readonly heaviest: readonly HeavyTool[]
  readonly pin: Pin | null
  readonly problems: readonly ReportedProblem[]
  readonly suspicions: readonly Suspicion[]
  /** Own names of tools that rules hide. */
  readonly hidden: readonly string[]
  /** Rules that apply to no tool. */
  readonly idleRules: readonly string[]
  /** Own names of tools that changed since they were pinned, and of those that the gateway holds back for it. */
  readonly changed: readonly string[]
  readonly held: readonly string[]
}

export type HeavyTool = {
  readonly server: string
  readonly tool: string
  readonly tokens: number
  readonly share: number
}

/** Tools that are better always loaded. */
export type Pin = { readonly tools: readonly string[]; readonly tokens: number; readonly reason: string }

export type ReportedProblem = {
  readonly tool: string
  readonly kind: ToolProblem['kind'] | NameProblem['kind']
  readonly message: string
}

/** `tool` is null where the server's own instructions are meant. */
export type Suspicion = TextFinding & { readonly tool: string | null }

export type Total = {
  readonly servers: number
  readonly connected: number
  readonly failed: number
  readonly disabled: number
  /** Configured, but so that they cannot be started. */
  readonly leftOut: number
  readonly tools: number
  readonly tokens: number
  readonly share: number
  readonly window: number
  readonly alwaysLoaded: number
  readonly ownTools: number
  readonly serverNames: number
  /** What a request carries through the gateway, before anything is searched for. */
  readonly withDeferral: number
  /** The same with the library, which announces the names of all tools. */
  readonly withLibrary: number
  readonly savedPerTurn: number
  readonly savedPer20Turns: number
}

export type ReportOptions = {
  /** Tokens of the context window that shares are of; 200,000 if left out. */
  readonly window?: number
  /** What was wrong with the configuration. */
  readonly configProblems?: readonly ConfigProblem[]
  /** By server: tools that changed since they were pinned. */
  readonly changed?: ReadonlyMap<string, readonly string[]>
  readonly onChange?: GatewaySettings['onChange']
}

const WINDOW = 200_000
const TURNS = 20
/** A search's call and answer, without the definitions that it loads. */
export const SEARCH_TOKENS = 200
const TOOLS_PER_SEARCH = 5
const MOST_HEAVIEST = 5

export function makeReport(statuses: readonly ServerStatus[], options: ReportOptions = {}): Report {
  const { window = WINDOW, configProblems = [], onChange } = options
  const measured = measure(statuses, window)
  const tools = groupBy(measured.tools, ({ server }) => server)
  const problems = groupBy(nameProblems(measured.tools), ({ server }) => server)
  const servers = statuses.map((status): ServerReport => {
    const own = tools.get(status.name) ?? []
    const suspicions = suspicionsOf(status)
    const isTrusted = suspicions.every(({ level }) => level !== 'warn')
    const changed = options.changed?.get(status.name) ?? []
    return {
      ...identityOf(status),
      ...costOf(own, window),
      heaviest: heaviestOf(own, window),
      pin: isTrusted ? pinFor(own) : null,
      problems: [...status.problems, ...(problems.get(status.name) ?? [])].map(({ tool, kind, message }) => ({
        tool,
        kind,
        message,
      })),
      suspicions,
      idleRules: idleRules(status),
      changed,
      held: onChange === 'hold' ? changed : [],
    }
  })
  const total = totalOf(servers, measured, configProblems, window)
  return {
    servers,
    total,
    heaviest: heaviestOf(measured.tools, window),
    sharedNames: sharedNames(measured.tools),
    configProblems,
    method: METHOD,
    arithmetic: arithmeticOf(total, measured.tools),
  }
}

const METHOD =
  'Tokens are estimates: the characters of each definition as it is sent ' +
  `(name, description cut at ${count(descriptionLimit)} characters, input schema, as JSON) divided by 2.9. ` +
  'No tokenizer was asked.'

function identityOf(status: ServerStatus) {
  const { name, state, reason, config, info, hidden } = status
  return {
    name,
    state,
    reason: reason ?? null,
    stderr: state === 'failed' || state === 'pending' ? status.stderr : '',
    startMilliseconds: status.startMilliseconds ?? null,
    transport: config.transport.kind,
    source: config.source,
    software: info ? `${info.name} ${info.version}` : null,
    protocol: status.protocol ?? null,
    hidden,
  }
}

function suspicionsOf({ tools, instructions = '' }: ServerStatus): Suspicion[] {
  const ofServer = scanText(instructions, 'instructions').map((finding) => ({ tool: null, ...finding }))
  return [...ofServer, ...tools.flatMap(scan)]
}

function costOf(tools: readonly MeasuredTool[], window: number) {
  const tokens = tokensOf(tools)
  const deferred = tokensOf(tools.filter(({ isDeferred }) => isDeferred))
  return {
    tools: tools.length,
    tokens,
    share: tokens / window,
    alwaysLoaded: tokens - deferred,
    savedPerTurn: deferred,
    savedPer20Turns: TURNS * deferred,
  }
}

function totalOf(
  servers: readonly ServerReport[],
  { tools, ownTools, serverNames, library }: Measured,
  problems: readonly ConfigProblem[],
  window: number,
): Total {
  const started = new Set(servers.map(({ name }) => name))
  const named = new Set(problems.flatMap(({ server }) => server ?? []))
  const tokens = tokensOf(tools)
  const alwaysLoaded = tokensOf(tools.filter(({ isDeferred }) => !isDeferred))
  const withDeferral = alwaysLoaded + ownTools + serverNames
  const savedPerTurn = tokens - withDeferral
  const loaded = SEARCH_TOKENS + foundBySearch(tools) * meanOfDeferred(tools)
  return {
    servers: servers.length,
    connected: servers.filter(({ state }) => state === 'connected').length,
    failed: servers.filter(({ state }) => state === 'failed' || state === 'pending').length,
    disabled: servers.filter(({ state }) => state === 'disabled').length,
    leftOut: [...named].filter((name) => !started.has(name)).length,
    tools: tools.length,
    tokens,
    share: tokens / window,
    window,
    alwaysLoaded,
    ownTools,
    serverNames,
    withDeferral,
    withLibrary: alwaysLoaded + library,
    savedPerTurn,
    savedPer20Turns: ownTools === 0 ? 0 : TURNS * savedPerTurn - (TURNS - 1) * loaded,
  }
}

function arithmeticOf(total: Total, tools: readonly MeasuredTool[]): string {
  if (total.ownTools === 0) return 'There is nothing to defer.'
  const found = foundBySearch(tools)
  const pinned = total.alwaysLoaded > 0 ? ` − ${count(total.alwaysLoaded)} (always loaded)` : ''
  return (
    `A turn: ${count(total.tokens)}${pinned} − ${count(total.ownTools)} (ToolSearch and CallTool) − ` +
    `${count(total.serverNames)} (names of the servers) = ${count(total.savedPerTurn)}. ` +
    `In ${TURNS} turns: ${TURNS} × that, less a search in the first one, which costs ${SEARCH_TOKENS} and ` +
    `${found} × ${count(meanOfDeferred(tools))} (tools of average size) in each of the other ${TURNS - 1}. ` +
    'The library announces the names of all tools, too.'
  )
}

function foundBySearch(tools: readonly MeasuredTool[]): number {
  return Math.min(TOOLS_PER_SEARCH, tools.filter(({ isDeferred }) => isDeferred).length)
}

function meanOfDeferred(tools: readonly MeasuredTool[]): number {
  const deferred = tools.filter(({ isDeferred }) => isDeferred)
  return deferred.length === 0 ? 0 : Math.round(tokensOf(deferred) / deferred.length)
}

function heaviestOf(tools: readonly MeasuredTool[], window: number): HeavyTool[] {
  return [...tools]
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, MOST_HEAVIEST)
    .map(({ server, tool, tokens }) => ({ server, tool, tokens, share: tokens / window }))
}

/** Worth it where having a server's tools in every request costs less than having to look for them. */
function pinFor(tools: readonly MeasuredTool[]): Pin | null {
  const deferred = tools.filter(({ isDeferred }) => isDeferred)
  const tokens = tokensOf(deferred)
  const isAlone = tools.length === 1 && tokens <= 2 * SEARCH_TOKENS
  if (deferred.length === 0 || (tokens > SEARCH_TOKENS && !isAlone)) return null
  const reason =
    tokens <= SEARCH_TOKENS
      ? `${count(tokens)} tokens for all its tools, less than one search costs (about ${SEARCH_TOKENS})`
      : `the only tool of its server, and small: ${count(tokens)} tokens, a search costs about ${SEARCH_TOKENS}`
  return { tools: deferred.map(({ tool }) => tool), tokens, reason }
}

function tokensOf(tools: readonly MeasuredTool[]): number {
  return tools.reduce((sum, { tokens }) => sum + tokens, 0)
}
