// CPU of the gateway per request, in every mode, beside a bare proxy: with 300 tools and with a large image.
import { ratio, takeTurns } from './mcp-turns.ts'
import { bodyOf, imageBodyOf, toolsOf } from './messages-load-bodies.ts'
import { cpuOf, type Running, startGateway, startProxy, startUpstream } from './messages-processes.ts'
import { post } from './messages-requests.ts'
import { median, table } from './report.ts'

const TOOLS = 300
const REQUESTS = 60
const ROUNDS = 5
const EVENTS = 20
const IMAGE_MEGABYTES = 20
const IMAGE_REQUESTS = 4
const MOST_OF_PASS = 3

type Way = { readonly name: string; readonly running: Running; readonly headers: Record<string, string> }

/** One process per way, so that none is warmed up by another. */
async function startWays(folder: string): Promise<Way[]> {
  const upstream = await startUpstream()
  const gateway = async (mode: string): Promise<Way> => {
    const running = await startGateway(folder, '--upstream', upstream.url, '--mode', mode)
    return { name: mode, running, headers: {} }
  }
  return [
    { name: 'bare proxy', running: await startProxy(upstream.url), headers: {} },
    await gateway('pass'),
    await gateway('off'),
    await gateway('auto'),
    await gateway('shelve'),
    await gateway('emulate'),
  ]
}

async function costs(ways: readonly Way[], bodies: (mode: string) => readonly string[], rounds: number) {
  const run =
    ({ name, running, headers }: Way) =>
    async () => {
      const given = bodies(name)
      const before = { cpu: cpuOf(running.pid), time: performance.now() }
      for (const body of given) await post(running.url, body, { 'x-events': String(EVENTS), ...headers })
      const count = given.length
      return {
        cpu: (cpuOf(running.pid) - before.cpu) / count,
        time: (performance.now() - before.time) / count,
      }
    }
  for (const way of ways) for (let warm = 0; warm < 2; warm++) await run(way)()
  return takeTurns(new Map(ways.map((way) => [way.name, run(way)])), rounds)
}

export async function measureCost(folder: string): Promise<string[]> {
  const ways = await startWays(folder)
  const tools = toolsOf(TOOLS)
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const deferred = [search, ...tools.map((tool) => ({ ...tool, defer_loading: true }))]
  // Each request has one turn more than the one before it, as in a real conversation.
  const plain = Array.from({ length: REQUESTS }, (_, turn) => bodyOf(tools, turn))
  const deferring = Array.from({ length: REQUESTS }, () => bodyOf(deferred, 0))
  const results = await costs(ways, (mode) => (mode === 'emulate' ? deferring : plain), ROUNDS)
  const cpu = (name: string) => median(results.get(name)!.map((one) => one.cpu))
  const rows = [...results].map(([name, runs]) => [
    name,
    cpu(name).toFixed(2),
    ratio(cpu(name), cpu('bare proxy')),
    ratio(cpu(name), cpu('pass')),
    median(runs.map((one) => one.time)).toFixed(1),
  ])
  const times = cpu('shelve') / cpu('pass')
  return [
    `${TOOLS} tools, bodies of ${kilobytes(plain[0]!)} to ${kilobytes(plain.at(-1)!)} kB (a conversation that grows by a turn per request), replies of ${EVENTS} events. Medians of ${ROUNDS} rounds of ${REQUESTS} requests.`,
    '',
    ...table(['mode', 'CPU ms per request', 'to bare proxy', 'to pass', 'time ms'], rows),
    '',
    `- Warm shelve takes ${times.toFixed(2)}× the CPU of pass (goal: at most ${MOST_OF_PASS}×): ${times <= MOST_OF_PASS ? 'met' : 'missed'}.`,
  ]
}

export async function measureImages(folder: string): Promise<string[]> {
  const ways = (await startWays(folder)).filter(({ name }) => name !== 'emulate')
  const body = imageBodyOf(toolsOf(TOOLS), IMAGE_MEGABYTES)
  const bodies = Array.from({ length: IMAGE_REQUESTS }, () => body)
  const results = await costs(ways, () => bodies, 3)
  const cpu = (name: string) => median(results.get(name)!.map((one) => one.cpu))
  const rows = [...results].map(([name, runs]) => [
    name,
    cpu(name).toFixed(0),
    ratio(cpu(name), cpu('pass')),
    median(runs.map((one) => one.time)).toFixed(0),
  ])
  return [
    `A request with an image of ${IMAGE_MEGABYTES} MB.`,
    '',
    ...table(['mode', 'CPU ms per request', 'to pass', 'time ms'], rows),
  ]
}

function kilobytes(body: string): string {
  return (body.length / 1000).toFixed(0)
}
