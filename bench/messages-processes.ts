// Manages the processes of the Messages bench: the built gateway, the proxy, the upstream and the clients, with their CPU.
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FirstBytes, Job, ShortJob } from './messages-clients.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = join(HERE, '..')
/** `BENCH_MAIN` measures another build. */
const MAIN = process.env.BENCH_MAIN ?? join(ROOT, 'packages/cli/dist/main.js')

export type Running = { readonly pid: number; readonly url: string; readonly end: () => Promise<void> }

export type Clients = Running & {
  readonly perform: (job: Job) => Promise<void>
  readonly firstBytes: (job: ShortJob) => Promise<FirstBytes>
}

/** Processes that are still running. */
const running = new Set<Running>()

/** Starts the gateway as users run it; discards its log. */
export async function startGateway(folder: string, ...options: string[]): Promise<Running> {
  const env = {
    ...process.env,
    HOME: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_STATE_HOME: join(folder, 'state'),
  }
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...options], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + String(chunk)).slice(-4000)
      const ready = /ready at (\S+)/.exec(said)?.[1]
      if (ready) resolve(ready)
    })
    child.once('exit', () => reject(new Error(`bench messages: the gateway did not start.\n${said}`)))
  })
  return kept(child, url)
}

export function startUpstream(): Promise<Running> {
  return forked('messages-upstream.ts')
}

export function startProxy(target: string): Promise<Running> {
  return forked('messages-proxy.mjs', target)
}

export async function startClients(): Promise<Clients> {
  const { child, running: started } = await forkedChild('messages-clients.ts')
  let last = 0
  const send = <Answer>(job: Job | ShortJob) => {
    const id = ++last
    return new Promise<Answer>((resolve, reject) => {
      const listen = (answer: { id: number; figures: Answer; error?: string }) => {
        if (answer.id !== id) return
        child.off('message', listen)
        if (answer.error === undefined) resolve(answer.figures)
        else reject(new Error(answer.error))
      }
      child.on('message', listen)
      child.send({ id, job })
    })
  }
  return {
    ...started,
    perform: (job) => send<void>(job),
    firstBytes: (job) => send<FirstBytes>(job),
  }
}

async function forked(file: string, ...args: string[]): Promise<Running> {
  return (await forkedChild(file, ...args)).running
}

async function forkedChild(file: string, ...args: string[]) {
  const execArgv = file.endsWith('.ts') ? ['--import', 'tsx'] : []
  const child = fork(join(HERE, file), args, { execArgv })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (ready: { url: string }) => resolve(ready.url))
    child.once('exit', () => reject(new Error(`bench messages: ${file} did not start.`)))
  })
  return { child, running: kept(child, url) }
}

function kept(child: ChildProcess, url: string): Running {
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const one: Running = {
    pid: child.pid!,
    url,
    async end() {
      child.kill()
      await gone
      running.delete(one)
    },
  }
  running.add(one)
  return one
}

/** Ends all child processes, however the bench ends. */
export function endAllOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void endAll().then(() => process.exit(1)))
}

export async function endAll(): Promise<void> {
  await Promise.all([...running].map((one) => one.end()))
}

/** Milliseconds of CPU since its start, in all threads: `stat` has steps of 10, `schedstat` has none. */
export function cpuOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce(
    (sum, thread) => sum + Number(readProc(pid, `task/${thread}/schedstat`).split(' ')[0]) / 1_000_000,
    0,
  )
}

/** Empty for a thread that has just ended. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** Builds the gateway, unless `BENCH_BUILT=1` says that dist/ is current. */
export function build(): void {
  if (process.platform !== 'linux')
    throw new Error('bench messages: CPU is read from /proc, which only Linux has.')
  if (process.env.BENCH_BUILT) return
  const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) throw new Error('bench messages: the gateway could not be built; see the lines above.')
}
