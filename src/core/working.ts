// Step 5. The tools of one request: which definitions, in which order (Q1, Q3), and which ones are kept as they were.
import type { Capability } from './capabilities.ts'
import { type Facts, referredNames } from './history.ts'
import type { Settings } from './options.ts'
import type { Kept, Place, State } from './state.ts'
import type { Definition, PoolTool, Shelving } from './types.ts'
import type { Wire } from './wire/wire.ts'

/** The request's tools; with tool search off all of them (G7). And what must be remembered of them. */
export function toolsFor(
  wire: Wire | undefined,
  shelving: Shelving,
  facts: Facts,
  state: State,
  capability: Capability,
  settings: Settings,
): { tools: Definition[]; kept: readonly Kept[] } {
  if (!wire)
    return { tools: definitions([...shelving.immediate, ...byName(shelving.deferred)]), kept: state.kept }
  const names = new Set(wire.declared(facts))
  const current = currentTools(shelving, names)
  const isKeeping = keeps(capability, settings)
  const kept = mergeKept(state.kept, current, isKeeping)
  const sent = isKeeping ? inOrder(kept, facts) : current
  const inPlace = (isDeferred: boolean) =>
    sent.filter(({ place }) => (place === 'deferred') === isDeferred).map(({ definition }) => definition)
  const isUnloaded = ({ name }: PoolTool) => !names.has(name) && !facts.loaded.has(name)
  const tools = wire.declare({
    immediate: inPlace(false),
    loaded: inPlace(true),
    unloaded: () => definitions(byName(shelving.deferred).filter(isUnloaded)),
  })
  return { tools, kept }
}

/** Loaded tools stay, vanished or not, as long as nothing sent may change (N5). */
export function keepsLoaded(state: State, capability: Capability, settings: Settings): boolean {
  return keeps(capability, settings) && state.kept.some(({ place }) => place === 'deferred')
}

function keeps({ boundThinking }: Capability, { tombstones }: Settings): boolean {
  return tombstones || boundThinking
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
  const group = (place: Place) => kept.filter((entry) => entry.place === place).sort(byDefinitionName)
  return [...group('built-in'), ...group('mcp'), ...deferred]
}

const sorted = new WeakMap<readonly PoolTool[], PoolTool[]>()

function byName(tools: readonly PoolTool[]): PoolTool[] {
  let result = sorted.get(tools)
  if (!result) {
    result = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
    sorted.set(tools, result)
  }
  return result
}

function byDefinitionName(a: Kept, b: Kept): number {
  return a.definition.name < b.definition.name ? -1 : 1
}
