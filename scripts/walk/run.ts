// `npm run walk [-- --files]`: how many files, functions and calls one warm request passes, a line each.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

for (const name of ['library', 'mcp', 'messages']) {
  const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  const words = ['--import', 'tsx', path, ...process.argv.slice(2)]
  const { status } = spawnSync(process.execPath, words, {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = 1
}
