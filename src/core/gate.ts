// Step 3. Is tool search on for this request, and why? Whatever fails, fails toward loading everything (G4).
import { type Capability, isKnownHost } from './capabilities.ts'
import type { ModeReading } from './mode.ts'
import type { Settings } from './options.ts'
import { type Counts, type Measure, measure } from './threshold.ts'
import type { Servers, Shelving, WireName } from './types.ts'

export type Reason =
  | 'open'
  | 'kill-switch'
  | 'mode'
  | 'proxy'
  | 'model'
  | 'provider'
  | 'rejected'
  | 'no-search-tool'
  | 'nothing-to-search'
  | 'below-threshold'

export type Decision = {
  readonly open: boolean
  readonly reason: Reason
  readonly mode: ModeReading['mode']
  readonly wire: WireName | undefined
  readonly deferrable: number
  readonly measure?: Measure
  /** Why a check could not be made. */
  readonly error?: string
}

export type GateInput = {
  readonly settings: Settings
  readonly model: string
  readonly mode: ModeReading
  readonly capability: Capability
  readonly shelving: Shelving
  readonly servers: Servers
  /** Back-ends that refused references at run time (G6), by `backEndKey`. */
  readonly rejected: ReadonlySet<string>
  /** Auto has opened before in this conversation (T6). */
  readonly opened: boolean
  /** Loaded tools whose definitions must stay, vanished or not (N5). */
  readonly keeps: boolean
  readonly counts: Counts
}

/** The definitive gate: the first check that fails, or cannot be made, is the reason (G2). */
export async function decide(input: GateInput): Promise<Decision> {
  const wire = wireOf(input.settings, input.capability)
  const about = { mode: input.mode.mode, wire, deferrable: input.shelving.deferred.length }
  const optimistic = mayOffer(input.settings, input.mode, input.capability)
  if (optimistic !== 'open') return { open: false, reason: optimistic, ...about }
  for (const [reason, passes] of checks) {
    try {
      if (!passes(input, wire)) return { open: false, reason, ...about }
    } catch (error) {
      return { open: false, reason, ...about, error: String(error) }
    }
  }
  return { ...(await passThreshold(input)), ...about }
}

/** The optimistic gate: may the search tool be put in the pool at all? No model, no counting (G1). */
export function mayOffer(settings: Settings, mode: ModeReading, capability: Capability): Reason {
  if (mode.killed) return 'kill-switch'
  if (mode.mode === 'standard') return 'mode'
  const wire = wireOf(settings, capability)
  if (mode.isSet || !isReferenceType(wire)) return 'open'
  return isKnownHost(settings.baseURL, capability.provider) ? 'open' : 'proxy'
}

/** The wire in use: forced, or what the capability table names. */
export function wireOf(settings: Settings, capability: Capability): WireName | undefined {
  return settings.wire ?? capability.wire
}

/** Wires that put `defer_loading`, `tool_reference` or `tool_addition` into the request. */
export function isReferenceType(wire: WireName | undefined): boolean {
  return wire === 'reference' || wire === 'addition' || wire === 'hosted'
}

export function backEndKey(baseURL: string | undefined, model: string): string {
  return `${baseURL ?? ''}\n${model}`
}

type Check = (input: GateInput, wire: WireName | undefined) => boolean

const checks: readonly (readonly [Reason, Check])[] = [
  ['model', ({ capability }, wire) => !isReferenceType(wire) || capability.modelTakesReferences],
  ['provider', canSpeak],
  [
    'rejected',
    ({ rejected, settings, model }, wire) =>
      !isReferenceType(wire) || !rejected.has(backEndKey(settings.baseURL, model)),
  ],
  ['no-search-tool', ({ settings }) => settings.hidden?.({ name: settings.searchTool }) !== true],
  [
    'nothing-to-search',
    ({ shelving, servers, keeps }) =>
      keeps || shelving.deferred.length > 0 || [...servers.values()].some(({ state }) => state === 'pending'),
  ],
]

function canSpeak({ capability, settings }: GateInput, wire: WireName | undefined): boolean {
  const { provider } = capability
  if (wire === 'append' || wire === 'bridge') return true
  if (!provider?.references) return false
  if (wire === 'reference') return true
  if (wire === 'hosted') {
    const offered = provider.hosted ?? []
    return settings.hostedSearch ? offered.includes(settings.hostedSearch) : offered.length > 0
  }
  return additionBeta(settings, capability) !== undefined
}

/** The beta that `tool_addition` needs here, if the back-end has it. */
export function additionBeta(settings: Settings, { provider }: Capability): string | undefined {
  return settings.additions === 'value' ? provider?.additions?.byValue : provider?.additions?.byReference
}

async function passThreshold(
  input: GateInput,
): Promise<{ open: boolean; reason: Reason; measure?: Measure; error?: string }> {
  const { settings, mode, capability, shelving, model, counts, opened } = input
  if (mode.mode !== 'tst-auto' || opened) return { open: true, reason: 'open' }
  try {
    const window = settings.contextWindow ?? capability.contextWindow
    const measured = await measure(shelving, model, mode.percent, window, settings, counts)
    return {
      open: measured.reached,
      reason: measured.reached ? 'open' : 'below-threshold',
      measure: measured,
    }
  } catch (error) {
    return { open: false, reason: 'below-threshold', error: String(error) }
  }
}
