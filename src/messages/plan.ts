// Decides what is done with a request: passed on, emulated, shelved, or sent with everything loaded. Pure: the decision
// depends on the facts alone.
import { SEARCH_TOOL } from '../core/index.ts'
import type { ChosenWire, MessagesRequest, UpstreamWire } from './types.ts'
import { CALL_TOOL } from './wire/index.ts'

export const modes = ['pass', 'emulate', 'shelve', 'off'] as const
export type GatewayMode = (typeof modes)[number]

/** What was asked for: a mode, or the one that fits, with the share of the window from which tools are shelved. */
export type Setting = { readonly mode: GatewayMode | 'auto'; readonly share: number }

const SHARE = 10

/** The mode that fits each request. */
export const AUTO: Setting = { mode: 'auto', share: SHARE }

/** Reads `auto`, `auto:N` or a mode; undefined for anything else. */
export function readSetting(text: string): Setting | undefined {
  const share = /^auto(?::(\d{1,3}))?$/.exec(text)
  if (share)
    return Number(share[1] ?? SHARE) <= 100 ? { mode: 'auto', share: Number(share[1] ?? SHARE) } : undefined
  const mode = modes.find((one) => one === text)
  return mode && { mode, share: SHARE }
}

export type RequestPlan = {
  readonly mode: GatewayMode
  /** How tools reach the model; none where nothing is deferred. */
  readonly wire: UpstreamWire | undefined
  readonly why: string
  /** How many tools the upstream takes in one request. */
  readonly mostTools?: number | undefined
}

/** What a decision depends on. */
export type PlanFacts = {
  readonly setting: Setting
  readonly wire: ChosenWire
  /** The upstream speaks the Messages API, and could read the request as it came. */
  readonly isPassable: boolean
  /** The client defers tools itself. */
  readonly isDeferring: boolean
  /** What shelving would mean, or why the tools cannot be shelved; undefined where nobody asks for it. */
  readonly shelving: ShelvingFacts | string | undefined
}

export type ShelvingFacts = {
  /** Tools that can be deferred. */
  readonly deferrable: number
  /** They take the share of the window that the setting names, or more. */
  readonly reachesShare: boolean
  /** The conversation had them on the shelf before. */
  readonly isRestored: boolean
  /** How many tools the upstream takes in one request, where the client sends more. */
  readonly exceeded: number | undefined
}

export function planRequest(facts: PlanFacts): RequestPlan {
  return { ...choose(facts), mostTools: facts.wire.mostTools }
}

function choose({ setting, wire: { wire, why }, isPassable, isDeferring, shelving }: PlanFacts): RequestPlan {
  if (setting.mode === 'pass') return { mode: 'pass', wire: undefined, why: 'asked for' }
  if (setting.mode === 'off') return { mode: 'off', wire: undefined, why: 'switched off' }
  if (isDeferring) {
    const isPassed = wire === 'native' && isPassable && setting.mode !== 'emulate'
    return { mode: isPassed ? 'pass' : 'emulate', wire, why: `the client defers; ${wire}: ${why}` }
  }
  const answer = shelves(setting, shelving)
  if (answer.isShelved) return { mode: 'shelve', wire, why: `${answer.why}; ${wire}: ${why}` }
  return { mode: isPassable ? 'pass' : 'off', wire: undefined, why: answer.why }
}

/** Whether the facts about shelving matter at all. */
export function asksForShelving({ mode }: Setting, isDeferring: boolean): boolean {
  return (mode === 'auto' || mode === 'shelve') && !isDeferring
}

function shelves(
  { mode, share }: Setting,
  shelving: PlanFacts['shelving'],
): { isShelved: boolean; why: string } {
  if (shelving === undefined) return { isShelved: false, why: 'the client defers nothing' }
  if (typeof shelving === 'string') return { isShelved: false, why: shelving }
  const isNever = mode === 'auto' && share === 100
  if (isNever) return { isShelved: false, why: 'auto:100 shelves nothing' }
  if (shelving.deferrable === 0) return { isShelved: false, why: 'no tool can be deferred' }
  if (mode === 'shelve') return { isShelved: true, why: 'asked for' }
  if (shelving.exceeded !== undefined)
    return { isShelved: true, why: `the upstream takes ${shelving.exceeded} tools at most` }
  if (shelving.reachesShare || shelving.isRestored)
    return { isShelved: true, why: `tools take ${share} % of the window or more` }
  return { isShelved: false, why: 'the tools are few' }
}

/** The bridge needs a name that is not the client's. */
export function wireFor({ tools = [] }: MessagesRequest, chosen: ChosenWire): ChosenWire {
  if (chosen.wire !== 'bridge' || !tools.some(({ name }) => name === CALL_TOOL)) return chosen
  return { ...chosen, wire: 'append', why: `the client has its own ${CALL_TOOL}` }
}

/** Why a request's tools cannot be shelved, whatever they are. */
export function whyNotShelved({ tools = [] }: MessagesRequest): string | undefined {
  if (tools.length === 0) return 'there are no tools'
  return tools.some(({ name }) => name === SEARCH_TOOL) ? `the client has its own ${SEARCH_TOOL}` : undefined
}
