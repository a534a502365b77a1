// `npm run bench messages-load [cpu|images]`: what a request costs the Messages gateway. BENCH_MAIN measures another build of
// the gateway.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureCost, measureImages } from './messages-load-cost.ts'
import { build, endAll, endAllOnSignal } from './messages-processes.ts'
import { report } from './report.ts'

const parts: { readonly [name: string]: (folder: string) => Promise<string[]> } = {
  cpu: measureCost,
  images: measureImages,
}

const wanted = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
endAllOnSignal()
try {
  const unknown = wanted.find((name) => !Object.hasOwn(parts, name))
  if (unknown)
    throw new Error(`bench messages-load: no part "${unknown}"; use ${Object.keys(parts).join(', ')}.`)
  build()
  const lines: string[] = []
  for (const [name, measure] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    console.log(`bench messages-load: ${name}`)
    const measured = await measure(folder)
    await endAll()
    lines.push(...(lines.length > 0 ? [''] : []), ...measured)
  }
  const isWhole = wanted.length === 0 && !process.env.BENCH_MAIN
  if (isWhole) report('Messages gateway, load', 'npm run bench messages-load', lines)
  else if (lines.length > 0) console.log(`\n${lines.join('\n')}\n`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
