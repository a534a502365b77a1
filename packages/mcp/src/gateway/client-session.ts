// Implements the session of one client: the tools on its list, and the handling of its calls.
import { ProtocolError } from '@modelcontextprotocol/server'
import { mcpName, type PoolTool, type SearchOutcome, type Tool } from '@toolshelf/core'
import {
  CALL_THESE,
  CALL_TOOL,
  cut,
  dropOldest,
  type Fields,
  fieldsOf,
  hasCode,
  isShallow,
  misnamesArguments,
  parseJson,
  SEARCH_TOOL,
  splitToolName,
  type UnsearchedServer,
  type User,
} from '@toolshelf/core/internal'
import { type ClientWork, MAX_JSON_DEPTH } from '@toolshelf/core/internal/node'
import { aboutNoServers, gatewayCallTool, gatewaySearchTool, type ListingMode } from '../greeting/greeting.ts'
import type { ShelvedTool } from '../host/publisher.ts'
import {
  addressMeta,
  addressOutput,
  alwaysLoaded,
  assertSendable,
  listedTool,
  PAGE_KEYS,
  versionOf,
} from '../lists/lists.ts'
import type { CallOptions, CallOutput, McpHost } from '../types.ts'
import type { LoadedTools } from './loaded-tools.ts'
import { gatewayReadTool, type ResultClient, type ShelvedResults } from './shelved-results.ts'
import {
  BATCH_TOOL,
  type CallWay,
  type CountedCall,
  callInBatch,
  gatewayBatchTool,
  gatewayScriptTool,
  type InnerCalls,
  runScriptFor,
  SCRIPT_TOOL,
  type Scripts,
} from './together.ts'
import {
  type CallingClient,
  createListReport,
  reportRefused,
  runTraced,
  type TraceOfClient,
} from './traced-clients.ts'
import type { ClientView } from './views.ts'

type ClientSessionOptions = Omit<ClientView, 'id' | 'resourcesAndPrompts'> & {
  readonly mode: () => ListingMode
  /** What the user can do while no server is configured. */
  readonly noServersHint: string | undefined
  readonly loaded: LoadedTools
  /** Calls a server, which may ask the user questions during the call. */
  readonly callServer: McpHost['call']
  /** Called when a search or a call has changed the list; resolves when the client has been notified. */
  readonly onLoad: () => Promise<void>
  readonly onSearch: () => void
  /** Stores long results; undefined if all are passed on whole. */
  readonly results: ShelvedResults | undefined
  /** Whether to offer CallTools to clients in `bridge` mode; others run several calls at the same time themselves. */
  readonly hasBatches: boolean
  /** Runs scripts; undefined if they are switched off. */
  readonly scripts: Scripts | undefined
  /** The user that the client acts for; undefined if the gateway has no users. */
  readonly user: User | undefined
  /** Counts what the client causes, before it is done. */
  readonly work: ClientWork
  /** Returns the listener for the events of a call. */
  readonly traceOf: TraceOfClient
  /** The client's own name and version. */
  readonly identity: CallingClient['identity']
}

/** Most names of tools whose definitions the client has seen to remember; beyond this the oldest are forgotten. */
const MAX_SEEN = 5000

/** The tools and calls of one client. */
export class ClientSession {
  readonly mode: () => ListingMode
  readonly #options: ClientSessionOptions
  readonly #seen = new Set<string>()
  /** Why servers could not be searched, as reported by the last search. */
  readonly #reportedStates = new Map<string, string>()
  readonly #reportList = createListReport()
  readonly identity: CallingClient['identity']
  readonly userId: string | undefined
  #missed: readonly string[] = []

  constructor(options: ClientSessionOptions) {
    this.#options = options
    this.mode = options.mode
    this.identity = options.identity
    this.userId = options.user?.id
  }

