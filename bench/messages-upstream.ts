// A fast fake model API in its own process, which speaks the API of the requested path: streams as many events as `x-events` says, one
// every `x-pause` milliseconds or as fast as they are taken; a model named `bench-<events>-<pause>` does the same where
// headers do not come through. `x-fate` makes it fail.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Reply, replies, searching } from './messages-events.ts'

let sent = 0

const fates: { readonly [fate: string]: (outgoing: ServerResponse) => void } = {
  reset: (outgoing) => outgoing.destroy(),
  refuse: (outgoing) =>
    outgoing
      .writeHead(529, { 'content-type': 'application/json' })
      .end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
  garbage: (outgoing) => outgoing.writeHead(200, STREAM).end('event: message_start\ndata: {"type":\n\n'),
  cut: (outgoing) => {
    outgoing.writeHead(200, STREAM).write(replies.messages.opening + replies.messages.timed())
    setTimeout(() => outgoing.destroy(), 100)
  },
}

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
    'x-events': givenEvents,
    'x-pause': givenPause,
    'x-fate': fate,
    'x-search': tool,
    'x-query': query = 'create issue',
  } = incoming.headers
  if (incoming.method === 'GET') {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [], sent }))
    return
  }
  const isRead = tool !== undefined || givenEvents === undefined
  const body = isRead ? await text(incoming).catch(() => '') : ''
  if (!isRead) await drain(incoming)
  if (tool !== undefined && !body.includes('"tool_result"')) {
    outgoing.writeHead(200, STREAM).end(searching(String(tool), String(query)))
    return
  }
  const [, events = givenEvents ?? '1', pause = givenPause ?? '0'] = MODEL.exec(body) ?? []
  const fail = fates[String(fate)]
  if (fail) return fail(outgoing)
  const reply = Object.values(replies).find(({ path }) => incoming.url?.startsWith(path)) ?? replies.messages
  outgoing.writeHead(200, STREAM).write(reply.opening)
  if (Number(pause) > 0) streamPaced(outgoing, reply, Number(events), Number(pause))
  else streamFast(outgoing, reply, Number(events))
}

const MODEL = /"model":"bench-(\d+)-(\d+)"/

/** Reads the whole request before answering, as every real API does. */
function drain(incoming: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    incoming.once('close', resolve).resume()
  })
}

/** Sends each event at its scheduled time; delayed ones follow at once. */
function streamPaced(outgoing: ServerResponse, reply: Reply, events: number, pause: number): void {
  const started = performance.now()
  let number = 0
  const dueIn = () => started + number * pause - performance.now()
  const tick = () => {
    for (; number < events && dueIn() <= 0 && !outgoing.destroyed; number++) send(outgoing, reply)
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
      if (send(outgoing, reply)) continue
      outgoing.once('drain', fill)
      return
    }
    outgoing.end(reply.closing)
  }
  fill()
}

function send(outgoing: ServerResponse, { timed }: Reply): boolean {
  sent++
  return outgoing.write(timed())
}
