// Writes a reply as server-sent events. Sends the headers early when the upstream is slow, and pings while no event
// arrives, because clients and proxies drop silent connections.
// Implements wire 35.
import type { ServerResponse } from 'node:http'
import { wellFormedJson } from '@toolshelf/core/internal'
import type { Headers, ReplyWriter, StreamEvent } from '@toolshelf/messages/internal'
import { waitForDrain } from '@toolshelf/server/internal'

type EventStreamOptions = {
  /** Milliseconds after which headers are sent without waiting for the upstream; later errors become events. */
  readonly headWaitMs: number
  /** Milliseconds without an event before a ping is sent. */
  readonly silenceMs: number
  /** Headers to use when they are sent early. */
  readonly headers: () => Headers
  readonly writer: ReplyWriter
}

export type EventStream = ReturnType<typeof openEventStream>

export function openEventStream(outgoing: ServerResponse, options: EventStreamOptions) {
  const { headWaitMs, silenceMs, writer } = options
  let headers = options.headers
  let isSilent = false
  const begin = () => {
    if (!outgoing.headersSent) outgoing.writeHead(200, { ...headers(), ...STREAM })
  }
  const ping = () => {
    if (outgoing.destroyed || outgoing.writableEnded || outgoing.writableNeedDrain) return
    begin()
    outgoing.write(writer.ping)
  }
  const waiting = setTimeout(ping, headWaitMs)
  const pinger = setInterval(() => {
    if (isSilent) ping()
    isSilent = true
  }, silenceMs)
  const close = () => {
    clearTimeout(waiting)
    clearInterval(pinger)
  }
  return {
    /** Stops the pings and leaves the response open. */
    close,
    /** Writes the whole reply; `headers` apply unless they were already sent. `onError` gets an error among the events. */
    async send(events: AsyncIterable<StreamEvent>, given: Headers, onError: (event: StreamEvent) => void) {
      headers = () => given
      for await (const event of events) {
        clearTimeout(waiting)
        begin()
        isSilent = false
        if (event.type === 'error') onError(event)
        const text = wellFormedJson(writer.add(event))
        if (text !== '' && !outgoing.write(text)) await waitForDrain(outgoing)
        if (outgoing.destroyed) return
      }
      begin()
      outgoing.end()
    },
  }
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
