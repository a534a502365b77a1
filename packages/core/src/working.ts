// Chooses the working set: the definitions that one request contains, in which order. Nothing that was sent before changes.
// Implements D8, G7, N5, Q1, Q2, Q3, Q6, Q8.

import type { Facts } from './history.ts'
import { oncePer } from './lib/objects.ts'
import { byName } from './names.ts'
import { isBlock } from './notes.ts'
import type {
  Context,
  Definition,
  Kept,
  PoolTool,
  RequestLike,
  State,
  ToolPartition,
  ToolSection,
} from './types.ts'
import type { Wire } from './wires.ts'

/** What the host's own request contains. */
export type OwnRequest = {
  /** Tools in the request itself, which are sent first and unchanged. */
  readonly tools: readonly Definition[]
  readonly system: unknown
  /** The tool that `tool_choice` forces. */
  readonly forced: string | undefined
  /** Whether thinking is `enabled`: then the API refuses a call in the last reply without thinking before it. */
  readonly thinksByHand: boolean
  /** Whether the API has earlier messages: the first results may answer calls that are not in this request. */
  readonly continuesThread: boolean
}

type HostFields = {
  readonly tools?: unknown
  readonly system?: unknown
  readonly tool_choice?: { readonly type?: unknown; readonly name?: unknown } | null
  readonly thinking?: { readonly type?: unknown } | null
  readonly thread?: { readonly type?: unknown } | null
}

export function readOwn(request: RequestLike): OwnRequest {
  const { tools, system, tool_choice: choice, thinking, thread } = request as HostFields
  return {
    tools: Array.isArray(tools) ? (tools.filter(isBlock) as unknown as Definition[]) : [],
    system,
    forced: choice?.type === 'tool' && typeof choice.name === 'string' ? choice.name : undefined,
    thinksByHand: thinking?.type === 'enabled',
    continuesThread: thread?.type === 'continue',
  }
}

/** Returns the loaded or forced tools that a search by the shelf must show; none if the API would refuse that search. */
export function toolsToShow({ capability, own }: Context, wire: Wire, facts: Facts): string[] {
  if (own.thinksByHand) return []
  const { forced } = own
  const isAsked = capability.boundThinking && forced !== undefined && !facts.loaded.has(forced)
  return [...wire.unseen(facts), ...(isAsked ? [forced] : [])]
}

/** Returns the deferred tools to send undeferred: the forced one, and loaded ones that no search by the shelf can show. */
function toolsToUndefer({ partition, own }: Context, wire: Wire, facts: Facts): Set<string> {
  const { forced, thinksByHand } = own
  const isReachable = forced === undefined || (facts.loaded.has(forced) && wire.callsByName)
  const unseen = wire.takesReferences && thinksByHand ? wire.unseen(facts) : []
  return new Set(
    [...(isReachable ? [] : [forced]), ...unseen].filter((name) => partition.deferredNames.has(name)),
  )
}

/** The API's limit of deferred tools, minus the placeholder. */
const MAX_DEFERRED = 9_999

/** Returns the request's tools, loaded ones included (Q8); all of them if tool search is off (G7). */
export function toolsFor(
  context: Context,
  wire: Wire | undefined,
  facts: Facts,
): { tools: Definition[]; kept: readonly Kept[] } {
  const { partition, state, settings, own, keepsSent } = context
  const definitions = (tools: readonly PoolTool[]) => tools.map(({ definition }) => definition)
  if (!wire)
    return { tools: definitions([...partition.immediate, ...sorted(partition.deferred)]), kept: state.kept }
  const open = toolsToUndefer(context, wire, facts)
  const names = new Set([...wire.declared(facts)].filter((name) => !open.has(name)))
  const current = currentTools(partition, names, open)
  const kept = mergeKept(state.kept, current, keepsSent)
  const sent = keepsSent ? inOrder(kept, names) : current
  const inPlace = (isDeferred: boolean) =>
    sent.filter(({ place }) => (place === 'deferred') === isDeferred).map(({ definition }) => definition)
  const isUnloaded = ({ name }: PoolTool) => !names.has(name) && !facts.loaded.has(name) && !open.has(name)
  const tools = wire.declare({
    immediate: inPlace(false),
    loaded: inPlace(true),
    unloaded: () => {
      const all = sorted(partition.deferred).filter(isUnloaded)
      const hosts = own.tools.filter((tool) => tool.defer_loading === true).length
      const maxTools = MAX_DEFERRED - names.size - hosts
      if (all.length > maxTools)
        settings.notify(
          `${all.length - maxTools} tools are left out: a request may have at most ${MAX_DEFERRED} deferred ones. Use the strategy "on-demand".`,
        )
      return definitions(all.slice(0, maxTools))
    },
  })
  return { tools, kept: keepsSent ? fixed(kept, sent) : kept }
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

/** Returns the tools of the pool to send: immediate ones, undeferred ones, and loaded ones in the order of loading. */
function currentTools(
  { pool, immediate, deferredNames }: ToolPartition,
  loaded: ReadonlySet<string>,
  open: ReadonlySet<string>,
): Kept[] {
  const entries = (names: Iterable<string>) => [...names].flatMap((name) => pool.byName.get(name) ?? [])
  const deferred = entries([...loaded].filter((name) => deferredNames.has(name)))
  return [
    ...[...immediate, ...entries(open)].map(
      ({ definition, server }): Kept => ({ definition, place: server === undefined ? 'built-in' : 'mcp' }),
    ),
    ...deferred.map(({ definition }): Kept => ({ definition, place: 'deferred' })),
  ]
}

/**
 * If `keepsSent`, what was sent stays byte for byte, and in front of the messages if it was there; otherwise definitions
 * follow the pool. Loaded tools are kept for every model, so that a removed one is still available when the conversation
 * moves to a model that needs it.
 */
function mergeKept(old: readonly Kept[], current: readonly Kept[], keepsSent: boolean): readonly Kept[] {
  const merged = new Map<string, Kept>()
  for (const entry of old) merged.set(entry.definition.name, entry)
  let isChanged = false
  for (const entry of current) {
    const { definition, place } = entry
    if (!keepsSent && place !== 'deferred') continue
    const known = merged.get(definition.name)
    const stays = known && (keepsSent || known.isFixed || known.definition === definition)
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

const sorted = oncePer((tools: readonly PoolTool[]) => [...tools].sort(byName))
