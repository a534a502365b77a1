// `npm run bench events`: what events cost a request of each gateway, as CPU of the process. The same requests go to gateways
// without a listener, with the audit file and with an exporter, in turns; one without a listener runs twice, as the noise.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { callText, gatewayCommand, inHome } from './mcp-gateway.ts'
import { echoCommand } from './mcp-servers.ts'
import { takeTurns } from './mcp-turns.ts'
import { serve } from './mcp-web.ts'
import { bodyOf, toolsOf } from './messages-load-bodies.ts'
import { build, cpuOf, endAll, endAllOnSignal, startGateway, startUpstream } from './messages-processes.ts'
import { post } from './messages-requests.ts'
import { median, report, table } from './report.ts'

const TOOLS = 300
const TURNS = 30
const STREAMED = 20
const CALLS = 80
const WARM = 2
const ROUNDS = 7

/** Options of each gateway; the first is the base. */
const WAYS: ReadonlyMap<string, (file: string) => readonly string[]> = new Map<
  string,
  (file: string) => readonly string[]
>([
  ['no listener', () => []],
  ['no listener, again', () => []],
  ['audit file', (file) => ['--audit', file]],
])

type Measured = { readonly pid: number; readonly perform: () => Promise<number> }

/** CPU milliseconds of a request, for each way and round. */
async function measure(ways: ReadonlyMap<string, Measured>): Promise<string[]> {
  const run =
    ({ pid, perform }: Measured) =>
    async () => {
      const before = cpuOf(pid)
      const count = await perform()
      return (cpuOf(pid) - before) / count
    }
  const runs = new Map([...ways].map(([name, way]) => [name, run(way)]))
  await takeTurns(runs, WARM)
  const results = await takeTurns(runs, ROUNDS)
  const [base = []] = results.values()
  const rows = [...results].map(([name, values]) => {
    // Each round is compared with itself, because the machine's speed changes.
    const shares = values.map((value, round) => value / (base[round] ?? value) - 1)
    return [name, median(values).toFixed(3), `${(median(shares) * 100).toFixed(1)} %`]
  })
  return table(['way', 'CPU ms a request', 'more than without'], rows)
}

async function measureServe(folder: string): Promise<string[]> {
  const upstream = await startUpstream()
  const tools = toolsOf(TOOLS)
  const bodies = Array.from({ length: TURNS }, (_, turn) => bodyOf(tools, turn))
  const ways = new Map<string, Measured>()
  for (const [name, options] of WAYS) {
    const file = join(folder, `serve-${ways.size}.jsonl`)
    const given = ['--upstream', upstream.url, '--mode', 'shelve', ...options(file)]
    const { pid, url } = await startGateway(folder, ...given)
    const perform = async () => {
      for (const body of bodies) await post(url, body, { 'x-events': String(STREAMED) })
      return bodies.length
    }
    ways.set(name, { pid, perform })
  }
  return measure(ways)
}

async function measureMcp(folder: string): Promise<string[]> {
  const ends: (() => Promise<void>)[] = []
  const ways = new Map<string, Measured>()
  for (const [name, options] of WAYS) {
    const file = join(folder, `mcp-${ways.size}.jsonl`)
    const servers = new Map([['everything', inHome(echoCommand(), folder)]])
    const command = gatewayCommand(
      folder,
      servers,
      '--http',
      '--port',
      '0',
      '--mode',
      'list',
      ...options(file),
    )
    const { pid, url, end } = await serve(command)
    const client = new Client({ name: 'bench', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    ends.push(() => client.close(), end)
    const perform = async () => {
      for (let call = 0; call < CALLS; call++) await callText(client, 'everything__echo', { message: 'hi' })
      return CALLS
    }
    await callText(client, 'ToolSearch', { query: 'select:everything__echo' })
    ways.set(name, { pid, perform })
  }
  const lines = await measure(ways)
  for (const end of ends) await end()
  return lines
}

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
endAllOnSignal()
try {
  build()
  const parts = process.argv.slice(2)
  const has = (part: string) => parts.length === 0 || parts.includes(part)
  const lines = [
    ...(has('serve')
      ? [`\`serve\`, ${TOOLS} tools shelved, conversations of ${TURNS} turns, HTTP on both sides:`, '']
      : []),
    ...(has('serve') ? [...(await measureServe(folder)), ''] : []),
    ...(has('mcp') ? ['`mcp --http`, calls of a server on stdio that echoes:', ''] : []),
    ...(has('mcp') ? await measureMcp(folder) : []),
  ]
  if (parts.length === 0) report('Events', 'npm run bench events', lines)
  else console.log(`\n${lines.join('\n')}\n`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
