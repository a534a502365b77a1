// The gateway as a client starts it: a command with real servers behind it, in a home of its own.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../../packages/testkit/src/binary.ts'

const require = createRequire(import.meta.url)

export type Server = {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

export type Home = {
  readonly folder: string
  /** Nothing of the person who runs the tests is read or written. */
  readonly environment: { readonly [name: string]: string }
  readonly servers: { readonly [name: string]: Server }
  /** The gateway's configuration: three real servers, and what a test adds. */
  readonly config: string
  /** What the filesystem server may read. */
  readonly files: string
  write(name: string, content: unknown): string
  /** Empties the memory server's graph, which it reads anew for each call. */
  forget(): void
  remove(): void
}

/** Clients are started again and again; a newer Node keeps here what it compiled. */
export const compiledClients = join(tmpdir(), 'toolshelf-clients-compiled')

const office = fileURLToPath(new URL('./office-server.mjs', import.meta.url))

/** A hundred tools beside the others. */
export const manyTools: Home['servers'] = { office: { command: process.execPath, args: [office] } }

export function makeHome(more: Home['servers'] = {}): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolshelf-clients-')))
  const files = join(folder, 'files')
  mkdirSync(files)
  const write = (name: string, content: unknown) => {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
    return path
  }
  write('files/note.txt', 'the note says seven')
  const memory = join(folder, 'memory.jsonl')
  const servers = {
    everything: server('@modelcontextprotocol/server-everything/dist/index.js'),
    memory: {
      ...server('@modelcontextprotocol/server-memory/dist/index.js'),
      env: { MEMORY_FILE_PATH: memory },
    },
    files: server('@modelcontextprotocol/server-filesystem/dist/index.js', files),
    ...more,
  }
  const config = write('toolshelf.json', { mcpServers: servers })
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    MCP_INSPECTOR_SECRET_STORE: 'memory',
    NODE_COMPILE_CACHE: compiledClients,
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_DATA_HOME: join(folder, 'data'),
    XDG_STATE_HOME: join(folder, 'state'),
    XDG_CACHE_HOME: join(folder, 'cache'),
  }
  return {
    folder,
    environment,
    servers,
    config,
    files,
    write,
    forget: () => rmSync(memory, { force: true }),
    remove: () => {
      try {
        rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
      } catch {
        // An agent that was ended leaves processes which still write for a while. What is left is of no harm.
      }
    },
  }
}

function server(path: string, ...args: readonly string[]) {
  return { command: process.execPath, args: [require.resolve(path), ...args] }
}

/** The entry in a client's configuration: the binary as it is published. */
export function gatewayCommand(node: string, config: string, ...options: readonly string[]) {
  return { command: node, args: [...binary, 'mcp', '--config', config, ...options] }
}

export type HttpGateway = { readonly url: string; stop(): Promise<void> }

export async function startHttpGateway(
  node: string,
  { config, folder: cwd, environment: env }: Pick<Home, 'config' | 'folder' | 'environment'>,
  ...options: readonly string[]
): Promise<HttpGateway> {
  const { command, args } = gatewayCommand(node, config, '--http', '--port', '0', ...options)
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'pipe'] })
  const ended = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    let told = ''
    child.stderr.on('data', (chunk: Buffer) => {
      told += chunk
      const ready = /ready at (\S+)/.exec(told)
      if (ready?.[1]) resolve(ready[1])
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`the gateway ended: ${told}`)))
  })
  return {
    url,
    async stop() {
      child.kill()
      await ended
    },
  }
}

export type Output = { readonly code: number | null; readonly out: string; readonly told: string }

/** Runs to the end, or until the signal ends it; what it has said is in the error if that takes too long. */
export function run(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd: string
    readonly env: { readonly [name: string]: string }
    readonly signal?: AbortSignal
  },
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = execFile(
      command,
      args,
      { ...options, timeout: MAX_RUN_MS, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
      (error, out, told) => {
        if (error?.killed && !options.signal?.aborted)
          reject(new Error(`${command} did not end.\n${out}\n${told}`))
        else resolve({ code: child.exitCode, out, told })
      },
    )
    child.stdin?.end()
  })
}

const MAX_RUN_MS = 280_000
