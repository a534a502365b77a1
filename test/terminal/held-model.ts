// A model whose reply pauses halfway until the test releases it: a turn lasts as long as the test needs.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type HeldReply = {
  readonly kind: 'text' | 'thinking'
  /** The text sent at once. */
  readonly first: string
  /** What follows when the reply is released. */
  readonly rest: string
  /** A text that ends the reply. */
  readonly last?: string
  /** Whether the reply waits for `release` after its first words. */
  readonly isHeld: boolean
}

export type HeldModel = {
  readonly url: string
  /** Lets the reply in progress run to its end. */
  readonly release: () => void
  readonly close: () => void
}

/** `replyTo` gets the body of each request. */
export async function startHeldModel(replyTo: (body: string) => HeldReply): Promise<HeldModel> {
  let release = () => {}
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const reply = replyTo(Buffer.concat(chunks).toString())
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    begin(outgoing, reply)
    if (reply.isHeld) await isReleased
    end(outgoing, reply)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    release: () => release(),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function write(outgoing: ServerResponse, type: string, fields: object = {}): void {
  outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
}

const delta = (kind: HeldReply['kind'], text: string) => ({
  index: 0,
  delta: kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text },
})

function begin(outgoing: ServerResponse, { kind, first }: HeldReply): void {
  const usage = { input_tokens: 5, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'held', content: [], usage }
  write(outgoing, 'message_start', { message })
  const block = kind === 'text' ? { type: kind, text: '' } : { type: kind, thinking: '', signature: '' }
  write(outgoing, 'content_block_start', { index: 0, content_block: block })
  write(outgoing, 'content_block_delta', delta(kind, first))
}

function end(outgoing: ServerResponse, { kind, rest, last }: HeldReply): void {
  write(outgoing, 'content_block_delta', delta(kind, rest))
  if (kind === 'thinking')
    write(outgoing, 'content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 's' } })
  write(outgoing, 'content_block_stop', { index: 0 })
  if (last !== undefined) {
    write(outgoing, 'content_block_start', { index: 1, content_block: { type: 'text', text: '' } })
    write(outgoing, 'content_block_delta', { index: 1, delta: { type: 'text_delta', text: last } })
    write(outgoing, 'content_block_stop', { index: 1 })
  }
  write(outgoing, 'message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } })
  write(outgoing, 'message_stop')
  outgoing.end()
}
