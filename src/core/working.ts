// Step 5. The tools of one request: which definitions, in which order (Q1, Q3), and which ones are kept as they were.
import type { Capability } from './capabilities.ts'
import type { Facts } from './history.ts'
import type { Settings } from './options.ts'
import type { Kept, Place, State } from './state.ts'
import type { Definition, PoolTool, Shelving } from './types.ts'
import type { Wire, Working } from './wire/wire.ts'

/** The tools when tool search is off: all of them (G7). */
export function everything({ immediate, deferred }: Shelving): Definition[] {
  return [...immediate, ...byName(deferred)].map(({ definition }) => definition)
}

export function workingSet(
  shelving: Shelving,
  facts: Facts,
  wire: Wire,
  state: State,
  capability: Capability,
  settings: Settings,
): { working: Working; kept: readonly Kept[] } {
  const names = wire.takesAdditions ? facts.named : facts.loaded
  const loaded = [...new Set([...facts.loaded, ...names])].filter((name) => shelving.deferredNames.has(name))
  const current: Kept[] = [
    ...shelving.immediate.map((entry) => keep(entry, entry.server === undefined ? 'built-in' : 'mcp')),
    ...loaded.map((name) => keep(shelving.pool.byName.get(name) as PoolTool, 'deferred')),
  ]
  const isKeeping = settings.tombstones || capability.boundThinking
  const kept = isKeeping ? mergeKept(state.kept, current) : state.kept
  const sent = isKeeping ? inOrder(kept, facts) : current
  const unloaded = () =>
    byName(shelving.deferred).filter(({ name }) => !names.has(name) && !facts.loaded.has(name))
  return {
    kept,
    working: {
      immediate: sent.filter(({ place }) => place !== 'deferred').map(({ definition }) => definition),
      loaded: sent.filter(({ place }) => place === 'deferred').map(({ definition }) => definition),
      unloaded: () => unloaded().map(({ definition }) => definition),
    },
  }
}

function keep({ definition }: PoolTool, place: Place): Kept {
  return { definition, place }
}

/** What was sent once stays byte for byte; what is new is added; a tool that changed its place moves there. */
function mergeKept(old: readonly Kept[], current: readonly Kept[]): readonly Kept[] {
  const merged = new Map(old.map((entry) => [entry.definition.name, entry]))
  for (const entry of current) {
    const known = merged.get(entry.definition.name)
    if (!known) merged.set(entry.definition.name, entry)
    else if (known.place !== entry.place) merged.set(entry.definition.name, { ...known, place: entry.place })
  }
  const kept = [...merged.values()]
  return kept.length === old.length && kept.every((entry, index) => entry === old[index]) ? old : kept
}

/** The order of a pool that still had every kept tool; a deferred one that this history never loaded stays out. */
function inOrder(kept: readonly Kept[], facts: Facts): Kept[] {
  const order = [...new Set([...facts.loaded, ...facts.named])]
  const position = new Map(order.map((name, index) => [name, index]))
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
