// The doctor's report: what tools cost as a request would send them, what deferral would save, and what is wrong. Plain data,
// the same for the terminal and `--json`.
import { estimateTokens, mcpName, type Shelf, type Tool } from '@toolshelf/core'
import {
  addFigures,
  availableList,
  type BilledTokens,
  CHARACTERS_PER_TOKEN,
  definitionTokens,
  type Figures,
  figuresOf,
  groupBy,
  MCP_PREFIX,
  noFigures,
  type PriceTable,
  priceOf,
  resolveOptions,
  searchTool,
  prices as shippedPrices,
} from '@toolshelf/core/internal'
import { createPureShelf } from '@toolshelf/core/pure'
import type { ServerStatus } from '@toolshelf/mcp'
import {
  type ConfigProblem,
  type GatewaySettings,
  gatewayCallTool,
  gatewaySearchTool,
  idleRules,
  joinInstructions,
  type OwnTool,
  refuseMarks,
  type ServerState,
  type ToolProblem,
  toShelvedTool,
} from '@toolshelf/mcp/internal'
import { count, counted } from '../terminal/pen.ts'

export type Report = ReturnType<typeof makeReport>

export type ServerReport = ReturnType<typeof identityOf> &
  ReturnType<typeof costOf> & {
    readonly heaviest: ReturnType<typeof heaviestOf>
    readonly alwaysLoadAdvice: ReturnType<typeof alwaysLoadAdviceFor>
    readonly problems: readonly ReportedProblem[]
    /** Rules that match no tool. */
    readonly idleRules: readonly string[]
    /** Own names of tools that changed since they were pinned, and of those that the gateway holds back for that reason. */
    readonly changed: readonly string[]
    readonly held: readonly string[]
  }

export type ReportedProblem = {
  readonly tool: string
  readonly kind: ToolProblem['kind'] | NameProblem['kind']
  readonly message: string
}

/** Sums over all servers. */
export type Total = ReturnType<typeof totalOf>

/** A server that was not started because its folder is not trusted. */
export type UntrustedServer = {
  readonly name: string
  /** The configuration it came from. */
  readonly source: string
  /** What it would run or connect to, one per line. */
  readonly does: string
}

export type ReportOptions = {
  readonly untrusted?: readonly UntrustedServer[]
  /** Size of the context window in tokens; 200,000 by default. */
  readonly window?: number
  readonly configProblems?: readonly ConfigProblem[]
  /** Tools that changed since they were pinned, by server. */
  readonly changed?: ReadonlyMap<string, readonly string[]>
  readonly onChange?: GatewaySettings['onChange']
  /** The model whose prices are shown; no money is shown without it, or if it has no price. */
  readonly model?: string
  readonly prices?: PriceTable
  /** Clients that read the files of these servers. */
  readonly clients?: readonly string[]
}

/** Clients that send only tool names and load definitions with a search of their own, as Toolshelf does. */
const DEFERRING_CLIENTS: readonly string[] = ['Claude Code', 'Qwen Code']

const WINDOW = 200_000
/** Tokens of a search's call and result, without the definitions that it loads. */
const SEARCH_TOKENS = 200
const TOOLS_PER_SEARCH = 5
const MAX_HEAVIEST = 5

/** Makes the report from the state and the tools of each server. */
export function makeReport(statuses: readonly ServerStatus[], options: ReportOptions = {}) {
  const { window = WINDOW, configProblems = [], onChange, clients = [] } = options
  const measured = measureTools(statuses, window)
  const tools = groupBy(measured.tools, ({ server }) => server)
  const problems = groupBy(nameProblems(measured.tools), ({ server }) => server)
  const started = statuses.map((status): ServerReport => {
    const own = tools.get(status.name) ?? []
    const hidesText = status.problems.some(({ kind }) => kind === 'hidden')
    const changed = options.changed?.get(status.name) ?? []
    return {
      ...identityOf(status),
      ...costOf(own, window),
      heaviest: heaviestOf(own, window),
      alwaysLoadAdvice: hidesText ? null : alwaysLoadAdviceFor(own),
      problems: [...status.problems, ...(problems.get(status.name) ?? [])].map(({ tool, kind, message }) => ({
        tool,
        kind,
        message,
      })),
      idleRules: idleRules(status),
      changed,
      held: onChange === 'hold' ? changed : [],
    }
  })
  const servers = [...started, ...(options.untrusted ?? []).map(notStarted)]
  const total = totalOf(servers, measured, configProblems, window)
  return {
    servers,
    total,
    /** The five largest of all servers. */
    heaviest: heaviestOf(measured.tools, window),
    sharedNames: sharedNames(measured.tools),
    configProblems,
    ...savingsOf(total, measured.tools, options),
    /** Clients among the sources of these servers that defer tools themselves. */
    deferringClients: DEFERRING_CLIENTS.filter((client) => clients.includes(client)),
    /** How the tokens were counted, and how the projection was made. */
    method: METHOD,
    arithmetic: arithmeticOf(total, measured.tools),
  }
}

