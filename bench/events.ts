// `npm run bench events [serve|mcp]`: what events cost a request of each gateway, as CPU of the process. Gateways without a
// listener, with the inspector's and with the audit file share a process and are asked in turns; one without a listener runs
// twice, as the noise. `BENCH_ROUNDS` sets how often.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { callText } from './mcp-gateway.ts'
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
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 60)

/** The requests of one conversation, each to be measured. */
type Requests = () => readonly (() => Promise<unknown>)[]

/**
 * Compares the CPU of a request of each variant with that of the first one. A round has a conversation of each; the requests at the
 * same position follow each other in random order and are compared, so that other load on the machine affects all alike.
 */
async function measure(pid: number, ways: ReadonlyMap<string, Requests>): Promise<string[]> {
  const results = new Map([...ways.keys()].map((name) => [name, [] as number[]]))
  for (let round = 0; round < WARM + ROUNDS; round++) {
    const conversations = new Map([...ways].map(([name, requests]) => [name, requests()]))
    const places = [...conversations.values()][0]?.length ?? 0
    for (let place = 0; place < places; place++) {
      for (const name of shuffled([...ways.keys()])) {
        const before = cpuOf(pid)
        await conversations.get(name)?.[place]?.()
        // Work after the response counts too.
        await new Promise((resolve) => setTimeout(resolve, 2))
        if (round >= WARM) results.get(name)?.push(cpuOf(pid) - before)
      }
    }
  }
  // The mean of both gateways without a listener.
  const [one = [], other = []] = results.values()
  const base = one.map((cost, index) => (cost + other[index]!) / 2)
  const baseMean = (mean(trimmed(one)) + mean(trimmed(other))) / 2
  return table(
    ['way', 'CPU ms, median', 'of all', 'more than without, median of pairs', '95 % interval', 'of all'],
    [...results].map(([name, costs]) => {
      const ratios = costs.map((cost, index) => cost / base[index]!)
      return [
        ...[name, median(costs).toFixed(3), mean(trimmed(costs)).toFixed(3)],
        ...[percent(median(ratios)), interval(ratios), percent(mean(trimmed(costs)) / baseMean)],
      ]
    }),
  )
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item)
}

const sorted = (values: readonly number[]) => [...values].sort((one, other) => one - other)
const quantile = (values: readonly number[], at: number) =>
  sorted(values)[Math.min(values.length - 1, Math.floor(values.length * at))] ?? Number.NaN
const median = (values: readonly number[]) => quantile(values, 0.5)
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`

/** Drops the most expensive 5 %: other load on the machine, and full garbage collections. */
function trimmed(values: readonly number[]): number[] {
  return sorted(values).slice(0, Math.ceil(values.length * 0.95))
}

/** Returns the 95 % confidence interval of the median, from order statistics. */
function interval(values: readonly number[]): string {
  const half = 0.98 / Math.sqrt(values.length)
  return `${percent(quantile(values, 0.5 - half))} to ${percent(quantile(values, 0.5 + half))}`
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
  lines.push(
    `${ROUNDS} rounds, in turns, all gateways in one process. "Of all": means without the dearest twentieth.`,
  )
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
