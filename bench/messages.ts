// `npm run bench messages`: measures the Messages gateway, as users run it: what it adds to streams compared with a bare proxy, and how
// many tokens it saves. Shorter: BENCH_SECONDS=2 BENCH_ROUNDS=1 BENCH_STREAMS=1,50 BENCH_PARTS=streams,fast,tokens.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fields } from '../src/lib/index.ts'
import { inHome } from './mcp-gateway.ts'
import { endAll as endServers, start } from './mcp-processes.ts'
import { commandsOfTwenty, installTwenty } from './mcp-servers.ts'
import {
  build,
  endAll,
  endAllOnSignal,
  residentOf,
  startClients,
  startGateway,
  startProxy,
  startUpstream,
} from './messages-processes.ts'
import { BARE, type Bench, DIRECT, measureFast, measureStreams, PASS, type Way } from './messages-streams.ts'
import { measureConversation } from './messages-tokens.ts'
import { report } from './report.ts'

const MAX_TOOLS = 500
/** Tools in the requests of the streams. */
const TOOLS = 50

const { env } = process
const parts = (env.BENCH_PARTS ?? 'streams,fast,tokens').split(',')
const seconds = Number(env.BENCH_SECONDS ?? 6)
const rounds = Number(env.BENCH_ROUNDS ?? 3)
const counts = (env.BENCH_STREAMS ?? '1,50,200').split(',').map(Number)
const isWhole = !['BENCH_PARTS', 'BENCH_SECONDS', 'BENCH_ROUNDS', 'BENCH_STREAMS'].some((name) => env[name])

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
const say = (message: string) => console.log(`bench messages: ${message}`)
endAllOnSignal()
try {
  installTwenty()
  build()
  await run()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await Promise.all([endAll(), endServers()])
  rmSync(folder, { recursive: true, force: true })
}
// What a failed run has left open must not keep this process alive.
process.exit()

async function run(): Promise<void> {
  say('listing the tools of real servers')
  const tools = await realTools()
  const sections: string[][] = []
  if (parts.includes('streams') || parts.includes('fast')) {
    const { bench, idle } = await prepared(tools.slice(0, TOOLS))
    if (parts.includes('streams')) sections.push(await measureStreams(bench), [idle])
    if (parts.includes('fast')) sections.push(await measureFast(bench))
    await endAll()
  }
  if (parts.includes('tokens')) {
    say('tokens')
    sections.push(await measureConversation(tools))
  }
  const lines = sections.flatMap((section) => ['', ...section]).slice(1)
  if (isWhole) report('Messages gateway', 'npm run bench messages', lines)
  else
    console.log(`\n${lines.join('\n')}\n\nbench messages: a shorter run, so bench/RESULTS.md stays as it is.`)
}

/** The tools as an agent sends them to the API, everyday servers first. */
async function realTools(): Promise<Fields[]> {
  const tools: Fields[] = []
  for (const [server, command] of commandsOfTwenty(folder)) {
    if (tools.length >= MAX_TOOLS) break
    const started = await start(inHome(command, folder))
    const listed = await started.client.listTools()
    for (const { name, description, inputSchema } of listed.tools)
      tools.push({ name: `mcp__${server}__${name}`, description, input_schema: inputSchema })
    await started.end()
  }
  return tools.slice(0, MAX_TOOLS)
}

/** Starts and warms up all processes. */
async function prepared(tools: readonly Fields[]): Promise<{ bench: Bench; idle: string }> {
  const upstream = await startUpstream()
  const clients = await startClients()
  const proxy = await startProxy(upstream.url)
  const gateway = (mode: string) => startGateway(folder, '--upstream', upstream.url, '--mode', mode)
  const [pass, emulate, shelve] = [await gateway('pass'), await gateway('emulate'), await gateway('shelve')]
  const plain = bodyWith(tools)
  const ways: Way[] = [
    { name: DIRECT, url: upstream.url, pid: undefined, body: plain },
    { name: BARE, ...proxy, body: plain },
    { name: PASS, ...pass, body: plain },
    { name: 'toolshelf, emulate', ...emulate, body: bodyWith(deferred(tools)) },
    { name: 'toolshelf, shelve', ...shelve, body: plain },
  ].map(({ name, url, pid, body }) => ({ name, url, pid, body }))
  const resident = ways.flatMap(({ name, pid }) =>
    pid === undefined ? [] : [`${name} ${residentOf(pid).toFixed(0)} MB`],
  )
  say('warming up')
  for (const way of ways) {
    for (let turn = 0; turn < 3; turn++)
      await clients.perform({ ...way, streams: 50, events: 1000, pause: 0, isProbing: false })
  }
  const idle = `Resident before the first request: ${resident.join(', ')}.`
  return { bench: { ways, clients, upstream, counts, rounds, seconds, say }, idle }
}

function bodyWith(tools: readonly Fields[]): string {
  const messages = [{ role: 'user', content: 'Say something.' }]
  return JSON.stringify({ model: 'bench', max_tokens: 4096, stream: true, tools, messages })
}

/** The same tools as a client that knows tool search sends them. */
function deferred(tools: readonly Fields[]): Fields[] {
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  return [search, ...tools.map((tool) => ({ ...tool, defer_loading: true }))]
}
