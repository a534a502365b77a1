// The tools of one request: which definitions, in which order (Q1, Q3), and which ones are kept as they were.
import { type Facts, referredNames } from '../history/fold.ts'
import type { Context, Kept, Place } from '../state.ts'
import { byName } from '../tools/names.ts'
import type { Definition, PoolTool, Shelving } from '../types.ts'
import type { Wire } from './wire/wire.ts'

/** The request's tools; with tool search off all of them (G7). And what must be remembered of them. */
export function toolsFor(
  { shelving, state, settings, capability }: Context,
  wire: Wire | undefined,
  facts: Facts,
): { tools: Definition[]; kept: readonly Kept[] } {
  if (!wire)
    return { tools: definitions([...shelving.immediate, ...sorted(shelving.deferred)]), kept: state.kept }
  const names = new Set(wire.declared(facts))
  const current = currentTools(shelving, names)
  const isFixed = settings.tombstones || capability.boundThinking
  const kept = mergeKept(state.kept, current, isFixed)
  const sent = isFixed ? inOrder(kept, facts) : current
  const inPlace = (isDeferred: boolean) =>
    sent.filter(({ place }) => (place === 'deferred') === isDeferred).map(({ definition }) => definition)
  const isUnloaded = ({ name }: PoolTool) => !names.has(name) && !facts.loaded.has(name)
  const tools = wire.declare({
    immediate: inPlace(false),
    loaded: inPlace(true),
    unloaded: () => definitions(sorted(shelving.deferred).filter(isUnloaded)),
  })
  return { tools, kept }
}

/** Remembers what a search has just loaded: it may be gone before the next request. */
export function keepFound(kept: readonly Kept[], found: readonly PoolTool[]): readonly Kept[] {
  return mergeKept(
    kept,
    found.map((entry) => keep(entry, 'deferred')),
    false,
  )
}

function currentTools({ pool, immediate, deferredNames }: Shelving, loaded: ReadonlySet<string>): Kept[] {
  const deferred = [...loaded].filter((name) => deferredNames.has(name)).map((name) => pool.byName.get(name))
  return [
    ...immediate.map((entry) => keep(entry, entry.server === undefined ? 'built-in' : 'mcp')),
    ...deferred.flatMap((entry) => (entry ? [keep(entry, 'deferred')] : [])),
  ]
}

function definitions(tools: readonly PoolTool[]): Definition[] {
  return tools.map(({ definition }) => definition)
}

function keep({ definition }: PoolTool, place: Place): Kept {
  return { definition, place }
}

/**
 * What must not change any more stays byte for byte; the rest follows the pool. Loaded tools are remembered on every
 * model, so that one which vanished is still there when a model takes over that needs it.
 */
function mergeKept(old: readonly Kept[], current: readonly Kept[], isFixed: boolean): readonly Kept[] {
  const merged = new Map(old.map((entry) => [entry.definition.name, entry]))
  for (const { definition, place } of current) {
    const known = merged.get(definition.name)
    if (!isFixed && !known?.isFixed && place !== 'deferred') continue
    const stays = known && (isFixed || known.isFixed)
    const next = {
      definition: stays ? known.definition : definition,
      place,
      isFixed: isFixed || known?.isFixed === true,
    }
    const isSame =
      known?.definition === next.definition && known.place === place && known.isFixed === next.isFixed
    if (!isSame) merged.set(definition.name, next)
  }
  const kept = [...merged.values()]
  return kept.length === old.length && kept.every((entry, index) => entry === old[index]) ? old : kept
}

/** The order of a pool that still had every kept tool; a deferred one that this history never loaded stays out. */
function inOrder(kept: readonly Kept[], facts: Facts): Kept[] {
  const order = new Set([...facts.loaded, ...referredNames(facts)])
  const position = new Map([...order].map((name, index) => [name, index]))
  const deferred = kept.filter(
    ({ definition, place }) => place === 'deferred' && position.has(definition.name),
  )
  deferred.sort((a, b) => (position.get(a.definition.name) ?? 0) - (position.get(b.definition.name) ?? 0))
  const group = (place: Place) =>
    kept.filter((entry) => entry.place === place).sort((a, b) => byName(a.definition, b.definition))
  return [...group('built-in'), ...group('mcp'), ...deferred]
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
