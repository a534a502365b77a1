// `npm run bench mcp`: measures the gateway in front of twenty real servers, as users run it: what it takes to start, to hold
// and to call them, and what a client sees of their tools.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { estimateTokens } from '../packages/core/src/tokens.ts'
import { measureCalls } from './mcp-calls.ts'
import { measureMemory } from './mcp-memory.ts'
import { endAll } from './mcp-processes.ts'
import { commandsOfTwenty, installTwenty } from './mcp-servers.ts'
import { type Alone, measureAlone, measureFirst, measureSearchable, warmUp } from './mcp-start.ts'
import { measureTokens } from './mcp-tokens.ts'
import { report } from './report.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
try {
  if (process.platform !== 'linux')
    throw new Error('bench mcp: memory is read from /proc, which only Linux has.')
  installTwenty()
  build()
  await run()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
// What a failed run has left open must not keep this process alive.
process.exit()

async function run(): Promise<void> {
  const homes = { warm: join(folder, 'warm'), cold: () => mkdtempSync(join(folder, 'cold-')) }
  const servers = commandsOfTwenty(folder)
  const say = (message: string) => console.log(`bench mcp: ${message}`)
  say('each server by itself')
  const alone = await measureAlone(homes.warm, servers)
  say('filling the caches')
  const seconds = await warmUp(homes.warm, servers, alone)
  say('the first answer')
  const first = await measureFirst(homes, servers, alone)
  say('until all tools are searchable')
  const searchable = await measureSearchable(homes, servers, alone)
  say('memory')
  const memory = await measureMemory(homes.warm, servers)
  say('calls')
  const calls = await measureCalls(homes.warm, servers)
  say('tokens')
  const tokens = await measureTokens(homes.warm, servers, alone)
  const parts = [[summary(alone, seconds)], first, searchable, memory, calls, tokens]
  report('MCP gateway', 'npm run bench mcp', parts.flatMap((lines) => ['', ...lines]).slice(1))
}

function summary(alone: readonly Alone[], seconds: number): string {
  const tools = alone.flatMap((one) => one.tools)
  const times = alone.map(({ time }) => time).sort((a, b) => a - b)
  const [fastest, middle, slowest] = [0, times.length >> 1, times.length - 1].map((at) =>
    times[at]!.toFixed(0),
  )
  const tokens = estimateTokens(JSON.stringify(tools))
  return `${alone.length} real servers, ${tools.length} tools, about ${tokens.toLocaleString('en')} tokens of definitions. Each alone lists its tools after ${fastest} to ${slowest} ms, median ${middle}. The first time, the gateway takes ${seconds.toFixed(0)} s of CPU until all are listed, searched and cached.`
}

function build(): void {
  const { status } = spawnSync('npm', ['run', '-s', 'build'], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('bench mcp: the gateway could not be built; see the lines above.')
}
