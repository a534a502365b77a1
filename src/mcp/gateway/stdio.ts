// The gateway for one client on stdin and stdout.
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Gateway } from './index.ts'

/** Resolves when the client is gone and everything behind it has ended. */
export async function runOnStdio(
  gateway: Gateway,
  { input = process.stdin, output = process.stdout }: { input?: Readable; output?: Writable } = {},
): Promise<void> {
  await gateway.host.prime()
  const gone = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve())
    for (const event of ['close', 'error']) output.once(event, () => resolve())
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
  const handle = serveStdio(({ era }) => gateway.serve({ isStateless: era === 'modern' }), {
    transport: new StdioServerTransport(input, output),
  })
  await gone
  await handle.close().catch(() => {})
  await gateway.close()
}
