// Puts a request together from its parts, and keeps what must not reach the wire off it, from any place (M1, N1).
import { type Capability, searchBetas } from './capabilities.ts'
import { additionBeta, type Decision } from './gate.ts'
import type { ModeReading } from './mode.ts'
import type { Settings } from './options.ts'
import type { Prepared } from './prepare.ts'
import type { State } from './state.ts'
import type { Definition, Message, Pool, RequestLike } from './types.ts'
import type { Wire } from './wire/wire.ts'

export type Parts = {
  readonly tools: readonly Definition[]
  readonly messages: readonly Message[]
  readonly betas: readonly string[]
  /** The list of names before all messages, in the `prepend` way (A1). */
  readonly prepended: string | undefined
  readonly pool: Pool
  readonly wire: Wire | undefined
  readonly mode: ModeReading
  readonly decision: Decision
  readonly settings: Settings
}

export function assemble<Request extends RequestLike>(
  given: Request,
  { tools, messages, betas, prepended, pool, wire, mode, decision, settings }: Parts,
): Pick<Prepared<Request>, 'request' | 'headers'> {
  const { tools: own, betas: ownBetas, ...rest } = given as Request & { tools?: unknown; betas?: unknown }
  const first = prepended === undefined ? [] : [{ role: 'user', content: prepended }]
  const all = [
    ...(Array.isArray(own) ? (own as Definition[]) : []),
    ...withBreakpoints(tools, pool, settings),
  ]
  const sent = wire?.takesReferences ? all : withoutDeferral(all)
  const hostBetas = Array.isArray(ownBetas) ? ownBetas : []
  const keptBetas = mode.killed ? withoutSearchBetas(hostBetas, settings) : hostBetas
  const request = {
    ...withoutForcedSearch(rest, wire, settings),
    ...(keptBetas.length > 0 ? { betas: keptBetas } : {}),
    tools: sent,
    messages: prepended === undefined ? messages : [...first, ...messages],
  }
  return {
    // The messages are the host's own, or copies of its type; the tools have the SDK's shape.
    request: request as unknown as Prepared<Request>['request'],
    headers: betas.length > 0 && decision.reason !== 'rejected' ? { 'anthropic-beta': betas.join(',') } : {},
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

/** The host's own breakpoints, and ours at the end of the part that stays the same along a conversation (Q9). */
function withBreakpoints(
  tools: readonly Definition[],
  pool: Pool,
  { cacheControl }: Settings,
): readonly Definition[] {
  const last = cacheControl ? tools.findLastIndex(({ defer_loading }) => defer_loading !== true) : -1
  return tools.map((tool, index) => {
    const own = (pool.byName.get(tool.name)?.tool as { cache_control?: object } | undefined)?.cache_control
    const mark = index === last ? cacheControl : own
    return mark && tool.defer_loading !== true ? { ...tool, cache_control: mark } : tool
  })
}

/** A forced search tells the model nothing, and some models refuse any forced choice (Q6). */
function withoutForcedSearch(rest: object, wire: Wire | undefined, settings: Settings): object {
  const { tool_choice: choice, ...others } = rest as { tool_choice?: unknown }
  const name = (choice as { name?: unknown } | null | undefined)?.name
  const isSearch = name !== undefined && (name === settings.searchTool || name === wire?.searchName)
  return isSearch ? others : rest
}

function withoutSearchBetas(betas: readonly unknown[], settings: Settings): unknown[] {
  const ours = searchBetas(settings.capabilities)
  return betas.filter((beta) => !ours.has(String(beta)))
}
