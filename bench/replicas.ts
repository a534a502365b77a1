// `npm run bench replicas [seconds] [sessions]`: what a store adds to a call, how often a session asks it, and a soak of
// many sessions over three replicas behind a balancer, which counts lost calls and memory. Default: 60 s, 1,000 sessions.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createClient } from '@redis/client'
import { scriptPath } from '../test/mcp/support/servers.ts'
import { type ReplicaProcess, startReplica, untilReady } from '../test/replicas/processes.ts'
import { startBalancer } from '../test/support/balancer.ts'
import { type StoreServer, startRedis } from '../test/support/store-servers.ts'
import { report, table } from './report.ts'

const [seconds = 60, sessions = 1000] = process.argv.slice(2).map(Number)
const CALLS = 400
const WARM_UP = 20
/** Seconds between two calls of a session in the soak. */
const PAUSE_S = 20
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-replicas-'))
const config = join(folder, 'servers.json')
const neighbour = { command: process.execPath, args: [scriptPath('healthy')] }
writeFileSync(config, JSON.stringify({ mcpServers: { neighbour } }))

const redis = await startRedis()
if (!redis) process.exit(1)
const running: ReplicaProcess[] = []
const lines: string[] = []
try {
  await addedTime(redis)
  await soak(redis)
  report('Replicas', `npm run bench replicas ${seconds} ${sessions}`, lines)
} finally {
  await Promise.all(running.map((replica) => replica.end('SIGKILL')))
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function startOne(store: string | undefined): Promise<ReplicaProcess> {
  const home = join(folder, `home-${running.length}`)
  mkdirSync(home, { recursive: true })
  const words = ['--mode', 'list', '--max-sessions', String(sessions * 2)]
  const replica = await startReplica({ store, config, home, words })
  running.push(replica)
  await untilReady(replica)
  return replica
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: 'opencode', version: '1.0.0' })
  client.setNotificationHandler(
    'notifications/tools/list_changed',
    async () => void (await client.listTools()),
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return client
}

function add(client: Client): Promise<unknown> {
  return client.callTool({ name: 'neighbour__add', arguments: { a: 1, b: 2 } })
}

/** Compares a gateway without a store and one on Redis, call by call, so that both see the same machine. */
async function addedTime({ url }: StoreServer): Promise<void> {
  const alone = await connect((await startOne(undefined)).url)
  const shared = await connect((await startOne(url)).url)
  const works: readonly [string, (client: Client) => Promise<unknown>][] = [
    ['tools/call', add],
    ['tools/list', (client) => client.listTools()],
  ]
  const rows: string[][] = []
  for (const [name, work] of works) {
    const times: [number[], number[]] = [[], []]
    for (let index = 0; index < CALLS; index++)
      for (const [which, client] of [alone, shared].entries()) {
        const started = performance.now()
        await work(client)
        if (index >= WARM_UP) times[which]?.push(performance.now() - started)
      }
    for (const part of [0.1, 0.5]) {
      const [without, withStore] = times.map((all) => quantile(all, part)) as [number, number]
      const shown = [without, withStore, withStore - without].map((time) => time.toFixed(2))
      rows.push([`${name}, p${part * 100}`, ...shown])
    }
  }
  tell('One gateway without a store and one on Redis, call by call, in ms:', '')
  tell(...table(['', 'no store', 'Redis', 'added'], rows), '')
  await countCommands(url, shared, running[1]?.url ?? '')
  await Promise.all([alone.close(), shared.close()])
  await Promise.all(running.splice(0).map((replica) => replica.end('SIGTERM')))
}

/** Commands that Redis got while a session does one thing ten times; heartbeats are less than one in a second. */
async function countCommands(url: string, client: Client, gateway: string): Promise<void> {
  const admin = createClient({ url })
  await admin.connect()
  const total = async () => Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1])
  const opened: Client[] = []
  const works: readonly [string, () => Promise<unknown>][] = [
    ['open a session (initialize, initialized, stream)', async () => opened.push(await connect(gateway))],
    ['list', () => client.listTools()],
    ['call', () => add(client)],
    ['search that loads nothing new', () => search(client, 'neighbour__add')],
  ]
  await search(client, 'neighbour__add')
  const rows: (string | number)[][] = []
  for (const [name, work] of works) {
    const before = await total()
    for (let index = 0; index < 10; index++) await work()
    await sleep(300)
    rows.push([name, ((await total()) - before - 1) / 10])
  }
  tell(...table(['', 'commands of Redis'], rows), '')
  await Promise.all(opened.map((one) => one.close()))
  admin.destroy()
}

function search(client: Client, name: string): Promise<unknown> {
  return client.callTool({ name: 'ToolSearch', arguments: { query: `select:${name}` } })
}

/** Many sessions, each of which calls, lists or searches now and then, wherever the balancer sends it. */
async function soak({ url }: StoreServer): Promise<void> {
  for (const _ of [0, 1, 2]) await startOne(url)
  const balancer = await startBalancer(running.map((replica) => replica.url))
  const clients: Client[] = []
  while (clients.length < sessions) {
    const some = Array.from({ length: Math.min(20, sessions - clients.length) }, () => connect(balancer.url))
    clients.push(...(await Promise.all(some)))
  }
  tell(
    `Three replicas on one Redis behind a balancer that takes them in turn: ${clients.length} open sessions, a request of each in ${PAUSE_S} s.`,
    '',
  )
  const counts = { calls: 0, lost: 0 }
  const problems = new Map<string, number>()
  const times: number[] = []
  let isOver = false
  const rows: (string | number)[][] = []
  const working = clients.map(async (client) => {
    await sleep(Math.random() * PAUSE_S * 1000)
    for (let index = Math.floor(Math.random() * 10); !isOver; index++) {
      const started = performance.now()
      counts.calls++
      const work =
        index % 10 === 8
          ? client.listTools()
          : index % 10 === 9
            ? search(client, 'neighbour__echo')
            : add(client)
      await work.then(
        () => times.push(performance.now() - started),
        (error: Error) => {
          counts.lost++
          problems.set(error.message, (problems.get(error.message) ?? 0) + 1)
        },
      )
      await sleep(PAUSE_S * 1000 * (0.5 + Math.random()))
    }
  })
  for (let part = 0; part <= 6; part++) {
    const sizes = running.map(({ pid }) => Math.round(rssOf(pid)))
    rows.push([Math.round((part * seconds) / 6), counts.calls, counts.lost, ...sizes])
    console.log(rows.at(-1)?.join(' '))
    if (part < 6) await sleep((seconds * 1000) / 6)
  }
  isOver = true
  await Promise.all(working)
  tell(...table(['s', 'requests', 'lost', 'MB of A', 'of B', 'of C'], rows), '')
  tell(
    `A request takes ${quantile(times, 0.5).toFixed(1)} ms at p50, ${quantile(times, 0.99).toFixed(1)} ms at p99.`,
  )
  for (const [message, count] of problems) tell(`- lost, ${count} times: ${message}`)
  await Promise.all(clients.map((client) => client.close()))
  await balancer.close()
}

/** For the section of RESULTS.md. */
function tell(...more: readonly string[]): void {
  lines.push(...more)
}

function rssOf(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  return (pages * 4096) / 1e6
}

function quantile(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? 0
}
