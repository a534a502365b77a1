// Decides whether tool search is on for a request, and why. If a check fails, everything is loaded (G4).
// Implements T6, G1, G2, G4, G5.
import type { Settings } from '../options.ts'
import type { Context, Host, State } from '../state.ts'
import type { Decision, DecisionReason, Servers, WireName } from '../types.ts'
import { type Capability, capabilityOf, isKnownHost } from './capabilities.ts'
import { type ModeReading, readMode } from './mode.ts'
import { checkThreshold } from './threshold.ts'
import { wireTraits } from './wire-traits.ts'

/** Decides for one request: the first check that fails, or cannot be made, is the reason (G2). */
export async function decide(context: Context, opened: boolean): Promise<Decision> {
  const { settings, mode, capability, partition } = context
  const wire = wireOf(settings, capability)
  const about = { mode: mode.mode, wire, deferrable: partition.deferred.length }
  const offered = offerReason(settings, mode, capability)
  if (offered !== 'open') return { open: false, reason: offered, ...about }
  for (const [reason, passes] of checks) {
    try {
      if (!passes(context, wire)) return { open: false, reason, ...about }
    } catch (error) {
      return { open: false, reason, ...about, error: String(error) }
    }
  }
  const isAsked = mode.mode === 'tst-auto' && !opened
  return { ...(isAsked ? await passThreshold(context) : { open: true, reason: 'open' }), ...about }
}

/** Decides, without a model and without counting, whether the search tool may be offered at all (G1). */
function offerReason(settings: Settings, mode: ModeReading, capability: Capability): DecisionReason {
  if (mode.isKilled) return 'kill-switch'
  if (mode.mode === 'standard') return 'mode'
  if (mode.isSet || !usesReferences(wireOf(settings, capability))) return 'open'
  return isKnownHost(settings.baseURL, capability.provider) ? 'open' : 'proxy'
}

/**
 * Returns the wire by which the model could search in the last request; before the first request, as `offerReason`
 * decides.
 */
export function wireInUse({ settings }: Host, { search }: State): WireName | undefined {
  if (search !== undefined) return search === 'off' ? undefined : search
  const capability = capabilityOf('', settings.provider, settings.capabilities)
  const mode = readMode(settings.toolSearch, settings.environment)
  return offerReason(settings, mode, capability) === 'open'
    ? (wireOf(settings, capability) ?? 'reference')
    : undefined
}

/** Returns whether a server is still connecting, whose tools may be the ones searched for. */
export function isConnecting(servers: Servers): boolean {
  return [...servers.values()].some(({ state }) => state === 'pending')
}

/** Returns whether a wire puts `defer_loading`, `tool_reference` or `tool_addition` into the request. */
export function usesReferences(wire: WireName | undefined): boolean {
  return wire !== undefined && wireTraits[wire].usesReferences
}

/** Returns a key for a back-end and a model, to remember refusals. */
export function backEndKey(baseURL: string | undefined, model: string): string {
  return `${baseURL ?? ''}\n${model}`
}

function wireOf(settings: Settings, capability: Capability): WireName | undefined {
  return settings.wire ?? capability.wire
}

type Check = (context: Context, wire: WireName | undefined) => boolean

const checks: readonly (readonly [DecisionReason, Check])[] = [
  ['model', ({ capability }, wire) => !usesReferences(wire) || capability.modelTakesReferences],
  ['provider', (context, wire) => wire !== undefined && wireTraits[wire].isSpokenBy(context)],
  ['rejected', (context, wire) => !usesReferences(wire) || !isRejected(context)],
  ['no-search-tool', ({ settings }) => !settings.isHidden?.({ name: settings.searchTool })],
  ['nothing-to-search', (context) => isSearchable(context)],
]

function isRejected({ rejected, settings, model }: Context): boolean {
  return rejected.has(backEndKey(settings.baseURL, model))
}

/**
 * Returns whether there is anything to search. If nothing sent may change, a search tool that was sent stays anyway
 * (N5).
 */
function isSearchable({ partition, servers, state, isFixed }: Context): boolean {
  if (partition.deferred.length > 0 || isConnecting(servers)) return true
  return (
    isFixed && (state.kept.some(({ place }) => place === 'deferred') || usesReferences(wireNameOf(state)))
  )
}

function wireNameOf({ search }: State): WireName | undefined {
  return search === 'off' ? undefined : search
}

async function passThreshold(
  context: Context,
): Promise<Pick<Decision, 'open' | 'reason' | 'thresholdCheck' | 'error'>> {
  try {
    const thresholdCheck = await checkThreshold(context)
    const { reached } = thresholdCheck
    return { open: reached, reason: reached ? 'open' : 'below-threshold', thresholdCheck }
  } catch (error) {
    return { open: false, reason: 'below-threshold', error: String(error) }
  }
}
