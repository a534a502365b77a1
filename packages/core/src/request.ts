// Builds a request: appends notes, chooses the working set, assembles the parts, and removes what must not be sent, wherever
// it comes from (M1, N1). Notes only follow a user message, and nothing that was sent before changes.
// Implements A1, A2, A4, C3, D8, G7, K3, K4, M1, N1, N5, Q1, Q2, Q3, Q4, Q6, Q8, Q9, U1.

import { availableList, deltaNote } from './announce.ts'
import { searchBetas } from './capabilities.ts'
import { ShelfError } from './errors.ts'
import { additionBeta } from './gate/wire-traits.ts'
import { appendNote, type Facts, type FoldedHistory } from './history.ts'
import { isFields } from './lib/json.ts'
import { byName } from './lib/names.ts'
import { type Demands, toolsToReload, toolsToUndefer } from './normalize.ts'
import { isToolChange, messageBlocks, ourCallId, readDelta } from './notes.ts'
import { countMarks, MAX_MARKS } from './reading.ts'
import type { Context, Kept, State, ToolSection } from './state.ts'
import type {
  AnnouncementStep,
  Decision,
  Definition,
  Message,
  MessageLike,
  Origin,
  PoolTool,
  RequestLike,
  RequestTool,
  SendableItem,
  ToolPartition,
} from './types.ts'
import type { Wire } from './wires.ts'

/** Appends a delta, or returns the list to prepend. */
export function announce(
  context: Context,
  wire: Wire,
  history: FoldedHistory,
): { prepended?: string; step?: AnnouncementStep } {
  const { settings, partition, servers, state } = context
  const input = {
    partition,
    servers,
    budget: Math.floor(context.contextWindow * settings.announceShare),
    descriptions: settings.announceDescriptions,
    instructions: settings.announceInstructions,
    namePrefix: settings.namePrefix,
    searchName: wire.searchName,
    step: history.facts.step ?? state.step,
  }
  if (settings.announce === 'delta') return appendDelta(context, history, input)
  if (partition.deferred.length === 0) return {}
  const { text, step } = availableList(input)
  return { prepended: text, step }
}

function appendDelta(
  context: Context,
  history: FoldedHistory,
  input: Parameters<typeof deltaNote>[0],
): { step?: AnnouncementStep } {
  const { memory, settings, partition, state } = context
  const { facts } = history
  const last = memory.announcedFor
  const isUpToDate = last?.history === history && last.partition === partition && last.deltas === facts.deltas
  if (isUpToDate || !canAppend(history) || endsInToolChange(history)) return {}
  const note = deltaNote(input, facts, originOf(context, facts))
  if (note) {
    appendNote(history, note, memory.anchors, settings.searchTool)
    const { addedNames, removedNames, announcedBefore, origin } = note
    const fault = origin === 'main' && announcedBefore === 0 && state.hasAnnounced
    const counts = { added: addedNames.length, removed: removedNames.length, announcedBefore }
    settings.trace?.({ type: 'announced', ...counts, origin, fault })
  }
  memory.announcedFor = { history, partition, deltas: facts.deltas }
  return note ? { step: note.step } : {}
}

/** Returns whether the history ends in a tool change by the shelf, which a user note would have to precede. */
function endsInToolChange({ entries, placed }: FoldedHistory): boolean {
  const last = entries.at(-1)
  return last !== undefined && isToolChange(last) && placed.some(({ note }) => note === last)
}

/** Appends a search for loaded tools whose definitions are not visible on this wire, e.g. after a compaction. */
export function reload(context: Context, wire: Wire, history: FoldedHistory, demands: Demands): void {
  const { memory, partition, settings } = context
  if (!canAppend(history)) return
  const tools = toolsToReload(context, wire, history.facts, demands)
    .map((name) => partition.pool.byName.get(name))
    .filter((entry): entry is PoolTool => entry !== undefined && partition.deferredNames.has(entry.name))
  if (tools.length === 0) return
  for (const message of wire.reload(tools, freeId(history))) {
    appendNote(history, message, memory.anchors, settings.searchTool)
  }
  settings.trace?.({ type: 'loaded', names: tools.map(({ name }) => name), by: 'reload' })
}

/** Returns a call id that does not occur in the history. */
function freeId({ entries, facts }: FoldedHistory): string {
  let number = entries.length
  while (facts.searchCalls.has(ourCallId(number))) number++
  return ourCallId(number)
}