function savingsOf(total: Total, tools: readonly MeasuredTool[], { model, prices }: ReportOptions) {
  const search = SEARCH_TOKENS + foundBySearch(tools) * meanOfDeferred(tools)
  const costs = { definitions: total.tokens, withDeferral: total.withDeferral, search, model, prices }
  return {
    /** What a conversation would cost with and without Toolshelf; null if there is nothing to defer. */
    projection: total.ownTools === 0 ? null : project(costs),
    /** Definition tokens from which on that conversation saves anything. */
    breakEven: total.ownTools === 0 ? 0 : breakEven(costs),
  }
}

const settings = resolveOptions({})

const METHOD =
  'Tokens are estimates: the characters of each definition as it is sent ' +
  `(name, description cut at ${count(settings.descriptionLimit)} characters, input schema, as JSON) divided by ${CHARACTERS_PER_TOKEN}. ` +
  'No tokenizer was used.'

function identityOf(status: ServerStatus) {
  const { name, state, reason, config, info, hidden } = status
  return {
    name,
    /** `untrusted`: it came with the folder, the user has not trusted it, and it was not started. */
    state: state as ServerState | 'untrusted',
    reason: reason ?? null,
    /** The last lines of stderr of a server that did not connect. */
    stderr: state === 'failed' || state === 'pending' ? status.stderr : '',
    startMilliseconds: status.startMilliseconds ?? null,
    transport: config.transport.kind as string,
    /** The configuration it came from. */
    source: config.source,
    /** The name that the server reports. */
    software: info ? `${info.name} ${info.version}` : null,
    protocol: status.protocol ?? null,
    /** Own names of tools hidden by rules. */
    hidden,
  }
}

/** A server of which only the configuration is known. */
function notStarted({ name, source, does }: UntrustedServer): ServerReport {
  return {
    name,
    state: 'untrusted',
    reason: does,
    stderr: '',
    startMilliseconds: null,
    transport: '',
    source,
    software: null,
    protocol: null,
    hidden: [],
    idleRules: [],
    changed: [],
    ...costOf([], WINDOW),
    heaviest: [],
    alwaysLoadAdvice: null,
    problems: [],
    held: [],
  }
}

function costOf(tools: readonly MeasuredTool[], window: number) {
  const tokens = tokensOf(tools)
  const deferred = tokensOf(tools.filter(({ isDeferred }) => isDeferred))
  return {
    tools: tools.length,
    tokens,
    /** Share of the context window, from 0 to 1 and beyond. */
    share: tokens / window,
    /** Tokens of the tools that are never deferred. */
    alwaysLoaded: tokens - deferred,
    /** While none of its tools is loaded. */
    tokensSavedPerRequest: deferred,
  }
}

function totalOf(
  servers: readonly ServerReport[],
  { tools, ownTools, serverNames, library }: ReturnType<typeof measureTools>,
  problems: readonly ConfigProblem[],
  window: number,
) {
  const started = new Set(servers.map(({ name }) => name))
  const named = new Set(problems.flatMap(({ server }) => server ?? []))
  const tokens = tokensOf(tools)
  const alwaysLoaded = tokensOf(tools.filter(({ isDeferred }) => !isDeferred))
  const withDeferral = alwaysLoaded + ownTools + serverNames
  return {
    servers: servers.length,
    connected: servers.filter(({ state }) => state === 'connected').length,
    failed: servers.filter(({ state }) => state === 'failed' || state === 'pending').length,
    disabled: servers.filter(({ state }) => state === 'disabled').length,
    /** Servers of a folder that is not trusted. */
    untrusted: servers.filter(({ state }) => state === 'untrusted').length,
    /** Configured, but not startable. */
    leftOut: [...named].filter((name) => !started.has(name)).length,
    tools: tools.length,
    tokens,
    share: tokens / window,
    window,
    alwaysLoaded,
    ownTools,
    serverNames,
    /** Tokens that a request sends through the gateway before anything is searched for. */
    withDeferral,
    /** The same with the library, which announces the names of all tools. */
    withLibrary: alwaysLoaded + library,
    /** Until something is searched for. */
    tokensSavedPerRequest: tokens - withDeferral,
  }
}

