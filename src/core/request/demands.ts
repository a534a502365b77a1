// Reads what the host's own request requires of the tools.

import type { Facts } from '../history/index.ts'
import { isBlock } from '../history/index.ts'
import type { Context } from '../state.ts'
import type { Definition, RequestLike } from '../types.ts'
import type { Wire } from '../wire/index.ts'

/** What the host's own request requires. */
export type Demands = {
  /** Tools in the request itself, which are sent first and unchanged. */
  readonly tools: readonly Definition[]
  /** The tool that `tool_choice` forces. */
  readonly forced: string | undefined
  /** Whether thinking is `enabled`: then the API refuses a call in the last reply without thinking before it. */
  readonly thinksByHand: boolean
  /** Whether the API has earlier messages: the first results may answer calls that are not in this request. */
  readonly continuesThread: boolean
}

type HostFields = {
  readonly tools?: unknown
  readonly tool_choice?: { readonly type?: unknown; readonly name?: unknown } | null
  readonly thinking?: { readonly type?: unknown } | null
  readonly thread?: { readonly type?: unknown } | null
}

/** Reads the demands of a request. */
export function demandsOf(request: RequestLike): Demands {
  const { tools, tool_choice: choice, thinking, thread } = request as HostFields
  return {
    tools: Array.isArray(tools) ? (tools.filter(isBlock) as unknown as Definition[]) : [],
    forced: choice?.type === 'tool' && typeof choice.name === 'string' ? choice.name : undefined,
    thinksByHand: thinking?.type === 'enabled',
    continuesThread: thread?.type === 'continue',
  }
}

/** Returns the loaded or forced tools that a search by the shelf must show; none if the API would refuse that search. */
export function toolsToReload({ capability }: Context, wire: Wire, facts: Facts, demands: Demands): string[] {
  if (demands.thinksByHand) return []
  const { forced } = demands
  const isAsked = capability.boundThinking && forced !== undefined && !facts.loaded.has(forced)
  return [...wire.unseen(facts), ...(isAsked ? [forced] : [])]
}

/**
 * Returns the deferred tools to send undeferred: the forced one, and loaded ones that no search by the shelf can show.
 */
export function toolsToUndefer(
  { partition }: Context,
  wire: Wire,
  facts: Facts,
  demands: Demands,
): Set<string> {
  const { forced, thinksByHand } = demands
  const isReachable = forced === undefined || (facts.loaded.has(forced) && wire.callsByName)
  const unseen = wire.takesReferences && thinksByHand ? wire.unseen(facts) : []
  return new Set(
    [...(isReachable ? [] : [forced]), ...unseen].filter((name) => partition.deferredNames.has(name)),
  )
}
