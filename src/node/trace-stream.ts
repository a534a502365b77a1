// Stamps events with time, conversation and sequence, and passes them to their readers.
import { randomBytes } from 'node:crypto'
import type { Trace, TraceListener, TraceRecord } from '../core/index.ts'

/** A conversation whose events carry its id. */
export type TracedConversation = { readonly id: string; readonly trace: TraceListener }

/** Events of all conversations of a process, in the order in which they happened. */
export type TraceStream = {
  /** Starts a conversation. It takes over the trace id of a W3C `traceparent`, if there is a valid one. */
  open(traceparent?: string): TracedConversation
  /** Takes an event that belongs to no conversation, such as the state of a server. */
  readonly trace: TraceListener
}

/** Creates a stream that passes each record to `read`; `now` is replaceable in tests. */
export function createTraceStream(
  read: (record: TraceRecord) => void,
  now: () => Date = () => new Date(),
): TraceStream {
  let sequence = 0
  const stamp = (event: Trace, conversation?: string) =>
    read({
      version: 1,
      time: now().toISOString(),
      processId: process.pid,
      sequence: ++sequence,
      ...(conversation === undefined ? {} : { conversation }),
      ...event,
    })
  return {
    open(traceparent) {
      const id = traceIdOf(traceparent) ?? randomBytes(16).toString('hex')
      return { id, trace: (event) => stamp(event, id) }
    },
    trace: (event) => stamp(event),
  }
}

/** The trace id of a W3C `traceparent`; undefined if it is not a valid one. */
export function traceIdOf(traceparent: unknown): string | undefined {
  const [, version, id, parent, more] =
    TRACEPARENT.exec(typeof traceparent === 'string' ? traceparent : '') ?? []
  if (id === undefined || version === 'ff' || NOTHING.test(id) || NOTHING.test(parent ?? '')) return undefined
  // Only later versions may have more fields.
  return version === '00' && more !== undefined ? undefined : id
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.{0,200})?$/
const NOTHING = /^0+$/
