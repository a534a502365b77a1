// Kills leftover child process groups when this process dies: a small shell process tracks the live groups and kills
// them when its standard input closes, which happens however this process ends, even by SIGKILL.
import { type ChildProcess, spawn } from 'node:child_process'

export type Watchdog = {
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

const isSupported = process.platform !== 'win32'
const groups = new Set<number>()
let shell: ChildProcess | undefined

/** The watchdog of this process. */
export const watchdog: Watchdog = {
  guard(group) {
    if (!isSupported) return
    groups.add(group)
    if (shell) shell.stdin?.write(`+ ${group}\n`)
    else begin()
  },
  release(group) {
    if (!groups.delete(group)) return
    shell?.stdin?.write(`- ${group}\n`)
    if (groups.size === 0) rest()
  },
}

function begin(): void {
  // Groups are passed as arguments: if they were written to stdin, this process could die before the write.
  const started = spawn('/bin/sh', ['-c', SCRIPT, 'sh', ...[...groups].map(String)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  })
  shell = started
  started.unref()
  // stdin is really a socket, which can be unreferenced.
  const input = started.stdin as typeof started.stdin & { unref?: () => void }
  input.unref?.()
  input.on('error', () => {})
  const isGone = () => {
    if (shell !== started) return
    shell = undefined
    if (groups.size > 0 && started.pid !== undefined) begin()
  }
  started.once('error', isGone)
  started.once('exit', isGone)
}

/** Ends the shell by closing its stdin, when no group is left. */
function rest(): void {
  const idle = shell
  shell = undefined
  idle?.stdin?.end()
}