function arithmeticOf(total: Total, tools: readonly MeasuredTool[]): string {
  if (total.ownTools === 0) return 'There is nothing to defer.'
  const found = foundBySearch(tools)
  const alwaysLoaded = total.alwaysLoaded > 0 ? ` − ${count(total.alwaysLoaded)} (always loaded)` : ''
  return (
    `Saved in a request: ${count(total.tokens)}${alwaysLoaded} − ${count(total.ownTools)} (ToolSearch and CallTool) − ` +
    `${count(total.serverNames)} (names of the servers) = ${count(total.tokensSavedPerRequest)}. ` +
    `For ${REQUESTS} requests it is assumed that the model searches once, in the first one. The search (${SEARCH_TOKENS} tokens) ` +
    `and the ${counted(found, 'tool')} that it loads (${count(meanOfDeferred(tools))} each, the average) stay in every later request, ` +
    'and the search needs one more request: an extra round trip, which carries the conversation ' +
    `(${count(CONVERSATION_TOKENS)} tokens) once more. The library also sends the names of all tools.`
  )
}

function foundBySearch(tools: readonly MeasuredTool[]): number {
  return Math.min(TOOLS_PER_SEARCH, tools.filter(({ isDeferred }) => isDeferred).length)
}

function meanOfDeferred(tools: readonly MeasuredTool[]): number {
  const deferred = tools.filter(({ isDeferred }) => isDeferred)
  return deferred.length === 0 ? 0 : Math.round(tokensOf(deferred) / deferred.length)
}

function heaviestOf(tools: readonly MeasuredTool[], window: number) {
  return [...tools]
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, MAX_HEAVIEST)
    .map(({ server, tool, tokens }) => ({ server, tool, tokens, share: tokens / window }))
}

