// Starts and ends HTTP servers for the MCP bench.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import type { Command } from './mcp-servers.ts'

export type Served = { readonly url: string; readonly pid: number; end(): Promise<void> }

/** Resolves once the server prints that it listens, with this address or the one that it prints. */
export async function serve({ command, args, env }: Command, address?: string): Promise<Served> {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = async () => {
    if (child.exitCode !== null) return
    const over = once(child, 'exit')
    child.kill('SIGTERM')
    await over
  }
  process.once('exit', () => child.kill('SIGTERM'))
  const ready = address ? /listening/i : /http:\S+/
  const said = await Promise.race([untilSaid(child, ready), once(child, 'exit').then(() => undefined)])
  if (said === undefined) throw new Error(`bench mcp: ${args.join(' ')} ended before it listened`)
  return { url: address ?? said, pid: child.pid!, end }
}

function untilSaid(child: ChildProcess, ready: RegExp): Promise<string> {
  return new Promise((resolve) => {
    for (const stream of [child.stdout!, child.stderr!])
      createInterface({ input: stream }).on('line', (line) => {
        const found = ready.exec(line)
        if (found) resolve(found[0])
      })
  })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
