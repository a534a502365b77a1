// Adds up all conversations: spending by day, and how often each tool was used.
import { fullName } from '@toolshelf/core/internal'
import type { EventModel } from './event-model.ts'
import { addSpending, type InspectedSpending, NO_SPENDING, spendingOf } from './spending.ts'

/** Returns the spending of each day (UTC, as `2026-11-17`) that has turns, the newest first. */
export function spendingByDay(model: EventModel): readonly (readonly [day: string, InspectedSpending])[] {
  const days = new Map<string, InspectedSpending>()
  for (const { id } of model.conversations())
    for (const turn of model.turns(id)) {
      const day = turn.time.slice(0, 10)
      days.set(day, addSpending(days.get(day) ?? NO_SPENDING, spendingOf(turn)))
    }
  return [...days].sort(([one], [other]) => (one < other ? 1 : -1))
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
