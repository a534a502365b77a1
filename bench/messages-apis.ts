// `npm run bench messages-apis`: the three APIs that clients speak, each in front of an upstream of the same API. What
// pass adds to a bare proxy, and whether 300 shelved streams stall the gateway. Shorter: BENCH_SECONDS=2 BENCH_ROUNDS=1.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from './messages-clients.ts'
import { bodyOf, toolsOf } from './messages-load-bodies.ts'
import { stallOf } from './messages-load-limits.ts'
import {
  build,
  endAll,
  endAllOnSignal,
  startClients,
  startGateway,
  startProxy,
  startUpstream,
} from './messages-processes.ts'
import { BARE, DIRECT, measureStreams, PASS } from './messages-streams.ts'
import { report, table } from './report.ts'

type Api = NonNullable<Job['api']>
type Body = { readonly [field: string]: unknown }

const { env } = process
const seconds = Number(env.BENCH_SECONDS ?? 4)
const rounds = Number(env.BENCH_ROUNDS ?? 3)
const isWhole = !env.BENCH_SECONDS && !env.BENCH_ROUNDS
const say = (message: string) => console.log(`bench messages-apis: ${message}`)

/** Tools of the streams at model speed, and of those that are shelved. */
const [FEW, MANY] = [50, 300]
const STREAMS = 300
const SPEED = 50
const MOST_STALL = 100

const UPSTREAMS: { readonly [api in Api]: (url: string) => string } = {
  messages: (url) => url,
  chat: (url) => `openai:${url}/v1`,
  responses: (url) => `responses:${url}/v1`,
}

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
endAllOnSignal()
try {
  build()
  const lines: string[] = []
  for (const api of Object.keys(UPSTREAMS) as Api[]) {
    say(api)
    lines.push(`### ${api}`, '', ...(await measurePass(api)), '')
    await endAll()
  }
  lines.push(...(await measureShelved()))
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

async function measurePass(api: Api): Promise<string[]> {
  const upstream = await startUpstream()
  const clients = await startClients()
  const proxy = await startProxy(upstream.url)
  const pass = await startGateway(folder, '--upstream', UPSTREAMS[api](upstream.url), '--mode', 'pass')
  const body = bodyFor(api, FEW, 0)
  const ways = [
    { name: DIRECT, url: upstream.url, pid: undefined, body, api },
    { name: BARE, url: proxy.url, pid: proxy.pid, body, api },
    { name: PASS, url: pass.url, pid: pass.pid, body, api },
  ]
  for (const way of ways)
    for (let turn = 0; turn < 3; turn++)
      await clients.perform({ ...way, streams: 50, events: 1000, pause: 0, isProbing: false })
  return measureStreams({ ways, clients, upstream, counts: [1, 200], rounds, seconds, say })
}

async function measureShelved(): Promise<string[]> {
  const rows: string[][] = []
  const stalls: number[] = []
  for (const api of Object.keys(UPSTREAMS) as Api[]) {
    say(`${STREAMS} shelved streams of ${api}`)
    const upstream = await startUpstream()
    const options = ['--upstream', UPSTREAMS[api](upstream.url), '--mode', 'shelve']
    const gateway = await startGateway(folder, ...options)
    const clients = await startClients()
    const body = bodyFor(api, MANY, 10, `bench-${seconds * SPEED}-${1000 / SPEED}`)
    const job = { url: gateway.url, api, body, pause: 1000 / SPEED, isProbing: false }
    await clients.perform({ ...job, streams: 20, events: 20 })
    await stallOf(gateway, folder)
    const { received, firstByte, lag } = await clients.perform({
      ...{ ...job, streams: STREAMS, events: seconds * SPEED },
    })
    const { time, cpu } = await stallOf(gateway, folder)
    stalls.push(cpu)
    rows.push([
      ...[api, String(received)],
      ...[firstByte.p50, firstByte.worst, lag.p50, lag.p95, time, cpu].map((value) => value.toFixed(1)),
    ])
    await endAll()
  }
  const worst = Math.max(...stalls)
  const head = [
    'API',
    'events',
    'first byte p50 ms',
    'worst',
    'event p50',
    'p95',
    'longest stall',
    'of it CPU',
  ]
  return [
    `Shelved: ${STREAMS} streams that start within a second, ${MANY} tools each, ${SPEED} events a second for ${seconds} s.`,
    '',
    ...table(head, rows),
    '',
    `- The longest stall takes ${worst.toFixed(0)} ms of CPU (goal: at most ${MOST_STALL} ms): ${worst <= MOST_STALL ? 'met' : 'missed'}.`,
  ]
}

/** The same conversation in each API. */
function bodyFor(api: Api, count: number, turns: number, model = 'bench'): string {
  const messages = bodyOf(toolsOf(count), turns, { model })
  if (api === 'messages') return messages
  const { tools, messages: history } = JSON.parse(messages) as { tools: Body[]; messages: Body[] }
  const functions = tools.map(({ name, description, input_schema: parameters }) => ({
    ...{ name, description, parameters },
  }))
  if (api === 'chat')
    return JSON.stringify({
      ...{ model, stream: true, messages: history.flatMap(toChat) },
      tools: functions.map((one) => ({ type: 'function', function: one })),
    })
  return JSON.stringify({
    ...{ model, stream: true, store: false, input: history.flatMap(toItems) },
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
