// The gateway for one client on stdin and stdout.
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Gateway } from './index.ts'

/** In bytes; as long as those of servers may be. */
const LONGEST_MESSAGE = 32_000_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Resolves when the client is gone and everything behind it has ended. */
export async function runOnStdio(
  gateway: Gateway,
  { input = process.stdin, output = process.stdout }: { input?: Readable; output?: Writable } = {},
): Promise<void> {
  await gateway.host.recall()
  let end = () => {}
  const gone = new Promise<void>((resolve) => {
    end = resolve
  })
  for (const event of ['end', 'close', 'error']) input.once(event, end)
  for (const event of ['close', 'error']) output.once(event, end)
  for (const signal of SIGNALS) process.once(signal, end)
  const transport = new StdioServerTransport(input, output, { maxBufferSize: LONGEST_MESSAGE })
  const handle = serveStdio(({ era }) => gateway.serve({ isStateless: era === 'modern', isLasting: true }), {
    transport,
  })
  // It also closes by itself, at a message that is too long, and then reads no end of its input any more.
  const { onclose } = transport
  transport.onclose = () => {
    onclose?.()
    end()
  }
  await gone
  for (const signal of SIGNALS) process.off(signal, end)
  await handle.close().catch(() => {})
  await gateway.close()
}
