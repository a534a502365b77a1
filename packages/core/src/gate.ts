// Decides whether tool search is on for a request, and why (G): the mode that the user asked for and the kill switch (M), the
// automatic threshold (T), and which back-ends can use a wire.
// Implements G1, G2, G4, G5, M1, M2, M3, T1, T2, T3, T4, T5, T6.

import { type Capability, capabilityOf, isKnownHost } from './capabilities.ts'
import { dropOldest, type Environment, hash, oncePer } from './lib/objects.ts'
import type { Settings } from './options.ts'
import { MIN_CHARACTERS_PER_TOKEN } from './tokens.ts'
import type {
  Context,
  Decision,
  DecisionReason,
  Host,
  PoolTool,
  Servers,
  State,
  ThresholdCheck,
  ToolPartition,
  ToolSearchMode,
  WireName,
} from './types.ts'

/** The mode that the user asked for. */
export type ModeReading = {
  readonly mode: ToolSearchMode
  /** The share of the context window at which `tst-auto` opens. */
  readonly percent: number
  /** Whether the user set a value; then an unknown proxy is trusted to support tool search (G1). */
  readonly isSet: boolean
  /** Whether the kill switch is on, which overrides everything else (M1). */
  readonly isKilled: boolean
  readonly warning?: string
}

const DEFAULT_PERCENT = 10
const KILL_SWITCHES = ['CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS', 'TOOLSHELF_DISABLE_BETAS']

/** Reads the option, or else the environment variable (M2); the kill switch overrides both. */
export function readMode(option: string | boolean | undefined, environment: Environment): ModeReading {
  const value =
    option === undefined || String(option).trim() === '' ? environment.ENABLE_TOOL_SEARCH : String(option)
  const isKilled = KILL_SWITCHES.some((name) => isTruthy(environment[name]))
  return isKilled ? { ...parseMode(value), mode: 'standard', isKilled } : { ...parseMode(value), isKilled }
}

/** Parses the value; option and variable have the same syntax (M3). */
function parseMode(value: string | undefined): Omit<ModeReading, 'isKilled'> {
  const text = (value ?? '').trim().toLowerCase()
  const percent = DEFAULT_PERCENT
  if (text === '') return { mode: 'tst', percent, isSet: false }
  if (isTruthy(text)) return { mode: 'tst', percent, isSet: true }
  if (isFalsy(text)) return { mode: 'standard', percent, isSet: true }
  if (text === 'auto' || text === 'auto:') return { mode: 'tst-auto', percent, isSet: true }
  if (text.startsWith('auto:')) return parsePercent(text.slice('auto:'.length).trim(), value)
  return { mode: 'tst', percent, isSet: true, warning: unclear(value, 'tool search is on') }
}

function parsePercent(text: string, value: string | undefined): Omit<ModeReading, 'isKilled'> {
  const isSet = true
  if (!/^[+-]?\d+(\.\d*)?$/.test(text)) {
    const warning = unclear(value, `the threshold is ${DEFAULT_PERCENT} %`)
    return { mode: 'tst-auto', percent: DEFAULT_PERCENT, isSet, warning }
  }
  const percent = Math.trunc(Number(text))
  if (percent < 0) return { mode: 'tst', percent: 0, isSet, warning: unclear(value, 'it is read as auto:0') }
  if (percent > 100) {
    return { mode: 'standard', percent: 100, isSet, warning: unclear(value, 'it is read as auto:100') }
  }
  return {
    mode: percent === 0 ? 'tst' : percent === 100 ? 'standard' : 'tst-auto',
    percent: Math.abs(percent),
    isSet,
  }
}

function isTruthy(value: string | undefined): boolean {
  return ['true', '1', 'yes', 'on'].includes((value ?? '').trim().toLowerCase())
}

function isFalsy(text: string): boolean {
  return ['false', '0', 'no', 'off'].includes(text)
}

function unclear(value: string | undefined, reading: string): string {
  return `ENABLE_TOOL_SEARCH is "${(value ?? '').slice(0, 40)}": ${reading}. Use true, false, auto or auto:N with N from 0 to 100.`
}

/** Token counts by pool content and model, shared by all conversations of a shelf. */
export type Counts = Map<string, Promise<number | undefined>>

const PREAMBLE = 500

/** Compares the tools with the threshold (T1): by the host's counter, or by characters if that fails (T4). */
async function checkThreshold(context: Context): Promise<ThresholdCheck> {
  const tokens = Math.floor((context.contextWindow * context.mode.percent) / 100)
  const counted = await countOnce(context)
  if (counted !== undefined) {
    return { count: counted, method: 'counter', threshold: tokens, reached: counted >= tokens }
  }
  const count = charactersOf(context.partition)
  const threshold = Math.floor(tokens * MIN_CHARACTERS_PER_TOKEN)
  return { count, method: 'estimate', threshold, reached: count >= threshold }
}

