// `npm run bench capacity [mcp|serve]`: the capacity of one gateway process: CPU per operation, memory per session and stream.
// CPU is that of the gateway's process alone, so that a busy machine hardly changes it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureMcpCapacity } from './capacity-mcp.ts'
import { measureServeCapacity } from './capacity-serve.ts'
import { build, endAll, endAllOnSignal } from './messages-processes.ts'
import { report } from './report.ts'

const parts: { readonly [name: string]: (folder: string) => Promise<string[]> } = {
  mcp: measureMcpCapacity,
  serve: measureServeCapacity,
}

const wanted = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
endAllOnSignal()
try {
  const unknown = wanted.find((name) => !Object.hasOwn(parts, name))
  if (unknown) throw new Error(`bench capacity: no part "${unknown}"; use ${Object.keys(parts).join(', ')}.`)
  build()
  const lines: string[] = []
  for (const [name, measure] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    console.log(`bench capacity: ${name}`)
    lines.push(...(lines.length > 0 ? [''] : []), ...(await measure(folder)))
    await endAll()
  }
  if (wanted.length === 0) report('Capacity', 'npm run bench capacity', lines)
  else console.log(`\n${lines.join('\n')}\n`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
