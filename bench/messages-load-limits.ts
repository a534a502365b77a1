// Measures whether the gateway stays responsive: with 300 streams at once, with 20 bodies of 28 MB, with 10,000 tools.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { takeTurns } from './mcp-turns.ts'
import { bodyOf, imageBodyOf, toolsOf } from './messages-load-bodies.ts'
import {
  peakResidentOf,
  type Running,
  residentOf,
  startClients,
  startProxy,
  startUpstream,
  startWatchedGateway,
} from './messages-processes.ts'
import { get, post } from './messages-requests.ts'
import { spread, table } from './report.ts'

const STREAMS = 300
const TOOLS = 300
const SECONDS = 3
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SPEED = 50
const MAX_STALL = 100
/** The first requests that the gateway gets, with its first searches, which load the ranker. */
const COLD = 'shelve, cold, with searches'
const BODIES = 20
const BODY_MEGABYTES = 28
const MANY_TOOLS = 10_000

/** Figures of one variant in one round. */
type StalledRun = {
  readonly firstByte: number
  readonly lag: number
  /** The longest answer of /health; undefined for the proxy, which has none. */
  readonly health: number | undefined
  readonly stall: Stall | undefined
}

export async function measureStalls(folder: string): Promise<string[]> {
  const upstream = await startUpstream()
  const ways = ['bare proxy', 'pass', 'shelve', COLD]
  const turns = new Map(ways.map((way) => [way, () => measureStall(way, folder, upstream)]))
  const all = await takeTurns(turns, ROUNDS)
  const rows = [...all].map(([way, runs]) => {
    const cell = (figures: (number | undefined)[]) =>
      figures[0] === undefined ? '' : spread(figures.map(Number), 0)
    return [
      way,
      cell(runs.map(({ firstByte }) => firstByte)),
      cell(runs.map(({ lag }) => lag)),
      cell(runs.map(({ health }) => health)),
      cell(runs.map(({ stall }) => stall?.time)),
      cell(runs.map(({ stall }) => stall?.cpu)),
    ]
  })
  const head = ['mode', 'first byte p50 ms', 'event p95', '/health worst', 'longest stall', 'of it CPU']
  return [
    `${STREAMS} streams that start within a second, ${TOOLS} tools each, ${SPEED} events a second for ${SECONDS} s. Medians of ${ROUNDS} rounds, with the least and the most.`,
    '',
    ...table(head, rows),
    '',
    ...['shelve', COLD].map((way) =>
      stallLine(way, Math.max(...all.get(way)!.map(({ stall }) => stall?.cpu ?? 0))),
    ),
  ]
}

async function measureStall(way: string, folder: string, upstream: Running): Promise<StalledRun> {
  const isProxy = way === 'bare proxy'
  const isCold = way === COLD
  const running = isProxy
    ? await startProxy(upstream.url)
    : await startWatchedGateway(folder, '--upstream', upstream.url, '--mode', isCold ? 'shelve' : way)
  const clients = await startClients()
  const paced = { url: running.url, events: SECONDS * SPEED, pause: 1000 / SPEED, isProbing: false }
  // The upstream searches where the conversation has no result yet.
  const body = bodyOf(toolsOf(TOOLS), isCold ? 0 : 10)
  const job = { ...paced, body, isSearching: isCold }
  if (!isCold) await clients.perform({ ...job, streams: 20, events: 20 })
  if (!isProxy) await stallOf(running, folder)
  const health = isProxy ? undefined : probe(running)
  const { lag, firstByte } = await clients.perform({ ...job, streams: STREAMS })
  const waits = await health?.stop()
  if (isCold) await expectSearches(running)
  const stall = isProxy ? undefined : await stallOf(running, folder)
  await clients.end()
  await running.end()
  return { firstByte: firstByte.p50, lag: lag.p95, health: waits && Math.max(...waits), stall }
}

/** Throws if the searches did not happen that the row is about. */
async function expectSearches({ url }: Running): Promise<void> {
  const said = /^toolshelf_searches_total\{[^}]*shelve[^}]*\} (\d+)/m.exec(
    (await get(`${url}/metrics`)).text,
  )?.[1]
  if (Number(said) < STREAMS) throw new Error(`bench messages-load: ${said} searches in ${STREAMS} streams.`)
}

