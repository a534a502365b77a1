// Measures how long a server with very many tools blocks the others: the longest stall of the event loop, and the most CPU
// time between two turns of it, for each operation on its tools.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { createShelf } from '../packages/core/src/index.ts'
import { gatewayShelfOptions } from '../packages/mcp/src/gateway/gateway.ts'
import { createMcpHost } from '../packages/mcp/src/host/host.ts'
import type { ServerConfig } from '../packages/mcp/src/types.ts'
import { report, table } from './report.ts'

const count = Number(process.argv[2]) || 50_000
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-stall-'))
const server = fileURLToPath(new URL('./servers/many-tools.mjs', import.meta.url))
const config: ServerConfig = {
  name: 'big',
  transport: {
    kind: 'stdio',
    command: process.execPath,
    args: [server, String(count)],
    env: {},
    cwd: undefined,
  },
  disabled: false,
  lazy: false,
  alwaysLoad: undefined,
  description: undefined,
  tools: {},
  allow: [],
  deny: [],
  connectTimeoutMs: 300_000,
  callTimeoutMs: 60_000,
  source: 'bench',
}

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
const turns = watchTurns()
const rows: (string | number)[][] = []

/** A histogram that was just reset leaves its first delay out. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 30))

async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
  delay.reset()
  await settle()
  turns.reset()
  const begin = performance.now()
  await work()
  const took = performance.now() - begin
  await settle()
  rows.push([name, Math.round(took), Math.round(delay.max / 1e6), Math.round(turns.most())])
}

function watchTurns() {
  let most = 0
  let last = process.cpuUsage()
  const look = () => {
    const { user, system } = process.cpuUsage(last)
    most = Math.max(most, (user + system) / 1000)
    last = process.cpuUsage()
    setTimeout(look, 1).unref()
  }
  look()
  return {
    reset: () => {
      most = 0
    },
    most: () => most,
  }
}

function open() {
  const shelf = createShelf({ ...gatewayShelfOptions, environment: {}, rank: 'hybrid', notify: () => {} })
  const host = createMcpHost({ shelf, servers: [config], cacheFolder: join(folder, 'cache') })
  return { shelf, host }
}

const first = open()
await measure('connect and list', async () => {
  first.host.start()
  await first.host.settled()
})
const used = first.shelf.partition().deferred.length
await measure('first search', () => first.shelf.search({ query: 'update a record of the catalogue' }))
await measure('next search', () => first.shelf.search({ query: 'read item number 5' }))
await measure('required word', () => first.shelf.search({ query: '+catalogue read' }))
await measure('unknown name', () => first.shelf.search({ query: 'select:nothing_like_it' }))
await measure('list again', () => first.host.refresh('big'))
await first.host.close()
const second = open()
await measure('start from the cache', () => second.host.publishCachedTools())
await second.host.close()
rmSync(folder, { recursive: true, force: true })

report('A server with very many tools', 'npm run bench mcp-stall [tools]', [
  `A server that lists ${count.toLocaleString('en')} tools, of which ${used.toLocaleString('en')} are used. CPU: the most that one turn of the event loop took, which the load of the machine does not change.`,
  '',
  ...table(['', 'took (ms)', 'longest stall (ms)', 'CPU in one turn (ms)'], rows),
])
process.exit(0)
