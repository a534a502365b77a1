// What is done with a request, decided for each: passed on, emulated, shelved, or sent with everything loaded.
import { SEARCH_TOOL, ShelfError } from '../core/index.ts'
import { usesDeferral } from './contract.ts'
import type { Lift, Shelved } from './shelve/lift.ts'
import type { Memory } from './shelve/memory.ts'
import { isBound, withDroppedThinking } from './shelve/thinking.ts'
import type { ChosenWire, MessagesRequest, Upstream, Wire } from './types.ts'
import { CALL_TOOL } from './wire/call-tool.ts'

export const modes = ['pass', 'emulate', 'shelve', 'off'] as const
export type Mode = (typeof modes)[number]

/** What was asked for: a mode, or the one that fits, with the share of the window from which tools are shelved. */
export type Setting = { readonly mode: Mode | 'auto'; readonly share: number }

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

export type Plan = {
  readonly mode: Mode
  /** How tools reach the model; none where nothing is deferred. */
  readonly wire: Wire | undefined
  readonly why: string
  readonly shelved?: Shelved
}

export type Planning = {
  readonly setting: Setting
  readonly upstream: Upstream
  readonly lift: Lift
  readonly memory: Memory
  /** Whose conversation it is. */
  readonly owner: string
}

export async function planFor(request: MessagesRequest, planning: Planning): Promise<Plan> {
  const { setting, upstream } = planning
  const { wire, why } = wireFor(request, upstream)
  const isPassable = upstream.origin !== undefined
  if (setting.mode === 'pass') return { mode: 'pass', wire: undefined, why: 'asked for' }
  const isDeferring = usesDeferral(request)
  if (setting.mode === 'off') return { mode: 'off', wire: undefined, why: 'switched off' }
  if (isDeferring) {
    const isPassed = wire === 'native' && isPassable && setting.mode !== 'emulate'
    return { mode: isPassed ? 'pass' : 'emulate', wire, why: `the client defers; ${wire}: ${why}` }
  }
  const lifted = wire === 'native' && isBound(request) ? withDroppedThinking(request) : request
  const shelved = setting.mode === 'emulate' ? 'the client defers nothing' : await shelve(lifted, planning)
  if (typeof shelved !== 'string')
    return { mode: 'shelve', wire, why: `${shelved.why}; ${wire}: ${why}`, shelved: shelved.shelved }
  return { mode: isPassable ? 'pass' : 'off', wire: undefined, why: shelved }
}

/** The bridge needs a name that is not the client's. */
function wireFor({ model, tools = [] }: MessagesRequest, upstream: Upstream): ChosenWire {
  const chosen = upstream.wireFor(model)
  if (chosen.wire !== 'bridge' || !tools.some(({ name }) => name === CALL_TOOL)) return chosen
  return { wire: 'append', why: `the client has its own ${CALL_TOOL}` }
}

/** The client's tools on the shelf, or why they are not. */
async function shelve(
  request: MessagesRequest,
  { setting, lift, memory, owner }: Planning,
): Promise<{ shelved: Shelved; why: string } | string> {
  const { tools = [] } = request
  if (tools.length === 0) return 'there are no tools'
  if (tools.some(({ name }) => name === SEARCH_TOOL)) return `the client has its own ${SEARCH_TOOL}`
  const toolSearch = setting.mode === 'shelve' ? true : `auto:${setting.share}`
  const shelved = await lift(request, { toolSearch, owner, memory }).catch(whyNot)
  if (typeof shelved === 'string') return shelved
  const { open, reason } = shelved.decision
  if (!open) return REASONS[reason] ?? reason
  const why = setting.mode === 'shelve' ? 'asked for' : `tools take ${setting.share} % of the window or more`
  return { shelved, why }
}

/** What cannot be shelved is the upstream's to take or to refuse. */
function whyNot(error: unknown): string {
  if (error instanceof ShelfError) return `the tools cannot be shelved: ${error.message}`
  throw error
}

const REASONS: { readonly [reason: string]: string } = {
  'below-threshold': 'the tools are few',
  'nothing-to-search': 'no tool can be deferred',
}
