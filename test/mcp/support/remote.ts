// The test server over HTTP, started as a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { ServerConfig } from '../../../src/mcp/index.ts'
import { defaults, type Given, scriptPath } from './servers.ts'

/** `await remote('bad', 'hang')`: http.mjs, or another script, with that behaviour; ended after the test. */
export async function remote(
  name: string,
  behaviour: string,
  { env: _, script = 'http', ...given }: Given & { readonly script?: string } = {},
): Promise<ServerConfig> {
  const child = spawn(process.execPath, [scriptPath(script), behaviour], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.stdin.end())
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { ...defaults(name), transport: { kind: 'http', url, headers: {} }, ...given }
}
