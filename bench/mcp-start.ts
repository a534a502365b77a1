// Measures the time from spawn to the first answer and to the last searchable tool: the gateway with twenty real servers, compared with
// the fastest of them alone and with a client that starts them all itself.
import { callText, gatewayCommand, inHome, type Servers, untilFound } from './mcp-gateway.ts'
import { cpuOf, quiet, start, startAll } from './mcp-processes.ts'
import type { Command } from './mcp-servers.ts'
import { ratio, takeTurns, type Ways } from './mcp-turns.ts'
import { median, table } from './report.ts'

export type ListedTools = readonly { readonly name: string; readonly [field: string]: unknown }[]

export type Alone = { readonly name: string; readonly time: number; readonly tools: ListedTools }

/** Homes with a warm and with an empty cache. */
export type Homes = { readonly warm: string; readonly cold: () => string }

/** Measures each server by itself: the median time of three to its list, and the list. */
export async function measureAlone(home: string, servers: Servers): Promise<Alone[]> {
  const measured: Alone[] = []
  for (const [name, command] of servers) {
    const times: number[] = []
    let tools: ListedTools = []
    for (let round = 0; round < 3; round++) {
      const server = await start(inHome(command, home))
      tools = (await server.client.listTools()).tools as unknown as ListedTools
      times.push(server.age())
      await server.end()
    }
    measured.push({ name, time: median(times), tools })
  }
  return measured
}

/** Creates a home whose caches have all servers; returns the seconds of CPU that the gateway itself took for it. */
export async function warmUp(home: string, servers: Servers, alone: readonly Alone[]): Promise<number> {
  const gateway = await start(gatewayCommand(home, servers))
  for (const tool of lastTools(alone)) await untilFound(gateway.client, tool)
  await callText(gateway.client, 'ToolSearch', { query: 'create issue' })
  await quiet([gateway.pid])
  const seconds = cpuOf([gateway.pid])
  await gateway.end()
  return seconds
}

/** Measures the time to the first list of tools. */
export async function measureFirst(
  { warm, cold }: Homes,
  servers: Servers,
  alone: readonly Alone[],
): Promise<string[]> {
  const { name: fastest } = [...alone].sort((a, b) => a.time - b.time)[0]!
  const ways: Ways<{ time: number; cpu: number }> = new Map([
    [`${fastest}, the fastest of the twenty`, () => firstList(inHome(servers.get(fastest)!, warm))],
    ['gateway, cold cache', () => firstList(gatewayCommand(cold(), servers))],
    ['gateway, warm cache', () => firstList(gatewayCommand(warm, servers))],
    ['gateway, warm cache, `--lazy`', () => firstList(gatewayCommand(warm, servers, '--lazy'))],
  ])
  const results = [...(await takeTurns(ways, 9))].map(([name, all]) => ({
    name,
    time: median(all.map(({ time }) => time)),
    slowest: Math.max(...all.map(({ time }) => time)),
    cpu: median(all.map(({ cpu }) => cpu)),
  }))
  const rows = results.map(({ name, time, slowest, cpu }) => [
    name,
    time.toFixed(0),
    ratio(time, results[0]!.time),
    slowest.toFixed(0),
    (cpu * 1000).toFixed(0),
  ])
  const worst = Math.max(...results.slice(1).map(({ time }) => time))
  return [
    ...table(['first `tools/list`', 'median ms', 'ratio', 'slowest ms', 'CPU ms'], rows),
    '',
    `The gateway's first list is there after ${worst.toFixed(0)} ms at most, by the medians (goal: under 500 ms).`,
  ]
}

async function firstList(command: Command): Promise<{ time: number; cpu: number }> {
  const started = await start(command)
  await started.client.listTools()
  const measured = { time: started.age(), cpu: cpuOf([started.pid]) }
  await started.end()
  return measured
}

/** Measures the time until every tool can be found. */
export async function measureSearchable(
  { warm, cold }: Homes,
  servers: Servers,
  alone: readonly Alone[],
): Promise<string[]> {
  const tools = lastTools(alone)
  const ways: Ways<number> = new Map([
    ['no gateway: the official client lists all at once', () => allListed(warm, servers)],
    ['gateway, cold cache', () => allFound(gatewayCommand(cold(), servers), tools)],
    ['gateway, warm cache', () => allFound(gatewayCommand(warm, servers), tools)],
    ['gateway, warm cache, `--lazy`', () => allFound(gatewayCommand(warm, servers, '--lazy'), tools)],
  ])
  const times = [...(await takeTurns(ways, 5))].map(([name, all]) => [name, median(all)] as const)
  const rows = times.map(([name, time]) => [name, time.toFixed(0), ratio(time, times[0]![1])])
  return table(['until all tools are searchable', 'median ms', 'ratio'], rows)
}

async function allListed(home: string, servers: Servers): Promise<number> {
  const begin = performance.now()
  const started = await startAll([...servers.values()].map((command) => inHome(command, home)))
  const time = performance.now() - begin
  await Promise.all(started.map((server) => server.end()))
  return time
}

async function allFound(command: Command, tools: readonly string[]): Promise<number> {
  const gateway = await start(command)
  for (const tool of tools) await untilFound(gateway.client, tool)
  const time = gateway.age()
  await gateway.end()
  return time
}

/** One tool of each server, as the gateway names it: when all of these are found, all tools are. */
function lastTools(alone: readonly Alone[]): string[] {
  return alone.map(({ name, tools }) => `${name}__${tools.at(-1)?.name}`)
}
