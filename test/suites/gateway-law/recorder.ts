// A server on loopback that gives the same answer to everything, and keeps what it was sent.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'

/** `answer` is a document, or the text of an event stream. */
export async function recorder(answer: Loose, status = 200) {
  const bodies: Loose[] = []
  const requests: { readonly line: string; readonly headers: Loose }[] = []
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming)
    requests.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers })
    if (body !== '') bodies.push(JSON.parse(body))
    const isText = typeof answer === 'string'
    outgoing.writeHead(status, { 'content-type': isText ? 'text/event-stream' : 'application/json' })
    outgoing.end(isText ? answer : JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), bodies, requests }
}
