// Processes as tests see them: which are alive, which were started, and waiting until something holds.
import { readdirSync, readFileSync } from 'node:fs'

/** False also for one that has ended and was not yet collected by its parent. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return process.platform !== 'linux' || !isZombie(pid)
}

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/, ''))
  } catch {
    return true
  }
}

/** The process ids that servers with this STARTS_FILE wrote, in the order of their starts. */
export function startsIn(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').map(Number)
  } catch {
    return []
  }
}

/** Milliseconds between two looks at what takes long: many conditions cost a request. */
const MAX_PAUSE_MS = 100

/** Waits until the condition holds; says what it waited for if it never does. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  longest = 60_000,
): Promise<void> {
  let pause = 10
  for (const end = Date.now() + longest; !(await condition()); pause = Math.min(1.5 * pause, MAX_PAUSE_MS)) {
    if (Date.now() > end) throw new Error(`in vain waited until ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

/** All processes below this one, where the system shows them (Linux). */
export function descendantsOf(pid: number): number[] {
  const parents = parentsByProcess()
  const below = (parent: number): number[] =>
    [...parents].flatMap(([child, its]) => (its === parent ? [child, ...below(child)] : []))
  return below(pid)
}

function parentsByProcess(): Map<number, number> {
  if (process.platform !== 'linux') return new Map()
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return new Map(all.map((name) => [Number(name), parentOf(name)]))
}

function parentOf(pid: string): number {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) \S+ /, '')
        .split(' ')[0],
    )
  } catch {
    return 0
  }
}
