// Serves the gateway to one client on stdin and stdout.
import type { Readable, Writable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { wellFormedJson } from '@toolshelf/core/internal'
import type { InitializeRequest } from '../greeting/greeting.ts'
import type { McpGateway } from './gateway.ts'

/** Longest message in bytes; the same limit as for servers. */
const MAX_MESSAGE_LENGTH = 32_000_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Thrown by `serveMcpGatewayOnStdio` after the end of a connection on which the client sent too long a message. */
export class ClientMessageTooLong extends Error {
  readonly code = 'MESSAGE_TOO_LONG'
}

/** Options of `serveMcpGatewayOnStdio`. */
type McpStdioOptions = {
  /** Where the client writes. Default: stdin. */
  readonly input?: Readable
  /** Where the client reads. Default: stdout. */
  readonly output?: Writable
  /** The client's `initialize` request, if `answerInitialize` has already read and answered it. */
  readonly answered?: InitializeRequest | undefined
}

/**
 * Serves a gateway to the client on stdin and stdout; resolves when it has disconnected and all servers have stopped.
 * Throws, once they have stopped, if a message was too long.
 *
 * @example
 * await serveMcpGatewayOnStdio(gateway)
 */
export async function serveMcpGatewayOnStdio(
  gateway: McpGateway,
  { input = process.stdin, output = process.stdout, answered }: McpStdioOptions = {},
): Promise<void> {
  await gateway.host.readCache()
  let end = () => {}
  const gone = new Promise<void>((resolve) => {
    end = resolve
  })
  for (const event of ['end', 'close', 'error']) input.once(event, end)
  for (const event of ['close', 'error']) output.once(event, end)
  for (const signal of SIGNALS) process.once(signal, end)
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_LENGTH })
  transport.send = (message) =>
    new Promise((resolve, reject) => {
      const line = `${wellFormedJson(JSON.stringify(message))}\n`
      output.write(line, (error) => (error ? reject(error) : resolve()))
    })
  const handle = serveStdio(({ era }) => gateway.serve({ isStateless: era === 'modern', isLasting: true }), {
    transport: answered ? replaying(transport, answered) : transport,
  })
  // The transport also closes by itself at a message that is too long; then it does not see the end of its input.
  let isTooLong = false
  const { onclose, onerror } = transport
  transport.onerror = (error) => {
    isTooLong ||= error.message.includes('exceeded maximum size')
    onerror?.(error)
  }
  transport.onclose = () => {
    onclose?.()
    end()
  }
  if (input.readableEnded || input.destroyed) end()
  await gone
  for (const signal of SIGNALS) process.off(signal, end)
  await handle.close().catch(() => {})
  await gateway.close()
  if (isTooLong)
    throw new ClientMessageTooLong(
      `the client sent a message of more than ${MAX_MESSAGE_LENGTH / 1_000_000} MB; send less at once`,
    )
}

/**
 * Wraps the transport so that it delivers the `initialize` request again. Drops the second answer to it, and reads
 * further input only then: what a client sends after an answer must not overtake the request.
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
