// Measures `serve` in front of a streaming upstream: CPU of a request in each mode, memory of open streams.
import { type ClientRequest, request } from 'node:http'
import { bodyOf, toolsOf } from './messages-load-bodies.ts'
import {
  cpuOf,
  openFilesOf,
  type Running,
  residentOf,
  startGateway,
  startUpstream,
} from './messages-processes.ts'
import { post } from './messages-requests.ts'
import { median, table } from './report.ts'

const MODES = ['pass', 'emulate', 'shelve'] as const
const TOOLS = 100
const TURNS = 20
const EVENTS = 300
const ROUNDS = 5
const REQUESTS = 30
const STREAMS = Number(process.env.BENCH_STREAMS ?? 500)

export async function measureServeCapacity(folder: string): Promise<string[]> {
  const upstream = await startUpstream()
  const body = bodyOf(toolsOf(TOOLS), TURNS)
  const rows: string[][] = []
  for (const mode of MODES) {
    const gateway = await startGateway(folder, '--upstream', upstream.url, '--mode', mode, '--no-inspect')
    const cost = await costOf(gateway, body)
    rows.push([mode, cost.toFixed(2), String(Math.floor(1000 / cost))])
    await gateway.end()
  }
  const size = Math.round(body.length / 1000)
  return [
    ...table(
      [
        `\`serve\`, ${TOOLS} tools, ${TURNS} turns (${size} kB), ${EVENTS} events`,
        'ms of CPU',
        'requests a second and core',
      ],
      rows,
    ),
    '',
    ...(await measureStreams(folder, upstream)),
  ]
}

async function costOf({ url, pid }: Running, body: string): Promise<number> {
  const send = async () => {
    const { status } = await post(url, body, { 'x-events': String(EVENTS) })
    if (status !== 200) throw new Error(`bench capacity: status ${status}`)
  }
  const run = async () => {
    for (let index = 0; index < REQUESTS; index++) await send()
  }
  await run()
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuOf(pid)
    await run()
    rounds.push((cpuOf(pid) - before) / REQUESTS)
  }
  return median(rounds)
}

async function measureStreams(folder: string, upstream: Running): Promise<string[]> {
  const gateway = await startGateway(folder, '--upstream', upstream.url, '--mode', 'shelve', '--no-inspect')
  const body = bodyOf(toolsOf(TOOLS), TURNS)
  await costOf(gateway, body)
  const before = residentOf(gateway.pid)
  const streams: ClientRequest[] = []
  for (let index = 0; index < STREAMS; index++) streams.push(await openStream(gateway.url, body))
  const cpu = cpuOf(gateway.pid)
  const started = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 10_000))
  const share = ((cpuOf(gateway.pid) - cpu) / (performance.now() - started)) * 100
  const resident = residentOf(gateway.pid)
  const files = openFilesOf(gateway.pid)
  for (const stream of streams) stream.destroy()
  return [
    `${STREAMS} streams at once, \`shelve\`, an event a second each: ${resident.toFixed(0)} MB resident (${before.toFixed(0)} before, ` +
      `${(((resident - before) * 1000) / STREAMS).toFixed(0)} kB each), ${share.toFixed(0)} % of a core, ${files} open files.`,
  ]
}

function openStream(url: string, body: string): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'x-api-key': 'bench',
      'x-events': '3600',
      'x-pause': '1000',
    }
    const sent = request(`${url}/v1/messages`, { method: 'POST', agent: false, headers }, (answer) => {
      answer
        .on('error', () => {})
        .once('data', () => resolve(sent))
        .resume()
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
