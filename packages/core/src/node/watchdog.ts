// Kills leftover child process groups when this process dies: a small shell process tracks the live groups and kills
// them when its standard input closes, which happens however this process ends, even by SIGKILL.
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

/** Kills child process groups if this process dies. */
type Watchdog = {
  /** Starts the shell ahead of a child, so that guarding the child takes one write. */
  prepare(): void
  /** Kills this group if the process dies. */
  guard(group: number): void
  /** Stops guarding a group that has ended. */
  release(group: number): void
}

const SCRIPT = `
groups="$*"
while read -r word group; do
  case "$word" in
    +) groups="$groups $group" ;;
    -) left=""; for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done; groups="$left" ;;
  esac
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null; done
sleep 1
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
`

/**
 * How long an idle shell waits for the next group: servers often start one after the other, and each shell costs a fork.
 */
const IDLE_MS = 10_000

/** Creates a watchdog with its own shell and groups. */
export function createWatchdog({ idleMs = IDLE_MS }: { readonly idleMs?: number } = {}): Watchdog {
  const isSupported = process.platform !== 'win32'
  const groups = new Set<number>()
  let shell: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined

  function begin(): void {
    const started = spawnShell([...groups])
    shell = started
    const isGone = () => {
      if (shell !== started) return
      shell = undefined
      if (groups.size > 0 && started.pid !== undefined) begin()
    }
    started.once('error', isGone)
    started.once('exit', isGone)
  }

  /** Ends the shell by closing its stdin, unless it got a group in the meantime. */
  function endIfUnused(): void {
    if (groups.size > 0) return
    const unused = shell
    shell = undefined
    unused?.stdin?.end()
  }

  return {
    prepare() {
      if (isSupported && !shell) begin()
    },
    guard(group) {
      if (!isSupported) return
      groups.add(group)
      if (shell) shell.stdin?.write(`+ ${group}\n`)
      else begin()
    },
    release(group) {
      if (!groups.delete(group)) return
      shell?.stdin?.write(`- ${group}\n`)
      if (groups.size > 0) return
      clearTimeout(idle)
      idle = setTimeout(endIfUnused, idleMs).unref()
    },
  }
}

/** The watchdog of this process. */
export const watchdog = createWatchdog()

/** Waits until this process writes a line, which it does once the group is guarded, and then executes the command. */
const HELD = 'read -r line <&3 && exec 3<&- && exec "$0" "$@"'

/**
 * Starts a command without input in its own process group, guarded before the command runs: if this process is killed at
 * any moment, it leaves nothing running. The caller releases the group.
 */
export function spawnGuarded(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn('/bin/sh', ['-c', HELD, command, ...args], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const hold = child.stdio[3] as Writable
  hold.on('error', () => {})
  if (child.pid !== undefined) watchdog.guard(child.pid)
  hold.end('\n')
  // Node's types cover only three descriptors; here the first is ignored and the next two are pipes.
  return child as ChildProcess as ChildProcessByStdio<null, Readable, Readable>
}

function spawnShell(groups: readonly number[]): ChildProcess {
  // Passes groups as arguments: this process could die before it writes them to stdin.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'sh', ...groups.map(String)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  })
  shell.unref()
  // stdin is really a socket, which can be unreferenced.
  const input = shell.stdin as typeof shell.stdin & { unref?: () => void }
  input.unref?.()
  input.on('error', () => {})
  return shell
}
