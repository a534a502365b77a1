// Chooses the tools of one request and their order (Q1, Q3), and keeps definitions that must not change.
// Implements D8, G7, Q1, Q3, Q8, N5, K3, K4.

import { byName } from '../../lib/index.ts'
import type { Facts } from '../history/index.ts'
import type { Context, Kept, State, ToolSection } from '../state.ts'
import type { Definition, PoolTool, ToolPartition } from '../types.ts'
import type { Wire } from '../wire/index.ts'
import { type Demands, toolsToUndefer } from './demands.ts'

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
