// Adds time, conversation and sequence number to events, and passes them to their readers.
import { randomBytes } from 'node:crypto'
import type {
  ClientIdentity,
  ConversationKind,
  ConversationListener,
  ConversationStart,
  Trace,
  TraceListener,
  TraceRecord,
} from '../events.ts'
import { setNewest } from '../lib/objects.ts'
import { cut } from '../lib/text.ts'

/** A conversation with an id, which its events carry. */
export type TracedConversation = { readonly id: string; readonly trace: ConversationListener }

/** The events of all conversations of a process, in the order in which they happened. */
export type TraceStream = {
  /** Starts a conversation and reports it. Uses the trace id of a valid W3C `traceparent`, if there is one. */
  open(kind: ConversationKind, start?: ConversationStart): TracedConversation
  /** Takes an event that belongs to no conversation, such as the state of a server. */
  readonly trace: TraceListener
}

/** When an event happened, and in which conversation. */
export type EventStamp = {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly sequence: number
  readonly conversation: string | undefined
}

/** Options of `createTraceStream`. */
type TraceStreamOptions = {
  /** Receives each event with its stamp. Much cheaper than a record, which `traceRecordOf` can make of them later. */
  readonly keep?: ((event: Trace, stamp: EventStamp) => void) | undefined
  /** Whether calls become spans, which servers get as parents. Default: false. */
  readonly hasSpans?: boolean
  /** Milliseconds since 1970; replaceable in tests. */
  readonly now?: () => number
}

/** Creates a stream that passes each record to `read`. */
export function createTraceStream(
  read: ((record: TraceRecord) => void) | undefined,
  { keep, hasSpans = false, now = Date.now }: TraceStreamOptions = {},
): TraceStream {
  let sequence = 0
  const isRepeated = createRepetitions()
  const stamp = (event: Trace, id?: string) => {
    const at = now()
    // Tools are shared by all conversations.
    const isShared = event.type === 'pool' || event.type === 'tools'
    if (isShared && isRepeated(event.id, at)) return
    const stamped = { at, sequence: ++sequence, conversation: isShared ? undefined : id }
    keep?.(event, stamped)
    read?.(traceRecordOf(event, stamped))
  }
  return {
    open(kind, { client, user, traceparent } = {}) {
      const id = traceIdOf(traceparent) ?? randomBytes(16).toString('hex')
      stamp({ type: 'opened', kind, client: client && shortened(client), user, traceparent }, id)
      const trace = (event: Trace) => stamp(event, id)
      return { id, trace: hasSpans ? Object.assign(trace, { traceId: id }) : trace }
    },
    trace: (event) => stamp(event),
  }
}

const processId = process.pid

/** Combines an event with its stamp. */
export function traceRecordOf(event: Trace, { at, sequence, conversation }: EventStamp): TraceRecord {
  const time = isoTime(at)
  // One spread per object: several in one take twenty times as long.
  return conversation === undefined
    ? { version: 1, time, processId, sequence, ...event }
    : { version: 1, time, processId, sequence, conversation, ...event }
}

/** Caches the ISO time of the current second, which all events of that second share. */
let second = { at: Number.NaN, text: '' }

/** Returns a time in ISO 8601. */
function isoTime(at: number): string {
  const milliseconds = ((at % 1000) + 1000) % 1000
  if (at - milliseconds !== second.at)
    second = { at: at - milliseconds, text: new Date(at).toISOString().slice(0, -4) }
  return `${second.text}${String(milliseconds).padStart(3, '0')}Z`
}

/** Milliseconds after which tools are reported again. */
const REPEAT_AFTER_MS = 3_600_000
const MAX_REMEMBERED = 10_000

/** Returns a function that says whether an id was reported within the last hour, and records it if not. */
function createRepetitions(): (id: string, time: number) => boolean {
  const reported = new Map<string, number>()
  return (id, time) => {
    if (time - (reported.get(id) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MS) return true
    setNewest(reported, id, time, MAX_REMEMBERED)
    return false
  }
}

/** Longest name and version of a client, in characters. */
const MAX_NAME_LENGTH = 100

function shortened({ name, version }: ClientIdentity): ClientIdentity {
  return {
    name: cut(name, MAX_NAME_LENGTH),
    ...(version === undefined ? {} : { version: cut(version, MAX_NAME_LENGTH) }),
  }
}

/** Returns the trace id of a W3C `traceparent`; undefined if it is invalid. */
export function traceIdOf(traceparent: unknown): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, id, parent, more] = TRACEPARENT.exec(traceparent) ?? []
  if (id === undefined || version === 'ff' || NOTHING.test(id) || NOTHING.test(parent ?? '')) return undefined
  // Only later versions may have more fields.
  return version === '00' && more !== undefined ? undefined : id
}

/** A new span of a trace, and the W3C `traceparent` to pass on with it. */
export type ChildSpan = { readonly spanId: string; readonly traceparent: string }

/** Creates a span below the one that `parent` names, or in the trace with this id. */
export function createChildSpan(traceId: string, parent?: string): ChildSpan {
  const spanId = randomBytes(8).toString('hex')
  const [, id = traceId, , flags = '01'] = traceIdOf(parent) === undefined ? [] : (parent?.split('-') ?? [])
  return { spanId, traceparent: `00-${id}-${spanId}-${flags}` }
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.{0,200})?$/
const NOTHING = /^0+$/
