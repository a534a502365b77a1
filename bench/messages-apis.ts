// `npm run bench messages-apis [first|cpu]`: the three APIs that clients speak, each in front of an upstream of the same
// API. What pass adds to a bare proxy. All ways take turns. BENCH_ROUNDS changes how often; BENCH_MAIN measures another build.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeTurns } from './mcp-turns.ts'
import type { Job } from './messages-clients.ts'
import { bodyOf, toolsOf } from './messages-load-bodies.ts'
import {
  build,
  type Clients,
  cpuOf,
  endAll,
  endAllOnSignal,
  startClients,
  startGateway,
  startProxy,
  startUpstream,
} from './messages-processes.ts'
import { median, report, spread, table } from './report.ts'

type Api = NonNullable<Job['api']>
type Body = { readonly [field: string]: unknown }

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const say = (message: string) => console.log(`bench messages-apis: ${message}`)

/** Tools of each request. */
const TOOLS = 50
/** Short replies of one variant per turn. */
const REQUESTS = 20
/** Events a second of one stream. */
const SPEED = 50
const SECONDS = 2
const STREAMS = 200
const MAX_BESIDE_BARE_MS = 0.5
const MAX_CPU = 1.3
const [DIRECT, BARE, PASS] = ['direct', 'bare proxy', 'pass']

const UPSTREAMS: { readonly [api in Api]: (url: string) => string } = {
  messages: (url) => url,
  chat: (url) => `openai:${url}/v1`,
  responses: (url) => `responses:${url}/v1`,
}
const APIS = Object.keys(UPSTREAMS) as Api[]

const parts: { readonly [name: string]: () => Promise<string[]> } = {
  first: measureFirstBytes,
  cpu: measureCpu,
}

