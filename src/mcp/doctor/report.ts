// What the doctor measured: plain data, the same for the terminal, the page and `--json`.
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
  /** Own names of tools that rules hide, and of those held back because they changed. */
  readonly hidden: readonly string[]
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
  readonly tools: number
  readonly tokens: number
  readonly share: number
  readonly window: number
  readonly alwaysLoaded: number
  readonly searchTool: number
  readonly names: number
  /** What a request carries with deferral, before anything is searched for. */
  readonly withDeferral: number
  readonly savedPerTurn: number
  readonly savedPer20Turns: number
}

export type ReportOptions = {
  /** Tokens of the context window that shares are of; 200,000 if left out. */
  readonly window?: number
  /** What was wrong with the configuration. */
  readonly configProblems?: readonly ConfigProblem[]
}

const WINDOW = 200_000
const TURNS = 20
/** A search's call and answer, without the definitions that it loads. */
export const SEARCH_TOKENS = 200
const TOOLS_PER_SEARCH = 5
const MOST_HEAVIEST = 5

export function makeReport(statuses: readonly ServerStatus[], options: ReportOptions = {}): Report {
  const { window = WINDOW, configProblems = [] } = options
  const measured = measure(statuses, window)
  const tools = groupBy(measured.tools, ({ server }) => server)
  const problems = groupBy(nameProblems(measured.tools), ({ server }) => server)
  const namesOf = shareOfNames(measured)
  const servers = statuses.map((status): ServerReport => {
    const own = tools.get(status.name) ?? []
    const suspicions = suspicionsOf(status)
    const isTrusted = suspicions.every(({ level }) => level !== 'warn')
    return {
      ...identityOf(status),
      ...costOf(own, namesOf(own), window),
      heaviest: heaviestOf(own, window),
      pin: isTrusted ? pinFor(own) : null,
      problems: [...status.problems, ...(problems.get(status.name) ?? [])].map(({ tool, kind, message }) => ({
        tool,
        kind,
        message,
      })),
      suspicions,
    }
  })
  const total = totalOf(servers, measured, window)
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
  const { name, state, reason, config, info, hidden, held } = status
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
    held,
  }
}

function suspicionsOf({ tools, instructions = '' }: ServerStatus): Suspicion[] {
  const ofServer = scanText(instructions, 'instructions').map((finding) => ({ tool: null, ...finding }))
  return [...ofServer, ...tools.flatMap(scan)]
}

function costOf(tools: readonly MeasuredTool[], names: number, window: number) {
  const tokens = tokensOf(tools)
  const deferred = tokensOf(tools.filter(({ isDeferred }) => isDeferred))
  return {
    tools: tools.length,
    tokens,
    share: tokens / window,
    alwaysLoaded: tokens - deferred,
    savedPerTurn: deferred - names,
    savedPer20Turns: TURNS * (deferred - names),
  }
}

/** A server's part of the announcement, by the length of its names. */
function shareOfNames({ tools, names }: Measured): (tools: readonly MeasuredTool[]) => number {
  const lengthOf = (some: readonly MeasuredTool[]) =>
    some.reduce((sum, { name, isDeferred }) => sum + (isDeferred ? name.length : 0), 0)
  const all = lengthOf(tools)
  return (some) => (all === 0 ? 0 : Math.round((names * lengthOf(some)) / all))
}

function totalOf(servers: readonly ServerReport[], measured: Measured, window: number): Total {
  const { tools, searchTool, names } = measured
  const tokens = tokensOf(tools)
  const alwaysLoaded = tokensOf(tools.filter(({ isDeferred }) => !isDeferred))
  const withDeferral = alwaysLoaded + searchTool + names
  const savedPerTurn = tokens - withDeferral
  const loaded = SEARCH_TOKENS + foundBySearch(tools) * meanOfDeferred(tools)
  return {
    servers: servers.length,
    connected: servers.filter(({ state }) => state === 'connected').length,
    failed: servers.filter(({ state }) => state === 'failed' || state === 'pending').length,
    tools: tools.length,
    tokens,
    share: tokens / window,
    window,
    alwaysLoaded,
    searchTool,
    names,
    withDeferral,
    savedPerTurn,
    savedPer20Turns: searchTool === 0 ? 0 : TURNS * savedPerTurn - (TURNS - 1) * loaded,
  }
}

function arithmeticOf(total: Total, tools: readonly MeasuredTool[]): string {
  if (total.searchTool === 0) return 'There is nothing to defer.'
  const found = foundBySearch(tools)
  const pinned = total.alwaysLoaded > 0 ? ` − ${count(total.alwaysLoaded)} (always loaded)` : ''
  return (
    `A turn: ${count(total.tokens)}${pinned} − ${count(total.searchTool)} (search tool) − ` +
    `${count(total.names)} (names) = ${count(total.savedPerTurn)}. ` +
    `In ${TURNS} turns: ${TURNS} × that, less a search in the first one, which costs ${SEARCH_TOKENS} and ` +
    `${found} × ${count(meanOfDeferred(tools))} (tools of average size) in each of the other ${TURNS - 1}.`
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
