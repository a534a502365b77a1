// MCP servers on stdio that answer in the test's own process. Each has a process with the pipes of one, but that is a shell
// (../servers/relay.sh): to start Node takes a tenth of a CPU second, and with the SDK half a second. For tests of messages on
// stdio; where a server's process itself matters, see ./servers.ts.
import { execFileSync } from 'node:child_process'
import { constants, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import { type ServeStdioOptions, StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import { isAlive } from './processes.ts'
import type { HandlersOf, Wire } from './server-here.ts'
import { defaults, type Given, scriptPath } from './servers.ts'

/** What the client writes, and where the server writes. */
export type Pipes = {
  readonly input: Readable
  readonly output: Writable
  readonly errors: Writable
  /** Ends the process, as a crash does. */
  readonly kill: () => void
}

type Serve = (pipes: Pipes) => void | Promise<void>

/** `piped('one', 'gateway-pages a b')`: the same server as `local('one', 'gateway-pages a b')` without a Node of its own. */
export function piped(name: string, script: string, given: Given = {}): ServerConfig {
  const [file = '', behaviour = '', ...args] = script.split(' ')
  return pipedServer(
    name,
    async (pipes) => {
      const { server } = await import(scriptPath(file))
      const { serveOn } = await import(scriptPath('wire'))
      serveOn(pipes, (wire: object) => server(behaviour, wire, ...args))
    },
    given,
  )
}

/** `pipedHere('shop', ({ notify }) => ({ 'tools/list': … }))`: as `serverHere`, on stdio; asked for anew by each process. */
export function pipedHere(name: string, handlersOf: HandlersOf, given: Given = {}): ServerConfig {
  return pipedServer(
    name,
    async (pipes) => {
      const { serveOn } = await import(scriptPath('wire'))
      serveOn(pipes, (wire: Wire) => handlersOf(wire))
    },
    given,
  )
}

/** The same for a server that is made with the official library; `load` is called for each of its processes. */
export function pipedSdk(
  name: string,
  load: () => Promise<McpServerFactory>,
  { legacy, ...given }: SdkGiven = {},
): ServerConfig {
  const serving = legacy === undefined ? {} : { legacy }
  return pipedServer(
    name,
    async ({ input, output }) => {
      const transport = new StdioServerTransport(input, output)
      serveStdio(await load(), { ...serving, transport })
    },
    given,
  )
}

type SdkGiven = Given & Pick<ServeStdioOptions, 'legacy'>

/** `pipedModern('one', 'tasks')`: a server of the newest protocol alone, which a file of ../servers exports as `createServer`. */
export function pipedModern(name: string, file: string): ServerConfig {
  return pipedSdk(name, async () => (await import(scriptPath(file))).createServer, { legacy: 'reject' })
}

function pipedServer(name: string, serve: Serve, { env = {}, ...given }: Given): ServerConfig {
  const args = [relay, folderOfPipes(), String(servers.push(serve) - 1)]
  const transport = { kind: 'stdio', command: 'sh', args, env, cwd: undefined } as const
  return { ...defaults(name), transport, ...given }
}

const relay = fileURLToPath(new URL('../servers/relay.sh', import.meta.url))
const servers: Serve[] = []
let folder: string | undefined

/** Listens for processes that start, as long as this one runs. */
function folderOfPipes(): string {
  if (folder !== undefined) return folder
  removeStale()
  const path = join(tmpdir(), `${PREFIX}${process.pid}`)
  mkdirSync(path)
  const starts = join(path, 'starts')
  execFileSync('mkfifo', [starts])
  // Open for writing too: it does not end when a process does.
  const listening = new Socket({ fd: openSync(starts, constants.O_RDWR | constants.O_NONBLOCK) }).unref()
  createInterface(listening).on('line', (line) => {
    const [number = '', pid = ''] = line.split(' ')
    const serve = servers[Number(number)]
    if (serve) void connect(join(path, pid), Number(pid), serve)
  })
  folder = path
  return path
}

const PREFIX = 'toolshelf-pipes-'

/** The processes of tests are killed in the end: the next one removes what they leave. */
function removeStale(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(name.slice(PREFIX.length))
    if (!name.startsWith(PREFIX) || (isAlive(pid) && pid !== process.pid)) continue
    try {
      rmSync(join(tmpdir(), name), { recursive: true })
    } catch {
      // It is somebody else's, or somebody else has removed it.
    }
  }
}

async function connect(pipes: string, pid: number, serve: Serve): Promise<void> {
  const input = open(`${pipes}.in`, constants.O_RDONLY)
  const [output, errors] = [open(`${pipes}.out`, constants.O_RDWR), open(`${pipes}.err`, constants.O_RDWR)]
  input.on('close', () => {
    for (const socket of [output, errors]) socket.destroy()
    for (const end of ['in', 'out', 'err']) rmSync(`${pipes}.${end}`, { force: true })
  })
  const kill = () => void (isAlive(pid) && process.kill(pid, 'SIGKILL'))
  await serve({ input, output, errors, kill })
}

function open(path: string, mode: number): Socket {
  const isRead = mode === constants.O_RDONLY
  const fd = openSync(path, mode | constants.O_NONBLOCK)
  return new Socket({ fd, readable: isRead, writable: !isRead }).on('error', () => {})
}