const wanted = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
endAllOnSignal()
try {
  const unknown = wanted.find((name) => !Object.hasOwn(parts, name))
  if (unknown)
    throw new Error(`bench messages-apis: no part "${unknown}"; use ${Object.keys(parts).join(', ')}.`)
  build()
  const lines: string[] = []
  for (const [name, measure] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    say(name)
    lines.push(...(lines.length > 0 ? [''] : []), ...(await measure()))
    await endAll()
  }
  const isWhole = wanted.length === 0 && !process.env.BENCH_MAIN
  if (isWhole) report('Messages gateway, APIs of clients', 'npm run bench messages-apis', lines)
  else console.log(`\n${lines.join('\n')}\n`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()

type Way = { readonly name: string; readonly url: string; readonly pid?: number }

/** Starts and warms up the variants for one upstream. */
async function startWays(api: Api, body: string): Promise<{ ways: Way[]; clients: Clients }> {
  const upstream = await startUpstream()
  const clients = await startClients()
  const pass = await startGateway(folder, '--upstream', UPSTREAMS[api](upstream.url), '--mode', 'pass')
  const ways: Way[] = [
    { name: DIRECT, url: upstream.url },
    { name: BARE, ...(await startProxy(upstream.url)) },
    { name: PASS, ...pass },
  ]
  for (const { url } of ways) {
    await clients.firstBytes({ url, body, api, requests: 300 })
    await clients.perform({ url, body, api, streams: 50, events: 500, pause: 0 })
  }
  return { ways, clients }
}

/** Measures the time to the first byte of each variant, one request at a time. */
async function measureFirstBytes(): Promise<string[]> {
  const rows: string[][] = []
  const goals: string[] = []
  for (const api of APIS) {
    const body = bodyFor(api)
    const { ways, clients } = await startWays(api, body)
    const ask = ({ url }: Way) => clients.firstBytes({ url, body, api, requests: REQUESTS })
    const taken = await takeTurns(new Map(ways.map((way) => [way.name, () => ask(way)])), rounds * 4)
    const times = new Map([...taken].map(([name, runs]) => [name, runs.flat().sort((a, b) => a - b)]))
    for (const [name, all] of times)
      rows.push([api, name, ...[0.1, 0.5, 0.9].map((share) => at(all, share).toFixed(2))])
    const beside = (share: number) => at(times.get(PASS)!, share) - at(times.get(BARE)!, share)
    goals.push(
      `- ${api}: pass adds ${beside(0.5).toFixed(2)} ms to the bare proxy at p50, ${beside(0.1).toFixed(2)} ms at p10 (goal: at most ${MAX_BESIDE_BARE_MS} ms): ${met(beside(0.5) <= MAX_BESIDE_BARE_MS)}.`,
    )
    await endAll()
  }
  return [
    `First byte, one request at a time, ${TOOLS} tools: ${rounds * 4} turns of ${REQUESTS} requests in each way.`,
    '',
    ...table(['API', 'way', 'p10 ms', 'p50', 'p90'], rows),
    '',
    ...goals,
  ]
}

/** Measures what streams at model speed cost the process in the middle. */
async function measureCpu(): Promise<string[]> {
  const rows: string[][] = []
  const goals: string[] = []
  for (const api of APIS) {
    const body = bodyFor(api)
    const { ways, clients } = await startWays(api, body)
    const job = { body, api, streams: STREAMS, events: SECONDS * SPEED, pause: 1000 / SPEED }
    const cost = async ({ url, pid = 0 }: Way) => {
      const before = cpuOf(pid)
      await clients.perform({ ...job, url })
      return (cpuOf(pid) - before) / STREAMS
    }
    const between = ways.filter(({ pid }) => pid !== undefined)
    const costs = await takeTurns(new Map(between.map((way) => [way.name, () => cost(way)])), rounds)
    for (const [name, all] of costs) rows.push([api, name, spread(all, 2)])
    const times = costs.get(PASS)!.map((value, round) => value / costs.get(BARE)![round]!)
    goals.push(
      `- ${api}: pass takes ${spread(times, 2)}× the bare proxy's CPU per stream (goal: at most ${MAX_CPU}×): ${met(median(times) <= MAX_CPU)}.`,
    )
    await endAll()
  }
  return [
    `CPU at ${STREAMS} streams, ${TOOLS} tools, ${SPEED} events a second for ${SECONDS} s: medians of ${rounds} rounds, with the least and the most.`,
    '',
    ...table(['API', 'way', 'CPU ms per stream'], rows),
    '',
    ...goals,
  ]
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

function met(is: boolean): string {
  return is ? 'met' : 'missed'
}

/** The same conversation in each API. */
function bodyFor(api: Api): string {
  const messages = bodyOf(toolsOf(TOOLS), 0)
  if (api === 'messages') return messages
  const { tools, messages: history } = JSON.parse(messages) as { tools: Body[]; messages: Body[] }
  const functions = tools.map(({ name, description, input_schema: parameters }) => ({
    name,
    description,
    parameters,
  }))
  if (api === 'chat')
    return JSON.stringify({
      model: 'bench',
      stream: true,
      messages: history.flatMap(toChat),
      tools: functions.map((one) => ({ type: 'function', function: one })),
    })
  return JSON.stringify({
    model: 'bench',
    stream: true,
    store: false,
    input: history.flatMap(toItems),
    tools: functions.map((one) => ({ type: 'function', ...one, strict: false })),
  })
}

function blocksOf({ content }: Body): readonly Body[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Body[])
}

function toChat(message: Body): Body[] {
  const [first, second] = blocksOf(message)
  if (first?.type === 'tool_result')
    return [{ role: 'tool', tool_call_id: first.tool_use_id, content: first.content }]
  const called = second && { name: second.name, arguments: JSON.stringify(second.input) }
  const calls = called ? { tool_calls: [{ id: second.id, type: 'function', function: called }] } : {}
  return [{ role: message.role, content: first?.text, ...calls }]
}

function toItems(message: Body): Body[] {
  const [first, second] = blocksOf(message)
  if (first?.type === 'tool_result')
    return [{ type: 'function_call_output', call_id: first.tool_use_id, output: first.content }]
  const said = { type: 'message', role: message.role, content: first?.text }
  const call = second && { call_id: second.id, name: second.name, arguments: JSON.stringify(second.input) }
  return call ? [said, { type: 'function_call', ...call }] : [said]
}
