// Adds up all conversations: spending over time, and how often each tool was used.
import { fullName } from '../../lib/index.ts'
import type { EventModel } from './event-model.ts'
import { addSpending, type InspectedSpending, NO_SPENDING, spendingOf } from './spending.ts'

/** The spending of a span of time. */
export type SpendingSpan = {
  readonly start: number
  readonly milliseconds: number
  readonly spending: InspectedSpending
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Lengths of spans that people can read on an axis. */
const LENGTHS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
  7 * DAY_MS,
  28 * DAY_MS,
  364 * DAY_MS,
]

/**
 * Returns the spending in spans of equal length, at most this many, without gaps between the first and the last.
 */
export function spendingOverTime(model: EventModel, mostSpans = 60): readonly SpendingSpan[] {
  const turns = model.conversations().flatMap(({ id }) => model.turns(id))
  const times = turns.map(({ time }) => Date.parse(time))
  const first = times.reduce((min, time) => Math.min(min, time), Number.POSITIVE_INFINITY)
  const last = times.reduce((latest, time) => Math.max(latest, time), Number.NEGATIVE_INFINITY)
  if (!(first <= last)) return []
  const fits = (length: number) => Math.floor(last / length) - Math.floor(first / length) < mostSpans
  const milliseconds = LENGTHS.find(fits) ?? Math.ceil((last - first + 1) / (mostSpans - 1))
  const origin = Math.floor(first / milliseconds)
  const sums = new Array<InspectedSpending>(Math.floor(last / milliseconds) - origin + 1).fill(NO_SPENDING)
  turns.forEach((turn, at) => {
    const span = Math.floor((times[at] ?? 0) / milliseconds) - origin
    sums[span] = addSpending(sums[span] ?? NO_SPENDING, spendingOf(turn))
  })
  return sums.map((spending, at) => ({ start: (origin + at) * milliseconds, milliseconds, spending }))
}

/** Adds up the spending of all conversations. */
export function totalSpending(model: EventModel): InspectedSpending {
  return model.conversations().reduce((sum, { spending }) => addSpending(sum, spending), NO_SPENDING)
}

/** How often a tool was found, loaded and called. */
export type ToolUses = { found: number; loaded: number; calls: number; failures: number; lastTime: string }

/**
 * Counts the uses of tools; `get` finds them by name. An agent calls `mcp__github__create_issue` what the gateway calls
 * `github__create_issue`: both are the same tool.
 */
export function toolUses(model: EventModel): { get(name: string): ToolUses | undefined } {
  const uses = new Map<string, ToolUses>()
  const used = (name: string, time: string) => {
    const known = uses.get(fullName(name)) ?? { found: 0, loaded: 0, calls: 0, failures: 0, lastTime: '' }
    uses.set(fullName(name), known)
    if (time > known.lastTime) known.lastTime = time
    return known
  }
  for (const { id } of model.conversations())
    for (const { time, searches, loads, calls } of model.turns(id)) {
      for (const { hits } of searches) for (const { name } of hits) used(name, time).found++
      for (const { names } of loads) for (const name of names) used(name, time).loaded++
      for (const call of calls) {
        const known = used(call.name, call.time)
        known.calls++
        if (call.outcome === 'failed') known.failures++
      }
    }
  return { get: (name) => uses.get(fullName(name)) }
}
