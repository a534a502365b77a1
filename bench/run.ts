// `npm run bench [cost|tokens|zoo|compact|speed|start|quality|languages|public|mcp|mcp-stall|scripts|messages|messages-apis|
// messages-load] [file, folder or parts]`: one bench, or cost and speed, which need no data.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const benches = [
  'cost',
  'speed',
  'start',
  'tokens',
  'zoo',
  'compact',
  'quality',
  'public',
  'languages',
  'mcp',
  'mcp-stall',
  'scripts',
  'messages',
  'messages-apis',
  'messages-load',
]
const [wanted, ...rest] = process.argv.slice(2)
const chosen = wanted && benches.includes(wanted) ? [wanted] : benches.slice(0, 2)
const others = wanted && !benches.includes(wanted) ? [wanted, ...rest] : rest
for (const name of chosen) {
  const path = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const { status } = spawnSync(process.execPath, ['--expose-gc', '--import', 'tsx', path, ...others], {
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = status ?? 1
}
