// Chooses tools to keep loaded: those that most recent sessions called, if that is cheaper than searching for them.
import type { LearnedTool, ToolUsage, ToolUsed } from './types.ts'

/** Sessions that are remembered; older ones are dropped. */
export const MAX_SESSIONS = 10
const MIN_SESSIONS = 3
const MIN_SHARE = 0.6

/** Chooses the tools deterministically. Counts every call of a tool, whether it was found by a search or already loaded. */
export function learnedTools({ sessions, forgotten }: ToolUsage): LearnedTool[] {
  const last = sessions.slice(-MAX_SESSIONS)
  if (last.length < MIN_SESSIONS) return []
  const turns = average(last.map((session) => session.turns))
  const search = average(last.map((session) => session.searchTokens))
  const learned = [...newestOf(last)].flatMap(([name, used]) => {
    const count = last.filter(({ tools }) => tools.some(({ tool }) => tool === name)).length
    const share = count / last.length
    const isWorth = used.tokens * turns < search * share
    if (share < MIN_SHARE || !isWorth || forgotten.includes(name)) return []
    const { tool, server, original, tokens } = used
    const often = `loaded and called in ${count} of the last ${last.length} sessions`
    const cost = `${amount(tokens)} tokens a turn over ${amount(turns)} turns against ${amount(search)} for a search`
    return [{ tool, server, original, reason: `${often}; ${cost}` }]
  })
  return learned.sort((a, b) => (a.tool < b.tool ? -1 : 1))
}

/** Returns each tool as in the last session that called it. */
function newestOf(sessions: ToolUsage['sessions']): Map<string, ToolUsed> {
  return new Map(sessions.flatMap(({ tools }) => tools.map((used) => [used.tool, used])))
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length
}

function amount(number: number): string {
  return Math.round(number).toLocaleString('en')
}
