// Starts Redis for tests, on a free port with files of its own; or else uses the server at the standard port, with a prefix
// of the test's own. Says what is missing where there is neither.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, connect as openSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { watchdog } from '../../core/src/node/watchdog.ts'

/** A server of a test. What was started here can also be killed, started again and paused. */
export type StoreServer = {
  /** For `openStateStore` and `--store`; what is written there is the test's own. */
  readonly url: string
  /** Whether this process started it: only then `kill`, `restart`, `pause` and `resume` work. */
  readonly isOwn: boolean
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** Starts it again at the same port, empty. */
  restart(): Promise<void>
  /** Stops it from answering; its connections stay open. */
  pause(): void
  resume(): void
  /** Ends it, or removes what the test wrote, and deletes its files. */
  stop(): Promise<void>
}

const START_MS = 60_000

/** Starts Redis or Valkey; undefined, with a line on the console, where there is none. */
export async function startRedis(): Promise<StoreServer | undefined> {
  const command = findProgram('redis-server') ?? findProgram('valkey-server')
  return command === undefined ? foreignRedis() : startOwn(command)
}

async function startOwn(command: string): Promise<StoreServer> {
  const folder = await mkdtemp(join(tmpdir(), 'toolshelf-redis-'))
  let child: ChildProcess | undefined
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
  const kill = async () => {
    const ended = child
    child = undefined
    if (ended) await end(ended)
  }
  try {
    const port = await freePort()
    const url = `redis://127.0.0.1:${port}`
    const restart = async () => {
      await kill()
      child = launch(command, port, folder)
      await waitUntilReady(url, child)
    }
    await restart()
    return {
      url,
      isOwn: true,
      kill,
      restart,
      pause: () => void child?.kill('SIGSTOP'),
      resume: () => void child?.kill('SIGCONT'),
      async stop() {
        await kill()
        await remove()
      },
    }
  } catch (error) {
    await kill()
    await remove()
    throw error
  }
}

function launch(command: string, port: number, folder: string): ChildProcess {
  const words = `--port ${port} --bind 127.0.0.1 --appendonly no --loglevel warning --dir ${folder} --save`
  const child = spawn(command, [...words.split(' '), ''], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.on('error', () => {})
  // Read, so that the pipe never fills up.
  child.stderr?.resume()
  if (child.pid !== undefined) watchdog.guard(child.pid)
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid === undefined) return
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  child.kill('SIGKILL')
  await exited
  watchdog.release(pid)
}

async function waitUntilReady(url: string, child: ChildProcess) {
  const limit = Date.now() + START_MS
  for (;;) {
    const problem = await probeRedis(url).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem === undefined) return
    if (child.exitCode !== null || Date.now() > limit)
      throw new Error(`Redis did not start at ${url}: ${problem}`)
    await sleep(50)
  }
}

async function probeRedis(url: string): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 2000 } })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.ping()
  } finally {
    client.destroy()
  }
}

/** The URL of a place on the server that nobody else uses. */
export function newPlaceIn({ url }: StoreServer): string {
  const place = new URL(url)
  const prefix = place.searchParams.get('prefix') ?? ''
  place.searchParams.set('prefix', `${prefix}${randomBytes(6).toString('hex')}:`)
  return place.href
}

const cannot = () => {
  throw new Error('this server was not started by the test; check isOwn')
}
const FOREIGN = { isOwn: false, kill: cannot, restart: cannot, pause: cannot, resume: cannot } as const

async function foreignRedis(): Promise<StoreServer | undefined> {
  const url = 'redis://127.0.0.1:6379'
  const isThere = await isAnswered(6379, () => probeRedis(url))
  if (!isThere) {
    console.warn(
      'Tests with Redis are skipped: they need redis-server or valkey-server on PATH, or a server at port 6379.',
    )
    return undefined
  }
  const prefix = `toolshelf-test-${randomBytes(6).toString('hex')}:`
  return {
    ...FOREIGN,
    url: `${url}?prefix=${prefix}`,
    async stop() {
      const client = createClient({ url })
      client.on('error', () => {})
      await client.connect()
      for await (const keys of client.scanIterator({ MATCH: `${prefix}*` }))
        if (keys.length > 0) await client.del(keys)
      client.destroy()
    },
  }
}

async function isAnswered(port: number, probe: () => Promise<void>): Promise<boolean> {
  const socket = openSocket(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    await probe()
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** A port of the loopback interface that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
