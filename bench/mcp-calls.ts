// Measures what the gateway adds to a call: the same tool of the same server, directly and through the gateway, alternating in one run.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { callText, gatewayCommand, inHome, type Servers } from './mcp-gateway.ts'
import { quiet, start } from './mcp-processes.ts'
import { echoCommand } from './mcp-servers.ts'
import { ratio, takeTurns, type Ways } from './mcp-turns.ts'
import { freePort, serve } from './mcp-web.ts'
import { median, table } from './report.ts'

const ROUNDS = 1000
const WARM_UP = 200

const DIRECT = 'direct, stdio'
const DIRECT_WEB = 'direct, HTTP'
/** What each way is compared with. */
const PEERS: ReadonlyMap<string, string> = new Map([
  ['gateway, stdio, list', DIRECT],
  ['gateway, stdio, bridge', DIRECT],
  ['gateway, HTTP, list', DIRECT_WEB],
  ['gateway, HTTP, bridge, 2026-07-28', DIRECT_WEB],
])

/** With all servers' tools on the shelf, and one more server that echoes. */
export async function measureCalls(home: string, servers: Servers): Promise<string[]> {
  const echo = inHome(echoCommand(), home)
  const all = new Map([...servers, ['everything', echo]])
  const port = await freePort()
  const direct = await start(echo)
  const list = await start(gatewayCommand(home, all, '--lazy', '--mode', 'list'))
  const bridge = await start(gatewayCommand(home, all, '--lazy', '--mode', 'bridge'))
  const directWeb = await serve(inHome(echoCommand(port), home), `http://127.0.0.1:${port}/mcp`)
  const web = await serve(gatewayCommand(home, all, '--lazy', '--http', '--port', '0', '--mode', 'list'))
  const clients = [
    await connect(directWeb.url),
    await connect(web.url),
    await connect(web.url, '2026-07-28'),
  ] as const
  const ways: Ways<number> = new Map([
    [DIRECT, () => timeOf(direct.client, 'echo')],
    ['gateway, stdio, list', () => timeOf(list.client, 'everything__echo')],
    ['gateway, stdio, bridge', () => timeOf(bridge.client, 'everything__echo', 'CallTool')],
    [DIRECT_WEB, () => timeOf(clients[0], 'echo')],
    ['gateway, HTTP, list', () => timeOf(clients[1], 'everything__echo')],
    ['gateway, HTTP, bridge, 2026-07-28', () => timeOf(clients[2], 'everything__echo', 'CallTool')],
  ])
  await takeTurns(ways, 1)
  await quiet([list.pid, bridge.pid, web.pid])
  await takeTurns(ways, WARM_UP)
  const times = await takeTurns(ways, ROUNDS)
  for (const client of clients) await client.close()
  for (const started of [direct, list, bridge, directWeb, web]) await started.end()
  return compare(times)
}

/** Milliseconds of one call. */
async function timeOf(client: Client, tool: string, by?: 'CallTool'): Promise<number> {
  const input = { message: 'hi' }
  const begin = performance.now()
  const text = by
    ? await callText(client, by, { name: tool, arguments: input })
    : await callText(client, tool, input)
  const time = performance.now() - begin
  if (text !== 'Echo: hi') throw new Error(`bench mcp: ${tool} answered "${text}"`)
  return time
}

async function connect(url: string, version?: string): Promise<Client> {
  const mode = version ? { pin: version } : 'legacy'
  const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return client
}

function compare(times: ReadonlyMap<string, readonly number[]>): string[] {
  const rows = [...times].map(([name, own]) => {
    const peer = times.get(PEERS.get(name) ?? '')
    const added = (of: (values: readonly number[]) => number) => (peer ? (of(own) - of(peer)).toFixed(2) : '')
    return [
      name,
      median(own).toFixed(2),
      late(own).toFixed(2),
      added(median),
      added(late),
      peer ? ratio(median(own), median(peer)) : '',
    ]
  })
  const worst = Math.max(...rows.map(([, , , added]) => Number(added)))
  return [
    ...table(['a call', 'p50 ms', 'p95 ms', 'added p50', 'added p95', 'ratio p50'], rows),
    '',
    `${ROUNDS} calls each, in turns. The gateway adds ${worst.toFixed(2)} ms at most at p50 (goal: less than 2 ms).`,
  ]
}

/** p95 */
function late(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0
}
