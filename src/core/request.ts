// Puts a request together from its parts, and keeps what must not reach the wire off it, from any place (M1, N1).
import { type Capability, searchBetas } from './capabilities.ts'
import { additionBeta } from './gate.ts'
import type { ModeReading } from './mode.ts'
import type { Settings } from './options.ts'
import type { Prepared } from './prepare.ts'
import type { State } from './state.ts'
import type { Definition, Message, RequestLike } from './types.ts'
import type { Wire } from './wire/wire.ts'

export type Parts = {
  readonly tools: readonly Definition[]
  readonly messages: readonly Message[]
  readonly betas: readonly string[]
  /** The list of names before all messages, in the `prepend` way (A1). */
  readonly prepended: string | undefined
  readonly wire: Wire | undefined
  readonly mode: ModeReading
  readonly settings: Settings
}

export function assemble<Request extends RequestLike>(
  given: Request,
  { tools, messages, betas, prepended, wire, mode, settings }: Parts,
): Pick<Prepared<Request>, 'request' | 'headers'> {
  const { tools: own, betas: ownBetas, ...rest } = given as Request & { tools?: unknown; betas?: unknown }
  const first = prepended === undefined ? [] : [{ role: 'user', content: prepended }]
  const all = [...(Array.isArray(own) ? (own as Definition[]) : []), ...markBreakpoint(tools, settings)]
  const sent = wire?.takesReferences ? all : withoutDeferral(all)
  const hostBetas = Array.isArray(ownBetas) ? ownBetas : []
  const keptBetas = mode.killed ? withoutSearchBetas(hostBetas, settings) : hostBetas
  const request = {
    ...rest,
    ...(keptBetas.length > 0 ? { betas: keptBetas } : {}),
    tools: sent,
    messages: prepended === undefined ? messages : [...first, ...messages],
  }
  return {
    // The messages are the host's own, or copies of its type; the tools have the SDK's shape.
    request: request as unknown as Prepared<Request>['request'],
    headers: betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {},
  }
}

/** Once sent, a beta header stays for the conversation; the kill switch alone takes it away (Q4). */
export function betasFor(
  state: State,
  mode: ModeReading,
  settings: Settings,
  capability: Capability,
  wire: Wire | undefined,
): readonly string[] {
  if (mode.killed) return []
  const references = wire?.takesReferences ? (capability.provider?.betas ?? []) : []
  const additions = wire?.takesAdditions ? [additionBeta(settings, capability) ?? ''] : []
  const betas = [...new Set([...state.betas, ...references, ...additions])].filter((beta) => beta !== '')
  return betas.length === state.betas.length ? state.betas : betas
}

function withoutDeferral(tools: readonly Definition[]): Definition[] {
  return tools
    .filter(({ type }) => !String(type).startsWith('tool_search_tool_'))
    .map((tool) => undeferred(tool) as Definition)
}

/** A tool, or a toolset with its members' configurations. */
function undeferred(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { defer_loading: _, default_config, configs, ...rest } = value as Record<string, unknown>
  return {
    ...rest,
    ...(default_config === undefined ? {} : { default_config: undeferred(default_config) }),
    ...(typeof configs !== 'object' || configs === null
      ? {}
      : {
          configs: Object.fromEntries(Object.entries(configs).map(([name, one]) => [name, undeferred(one)])),
        }),
  }
}

/** Marks the end of the part that stays the same along a conversation (Q9). */
function markBreakpoint(tools: readonly Definition[], { cacheControl }: Settings): readonly Definition[] {
  if (!cacheControl) return tools
  const last = tools.findLastIndex(({ defer_loading }) => defer_loading !== true)
  return tools.map((tool, index) => (index === last ? { ...tool, cache_control: cacheControl } : tool))
}

function withoutSearchBetas(betas: readonly unknown[], settings: Settings): unknown[] {
  const ours = searchBetas(settings.capabilities)
  return betas.filter((beta) => !ours.has(String(beta)))
}
