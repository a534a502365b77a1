// A fast Messages API that is no model, in a process of its own: streams as many events as `x-events` asks for, one
// every `x-pause` milliseconds or as fast as they are taken. `x-fate` makes it fail.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { closing, opening, searching, timed } from './messages-events.ts'

let sent = 0

const fates: { readonly [fate: string]: (outgoing: ServerResponse) => void } = {
  reset: (outgoing) => outgoing.destroy(),
  refuse: (outgoing) =>
    outgoing
      .writeHead(529, { 'content-type': 'application/json' })
      .end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
  garbage: (outgoing) => outgoing.writeHead(200, STREAM).end('event: message_start\ndata: {"type":\n\n'),
  cut: (outgoing) => {
    outgoing.writeHead(200, STREAM).write(opening + timed())
    setTimeout(() => outgoing.destroy(), 100)
  },
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' }

const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
// A proxy without retries must not meet a connection that ends just now.
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
    'x-fate': fate,
    'x-search': tool,
    'x-query': query = 'create issue',
  } = incoming.headers
  if (incoming.method === 'GET') {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [], sent }))
    return
  }
  if (tool !== undefined) {
    const body = await text(incoming).catch(() => '')
    if (!body.includes('"tool_result"')) {
      outgoing.writeHead(200, STREAM).end(searching(String(tool), String(query)))
      return
    }
  } else await read(incoming)
  const fail = fates[String(fate)]
  if (fail) return fail(outgoing)
  outgoing.writeHead(200, STREAM).write(opening)
  if (Number(pause) > 0) streamPaced(outgoing, Number(events), Number(pause))
  else streamFast(outgoing, Number(events))
}

/** As every real API does, it reads the whole request before it answers. */
function read(incoming: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    incoming.once('close', resolve).resume()
  })
}

/** Each event at its time; what a busy moment delays comes at once behind it. */
function streamPaced(outgoing: ServerResponse, events: number, pause: number): void {
  const started = performance.now()
  let number = 0
  const dueIn = () => started + number * pause - performance.now()
  const tick = () => {
    for (; number < events && dueIn() <= 0 && !outgoing.destroyed; number++) send(outgoing)
    if (outgoing.destroyed) return
    if (number === events) outgoing.end(closing)
    else setTimeout(tick, dueIn())
  }
  tick()
}

function streamFast(outgoing: ServerResponse, events: number): void {
  let number = 0
  const fill = () => {
    while (number++ < events) {
      if (send(outgoing)) continue
      outgoing.once('drain', fill)
      return
    }
    outgoing.end(closing)
  }
  fill()
}

function send(outgoing: ServerResponse): boolean {
  sent++
  return outgoing.write(timed())
}