/** Worthwhile if sending a server's tools in every request costs less than searching for them. */
function alwaysLoadAdviceFor(tools: readonly MeasuredTool[]) {
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

/** A tool with the estimated tokens of its definition as it is sent. */
type MeasuredTool = {
  readonly server: string
  /** Its own name on that server. */
  readonly tool: string
  /** The name that the model sees. */
  readonly name: string
  readonly tokens: number
  readonly isDeferred: boolean
}

/** Puts the tools of all servers on a new shelf. */
export function shelfOf(statuses: readonly ServerStatus[]): Shelf {
  return createPureShelf({
    tools: toolsOf(statuses),
    servers: Object.fromEntries(
      statuses.map(({ name, config: { alwaysLoad } }) => [
        name,
        alwaysLoad === undefined ? {} : { alwaysLoad },
      ]),
    ),
  })
}

/** Measures the tools of all servers, and what Toolshelf would send instead of their definitions; `window` is the size of the context window in tokens. */
export function measureTools(statuses: readonly ServerStatus[], window: number) {
  const shelf = shelfOf(statuses)
  const partition = shelf.partition()
  const tools = partition.pool.tools.map((entry): MeasuredTool => {
    const { name, server = '', original: tool } = entry
    return {
      server,
      tool,
      name,
      tokens: definitionTokens(entry),
      isDeferred: partition.deferredNames.has(name),
    }
  })
  if (partition.deferred.length === 0) return { tools, ownTools: 0, serverNames: 0, library: 0 }
  // Every client gets a server's instructions anyway.
  const enabled = statuses
    .filter(({ state }) => state !== 'disabled')
    .map(({ name, config: { description } }) => ({ name, description, instructions: undefined }))
  const announced = availableList({
    partition,
    servers: shelf.servers(),
    budget: settings.announceShare * window,
    descriptions: settings.announceDescriptions,
    instructions: 0,
    namePrefix: settings.namePrefix,
    searchName: settings.searchTool,
    step: undefined,
  })
  return {
    tools,
    /** What the gateway sends instead of definitions: its own two tools, and the line that names the servers. */
    ownTools:
      ownTokens(
        gatewaySearchTool(
          'bridge',
          enabled.map(({ name }) => name),
        ),
      ) + ownTokens(gatewayCallTool),
    serverNames: estimateTokens(joinInstructions(enabled, Number.POSITIVE_INFINITY)),
    /** What the library sends instead: its search tool, and the announced names of all tools. */
    library:
      definitionTokens({ json: JSON.stringify(searchTool(settings)) }) + estimateTokens(announced.text),
  }
}

/** The definition as a client sends it. */
function ownTokens({ name, description, inputSchema }: OwnTool): number {
  return definitionTokens({ json: JSON.stringify({ name, description, input_schema: inputSchema }) })
}

/** The tools as the host puts them on its shelf: all their fields pass through. */
function toolsOf(statuses: readonly ServerStatus[]): Tool[] {
  const refusals = refuseMarks(statuses)
  return statuses.flatMap(({ name, config, tools }) =>
    tools.map((listed) => toShelvedTool(listed, config, refusals.get(name)?.tools.has(listed.name) ?? false)),
  )
}

/** A tool whose name the model sees in a changed form, and why. */
type NameProblem = {
  readonly server: string
  readonly tool: string
  readonly kind: 'clash' | 'long-name' | 'characters'
  readonly message: string
}

const MAX_NAME_LENGTH = 64

/** Returns the tools whose names clash, are too long, or have characters that the API does not allow. */
function nameProblems(tools: readonly MeasuredTool[]): readonly NameProblem[] {
  return tools.flatMap((one) => problemOf(one) ?? [])
}

function problemOf({ server, tool, name }: MeasuredTool): NameProblem | undefined {
  const plain = `${MCP_PREFIX}${server}__${tool}`
  if (name === plain || name === tool) return undefined
  const problem = (kind: NameProblem['kind'], why: string): NameProblem => {
    return { server, tool, kind, message: `${why}; the model calls it ${name}` }
  }
  if (plain.length > MAX_NAME_LENGTH)
    return problem('long-name', `${plain} has ${plain.length} characters, ${MAX_NAME_LENGTH} are allowed`)
  return name === mcpName(server, tool)
    ? problem('characters', 'a name may have only letters, digits, "_" and "-"')
    : problem('clash', 'another tool of its server would have the same name')
}

/** Returns the names that several servers use. Harmless with the server as prefix; clients that omit it confuse the tools. */
function sharedNames(tools: readonly MeasuredTool[]) {
  return [...groupBy(tools, ({ tool }) => tool)]
    .map(([tool, members]) => ({ tool, servers: [...new Set(members.map(({ server }) => server))] }))
    .filter(({ servers }) => servers.length > 1)
}

/** Figures of a hypothetical conversation: `REQUESTS` requests, with a search in the first one. */
export type Projection = Figures & {
  readonly searches: number
  /** Tokens of the system prompt and the messages, assumed to be the same in each request. */
  readonly conversationTokens: number
  /** The model whose prices are used, and the date of the price table. Missing if the model has no price. */
  readonly pricedAs?: string
  readonly pricesOf?: string
  /** The same if the upstream does not cache prompts. */
  readonly uncached?: { readonly dollarsWithout: number; readonly dollarsWith: number }
}

const REQUESTS = 20
/** Tokens of conversation in each projected request. */
const CONVERSATION_TOKENS = 10_000

type ProjectionOptions = {
  readonly definitions: number
  /** Tokens that a request sends instead. */
  readonly withDeferral: number
  /** Tokens of a search with its result and the definitions that it loads. */
  readonly search: number
  readonly model: string | undefined
  readonly prices: PriceTable | undefined
}

/** Estimates what `REQUESTS` requests cost with and without Toolshelf. */
function project(options: ProjectionOptions): Projection {
  const { model, prices = shippedPrices } = options
  const cached = projected(options, true)
  const plain = projected(options, false)
  const isPriced = model !== undefined && cached.dollarsWith !== undefined
  const { dollarsWithout, dollarsWith } = plain
  return {
    ...cached,
    searches: 1,
    conversationTokens: CONVERSATION_TOKENS,
    ...(isPriced ? { pricedAs: model, pricesOf: prices.date } : {}),
    ...(dollarsWithout !== undefined && dollarsWith !== undefined
      ? { uncached: { dollarsWithout, dollarsWith } }
      : {}),
  }
}

function projected(options: ProjectionOptions, isCaching: boolean): Figures {
  const { definitions, withDeferral, search, model, prices = shippedPrices } = options
  const before = withDeferral + CONVERSATION_TOKENS
  const after = before + search
  const sampling = (tokens: number, known: number) => ({
    characters: tokens,
    billed: isCaching ? cachedTokens(tokens, known) : plainTokens(tokens),
  })
  const request = (samplings: ReturnType<typeof sampling>[], isContinued: boolean) =>
    figuresOf({
      charactersWithout: definitions + CONVERSATION_TOKENS,
      samplings,
      hasCacheMarks: isCaching,
      isContinued,
      price: model === undefined ? undefined : priceOf(model, prices),
    }) ?? noFigures
  const first = request([sampling(before, 0), sampling(after, before)], false)
  const later = request([sampling(after, after)], true)
  return Array.from({ length: REQUESTS - 1 }, () => later).reduce(addFigures, first)
}

/** The cost of a prompt with this many tokens already in the cache. */
function cachedTokens(tokens: number, known: number): BilledTokens {
  return { input: 0, cacheRead: known, cacheWrite: tokens - known, cacheWrite1h: 0, output: 0 }
}

function plainTokens(tokens: number): BilledTokens {
  return { input: tokens, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 }
}

/** The number of definition tokens from which on the projected requests save anything. */
function breakEven({ withDeferral, search }: Pick<ProjectionOptions, 'withDeferral' | 'search'>): number {
  return withDeferral + search + Math.ceil((withDeferral + CONVERSATION_TOKENS) / REQUESTS)
}