/** Whether a note can be appended: after a user turn, unless the provider has not answered its own search yet. */
function canAppend({ entries }: FoldedHistory): boolean {
  const last = entries.findLast((entry) => entry.role !== 'system' || readDelta(entry) !== undefined)
  if (last?.role !== 'user') return false
  const blocks = messageBlocks(entries.findLast(({ role }) => role === 'assistant'))
  const answered = new Set(blocks.map(({ tool_use_id }) => tool_use_id))
  return !blocks.some(({ type, id }) => type === 'server_tool_use' && !answered.has(id))
}

function originOf({ memory, isSubAgent }: Context, facts: Facts): Origin {
  if (isSubAgent) return 'sub-agent'
  if (facts.boundaries > 0 && facts.deltasSinceBoundary === 0) return 'compacted'
  return memory.requests === 0 && facts.replies > 0 ? 'resumed' : 'main'
}

/** The API's limit of deferred tools, minus the placeholder. */
const MAX_DEFERRED = 9_999

/** Returns the request's tools, loaded ones included (Q8); all of them if tool search is off (G7). */
export function toolsFor(
  context: Context,
  wire: Wire | undefined,
  facts: Facts,
  demands: Demands,
): { tools: Definition[]; kept: readonly Kept[] } {
  const { partition, state, settings, isFixed } = context
  if (!wire)
    return { tools: definitions([...partition.immediate, ...sorted(partition.deferred)]), kept: state.kept }
  const open = toolsToUndefer(context, wire, facts, demands)
  const names = new Set([...wire.declared(facts)].filter((name) => !open.has(name)))
  const current = currentTools(partition, names, open)
  const kept = mergeKept(state.kept, current, isFixed)
  const sent = isFixed ? inOrder(kept, names) : current
  const inPlace = (isDeferred: boolean) =>
    sent.filter(({ place }) => (place === 'deferred') === isDeferred).map(({ definition }) => definition)
  const isUnloaded = ({ name }: PoolTool) => !names.has(name) && !facts.loaded.has(name) && !open.has(name)
  const tools = wire.declare({
    immediate: inPlace(false),
    loaded: inPlace(true),
    unloaded: () => {
      const all = sorted(partition.deferred).filter(isUnloaded)
      const hosts = demands.tools.filter((tool) => tool.defer_loading === true).length
      const maxTools = MAX_DEFERRED - names.size - hosts
      if (all.length > maxTools)
        settings.notify(
          `${all.length - maxTools} tools are left out: a request may have at most ${MAX_DEFERRED} deferred ones. Use the strategy "on-demand".`,
        )
      return definitions(all.slice(0, maxTools))
    },
  })
  return { tools, kept: isFixed ? fixed(kept, sent) : kept }
}

/** Returns the names of the tools whose definitions a request lets the model read: the answer to what it sees. */
export function shownBy(wire: Wire, tools: readonly Definition[], facts: Facts): readonly string[] {
  const { loaded } = facts
  const unseen = wire.unseen(facts)
  const isSeen = (name: string) => loaded.has(name) && !unseen.includes(name)
  const shown: string[] = []
  for (const { name, defer_loading } of tools) if (defer_loading !== true || isSeen(name)) shown.push(name)
  if (!wire.callsByName)
    for (const name of loaded) if (isSeen(name) && !shown.includes(name)) shown.push(name)
  return shown
}

/** Returns the names of the tools that were sent with a definition in front of the messages, if these stay there (N5). */
export function openNames({ kept }: State): string[] {
  return kept.filter(({ place }) => place !== 'deferred').map(({ definition }) => definition.name)
}

/** Keeps the definitions that a search has just loaded: a tool may be removed before the next request. */
export function keepFound(kept: readonly Kept[], found: readonly PoolTool[]): readonly Kept[] {
  const known = new Set(kept.map(({ definition }) => definition.name))
  const added = found.filter(({ name }) => !known.has(name)).map(keepDeferred)
  return added.length > 0 ? [...kept, ...added] : kept
}

/** Returns the tools of the pool to send: immediate ones, undeferred ones, and loaded ones in the order of loading. */
function currentTools(
  { pool, immediate, deferredNames }: ToolPartition,
  loaded: ReadonlySet<string>,
  open: ReadonlySet<string>,
): Kept[] {
  const entries = (names: Iterable<string>) => [...names].flatMap((name) => pool.byName.get(name) ?? [])
  return [
    ...[...immediate, ...entries(open)].map(keepOpen),
    ...entries([...loaded].filter((name) => deferredNames.has(name))).map(keepDeferred),
  ]
}

function definitions(tools: readonly PoolTool[]): Definition[] {
  return tools.map(({ definition }) => definition)
}

function keepOpen({ definition, server }: PoolTool): Kept {
  return { definition, place: server === undefined ? 'built-in' : 'mcp' }
}

