// `npm run bench [cost|tokens|zoo] [tools.jsonl]`: one bench, or all that can run.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const benches = ['cost', 'tokens', 'zoo']
const [wanted, ...rest] = process.argv.slice(2)
const chosen = wanted && benches.includes(wanted) ? [wanted] : benches
const others = wanted && !benches.includes(wanted) ? [wanted, ...rest] : rest
for (const name of chosen) {
  const path = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const { status } = spawnSync(process.execPath, ['--expose-gc', '--import', 'tsx', path, ...others], {
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = status ?? 1
}