function stallLine(way: string, cpu: number): string {
  const isMet = cpu <= MAX_STALL
  return `- ${way}: the longest stall takes ${cpu.toFixed(0)} ms of CPU (goal: at most ${MAX_STALL} ms): ${isMet ? 'met' : 'missed'}.`
}

export async function measureMemory(folder: string): Promise<string[]> {
  const upstream = await startUpstream()
  const body = imageBodyOf(toolsOf(TOOLS), BODY_MEGABYTES)
  const rows: (string | number)[][] = []
  for (const mode of ['pass', 'shelve']) {
    const running = await startWatchedGateway(folder, '--upstream', upstream.url, '--mode', mode)
    await post(running.url, bodyOf(toolsOf(TOOLS), 1), { 'x-events': '10' })
    const before = residentOf(running.pid)
    const health = probe(running)
    const sent = Array.from({ length: BODIES }, () =>
      post(running.url, body, { 'x-events': '20', 'x-pause': '100' }),
    )
    const answers = await Promise.all(sent.map((one) => one.catch(() => ({ status: 0 }))))
    const waits = await health.stop()
    const statuses = [...new Set(answers.map(({ status }) => status))].map(
      (status) => `${answers.filter((one) => one.status === status).length} × ${status}`,
    )
    rows.push([
      mode,
      statuses.join(', '),
      before.toFixed(0),
      peakResidentOf(running.pid).toFixed(0),
      Math.max(...waits).toFixed(0),
      ...stallCells(await stallOf(running, folder)),
    ])
    await running.end()
  }
  return [
    `${BODIES} bodies of ${BODY_MEGABYTES} MB at once, replies of 2 s.`,
    '',
    ...table(
      ['mode', 'statuses', 'RSS MB before', 'peak', '/health worst ms', 'longest stall', 'of it CPU'],
      rows,
    ),
  ]
}

export async function measureManyTools(folder: string): Promise<string[]> {
  const upstream = await startUpstream()
  const tools = toolsOf(MANY_TOOLS)
  const body = bodyOf(tools, 1)
  const rows: (string | number)[][] = []
  for (const mode of ['pass', 'shelve']) {
    const running = await startWatchedGateway(folder, '--upstream', upstream.url, '--mode', mode)
    await post(running.url, bodyOf(toolsOf(10), 1), { 'x-events': '10' })
    const headers: Record<string, string> = mode === 'shelve' ? { 'x-search': 'ToolSearch' } : {}
    for (const turn of ['first', 'second', 'third']) {
      await stallOf(running, folder)
      const health = probe(running)
      const started = performance.now()
      const { status } = await post(running.url, body, { 'x-events': '10', ...headers })
      const time = performance.now() - started
      const waits = await health.stop()
      const stall = await stallOf(running, folder)
      rows.push([
        mode,
        turn,
        status,
        ...[time, Math.max(...waits)].map((value) => value.toFixed(0)),
        ...stallCells(stall),
      ])
    }
    await running.end()
  }
  return [
    `${MANY_TOOLS} tools (${(body.length / 1_000_000).toFixed(1)} MB), with a search in shelve.`,
    '',
    ...table(
      ['mode', 'request', 'status', 'time ms', '/health worst ms', 'longest stall', 'of it CPU'],
      rows,
    ),
  ]
}

function stallCells({ time, cpu }: Stall): string[] {
  return [time.toFixed(0), cpu.toFixed(0)]
}

/** Requests /health repeatedly; records how long each answer took. */
function probe({ url }: Running): { readonly stop: () => Promise<number[]> } {
  const waits: number[] = []
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const asked = performance.now()
      await get(`${url}/health`)
      waits.push(performance.now() - asked)
      await sleep(20)
    }
  })()
  return {
    async stop() {
      isOver = true
      await asking
      return waits
    },
  }
}

/** The longest time that the gateway's event loop was blocked since the last call, in milliseconds. */
type Stall = {
  readonly time: number
  /** CPU that the gateway itself used meanwhile; the rest is other load on the machine. */
  readonly cpu: number
}

export async function stallOf({ pid }: Running, folder: string): Promise<Stall> {
  const file = join(folder, `loop-${pid}`)
  const known = linesOf(file).length
  spawnSync('kill', ['-USR2', String(pid)])
  for (let turn = 0; turn < 500 && linesOf(file).length === known; turn++) await sleep(20)
  const [time = 0, cpu = 0] = (linesOf(file).at(-1) ?? '').split(' ').map(Number)
  return { time, cpu }
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}