function keepDeferred({ definition }: PoolTool): Kept {
  return { definition, place: 'deferred' }
}

/**
 * If `isFixed`, what was sent stays byte for byte, and in front of the messages if it was there; otherwise definitions
 * follow the pool. Loaded tools are kept for every model, so that a removed one is still available when the conversation
 * moves to a model that needs it.
 */
function mergeKept(old: readonly Kept[], current: readonly Kept[], isFixed: boolean): readonly Kept[] {
  const merged = new Map<string, Kept>()
  for (const entry of old) merged.set(entry.definition.name, entry)
  let isChanged = false
  for (const entry of current) {
    const { definition, place } = entry
    if (!isFixed && place !== 'deferred') continue
    const known = merged.get(definition.name)
    const stays = known && (isFixed || known.isFixed || known.definition === definition)
    if (stays && (known.place !== 'deferred' || place === 'deferred')) continue
    merged.set(definition.name, stays ? { ...known, place } : entry)
    isChanged = true
  }
  return isChanged ? [...merged.values()] : old
}

/** Marks the definitions that were sent, also of tools that were removed before. */
function fixed(kept: readonly Kept[], sent: readonly Kept[]): readonly Kept[] {
  const loose = new Set(sent.filter(({ isFixed }) => !isFixed))
  return loose.size === 0
    ? kept
    : kept.map((entry) => (loose.has(entry) ? { ...entry, isFixed: true } : entry))
}

/** Sorts kept definitions as if the pool still had all of their tools. */
function inOrder(kept: readonly Kept[], deferredNames: ReadonlySet<string>): Kept[] {
  const byDefinition = new Map(kept.map((entry) => [entry.definition.name, entry]))
  const deferred = [...deferredNames].flatMap((name) => byDefinition.get(name) ?? [])
  const group = (place: ToolSection) =>
    kept.filter((entry) => entry.place === place).sort((a, b) => byName(a.definition, b.definition))
  return [...group('built-in'), ...group('mcp'), ...deferred.filter(({ place }) => place === 'deferred')]
}

const sortedLists = new WeakMap<readonly PoolTool[], PoolTool[]>()

function sorted(tools: readonly PoolTool[]): PoolTool[] {
  let result = sortedLists.get(tools)
  if (!result) {
    result = [...tools].sort(byName)
    sortedLists.set(tools, result)
  }
  return result
}

/** A host's request with the tools and messages to send, in the SDK's own types. */
export type RequestToSend<Request extends RequestLike> = Omit<Request, 'messages' | 'tools'> & {
  messages: MessagesOf<Request>
  tools: RequestTool[]
}

/** The messages of a request in the SDK's own type, without the shelf's notes. */
export type MessagesOf<Request extends RequestLike> = Request['messages'] extends readonly (infer Item)[]
  ? SendableItem<Item>[]
  : MessageLike[]

/** The parts of a request to send. */
type Parts = {
  readonly tools: readonly Definition[]
  readonly messages: readonly Message[]
  /** Thinking by hand has to be off, because it must begin a series of calls and is left out there (N5). */
  readonly losesThinking: boolean
  readonly betas: readonly string[]
  /** The list of names in front of all messages, with `announce: 'prepend'` (A1). */
  readonly prepended: string | undefined
  readonly wire: Wire | undefined
  readonly decision: Decision
}

/** Assembles the request to send and its headers. */
export function assemble<Request extends RequestLike>(
  hostRequest: Request,
  context: Context,
  { tools, messages, losesThinking, betas, prepended, wire, decision }: Parts,
): { readonly request: RequestToSend<Request>; readonly headers: Record<string, string> } {
  const { tools: _, betas: ownBetas, tool_choice, ...rest } = hostRequest as Request & HostFields
  const sent = { ...rest, messages: prepended === undefined ? messages : [ahead(prepended), ...messages] }
  const request = {
    ...sent,
    ...hostChoice(tool_choice, wire, context),
    ...hostBetas(ownBetas, context),
    ...(losesThinking ? { thinking: { type: 'disabled' } } : {}),
    tools: withBreakpoints(tools, sent, context),
  }
  const isSent = betas.length > 0 && decision.reason !== 'rejected'
  return {
    // The messages are the host's own, or copies of its type; the tools have the SDK's shape.
    request: request as unknown as RequestToSend<Request>,
    headers: isSent ? { 'anthropic-beta': betas.join(',') } : {},
  }
}

type HostFields = { tools?: unknown; betas?: unknown; tool_choice?: unknown }

