// Plans a request: pass it on, emulate tool search, shelve its tools, or send it with everything loaded. Pure: the plan
// depends only on the facts given.
// Implements wire 36, 43.
import {
  blocksOf,
  CALL_TOOL,
  type Fields,
  fieldsOf,
  isChange,
  listOf,
  oncePerFrozen,
  referencesIn,
  SEARCH_TOOL,
  textOf,
} from '@toolshelf/core/internal'
import { variantOf } from './hosted/hosted-search.ts'
import type { ChosenWire, MessagesRequest, UpstreamWire } from './types.ts'

export const modes = ['pass', 'emulate', 'shelve', 'off'] as const
/** What the gateway does with a request: forward it, run its hosted searches, defer its tools, or load them all. */
export type GatewayMode = (typeof modes)[number]

/** The requested mode. `auto` shelves tools that take at least `share` per cent of the context window. */
export type ModeSetting = { readonly mode: GatewayMode | 'auto'; readonly share: number }

const SHARE = 10

/** Chooses the mode per request. */
export const AUTO: ModeSetting = { mode: 'auto', share: SHARE }

/** Parses `auto`, `auto:N` or a mode; returns undefined for anything else. */
export function parseModeSetting(text: string): ModeSetting | undefined {
  const share = /^auto(?::(\d{1,3}))?$/.exec(text)
  if (share)
    return Number(share[1] ?? SHARE) <= 100 ? { mode: 'auto', share: Number(share[1] ?? SHARE) } : undefined
  const mode = modes.find((one) => one === text)
  return mode && { mode, share: SHARE }
}

/** What to do with a request, and why. */
export type RequestPlan = {
  readonly mode: GatewayMode
  /** How found tools reach the model; undefined if nothing is deferred. */
  readonly wire: UpstreamWire | undefined
  readonly why: string
  /** The upstream's limit on tools per request. */
  readonly maxTools?: number | undefined
}

/** Everything the plan depends on. */
export type PlanFacts = {
  readonly setting: ModeSetting
  readonly wire: ChosenWire
  /** The upstream speaks the client's API and can take the request unchanged. */
  readonly isPassable: boolean
  /** What the client's API asks for and a converted reply cannot express; such a request is only forwarded. */
  readonly unconvertible?: string | undefined
  /** The client defers tools and expects the gateway to search them, hidden from it. */
  readonly hidesSearches?: boolean | undefined
  /** The client itself defers tools. */
  readonly isDeferring: boolean
  /** Facts about shelving, or the reason why the tools cannot be shelved; undefined if the setting rules it out. */
  readonly shelving: ShelvingFacts | string | undefined
}

/** Facts about a request's tools that decide about shelving. */
export type ShelvingFacts = {
  /** Number of tools that can be deferred. */
  readonly deferrable: number
  /** They take at least the setting's share of the context window. */
  readonly reachesShare: boolean
  /** Earlier turns of this conversation were shelved. */
  readonly isRestored: boolean
  /** The upstream's limit on tools per request, if the client sends more. */
  readonly exceeded: number | undefined
}

export function planRequest(facts: PlanFacts): RequestPlan {
  return { ...choose(facts), maxTools: facts.wire.maxTools }
}

function choose(facts: PlanFacts): RequestPlan {
  const { setting, wire: chosen, isPassable, isDeferring, shelving, unconvertible } = facts
  const { wire, why } = chosen
  if (setting.mode === 'pass') return { mode: 'pass', wire: undefined, why: 'asked for' }
  if (unconvertible !== undefined)
    return { mode: 'pass', wire: undefined, why: `${unconvertible} can only be forwarded` }
  if (setting.mode === 'off') return { mode: 'off', wire: undefined, why: 'switched off' }
  const knowsSearch = wire === 'native' || chosen.searchesTools === true
  const isPassed = knowsSearch && isPassable && setting.mode !== 'emulate'
  if (isDeferring)
    return { mode: isPassed ? 'pass' : 'emulate', wire, why: `the client defers; ${wire}: ${why}` }
  if (facts.hidesSearches && isPassed && setting.mode === 'auto')
    return { mode: 'pass', wire: undefined, why: 'the upstream searches the tools that the client defers' }
  const answer = shelves(facts.hidesSearches ? SHELVE : setting, shelving)
  if (answer.isShelved) return { mode: 'shelve', wire, why: `${answer.why}; ${wire}: ${why}` }
  return { mode: isPassable ? 'pass' : 'off', wire: undefined, why: answer.why }
}

/** The setting for a client that defers tools in an API without searches. */
const SHELVE: ModeSetting = { mode: 'shelve', share: SHARE }

/** Returns whether the plan depends on the facts about shelving. */
export function asksForShelving({ mode }: ModeSetting, isDeferring: boolean): boolean {
  return (mode === 'auto' || mode === 'shelve') && !isDeferring
}

function shelves(
  { mode, share }: ModeSetting,
  shelving: PlanFacts['shelving'],
): { isShelved: boolean; why: string } {
  if (shelving === undefined) return { isShelved: false, why: 'the client defers nothing' }
  if (typeof shelving === 'string') return { isShelved: false, why: shelving }
  const isNever = mode === 'auto' && share === 100
  if (isNever) return { isShelved: false, why: 'auto:100 shelves nothing' }
  if (shelving.deferrable === 0) return { isShelved: false, why: 'no tool can be deferred' }
  if (mode === 'shelve') return { isShelved: true, why: 'asked for' }
  if (shelving.exceeded !== undefined)
    return { isShelved: true, why: `the upstream allows ${shelving.exceeded} tools at most` }
  if (shelving.reachesShare || shelving.isRestored)
    return { isShelved: true, why: `tools take ${share} % of the window or more` }
  return { isShelved: false, why: 'the tools are few' }
}

/** Falls back from `bridge` to `append` if the client has a tool named like the bridge's. */
export function wireFor({ tools = [] }: MessagesRequest, chosen: ChosenWire): ChosenWire {
  if (chosen.wire !== 'bridge' || !tools.some(({ name }) => name === CALL_TOOL)) return chosen
  return { ...chosen, wire: 'append', why: `the client has its own ${CALL_TOOL}` }
}

/** Returns the reason why a request cannot be shelved, regardless of its tools' definitions. */
export function whyNotShelved({ tools = [] }: MessagesRequest): string | undefined {
  if (tools.length === 0) return 'there are no tools'
  return tools.some(({ name }) => name === SEARCH_TOOL) ? `the client has its own ${SEARCH_TOOL}` : undefined
}

/** Returns whether a request defers tools, or its messages load or search them. */
export function usesDeferral({ tools, messages }: MessagesRequest): boolean {
  return someDefer(listOf(tools)) || messages.some(loadsOrSearches)
}

const someDefer = oncePerFrozen((tools: readonly unknown[]) => tools.map(fieldsOf).some(isDeferring))

function isDeferring(tool: Fields): boolean {
  const members = [tool.default_config, ...Object.values(fieldsOf(tool.configs))]
  return variantOf(tool) !== undefined || [tool, ...members].some((one) => 'defer_loading' in fieldsOf(one))
}

const loadsOrSearches = oncePerFrozen(
  ({ content }: Fields): boolean =>
    Array.isArray(content) &&
    blocksOf(content).some(
      (block) =>
        referencesIn(block).length > 0 ||
        isChange(block) ||
        textOf(block.type).startsWith('tool_search_tool_') ||
        listOf(block.tool_changes).length > 0 ||
        (block.type === 'server_tool_use' && textOf(block.name).startsWith('tool_search_tool_')),
    ),
)