/** Estimates whether the deferrable tools take at least this percentage of the context window. */
export function reachesShare(partition: ToolPartition, contextWindow: number, percent: number): boolean {
  const threshold = Math.floor(Math.floor((contextWindow * percent) / 100) * MIN_CHARACTERS_PER_TOKEN)
  let sum = 0
  for (const entry of partition.deferred) {
    sum += charactersOfTool(entry)
    if (sum >= threshold) return true
  }
  return sum >= threshold
}

/** Counts once per pool content; concurrent requests share the count, or its failure (T5). */
function countOnce({ partition, model, settings, counts }: Context): Promise<number | undefined> {
  const key = `${model}\n${hashOfDeferred(partition)}`
  const counting = counts.get(key) ?? askCounter(partition, model, settings)
  counts.set(key, counting)
  dropOldest(counts, 8)
  return counting
}

/** Counts all deferrable definitions together (T2); subtracts the API's preamble (T3). */
async function askCounter(
  partition: ToolPartition,
  model: string,
  settings: Settings,
): Promise<number | undefined> {
  const { countTokens, countTimeoutMs, timer } = settings
  if (!countTokens) return undefined
  const limit = timer?.(countTimeoutMs)
  try {
    const definitions = partition.deferred.map(({ definition }) => definition)
    const answer = Promise.resolve(countTokens(definitions, model))
    const count = await (limit ? Promise.race([answer, limit.over]) : answer)
    const isCount = typeof count === 'number' && Number.isFinite(count) && count >= 0
    return isCount ? Math.max(0, count - PREAMBLE) : undefined
  } catch {
    return undefined
  } finally {
    limit?.cancel()
  }
}

/** Returns a hash that differs if a name, a description or a schema differs. */
const hashOfDeferred = oncePer(({ deferred }: ToolPartition) =>
  hash(deferred.map(({ json }) => json).join('\n')),
)

function charactersOf(partition: ToolPartition): number {
  return partition.deferred.reduce((sum, entry) => sum + charactersOfTool(entry), 0)
}

const charactersOfTool = oncePer((entry: PoolTool): number => {
  const { name, description, input_schema } = entry.definition
  return name.length + String(description ?? '').length + (JSON.stringify(input_schema) ?? '').length
})

/** Decides for one request: the first check that fails, or cannot be made, is the reason (G2). */
export async function decide(context: Context, opened: boolean): Promise<Decision> {
  const { settings, mode, capability, partition } = context
  const wire = wireOf(settings, capability)
  const lacks = settings.rank.lacks?.()
  const deferrable = partition.deferred.length
  const about = { mode: mode.mode, wire, deferrable, ...(lacks === undefined ? {} : { lacks }) }
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
  return wire !== undefined && wire !== 'append' && wire !== 'bridge'
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
  ['provider', (context, wire) => wire !== undefined && speaks(context, wire)],
  [
    'rejected',
    ({ rejected, settings, model }, wire) =>
      !usesReferences(wire) || !rejected.has(backEndKey(settings.baseURL, model)),
  ],
  ['no-search-tool', ({ settings }) => !settings.isHidden?.({ name: settings.searchTool })],
  ['nothing-to-search', isSearchable],
]

/**
 * Returns whether there is anything to search. If nothing sent may change, a search tool that was sent stays anyway
 * (N5).
 */
function isSearchable({ partition, servers, state, keepsSent }: Context): boolean {
  if (partition.deferred.length > 0 || isConnecting(servers)) return true
  return (
    keepsSent && (state.kept.some(({ place }) => place === 'deferred') || usesReferences(wireNameOf(state)))
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

/** The capabilities of a back-end, and the settings for it. */
export type Speaker = { readonly capability: Capability; readonly settings: Settings }

/** Returns whether a back-end can use a wire. */
function speaks(speaker: Speaker, wire: WireName): boolean {
  if (!usesReferences(wire)) return true
  if (speaker.capability.provider?.references !== true) return false
  if (wire === 'addition') return additionBeta(speaker) !== undefined
  return wire !== 'hosted' || offersHosted(speaker)
}

/** Returns the beta header that `tool_addition` needs; undefined if the back-end does not support it. */
export function additionBeta({ capability, settings }: Speaker): string | undefined {
  const additions = capability.provider?.additions
  return settings.additions === 'value' ? additions?.byValue : additions?.byReference
}

function offersHosted({ capability, settings }: Speaker): boolean {
  const offered = capability.provider?.hosted ?? []
  return settings.hostedSearch ? offered.includes(settings.hostedSearch) : offered.length > 0
}
