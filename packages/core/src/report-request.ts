// Reports a prepared request to event listeners: the decision, the tools that the model sees, and whether the cached
// prefix holds.

import type { PrefixChange, ReportedBreakCause, Trace, TraceListener } from './events.ts'
import type { Facts } from './history.ts'
import { type BreakCause, explainBreak, type PrefixInput } from './prefix.ts'
import { describePool, toolShare } from './report-pool.ts'
import type { Context } from './state.ts'
import type { Block, Decision, RequestTool } from './types.ts'

type Assembled = PrefixInput & {
  readonly request: { readonly tools: readonly RequestTool[]; readonly messages: readonly unknown[] }
}

/** Most causes in one event. */
const MAX_CAUSES = 100
/** The event of most requests. */
const KEPT: Trace = { type: 'prefix', isKept: true, left: 0, causes: [] }

/** Reports the events of a prepared request. */
export function reportRequest(
  { memory, model, partition, isSubAgent }: Context,
  trace: TraceListener,
  {
    decision,
    facts,
    shown,
  }: {
    readonly decision: Decision
    readonly facts: Facts
    readonly shown: readonly string[] | undefined
  },
  sent: Assembled,
): void {
  const { id, events } = describePool(partition)
  if (memory.pool !== id) for (const event of events) trace(event)
  memory.pool = id
  const { pool, deferredNames } = partition
  const { tools, messages } = sent.request
  const loaded = [...facts.loaded.keys()].filter((name) => deferredNames.has(name))
  trace({
    type: 'decision',
    model,
    decision,
    tools: toolShare(pool, shown ?? tools.map(({ name }) => name)),
    pool: id,
    loaded,
    messages: messages.length,
    isSubAgent,
  })
  if (memory.sent) reportPrefix(trace, memory.sent, sent)
  memory.sent = sent
}

function reportPrefix(trace: TraceListener, before: PrefixInput, after: PrefixInput): void {
  const all = explainBreak(before, after)
  if (all.length === 0) {
    trace(KEPT)
    return
  }
  const causes = all.slice(0, MAX_CAUSES)
  trace({
    type: 'prefix',
    isKept: false,
    left: all.length - causes.length,
    causes: causes.map(withoutContent),
    content: causes.map((cause) => changeOf(cause, before, after)),
  })
}

/** Drops the texts of headers and system prompts. */
function withoutContent(cause: BreakCause): ReportedBreakCause {
  const { kind } = cause
  if ('name' in cause) return { kind, name: cause.name }
  return 'index' in cause ? { kind, index: cause.index } : { kind }
}

function changeOf(cause: BreakCause, before: PrefixInput, after: PrefixInput): PrefixChange {
  const both = (pick: (request: PrefixInput['request']) => unknown) => ({
    before: pick(before.request),
    after: pick(after.request),
  })
  if ('before' in cause) return { before: cause.before, after: cause.after }
  if ('name' in cause) return both(({ tools }) => listOf(tools).find(({ name }) => name === cause.name))
  if ('index' in cause) return both(({ messages }) => listOf(messages)[cause.index])
  return both(({ tools }) =>
    listOf(tools)
      .filter(isListed)
      .map(({ name }) => name),
  )
}

function isListed(tool: RequestTool | Block): boolean {
  return tool.defer_loading !== true
}

function listOf(value: unknown): readonly Block[] {
  return Array.isArray(value) ? value : []
}
