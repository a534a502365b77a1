// Does not go when told to. With `family` it has a child as stubborn as itself, with `orphan` one that it leaves behind
// by crashing in a call. All of them write their process ids to STARTS_FILE.
import { spawn } from 'node:child_process'
import { behaviour, serve, text, tool } from './wire.mjs'

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
setInterval(() => {}, 60_000)

if (behaviour === 'family' || behaviour === 'orphan') {
  const child =
    'trap "" TERM INT HUP; if [ -n "$STARTS_FILE" ]; then echo $$ >> "$STARTS_FILE"; fi; exec sleep 86400'
  spawn('sh', ['-c', child], { stdio: 'ignore' })
}

process.stdin.on('error', () => {})
process.stdout.on('error', () => {})
serve(
  {
    'tools/list': () => ({ tools: [tool('stay')] }),
    'tools/call': () => (behaviour === 'orphan' ? process.exit(1) : text('staying')),
  },
  { onEnd: () => {} },
)
