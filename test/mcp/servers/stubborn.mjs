// Does not go when told to. With `family` it has a child as stubborn as itself, with `orphan` one that it leaves behind
// by crashing in a call; `child` is that child. All of them write their process ids to STARTS_FILE.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { behaviour, serve, text, tool } from './wire.mjs'

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
setInterval(() => {}, 60_000)

if (behaviour === 'family' || behaviour === 'orphan') {
  spawn(process.execPath, [fileURLToPath(import.meta.url), 'child'], { stdio: 'ignore' })
}

if (behaviour !== 'child') {
  process.stdin.on('error', () => {})
  process.stdout.on('error', () => {})
  serve(
    {
      'tools/list': () => ({ tools: [tool('stay')] }),
      'tools/call': () => (behaviour === 'orphan' ? process.exit(1) : text('staying')),
    },
    { onEnd: () => {} },
  )
}
