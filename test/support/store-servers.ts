// Starts Redis and Postgres for tests, each on a free port with files of its own; or else uses the servers at the standard
// ports, with a prefix or a database of the test's own. Says what is missing where there is neither.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, readdirSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { createServer, connect as openSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createClient } from '@redis/client'
import { Client } from 'pg'
import { watchdog } from '../../src/node/index.ts'

/** A server of a test. What was started here can also be killed, started again and paused. */
export type StoreServer = {
  readonly kind: 'redis' | 'postgres'
  /** For `openStateStore` and `--store`; what is written there is the test's own. */
  readonly url: string
  /** Whether this process started it: only then `kill`, `restart`, `pause` and `resume` work. */
  readonly isOwn: boolean
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** Starts it again at the same port; Redis has lost everything. */
  restart(): Promise<void>
  /** Stops it from answering; its connections stay open. */
  pause(): void
  resume(): void
  /** Ends it, or removes what the test wrote, and deletes its files. */
  stop(): Promise<void>
}

type Program = {
  readonly kind: StoreServer['kind']
  readonly command: string
  readonly argsFor: (port: number, folder: string) => readonly string[]
  readonly urlFor: (port: number) => string
  /** Rejects while the server is not ready. */
  readonly probe: (url: string) => Promise<void>
  /** Prepares the folder once. */
  readonly prepare?: (folder: string) => Promise<void>
  readonly identity?: Identity | undefined
}

type Identity = { readonly uid: number; readonly gid: number }

const START_MS = 60_000
const run = promisify(execFile)

/** Starts Redis or Valkey; undefined, with a line on the console, where there is none. */
export async function startRedis(): Promise<StoreServer | undefined> {
  const command = findProgram('redis-server') ?? findProgram('valkey-server')
  if (command === undefined) return foreignRedis()
  return startOwn({
    kind: 'redis',
    command,
    argsFor: (port, folder) =>
      `--port ${port} --bind 127.0.0.1 --appendonly no --loglevel warning --dir ${folder} --save`
        .split(' ')
        .concat(''),
    urlFor: (port) => `redis://127.0.0.1:${port}`,
    probe: probeRedis,
  })
}

/** Starts Postgres; undefined, with a line on the console, where there is none. */
export async function startPostgres(): Promise<StoreServer | undefined> {
  const command = findProgram('postgres', postgresFolders())
  const initdb = findProgram('initdb', postgresFolders())
  const identity = process.getuid?.() === 0 ? await identityOf('postgres') : undefined
  const canStart = process.getuid?.() !== 0 || identity !== undefined
  if (command === undefined || initdb === undefined || !canStart) return foreignPostgres()
  return startOwn({
    kind: 'postgres',
    command,
    identity,
    async prepare(folder) {
      const args = `-A trust -U postgres -E UTF8 --locale=C --no-sync -D ${folder}/data`.split(' ')
      await run(initdb, args, { cwd: folder, ...identity })
    },
    argsFor: (port, folder) =>
      [
        `-D ${folder}/data -p ${port} -h 127.0.0.1 -k ${folder} -F`,
        '-c shared_buffers=16MB -c max_connections=60 -c max_wal_size=64MB -c autovacuum=off',
      ]
        .join(' ')
        .split(' '),
    urlFor: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    probe: probePostgres,
  })
}

async function startOwn(program: Program): Promise<StoreServer> {
  const folder = await mkdtemp(join(tmpdir(), `toolshelf-${program.kind}-`))
  const { identity } = program
  if (identity) await chown(folder, identity.uid, identity.gid)
  let child: ChildProcess | undefined
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
  const kill = async () => {
    const ended = child
    child = undefined
    if (ended) await end(ended)
  }
  try {
    await program.prepare?.(folder)
    const port = await freePort()
    const restart = async () => {
      await kill()
      child = launch(program, port, folder)
      await waitUntilReady(program, port, child)
    }
    await restart()
    return {
      kind: program.kind,
      url: program.urlFor(port),
      isOwn: true,
      kill,
      restart,
      pause: () => signalAll(child, 'SIGSTOP'),
      resume: () => signalAll(child, 'SIGCONT'),
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

function launch({ command, argsFor, identity }: Program, port: number, folder: string): ChildProcess {
  const child = spawn(command, argsFor(port, folder), {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...identity,
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
  signalAll(child, 'SIGKILL')
  await exited
  watchdog.release(pid)
}

/** Signals the server and its children: those of Postgres lead groups of their own, and would keep running for a while. */
function signalAll(server: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (server?.pid === undefined) return
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const children = rows.flatMap(([pid, parent]) => (parent === server.pid && pid !== undefined ? [pid] : []))
  for (const pid of [server.pid, ...children])
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended already.
    }
}

async function waitUntilReady({ kind, urlFor, probe }: Program, port: number, child: ChildProcess) {
  const limit = Date.now() + START_MS
  for (;;) {
    const problem = await probe(urlFor(port)).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem === undefined) return
    if (child.exitCode !== null || Date.now() > limit)
      throw new Error(`${kind} did not start at port ${port}: ${problem}`)
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

async function probePostgres(connectionString: string): Promise<void> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
  } finally {
    await client.end().catch(() => {})
  }
}

const cannot = () => {
  throw new Error('this server was not started by the test; check isOwn')
}
const FOREIGN = { isOwn: false, kill: cannot, restart: cannot, pause: cannot, resume: cannot } as const

async function foreignRedis(): Promise<StoreServer | undefined> {
  const url = 'redis://127.0.0.1:6379'
  const isThere = await isAnswered(6379, () => probeRedis(url))
  if (!isThere) return missing('Redis', 'redis-server or valkey-server on PATH, or a server at port 6379')
  const prefix = `toolshelf-test-${randomBytes(6).toString('hex')}:`
  return {
    ...FOREIGN,
    kind: 'redis',
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

async function foreignPostgres(): Promise<StoreServer | undefined> {
  const user = process.env.PGUSER ?? 'postgres'
  const password =
    process.env.PGPASSWORD === undefined ? '' : `:${encodeURIComponent(process.env.PGPASSWORD)}`
  const base = `postgres://${encodeURIComponent(user)}${password}@127.0.0.1:5432`
  const isThere = await isAnswered(5432, () => probePostgres(`${base}/postgres`))
  if (!isThere)
    return missing(
      'Postgres',
      'postgres and initdb on PATH or in /usr/lib/postgresql, or a server at port 5432',
    )
  const database = `toolshelf_test_${randomBytes(6).toString('hex')}`
  const tell = async (statement: string) => {
    const client = new Client({ connectionString: `${base}/postgres` })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await tell(`create database ${database}`)
  return {
    ...FOREIGN,
    kind: 'postgres',
    url: `${base}/${database}`,
    stop: () => tell(`drop database ${database} with (force)`),
  }
}

function missing(name: string, needed: string): undefined {
  console.warn(`Tests with ${name} are skipped: they need ${needed}.`)
  return undefined
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

function findProgram(name: string, more: readonly string[] = []): string | undefined {
  const folders = [...more, ...(process.env.PATH ?? '').split(delimiter)]
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

/** Where Debian keeps Postgres, the newest version first. */
function postgresFolders(): string[] {
  const base = '/usr/lib/postgresql'
  try {
    const versions = readdirSync(base).sort((a, b) => Number(b) - Number(a))
    return versions.map((version) => join(base, version, 'bin'))
  } catch {
    return []
  }
}

/** Postgres refuses to run as root. */
async function identityOf(user: string): Promise<Identity | undefined> {
  try {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, user])))
    return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
  } catch {
    return undefined
  }
}
