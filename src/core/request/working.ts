// Chooses the tools of one request and their order (Q1, Q3), and keeps definitions that must not change.
// Implements D8, G7, Q1, Q3, Q8, N5, K3, K4.

import { byName } from '../../lib/index.ts'
import type { Facts } from '../history/index.ts'
import type { Context, Kept, ToolSection } from '../state.ts'
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
  const { partition, state, settings, capability } = context
  if (!wire)
    return { tools: definitions([...partition.immediate, ...sorted(partition.deferred)]), kept: state.kept }
  const open = toolsToUndefer(context, wire, facts, demands)
  const isFixed = settings.tombstones || capability.boundThinking
  const names = new Set([...wire.declared(facts)].filter((name) => !open.has(name)))
  const current = [...currentTools(partition, names), ...(isFixed ? openTools(partition, open) : [])]
  const merged = mergeKept(state.kept, current, isFixed)
  const sent = isFixed ? inOrder(merged, names) : current
  const inPlace = (isDeferred: boolean) =>
    sent.filter(({ place }) => (place === 'deferred') === isDeferred).map(({ definition }) => definition)
  const isUnloaded = ({ name }: PoolTool) => !names.has(name) && !facts.loaded.has(name) && !open.has(name)
  const tools = wire.declare({
    immediate: [...inPlace(false), ...(isFixed ? [] : definitions(entriesOf(partition, open)))],
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
  return { tools, kept: isFixed ? fixSent(merged, sent) : merged }
}

/** Keeps the definitions that a search has just loaded: a tool may be removed before the next request. */
export function keepFound(kept: readonly Kept[], found: readonly PoolTool[]): readonly Kept[] {
  return mergeKept(
    kept,
    found.map((entry) => keep(entry, 'deferred')),
    false,
  )
}

function currentTools(
  { pool, immediate, deferredNames }: ToolPartition,
  loaded: ReadonlySet<string>,
): Kept[] {
  const deferred = [...loaded].filter((name) => deferredNames.has(name)).map((name) => pool.byName.get(name))
  return [
    ...immediate.map((entry) => keep(entry, entry.server === undefined ? 'built-in' : 'mcp')),
    ...deferred.flatMap((entry) => (entry ? [keep(entry, 'deferred')] : [])),
  ]
}

function openTools(partition: ToolPartition, open: ReadonlySet<string>): Kept[] {
  return entriesOf(partition, open).map((entry) =>
    keep(entry, entry.server === undefined ? 'built-in' : 'mcp'),
  )
}

function entriesOf({ pool }: ToolPartition, names: ReadonlySet<string>): PoolTool[] {
  return [...names].flatMap((name) => pool.byName.get(name) ?? [])
}

function definitions(tools: readonly PoolTool[]): Definition[] {
  return tools.map(({ definition }) => definition)
}

function keep({ definition }: PoolTool, place: ToolSection): Kept {
  return { definition, place }
}

/**
 * Keeps definitions that must not change any more byte for byte; others follow the pool. Loaded tools are kept for every
 * model, so that a removed one is still available when the conversation moves to a model that needs it.
 */
function mergeKept(old: readonly Kept[], current: readonly Kept[], isFixed: boolean): readonly Kept[] {
  const merged = new Map(old.map((entry) => [entry.definition.name, entry]))
  for (const { definition, place } of current) {
    const known = merged.get(definition.name)
    if (!isFixed && !known?.isFixed && place !== 'deferred') continue
    const stays = known && (isFixed || known.isFixed)
    const next = {
      definition: stays ? known.definition : definition,
      place: stays && known.place !== 'deferred' ? known.place : place,
      isFixed: isFixed || known?.isFixed === true,
    }
    const isSame =
      known?.definition === next.definition && known.place === next.place && known.isFixed === next.isFixed
    if (!isSame) merged.set(definition.name, next)
  }
  const kept = [...merged.values()]
  return kept.length === old.length && kept.every((entry, index) => entry === old[index]) ? old : kept
}

/** Fixes the definitions that were sent, also of tools that were removed before. */
function fixSent(kept: readonly Kept[], sent: readonly Kept[]): readonly Kept[] {
  const loose = new Set(sent.filter(({ isFixed }) => isFixed !== true))
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
