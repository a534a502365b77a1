// `npm run bench events [serve|mcp]`: what events cost a request of each gateway, as CPU of the process. Gateways without a
// listener, with one and with the audit file share a process and are asked in turns; one without a listener runs twice, as
// the noise.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { callText } from './mcp-gateway.ts'
import { takeTurns } from './mcp-turns.ts'
import { bodyOf, toolsOf } from './messages-load-bodies.ts'
import { cpuOf, endAll, endAllOnSignal, startEventsGateways, startUpstream } from './messages-processes.ts'
import { post } from './messages-requests.ts'
import { report, table } from './report.ts'

const TOOLS = 300
/** A request has one message more than two for each turn before it: 21 at the end. */
const TURNS = 11
const STREAMED = 20
const CALLS = 10
const WARM = 8
const ROUNDS = 24

/** The requests of one turn, each to be measured. */
type Requests = () => readonly (() => Promise<unknown>)[]

/** CPU milliseconds of a request of each way, in short turns: what else the machine does meets all of them. */
async function measure(pid: number, ways: ReadonlyMap<string, Requests>): Promise<string[]> {
  const run = (requests: Requests) => async () => {
    const costs: number[] = []
    for (const request of requests()) {
      const before = cpuOf(pid)
      await request()
      // What is done after the answer counts too.
      await new Promise((resolve) => setTimeout(resolve, 2))
      costs.push(cpuOf(pid) - before)
    }
    return costs
  }
  const runs = new Map([...ways].map(([name, way]) => [name, run(way)]))
  await takeTurns(runs, WARM)
  const results = await takeTurns(runs, ROUNDS)
  const rows = [...results].map(
    ([name, rounds]) => [name, typical(rounds, 0.25), typical(rounds, 0.5)] as const,
  )
  const [, ...base] = rows[0] ?? ['', 0, 0]
  const share = (value: number, of = 0) => `${((value / of - 1) * 100).toFixed(1)} %`
  return table(
    ['way', 'CPU ms, quartile', 'more than without', 'CPU ms, median', 'more than without'],
    rows.map(([name, low, middle]) => [
      name,
      ...[low.toFixed(3), share(low, base[0])],
      ...[middle.toFixed(3), share(middle, base[1])],
    ]),
  )
}

/**
 * A request's cost: for each place in the conversation this quantile of all rounds, and the mean of these. The lower
 * quartile is the cost while the machine does little else.
 */
function typical(rounds: readonly (readonly number[])[], quantile: number): number {
  const places = rounds[0]?.length ?? 0
  let sum = 0
  for (let place = 0; place < places; place++) {
    const sorted = rounds.map((costs) => costs[place] ?? 0).sort((a, b) => a - b)
    sum += sorted[Math.floor(sorted.length * quantile)] ?? 0
  }
  return sum / places
}

async function measureServe(folder: string): Promise<string[]> {
  const upstream = await startUpstream()
  const { pid, url: urls } = await startEventsGateways('serve', folder, upstream.url)
  const tools = toolsOf(TOOLS)
  const bodies = Array.from({ length: TURNS }, (_, turn) => bodyOf(tools, turn))
  let conversations = 0
  const ways = new Map<string, Requests>()
  for (const [name, url] of Object.entries<string>(JSON.parse(urls))) {
    ways.set(name, () => {
      // No two conversations have a message in common: nothing is remembered from an earlier one.
      const own = `(${++conversations})`
      const marked = bodies.map((body) =>
        body.replaceAll(/failing deployment|line of what|next part/g, `$& ${own}`),
      )
      return marked.map((body) => () => post(url, body, { 'x-events': String(STREAMED) }))
    })
  }
  return measure(pid, ways)
}

async function measureMcp(folder: string): Promise<string[]> {
  const { pid, url: urls } = await startEventsGateways('mcp', folder)
  const ways = new Map<string, Requests>()
  for (const [name, url] of Object.entries<string>(JSON.parse(urls))) {
    const client = new Client({ name: 'bench', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const call = () => callText(client, 'everything__echo', { message: 'hi' })
    ways.set(name, () => Array.from({ length: CALLS }, () => call))
  }
  return measure(pid, ways)
}

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
endAllOnSignal()
try {
  const parts = process.argv.slice(2)
  const has = (part: string) => parts.length === 0 || parts.includes(part)
  const lines: string[] = []
  if (has('serve'))
    lines.push(
      `\`serve\`, ${TOOLS} tools shelved, conversations of ${TURNS} requests with up to ${2 * TURNS - 1} messages, HTTP on both sides:`,
      ...['', ...(await measureServe(folder)), ''],
    )
  if (has('mcp'))
    lines.push('`mcp --http`, calls of a server on stdio that echoes:', '', ...(await measureMcp(folder)), '')
  lines.push(`${ROUNDS} rounds, in turns, all gateways in one process.`)
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
