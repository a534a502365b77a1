// Writes a reply as server-sent events. The head goes out early where the upstream takes its time, and pings follow
// where nothing comes for long: clients and proxies give up on connections that stay silent.
import type { ServerResponse } from 'node:http'
import { waitForDrain } from '../node/index.ts'
import type { Headers, StreamEvent } from './types.ts'
import { written } from './upstream/index.ts'

export type EventStreamOptions = {
  /** Milliseconds until the head goes out although the upstream has not answered; errors are events from then on. */
  readonly headWaitMs: number
  /** Milliseconds without an event after which a ping is sent. */
  readonly silence: number
  /** Headers of a head that goes out early. */
  readonly headers: () => Headers
}

export type EventStream = {
  /** Writes the whole reply; these headers are used if the head has not gone out. */
  readonly send: (events: AsyncIterable<StreamEvent>, headers: Headers) => Promise<void>
  /** Stops the pings. Whatever is to be written after it is somebody else's business. */
  readonly close: () => void
}

export function openEventStream(outgoing: ServerResponse, options: EventStreamOptions): EventStream {
  const { headWaitMs, silence } = options
  let headers = options.headers
  let isSilent = false
  const begin = () => {
    if (!outgoing.headersSent) outgoing.writeHead(200, { ...headers(), ...STREAM })
  }
  const ping = () => {
    if (outgoing.destroyed || outgoing.writableEnded || outgoing.writableNeedDrain) return
    begin()
    outgoing.write(written({ type: 'ping' }))
  }
  const waiting = setTimeout(ping, headWaitMs)
  const pinger = setInterval(() => {
    if (isSilent) ping()
    isSilent = true
  }, silence)
  const close = () => {
    clearTimeout(waiting)
    clearInterval(pinger)
  }
  return {
    close,
    async send(events, given) {
      headers = () => given
      for await (const event of events) {
        clearTimeout(waiting)
        begin()
        isSilent = false
        if (!outgoing.write(written(event))) await waitForDrain(outgoing)
        if (outgoing.destroyed) return
      }
      begin()
      outgoing.end()
    },
  }
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
