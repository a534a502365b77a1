// Measures the resident memory of the gateway and all its children, eager and lazy, compared with the servers alone. Each time
// with warm caches, after one call to one server, once all processes are idle.
import { callText, gatewayCommand, inHome, type Servers } from './mcp-gateway.ts'
import { memoryOf, quiet, start, startAll, treeOf } from './mcp-processes.ts'
import type { Command } from './mcp-servers.ts'
import { ratio, takeTurns, type Ways } from './mcp-turns.ts'
import { median, table } from './report.ts'

type Weight = {
  readonly processes: number
  readonly all: number
  readonly allShared: number
  /** Of the gateway's own process, and the same after a search. */
  readonly own?: number
  readonly searched?: number
}

export async function measureMemory(home: string, servers: Servers): Promise<string[]> {
  const ways: Ways<Weight> = new Map([
    ['no gateway: all servers', () => weighServers(home, servers)],
    ['gateway', () => weighGateway(gatewayCommand(home, servers))],
    ['gateway, `--lazy`', () => weighGateway(gatewayCommand(home, servers, '--lazy'))],
  ])
  const weights = await takeTurns(ways, 3)
  const base = median([...weights.values()][0]!.map(({ all }) => all))
  const rows = [...weights].map(([name, weighed]) => {
    const middle = (field: keyof Weight) => median(weighed.map((weight) => weight[field] ?? 0))
    const shown = (field: keyof Weight) => (middle(field) > 0 ? middle(field).toFixed(0) : '')
    return [
      name,
      shown('processes'),
      shown('own'),
      shown('searched'),
      shown('all'),
      ratio(middle('all'), base),
      shown('allShared'),
    ]
  })
  return [
    ...table(
      ['memory', 'processes', 'gateway MB', 'after a search', 'all MB', 'ratio', 'all MB, shared once'],
      rows,
    ),
    '',
    'MB are RSS, which counts pages that processes share in each of them; the last column is PSS, which counts them once.',
  ]
}

async function weighServers(home: string, servers: Servers): Promise<Weight> {
  const started = await startAll([...servers.values()].map((command) => inHome(command, home)))
  const roots = started.map(({ pid }) => pid)
  await quiet(roots)
  const weight = weigh(roots)
  await Promise.all(started.map((server) => server.end()))
  return weight
}

async function weighGateway(command: Command): Promise<Weight> {
  const gateway = await start(command)
  await callText(gateway.client, 'CallTool', {
    name: 'filesystem__list_allowed_directories',
    arguments: {},
  })
  await quiet([gateway.pid])
  const weight = { ...weigh([gateway.pid]), own: memoryOf([gateway.pid]).rss }
  await callText(gateway.client, 'ToolSearch', { query: 'create issue' })
  await quiet([gateway.pid])
  const searched = memoryOf([gateway.pid]).rss
  await gateway.end()
  return { ...weight, searched }
}

function weigh(roots: readonly number[]): Weight {
  const pids = roots.flatMap(treeOf)
  const { rss, pss } = memoryOf(pids)
  return { processes: pids.length, all: rss, allShared: pss }
}
