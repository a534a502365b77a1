// The gateway for one client on stdin and stdout.
import type { Readable, Writable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { InitializeRequest } from '../greeting/index.ts'
import type { McpGateway } from './gateway.ts'

/** In bytes; as long as those of servers may be. */
const LONGEST_MESSAGE = 32_000_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export type StdioOptions = {
  readonly input?: Readable
  readonly output?: Writable
  /** The client's `initialize` request, if `answerInitialize` has taken it from the input and answered it. */
  readonly answered?: InitializeRequest | undefined
}

/** Resolves when the client is gone and everything behind it has ended. */
export async function runOnStdio(
  gateway: McpGateway,
  { input = process.stdin, output = process.stdout, answered }: StdioOptions = {},
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
    transport: answered ? replaying(transport, answered) : transport,
  })
  // It also closes by itself, at a message that is too long, and then reads no end of its input any more.
  const { onclose } = transport
  transport.onclose = () => {
    onclose?.()
    end()
  }
  if (input.readableEnded || input.destroyed) end()
  await gone
  for (const signal of SIGNALS) process.off(signal, end)
  await handle.close().catch(() => {})
  await gateway.close()
}

/**
 * The transport as if the `initialize` request came from it. The second answer to it is dropped, and only then the
 * input is read further: what a client sends after an answer must not overtake the request.
 */
function replaying(transport: Transport, request: InitializeRequest): Transport {
  let isReplaying = true
  const replay: Transport = {
    async start() {
      replay.onmessage?.(request)
    },
    async send(message, options) {
      if (!isReplaying || !('id' in message) || message.id !== request.id)
        return transport.send(message, options)
      isReplaying = false
      await transport.start()
    },
    close: () => transport.close(),
  }
  transport.onmessage = (next, extra) => replay.onmessage?.(next, extra)
  transport.onerror = (error) => replay.onerror?.(error)
  transport.onclose = () => replay.onclose?.()
  return replay
}