  /** Returns the client's tools: the gateway's own, the always-loaded ones, and those its searches found. */
  tools({ withPageTools = false } = {}): Fields[] {
    const { addresses, servers, loaded, pageTools, hasBatches, scripts } = this.#options
    return [
      ...(this.mode() === 'bridge'
        ? [gatewaySearchTool('bridge', servers()), gatewayCallTool, ...(hasBatches ? [gatewayBatchTool] : [])]
        : [gatewaySearchTool('list', servers())]),
      ...(scripts ? [gatewayScriptTool] : []),
      ...(loaded.hasShelved() && this.mode() === 'list' ? [gatewayReadTool] : []),
      ...this.#shown().map((tool) => {
        const listed = addressMeta(listedTool(tool), tool.server ?? '', addresses.uri)
        return loaded.has(tool.name) ? alwaysLoaded(listed) : listed
      }),
      ...(withPageTools ? pageTools.list() : []),
    ]
  }

  /** Changes when the list changes. */
  version(): string {
    const { servers, loaded, pageTools } = this.#options
    const shown = this.#shown().map(versionOf)
    const parts = [servers(), shown, loaded.names()].map((names) => names.join())
    return [this.mode(), ...parts, pageTools.version(), loaded.hasShelved()].join(' ')
  }

  /**
   * Runs a call. Returns every failure as a result that the model can act on; rejects only with a server's own JSON-RPC
   * error.
   */
  async call(name: string, input: unknown, given: CallOptions): Promise<CallOutput> {
    const { traceOf, shelf, loaded } = this.#options
    const options: CountedCall = { ...given, work: this.#options.work.ofMessage() }
    const trace = traceOf(options, this)
    if (trace)
      this.#reportList(trace, { mode: this.mode(), partition: shelf.partition(), loaded: loaded.names() })
    try {
      return await this.#withinLimits(name, options, () => this.#run(name, input, options))
    } catch (error) {
      options.signal?.throwIfAborted()
      const { message, cause } = error as Error
      // Passes a server's own error on, with its code and data.
      if (cause instanceof ProtocolError) throw cause
      return failWith(message)
    }
  }

  async #run(name: string, input: unknown, options: CountedCall): Promise<CallOutput> {
    const { results, hasBatches, scripts } = this.#options
    if (name === BATCH_TOOL && hasBatches) return callInBatch(input, options, this.#innerCalls())
    if (name === SCRIPT_TOOL && scripts) return this.#runScript(scripts, input, options)
    if (name === SEARCH_TOOL) return this.#search(input, options)
    if (name === gatewayReadTool.name && results)
      return results.read(this.#clientOf(options), input, options.work)
    if (name !== CALL_TOOL) return this.#callDirectly(name, (input ?? {}) as Fields, options)
    const wrapped = readWrapped(input)
    if (!wrapped) return failWith(`${CALL_TOOL} takes {"name": "<full name of the tool>", "arguments": {…}}.`)
    const isOwn = [SEARCH_TOOL, gatewayReadTool.name].includes(wrapped.name)
    if (isOwn) return this.#run(wrapped.name, wrapped.input, options)
    return this.#callByName(wrapped.name, wrapped.input, options)
  }

  /** Runs a call; if the user has reached a limit, returns a refusal for the model. */
  async #withinLimits(
    name: string,
    options: CallOptions,
    run: () => Promise<CallOutput>,
  ): Promise<CallOutput> {
    try {
      return await run()
    } catch (error) {
      if (!hasCode(error, 'LIMIT')) throw error
      const trace = this.#options.traceOf(options, this)
      return reportRefused(trace, { name, reason: 'limit' }, failWith(error.message))
    }
  }

  async #search(input: unknown, options: CountedCall): Promise<CallOutput> {
    const { shelf, host, loaded, onLoad, onSearch, servers, noServersHint } = this.#options
    await options.work.use('searches')
    const trace = this.#options.traceOf(options, this)
    onSearch()
    const wasReported = (server: UnsearchedServer) =>
      server.state !== 'pending' && this.#reportedStates.get(server.name) === stateOf(server)
    const isCompact = this.mode() === 'bridge'
    await host.refreshStaleLists({ timeoutMs: MAX_REFRESH_MS })
    const outcome = await shelf.search(input, { wasReported, missed: this.#missed, trace, isCompact })
    const { tools, definitions, remark: searchRemark, unsearched, isRefused } = outcome
    this.#missed = outcome.missed
    if (isRefused) return failWith(searchRemark)
    this.#reportedStates.clear()
    for (const server of unsearched) this.#reportedStates.set(server.name, stateOf(server))
    const empty = servers().length === 0 ? aboutNoServers(noServersHint) : ''
    const remark = [searchRemark, empty].filter(Boolean).join(' ')
    if (tools.length === 0) return sayText(remark)
    for (const [index, { name, json }] of tools.entries()) if (definitions[index] === json) this.#see(name)
    trace?.({ type: 'loaded', names: tools.map(({ name }) => name), by: 'search' })
    if (isCompact) return sayText(describeFound(outcome, remark))
    const { hasAdded, dropped } = loaded.add(tools)
    if (hasAdded) await onLoad()
    return sayText(listFound(tools, [remark, aboutDropped(dropped)].filter(Boolean).join('\n')))
  }

  #see(name: string): void {
    this.#seen.add(name)
    dropOldest(this.#seen, MAX_SEEN)
  }

  /** Returns what batches and scripts need to make ordinary calls. */
  #innerCalls(): InnerCalls {
    const { shelf, host, traceOf } = this.#options
    return {
      shelf,
      host,
      call: (name, input, options, way) =>
        this.#withinLimits(name, options, () => this.#callByName(name, input, options, way)),
      trace: (options) => traceOf(options, this),
    }
  }

  async #runScript(scripts: Scripts, input: unknown, options: CountedCall): Promise<CallOutput> {
    const { results, traceOf } = this.#options
    const traced = { trace: traceOf(options, this), name: SCRIPT_TOOL, input, options }
    const ran = await runTraced(traced, () => runScriptFor(scripts, input, options, this.#innerCalls()))
    const { remark, ...output } = ran
    const subject = { id: SCRIPT_TOOL, name: SCRIPT_TOOL, server: '', trace: traced.trace }
    const call = { ...subject, budget: this.#budget(), keepsStructure: false }
    const fitted = results ? await results.fit(output, { ...this.#shelving(options), ...call }) : output
    return assertSendable({ ...fitted, content: [...fitted.content, ...remark] })
  }

  async #callByName(
    name: string,
    input: Fields,
    options: CountedCall,
    way: CallWay = {},
  ): Promise<CallOutput> {
    const { shelf, host, loaded, onLoad } = this.#options
    await options.work.use('calls')
    // Its server may still be connecting: a search waits for it, within limits. It reports no event, because the model
    // did not ask for it.
    if (!shelf.partition().pool.byName.has(name))
      await shelf.search({ query: `select:${name}` }, { trace: () => {} })
    const { pool, deferredNames } = shelf.partition()
    const entry = pool.byName.get(name)
    const complaint = shelf.check({ id: name, name, input })
    const held = entry ? undefined : heldTools(host).find((one) => one.name === name)
    // The host refuses it with the reason.
    if (held) return assertSendable(await this.#callServer(held, input, options))
    const reason = !entry && this.#options.isHidden(name) ? 'rights' : undefined
    const refuse = (text: string) =>
      reportRefused(this.#options.traceOf(options, this), { name, reason }, failWith(text))
    if (!entry?.server)
      return refuse(
        `${textOfBlocks(complaint)} ${aboutFailed(host, name) ?? `Search for it with ${SEARCH_TOOL}.`}`,
      )
    const isUnseen = deferredNames.has(name) && !this.#seen.has(name)
    this.#see(name)
    if (this.mode() === 'list' && loaded.use(entry)) void onLoad()
    if (complaint && isUnseen) {
      const remedy = 'Here is its whole definition; call it again with arguments that fit.'
      return refuse(`${textOfBlocks(complaint)}\n${remedy}\n${entry.json}`)
    }
    await way.permit?.(entry)
    const { input: own } = shelf.resolve({ id: name, name, input })
    const target = { name, server: entry.server, tool: entry.original }
    const output = await this.#callServer(target, own as Fields, options)
    return assertSendable(
      way.isWhole ? output : await this.#fit(output, entry, options, way.isListed === true),
    )
  }

  /** Stores a long result, unless a page of an MCP App shows it. */
  async #fit(
    output: CallOutput,
    { name, server = '', tool }: PoolTool,
    options: CallOptions,
    isListed: boolean,
  ): Promise<CallOutput> {
    const { results, shelf, traceOf } = this.#options
    if (!results || hasPage(tool)) return output
    return results.fit(output, {
      ...this.#shelving(options),
      id: name,
      name,
      server,
      trace: traceOf(options, this),
      budget: tool.resultBudget ?? shelf.servers().get(server)?.resultBudget ?? this.#budget(),
      keepsStructure: isListed && (tool as ShelvedTool).listed.outputSchema !== undefined,
    })
  }

  /**
   * Returns how results are stored. In `list` mode the client gets ReadResult with its first long result; in `bridge`
   * mode CallTool calls it.
   */
  #shelving(options: CallOptions) {
    const isBridge = this.mode() === 'bridge'
    const onShelved = () => {
      if (this.#options.loaded.shelve() && !isBridge) void this.#options.onLoad()
    }
    return { ...this.#clientOf(options), caller: isBridge ? CALL_TOOL : undefined, onShelved }
  }

  #clientOf({ questionHandler }: CallOptions): ResultClient {
    const { identity } = this.#options
    return {
      client: questionHandler?.client ?? this,
      clientName: identity()?.name ?? '',
      uid: this.#options.user?.uid,
    }
  }

  #budget(): number | undefined {
    return this.#options.user?.profile.resultBudget
  }

  /** Runs a call that may come from a page of an MCP App instead of the model. */
  async #callDirectly(name: string, input: Fields, options: CountedCall): Promise<CallOutput> {
    const { shelf, pageTools } = this.#options
    const isKnown = shelf.partition().pool.byName.has(name)
    const page = isKnown ? undefined : pageTools.find(name, options.questionHandler?.client)
    if (!page) return this.#callByName(name, input, options, { isListed: true })
    await options.work.use('calls')
    return assertSendable(await this.#callServer({ name, ...page }, input, options))
  }

  async #callServer(
    { name, server, tool }: { readonly name: string; readonly server: string; readonly tool: string },
    input: Fields,
    options: CallOptions,
  ): Promise<CallOutput> {
    const { callServer, addresses, traceOf } = this.#options
    if (!isShallow(input, MAX_JSON_DEPTH))
      throw new Error(`the arguments are nested more than ${MAX_JSON_DEPTH} levels deep`)
    const traced = { trace: traceOf(options, this), name, server, input, options }
    const output = await runTraced(traced, (given) => callServer(server, tool, input, given))
    return addressOutput(output, server, addresses)
  }

  /** Returns the always-loaded tools, then those that searches found. */
  #shown(): PoolTool[] {
    const { shelf, loaded } = this.#options
    const { immediate, pool } = shelf.partition()
    const found = loaded.names().flatMap((name) => pool.byName.get(name) ?? [])
    return [...new Set([...immediate, ...found])]
  }
}

/** Milliseconds that a search waits for servers to refresh stale lists. */
const MAX_REFRESH_MS = 1000

/** Returns whether a page of an MCP App shows the tool's results; it needs them whole. */
function hasPage({ _meta = {} }: Tool): boolean {
  return PAGE_KEYS.some((key) => key in _meta) || fieldsOf(_meta.ui).resourceUri !== undefined
}

function stateOf({ state, error = '' }: UnsearchedServer): string {
  return `${state} ${error}`
}

type Held = { readonly name: string; readonly server: string; readonly tool: string }

/** Returns the tools held back because their definition has changed. */
function heldTools(host: McpHost): Held[] {
  return host
    .status()
    .flatMap(({ name: server, held }) =>
      held.map((tool) => ({ name: mcpName(server, tool, ''), server, tool })),
    )
}

const MAX_DROPPED_NAMED = 10

/** Returns the text about tools that were dropped from the list. */
function aboutDropped(names: readonly string[]): string {
  if (names.length === 0) return ''
  const rest = names.length - MAX_DROPPED_NAMED
  const shown = `${names.slice(0, MAX_DROPPED_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  return `No longer in your tool list, because they were not used: ${shown}; ${SEARCH_TOOL} brings them back.`
}

/** Reads the input of CallTool, whose arguments models sometimes write as a JSON string. */
function readWrapped(input: unknown): { name: string; input: Fields } | undefined {
  const call = fieldsOf(input)
  const { name, arguments: given = {} } = call
  if (typeof name !== 'string' || misnamesArguments(call)) return undefined
  const parsed = typeof given === 'string' ? parseJson(given) : given
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
  return { name, input: parsed as Fields }
}

/** Returns the answer of a search in `bridge` mode. */
function describeFound({ tools, definitions }: SearchOutcome, remark: string): string {
  const isWhole = tools.every(({ json }, index) => json === definitions[index])
  const about = isWhole ? '' : ` ("?" marks what may be left out; "select:<name>" gives one whole)`
  const head = `${CALL_THESE}, by their full name. Their definitions${about}:`
  return [head, ...definitions, ...(remark ? [remark] : [])].join('\n')
}

/** Returns the answer of a search in `list` mode. */
function listFound(tools: readonly PoolTool[], remark: string): string {
  const lines = tools.map(({ name, definition }) => `- ${name}: ${firstLine(definition.description)}`)
  return ['In your tool list now; call them by name:', ...lines, ...(remark ? [remark] : [])].join('\n')
}

function firstLine(description: unknown): string {
  const line =
    String(description ?? '')
      .trim()
      .split('\n')[0] ?? ''
  return cut(line, 120)
}

function textOfBlocks(result: { readonly content: readonly unknown[] } | undefined): string {
  return (result?.content ?? []).map((block) => String((block as Fields).text ?? '')).join('\n')
}

function sayText(text: string): CallOutput {
  return { content: [{ type: 'text', text }] }
}

function failWith(text: string): CallOutput {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Returns why the server that a name begins with has no tools; undefined if there is none, or it has some. */
function aboutFailed(host: McpHost, name: string): string | undefined {
  const named = splitToolName(name)?.server
  const failed = host
    .status()
    .find(({ name: server, state, tools }) => server === named && state === 'failed' && tools.length === 0)
  return failed && `The server "${failed.name}" failed: ${failed.category ?? 'nobody knows why'}`
}
