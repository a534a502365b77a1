// Manages the processes of the MCP bench: an official client for each, memory and CPU of the whole tree, clean shutdown.
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Command } from './mcp-servers.ts'

export type Started = {
  readonly client: Client
  readonly pid: number
  /** Milliseconds since it was spawned. */
  readonly age: () => number
  /** Resolves when the process and everything that it started are gone. */
  end(): Promise<void>
}

/** Processes that are still running. */
const running = new Set<Started>()

export type Memory = { readonly rss: number; readonly pss: number }

/** Spawns a server and initialises a session. */
export async function start({ command, args, env }: Command): Promise<Started> {
  const transport = new StdioClientTransport({ command, args, env, stderr: 'pipe', maxBufferSize: 2 ** 26 })
  const said: string[] = []
  transport.stderr?.on('data', (chunk: Buffer) => {
    said.push(String(chunk))
    if (said.length > 20) said.shift()
  })
  const client = new Client({ name: 'bench', version: '1.0.0' })
  const spawnedAt = performance.now()
  try {
    await client.connect(transport, { timeout: 120_000 })
  } catch (error) {
    await client.close()
    throw new Error(`bench mcp: ${args[0]} did not start: ${(error as Error).message}\n${said.join('')}`)
  }
  const pid = transport.pid!
  const started: Started = {
    client,
    pid,
    age: () => performance.now() - spawnedAt,
    async end() {
      running.delete(started)
      const tree = treeOf(pid)
      await client.close()
      while (tree.some(isAlive)) await sleep(20)
    },
  }
  running.add(started)
  return started
}

/** Starts all at once and waits until each has listed its tools. */
export function startAll(commands: readonly Command[]): Promise<Started[]> {
  return Promise.all(
    commands.map(async (command) => {
      const started = await start(command)
      await started.client.listTools()
      return started
    }),
  )
}

/** Ends what a failed run has left. */
export async function endAll(): Promise<void> {
  await Promise.all([...running].map((started) => started.end()))
}

/** The process and all its descendants. */
export function treeOf(root: number): number[] {
  const all = allProcesses()
  const below = (pid: number): number[] => [
    pid,
    ...all.filter(({ parent }) => parent === pid).flatMap((child) => below(child.pid)),
  ]
  return below(root)
}

/** Megabytes. RSS counts shared pages in each process, PSS only once. */
export function memoryOf(pids: readonly number[]): Memory {
  let rss = 0
  let pss = 0
  for (const pid of pids) {
    const rollup = readProc(pid, 'smaps_rollup')
    rss += Number(/^Rss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1024
    pss += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1024
  }
  return { rss, pss }
}

/** Waits until these process trees use almost no CPU: everything has started, and no background work remains. */
export async function quiet(roots: readonly number[]): Promise<void> {
  let before = cpuOf(roots.flatMap(treeOf))
  for (let calm = 0; calm < 4; ) {
    await sleep(500)
    const now = cpuOf(roots.flatMap(treeOf))
    calm = now - before < 0.05 ? calm + 1 : 0
    before = now
  }
}

/** Seconds of CPU since their start. */
export function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const [user = 0, system = 0] = fieldsOf(pid).slice(11, 13).map(Number)
    return sum + (user + system) / TICKS
  }, 0)
}

const TICKS = 100

function allProcesses(): { pid: number; parent: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: Number(fieldsOf(Number(name))[1]) }))
}

/** Of /proc/…/stat, those behind the name: state, parent, … */
function fieldsOf(pid: number): string[] {
  const stat = readProc(pid, 'stat')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Empty for a process that has just ended. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function isAlive(pid: number): boolean {
  return !['', 'Z'].includes(fieldsOf(pid)[0] ?? '')
}
