// The test server over HTTP, started as a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import { type Given, httpServer, scriptPath } from './servers.ts'

type RemoteOptions = Given & { readonly script?: string }

/** `await remote('bad', 'hang')`: http.mjs, or another script, with that behaviour; ended after the test. */
export async function remote(
  name: string,
  behaviour: string,
  { script = 'http', ...given }: RemoteOptions = {},
): Promise<ServerConfig> {
  const { url, stop } = await startServer(script, behaviour)
  onTestFinished(stop)
  return httpServer(name, url, given)
}

/** One process of http.mjs for all tests of a file: `shared('bad', 'hang')` is the address at which it behaves so. */
export function shareRemote(): (name: string, behaviour: string, given?: Given) => ServerConfig {
  let server: Awaited<ReturnType<typeof startServer>>
  beforeAll(async () => {
    server = await startServer('http', 'healthy')
  })
  afterAll(() => server?.stop())
  return (name, behaviour, given = {}) => httpServer(name, `${server.url}?${behaviour}`, given)
}

async function startServer(script: string, behaviour: string) {
  const child = spawn(process.execPath, [scriptPath(script), behaviour], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const stop = () => void child.stdin.end()
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { url, stop }
}
