// Paces a recording for people: cuts long waits, and leaves out frames that are too short to see.
import type { Frame } from './record.ts'

/** How a recording is paced. */
export type Pace = {
  /** Waits are cut to this. */
  readonly longestMs: number
  /** The shortest time between two frames, as long as the screen keeps changing. */
  readonly shortestMs: number
}

/** The frames at their new times, from 0. Screens that look like the one before are left out. */
export function paced(frames: readonly Frame[], { longestMs, shortestMs }: Pace): Frame[] {
  let now = 0
  let before = frames[0]?.milliseconds ?? 0
  const moved = frames.map(({ milliseconds, rows }) => {
    now += Math.min(longestMs, milliseconds - before)
    before = milliseconds
    return { milliseconds: now, rows }
  })
  const seen: Frame[] = []
  for (const [index, frame] of moved.entries()) {
    const until = moved[index + 1]?.milliseconds ?? Infinity
    const since = seen.at(-1)?.milliseconds ?? -Infinity
    if (until - frame.milliseconds >= shortestMs || frame.milliseconds - since >= shortestMs) seen.push(frame)
  }
  return seen.filter(({ rows }, index) => JSON.stringify(rows) !== JSON.stringify(seen[index - 1]?.rows))
}
