// Measures the gateway's CPU per request in every mode, compared with a bare proxy: with 300 tools and with a large image.
import { ratio, takeTurns } from './mcp-turns.ts'
import { type Body, bodyOf, imageBodyOf, toolsOf } from './messages-load-bodies.ts'
import { cpuOf, type Running, startGateway, startProxy, startUpstream } from './messages-processes.ts'
import { post } from './messages-requests.ts'
import { median, table } from './report.ts'

const TOOLS = 300
/** Turns of the conversations before the first request and before the last one: each request has one turn more. */
const CONVERSATIONS = { short: [0, 60], long: [480, 500] } as const
const ROUNDS = 5
const WARM = 4
const EVENTS = 20
const IMAGE_MEGABYTES = 20
const IMAGE_REQUESTS = 4
const MAX_OF_PASS = 3

type Way = { readonly name: string; readonly running: Running; readonly headers: Record<string, string> }

/** Starts one process per variant, so that none is warmed up by another. */
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
  for (const way of ways) for (let warm = 0; warm < WARM; warm++) await run(way)()
  return takeTurns(new Map(ways.map((way) => [way.name, run(way)])), rounds)
}

export async function measureCost(folder: string): Promise<string[]> {
  const ways = await startWays(folder)
  const tools = toolsOf(TOOLS)
  const shelving = ways.filter(({ name }) => name === 'shelve' || name === 'auto')
  // From its first search on, the gateway also looks for replies that searched without a call. One by name, so
  // that loading the ranker is not counted.
  const search = { 'x-search': 'ToolSearch', 'x-query': `select:${tools[0]?.name}`, 'x-events': '1' }
  for (const { running } of shelving) await post(running.url, bodyOf(tools, 0), search)
  const lines: string[] = []
  for (const [name, [first, last]] of Object.entries(CONVERSATIONS))
    lines.push(
      ...(lines.length > 0 ? [''] : []),
      ...(await measureConversation(ways, tools, name, first, last)),
    )
  return lines
}

async function measureConversation(
  ways: readonly Way[],
  tools: readonly Body[],
  name: string,
  first: number,
  last: number,
): Promise<string[]> {
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const deferred = [search, ...tools.map((tool) => ({ ...tool, defer_loading: true }))]
  const turns = Array.from({ length: last - first }, (_, turn) => first + turn)
  const plain = turns.map((turn) => bodyOf(tools, turn))
  const deferring = turns.map(() => bodyOf(deferred, 0))
  const results = await costs(ways, (mode) => (mode === 'emulate' ? deferring : plain), ROUNDS)
  const cpu = (way: string) => median(results.get(way)!.map((one) => one.cpu))
  const rows = [...results].map(([way, runs]) => [
    way,
    cpu(way).toFixed(2),
    ratio(cpu(way), cpu('bare proxy')),
    ratio(cpu(way), cpu('pass')),
    median(runs.map((one) => one.time)).toFixed(1),
  ])
  const times = cpu('shelve') / cpu('pass')
  return [
    `${TOOLS} tools, a ${name} conversation that grows by a turn per request: ${first * 2 + 1} to ${last * 2 - 1} messages, bodies of ${kilobytes(plain[0]!)} to ${kilobytes(plain.at(-1)!)} kB, replies of ${EVENTS} events. Medians of ${ROUNDS} rounds of ${turns.length} requests.`,
    '',
    ...table(['mode', 'CPU ms per request', 'to bare proxy', 'to pass', 'time ms'], rows),
    '',
    `- Warm shelve takes ${times.toFixed(2)}× the CPU of pass in a ${name} conversation (goal: at most ${MAX_OF_PASS}×): ${times <= MAX_OF_PASS ? 'met' : 'missed'}.`,
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