/** Puts the request's own tools in front of the shelf's. Throws if one has the name of a tool on the shelf. */
export function withHostTools(
  { tools }: Demands,
  { pool }: Context,
  wire: Wire | undefined,
  ours: readonly Definition[],
): readonly Definition[] {
  const twice = tools.find(({ name }) => pool.byName.has(name) || ours.some((tool) => tool.name === name))
  const all = [...tools, ...ours]
  if (!twice) return wire?.takesReferences ? all : withoutDeferral(all)
  const message = `"${twice.name}" is both on the shelf and in the request's own tools; remove it from one of them.`
  throw new ShelfError('DUPLICATE_TOOL', message, twice)
}

/** Returns the beta headers: one that was sent stays for the conversation, unless the kill switch is on (Q4). */
export function betasFor(context: Context, wire: Wire | undefined): readonly string[] {
  const { state, mode, capability } = context
  if (mode.isKilled) return []
  const references = wire?.takesReferences ? (capability.provider?.betas ?? []) : []
  const additions = wire?.takesAdditions ? [additionBeta(context) ?? ''] : []
  const betas = [...new Set([...state.betas, ...references, ...additions])].filter((beta) => beta !== '')
  return betas.length === state.betas.length ? state.betas : betas
}

function withoutDeferral(tools: readonly Definition[]): Definition[] {
  return tools
    .filter(({ type }) => !String(type).startsWith('tool_search_tool_'))
    .map((tool) => (DEFERRAL.some((field) => field in tool) ? (undeferred(tool) as Definition) : tool))
}

const DEFERRAL = ['defer_loading', 'default_config', 'configs']

/** Removes the deferral from a tool, or from a toolset and its members. */
function undeferred(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { defer_loading: _, default_config, configs, ...rest } = value as Record<string, unknown>
  return {
    ...rest,
    ...(default_config === undefined ? {} : { default_config: undeferred(default_config) }),
    ...(typeof configs !== 'object' || configs === null
      ? {}
      : {
          configs: Object.fromEntries(Object.entries(configs).map(([name, one]) => [name, undeferred(one)])),
        }),
  }
}

function ahead(content: string): Message {
  return { role: 'user', content }
}

/**
 * Adds a breakpoint after the tools that stay the same during a conversation (Q9), unless the host has already used all
 * breakpoints that the API allows.
 */
function withBreakpoints(
  tools: readonly Definition[],
  rest: { readonly messages: readonly Message[]; readonly [field: string]: unknown },
  { settings, pool }: Context,
): readonly Definition[] {
  const own = tools.map((tool) => {
    const mark = (pool.byName.get(tool.name)?.tool as { cache_control?: object } | undefined)?.cache_control
    return mark && tool.defer_loading !== true ? { ...tool, cache_control: mark } : tool
  })
  const { cacheControl } = settings
  const last = cacheControl ? own.findLastIndex(({ defer_loading }) => defer_loading !== true) : -1
  const marked = own.map((tool, index) => (index === last ? { ...tool, cache_control: cacheControl } : tool))
  if (last < 0) return own
  // The last message stays, because a breakpoint of the request as a whole counts on its last block.
  const messages = rest.messages.filter(
    (message, index, { length }) => index === length - 1 || isMarked(message),
  )
  return countMarks({ ...rest, messages, tools: marked }) <= MAX_MARKS ? marked : own
}

/** Messages without a breakpoint. */
const unmarked = new WeakSet<Message>()

function isMarked(message: Message): boolean {
  if (unmarked.has(message)) return false
  if (countMarks({ messages: [message] }) > 0) return true
  if (isFields(message)) unmarked.add(message)
  return false
}

/** Drops a `tool_choice` that forces the search tool (Q6). Warns if the model refuses forced choices. */
function hostChoice(
  choice: unknown,
  wire: Wire | undefined,
  { settings, capability, model }: Context,
): object {
  if (choice === undefined) return {}
  const { type, name } = (choice ?? {}) as { type?: unknown; name?: unknown }
  if (name !== undefined && (name === settings.searchTool || name === wire?.searchName)) return {}
  if (!capability.forcedToolChoice && (type === 'any' || type === 'tool')) {
    settings.notify(`${model} refuses a tool_choice of "${type}"; use "auto".`)
  }
  return { tool_choice: choice }
}

function hostBetas(betas: unknown, { mode, settings }: Context): object {
  if (!Array.isArray(betas)) return {}
  const ours = mode.isKilled ? searchBetas(settings.capabilities) : new Set()
  const kept = betas.filter((beta) => !ours.has(String(beta)))
  return kept.length > 0 ? { betas: kept } : {}
}
