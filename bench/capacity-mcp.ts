// Measures `mcp --http` with 300 tools of one server: CPU of each kind of request, memory of sessions and of their streams.
import { Agent, type ClientRequest, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { gatewayCommand } from './mcp-gateway.ts'
import { type Served, serve } from './mcp-web.ts'
import { cpuOf, openFilesOf, residentOf } from './messages-processes.ts'
import { median, table } from './report.ts'

const TOOLS = 300
const ROUNDS = 5
const OPERATIONS = 200
const CONCURRENCY = 8
const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 2000)
const WARM_SESSIONS = 100
const SERVER = fileURLToPath(new URL('servers/many-tools.mjs', import.meta.url))

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Requests of a session must not share an id. */
let lastId = 0

type Fields = { readonly [name: string]: unknown }

/** Sends a message; resolves with the session's id when the whole answer has arrived. */
function post(url: string, session: string | undefined, message: Fields): Promise<string> {
  const headers = { ...HEADERS, ...(session === undefined ? {} : { 'mcp-session-id': session }) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      const { statusCode = 0 } = answer
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      answer.once('end', () => {
        if (statusCode >= 300 || text.includes('"isError":true')) reject(new Error(`${statusCode} ${text}`))
        else resolve(String(answer.headers['mcp-session-id'] ?? session))
      })
    })
    sent.once('error', reject)
    const isRequest = !String(message.method).startsWith('notifications/')
    sent.end(JSON.stringify({ jsonrpc: '2.0', ...(isRequest ? { id: ++lastId } : {}), ...message }))
  })
}

async function openSession(url: string): Promise<string> {
  const clientInfo = { name: 'bench', version: '1.0.0' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const session = await post(url, undefined, { method: 'initialize', params })
  await post(url, session, { method: 'notifications/initialized' })
  return session
}

const call = (name: string, input: Fields): Fields => ({
  method: 'tools/call',
  params: { name, arguments: input },
})

/** The stream on which a client waits for notifications. */
function openStream(url: string, session: string): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
    const sent = request(url, { method: 'GET', agent: false, headers }, (answer) => {
      answer.on('error', () => {}).resume()
      resolve(sent)
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** Runs the work this many times, a few at a time. */
async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await work(index)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** Measures the gateway's CPU for one operation in milliseconds: the median of several rounds, after a warm-up. */
async function costOf({ pid }: Served, work: (index: number) => Promise<unknown>): Promise<number> {
  await times(OPERATIONS, work)
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuOf(pid)
    await times(OPERATIONS, work)
    rounds.push((cpuOf(pid) - before) / OPERATIONS)
  }
  return median(rounds)
}

async function modernClient(url: string): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return client
}

function start(folder: string): Promise<Served> {
  const servers = new Map([['bench', { command: process.execPath, args: [SERVER, String(TOOLS)], env: {} }]])
  const options = ['--http', '--port', '0', '--no-inspect', '--max-sessions', '100000']
  return serve(gatewayCommand(folder, servers, ...options))
}

export async function measureMcpCapacity(folder: string): Promise<string[]> {
  const lines: string[] = []
  // Memory is measured in a new process, because memory freed by an earlier part would be reused first.
  for (const measure of [measureCost, measureMemory]) {
    const gateway = await start(folder)
    try {
      lines.push(...(lines.length > 0 ? [''] : []), ...(await measure(gateway)))
    } finally {
      await gateway.end()
    }
  }
  return lines
}

async function measureCost(gateway: Served): Promise<string[]> {
  const { url } = gateway
  const session = await openSession(url)
  const find = (query: string) => post(url, session, call('ToolSearch', { query }))
  await find('update the record of an item')
  const item = (index: number) =>
    call('CallTool', { name: `bench__item_${index % TOOLS}`, arguments: { id: 'a' } })
  const modern = await modernClient(url)
  const operations: [string, (index: number) => Promise<unknown>][] = [
    ['a session: initialize, initialized, end', async () => endSession(url, await openSession(url))],
    ['tools/list', () => post(url, session, { method: 'tools/list', params: {} })],
    ['ToolSearch, the same words again', () => find('update a record')],
    ['ToolSearch, other words each time', (index) => find(`item ${index} mode ${Math.random()}`)],
    ['CallTool with a result of 1 kB, in a session', (index) => post(url, session, item(index))],
    [
      'CallTool with a result of 1 kB, 2026 protocol',
      (index) => modern.callTool(item(index).params as never),
    ],
  ]
  const rows: string[][] = []
  for (const [name, work] of operations) {
    const cost = await costOf(gateway, work)
    rows.push([name, cost.toFixed(2), String(Math.floor(1000 / cost))])
  }
  await modern.close()
  return table(['`mcp --http`, 300 tools', 'ms of CPU', 'a second and core'], rows)
}

function endSession(url: string, session: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'DELETE', agent, headers: { 'mcp-session-id': session } },
      (answer) => {
        answer.once('end', resolve).resume()
      },
    )
    sent.once('error', reject)
    sent.end()
  })
}

async function measureMemory({ url, pid }: Served): Promise<string[]> {
  await times(WARM_SESSIONS, async () => endSession(url, await openSession(url)))
  const before = residentOf(pid)
  const sessions: string[] = []
  await times(SESSIONS, async () => void sessions.push(await openSession(url)))
  const opened = residentOf(pid)
  await times(SESSIONS, async (index) => {
    await post(url, sessions[index], call('ToolSearch', { query: `select:bench__item_${index % TOOLS}` }))
  })
  const searched = residentOf(pid)
  const streams: ClientRequest[] = []
  await times(SESSIONS, async (index) => void streams.push(await openStream(url, sessions[index] ?? '')))
  const streaming = residentOf(pid)
  const files = openFilesOf(pid)
  const idle = await idleShare(pid)
  for (const stream of streams) stream.destroy()
  const each = (more: number, less: number) => `${(((more - less) * 1000) / SESSIONS).toFixed(0)} kB`
  return [
    ...table(
      [`${SESSIONS} sessions at once`, 'MB resident', 'more, each'],
      [
        ['before', before.toFixed(0), ''],
        ['sessions', opened.toFixed(0), each(opened, before)],
        ['each has searched', searched.toFixed(0), each(searched, opened)],
        ['each has its stream open', streaming.toFixed(0), each(streaming, searched)],
      ],
    ),
    '',
    `With all streams open: ${files} open files, ${idle.toFixed(1)} % of a core while nothing happens.`,
  ]
}

async function idleShare(pid: number): Promise<number> {
  const before = { cpu: cpuOf(pid), time: performance.now() }
  await new Promise((resolve) => setTimeout(resolve, 5000))
  return ((cpuOf(pid) - before.cpu) / (performance.now() - before.time)) * 100
}
