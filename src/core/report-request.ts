// Reports a prepared request to whoever listens: the decision, the share of the tools that the model sees, and whether
// the cached prefix holds.
import type { Facts } from './history/index.ts'
import { type BreakCause, explainBreak, type Sent } from './prefix.ts'
import type { Context } from './state.ts'
import { tokensFor } from './tokens.ts'
import type { PrefixCause, ToolShare, TraceListener } from './trace.ts'
import type { Decision, Pool, RequestTool } from './types.ts'

export function reportRequest(
  { memory, model, pool }: Context,
  trace: TraceListener,
  decision: Decision,
  facts: Facts,
  sent: Sent & { readonly request: { readonly tools: readonly RequestTool[] } },
): void {
  trace({ type: 'decision', model, decision, tools: shareOf(pool, sent.request.tools, facts) })
  if (memory.sent) {
    const causes = explainBreak(memory.sent, sent).map(withoutContent)
    trace({ type: 'prefix', isKept: causes.length === 0, causes })
  }
  memory.sent = sent
}

/** The shelf's tools that a request shows to the model: those in its list that are not deferred, and loaded ones. */
function shareOf(pool: Pool, tools: readonly RequestTool[], { loaded }: Facts): ToolShare {
  const names = new Set(loaded.keys())
  for (const { name, defer_loading } of tools as readonly { name?: string; defer_loading?: boolean }[])
    if (name !== undefined && defer_loading !== true) names.add(name)
  let visible = 0
  let characters = 0
  for (const name of names) {
    const entry = pool.byName.get(name)
    if (!entry) continue
    visible++
    characters += entry.json.length
  }
  const total = pool.tools.length
  return {
    ...{ visible, total },
    tokensWith: tokensFor(characters),
    tokensWithout: tokensFor(charactersOfPool(pool)),
  }
}

const poolCharacters = new WeakMap<Pool, number>()

function charactersOfPool(pool: Pool): number {
  let characters = poolCharacters.get(pool)
  if (characters === undefined) {
    characters = pool.tools.reduce((sum, { json }) => sum + json.length, 0)
    poolCharacters.set(pool, characters)
  }
  return characters
}

/** Drops the texts of headers and system prompts. */
function withoutContent(cause: BreakCause): PrefixCause {
  const { kind } = cause
  if ('name' in cause) return { kind, name: cause.name }
  return 'index' in cause ? { kind, index: cause.index } : { kind }
}
