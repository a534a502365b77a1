// Renders the progress while servers start.
import type { ServerStatus } from '../mcp/index.ts'
import { counted, duration, printableLine } from '../terminal/index.ts'

const HINT_AFTER_MS = 5000

/** Renders the progress of all servers as one line, which is rewritten while they start. */
export function progressLine(statuses: readonly ServerStatus[], milliseconds: number): string {
  const enabled = statuses.filter(({ state }) => state !== 'disabled')
  const waiting = enabled.filter(({ state }) => state === 'pending').map(({ name }) => printableLine(name))
  const done = `${enabled.length - waiting.length} of ${counted(enabled.length, 'server')}`
  if (waiting.length === 0) return done
  const hint = milliseconds > HINT_AFTER_MS ? ' (Ctrl-C to continue without the rest)' : ''
  return `${done} after ${Math.floor(milliseconds / 1000)} s${hint}, waiting for ${waiting.join(', ')}`
}

/** Renders one server that has finished starting. */
export function arrivalLine({ name, state, reason, tools, startMilliseconds }: ServerStatus): string {
  if (state !== 'connected')
    return printableLine(reason === undefined ? `${name}: ${state}` : `${name}: ${state}: ${reason}`)
  return printableLine(
    `${name}: connected, ${counted(tools.length, 'tool')}, ${duration(startMilliseconds ?? null)}`,
  )
}
