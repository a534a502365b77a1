// A fast fake model API in its own process, which speaks the API of the requested path: streams as many events as `x-events` says, one
// every `x-pause` milliseconds or as fast as they are taken.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Reply, replies, searching } from './messages-events.ts'

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' }

const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
// Keeps connections open, because a proxy without retries fails on one that is just closing.
server.keepAliveTimeout = 3_600_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ url: `http://127.0.0.1:${port}` })
})
process.once('disconnect', () => process.exit())

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const {
    'x-events': events = '1',
    'x-pause': pause = '0',
    'x-search': tool,
    'x-query': query = 'create issue',
  } = incoming.headers
  const body = await text(incoming).catch(() => '')
  if (tool !== undefined && !body.includes('"tool_result"')) {
    outgoing.writeHead(200, STREAM).end(searching(String(tool), String(query)))
    return
  }
  const reply = Object.values(replies).find(({ path }) => incoming.url?.startsWith(path)) ?? replies.messages
  outgoing.writeHead(200, STREAM).write(reply.opening)
  if (Number(pause) > 0) streamPaced(outgoing, reply, Number(events), Number(pause))
  else streamFast(outgoing, reply, Number(events))
}

/** Sends each event at its scheduled time; delayed ones follow at once. */
function streamPaced(outgoing: ServerResponse, reply: Reply, events: number, pause: number): void {
  const started = performance.now()
  let number = 0
  const dueIn = () => started + number * pause - performance.now()
  const tick = () => {
    for (; number < events && dueIn() <= 0 && !outgoing.destroyed; number++) outgoing.write(reply.event)
    if (outgoing.destroyed) return
    if (number === events) outgoing.end(reply.closing)
    else setTimeout(tick, dueIn())
  }
  tick()
}

function streamFast(outgoing: ServerResponse, reply: Reply, events: number): void {
  let number = 0
  const fill = () => {
    while (number++ < events) {
      if (outgoing.write(reply.event)) continue
      outgoing.once('drain', fill)
      return
    }
    outgoing.end(reply.closing)
  }
  fill()
}
