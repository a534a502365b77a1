// Ends the process groups of what we started when we can no longer do it ourselves: a tiny shell that reads which groups
// live, and kills those left over once its input ends. That happens however this process ends, SIGKILL included.
import { type ChildProcess, spawn } from 'node:child_process'

export type Watchdog = {
  /** This group must not outlive us. */
  guard(group: number): void
  /** It is gone. */
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

/** One for all of this process. */
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
  // The groups come with the start: were they written, we could end in between.
  const started = spawn('/bin/sh', ['-c', SCRIPT, 'sh', ...[...groups].map(String)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  })
  shell = started
  started.unref()
  // A socket in truth, which is what can be unreferenced.
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

/** Nothing is left to guard: the shell ends with its input. */
function rest(): void {
  const idle = shell
  shell = undefined
  idle?.stdin?.end()
}
