// Keeps the newest events of the process in memory, bounded in number and size, for readers that may come later.
import { setMaxListeners } from 'node:events'
import type { Trace } from '@toolshelf/core'
import type { TraceRecord } from '@toolshelf/core/internal'
import { auditLine, type EventStamp, traceRecordOf } from '@toolshelf/core/internal/node'
import type { EventBatch, EventFeed, ReadEventsOptions } from './files.ts'

/** Options of `createEventRing`. */
type EventRingOptions = {
  /** Hides secrets in a text; called when an event is read, not when it happens. */
  readonly redact: (text: string) => string
  readonly maxEvents?: number
  /** Characters of all events together. */
  readonly maxCharacters?: number
}

/** A source of events that the process adds to. */
type EventRing = EventFeed & {
  add(record: TraceRecord): void
  /** Adds an event without making a record of it first; most events are never read. */
  addStamped(event: Trace, stamp: EventStamp): void
}

/** An event as it is kept: the JSON of its record, or itself. */
type KeptEvent =
  | string
  | { readonly event: Trace; readonly stamp: EventStamp /** In characters, about. */; readonly size: number }

const MAX_EVENTS = 20_000
const MAX_CHARACTERS = 16_000_000
/** Lines that one batch holds. */
const BATCH = 200

/**
 * Creates an empty ring. Readers store only their position, so a slow one costs nothing; events that it missed show
 * as a gap in `sequence`.
 */
export function createEventRing(options: EventRingOptions): EventRing {
  const { redact, maxEvents = MAX_EVENTS, maxCharacters = MAX_CHARACTERS } = options
  /**
   * The events from number `first` on; dropped events leave empty entries at the front, which are removed
   * occasionally.
   */
  let events: KeptEvent[] = []
  let first = 0
  let start = 0
  let characters = 0
  const waiting = new Set<() => void>()

  function push(event: KeptEvent): void {
    if (sizeOf(event) > maxCharacters) return
    events.push(event)
    characters += sizeOf(event)
    while (events.length - start > maxEvents || characters > maxCharacters) {
      characters -= sizeOf(events[start]!)
      events[start++] = ''
    }
    if (start > maxEvents) {
      events = events.slice(start)
      first += start
      start = 0
    }
    if (waiting.size > 0) for (const wake of [...waiting]) wake()
  }

  const add = (record: TraceRecord) => push(JSON.stringify(withoutContent(record)))

  function addStamped(event: Trace, stamp: EventStamp): void {
    const size = roughSize(event)
    if (size > MAX_OBJECT_LENGTH) add(traceRecordOf(event, stamp))
    else push({ event: withoutContent(event), stamp, size })
  }

  function lineAt(number: number): string {
    const kept = events[number - first]!
    const record =
      typeof kept === 'string' ? (JSON.parse(kept) as TraceRecord) : traceRecordOf(kept.event, kept.stamp)
    return auditLine(record, { redact })
  }

  async function* read({ signal, since, isFollowing }: ReadEventsOptions): AsyncGenerator<EventBatch, void> {
    setMaxListeners(0, signal)
    const skipped = first + start
    let next = skipped
    let sent = 0
    const end = () => first + events.length
    const batch = (limit: number) => {
      const lines: string[] = []
      next = Math.max(next, first + start)
      while (next < limit && lines.length < BATCH) {
        const line = lineAt(next++)
        if (since === undefined || timeOf(line) >= since) lines.push(line)
      }
      sent += lines.length
      return { lines }
    }
    for (const recorded = end(); next < recorded && !signal.aborted; ) yield batch(recorded)
    yield { caughtUp: { events: sent, skipped, broken: 0 } }
    while (isFollowing && !signal.aborted) {
      if (next < end()) yield batch(end())
      else await untilNews(waiting, signal)
    }
  }

  return { files: [], add, addStamped, read }
}

/** Longer events are kept as JSON: their texts may be parts of much longer ones, which would stay in memory. */
const MAX_OBJECT_LENGTH = 4000

function sizeOf(event: KeptEvent): number {
  return typeof event === 'string' ? event.length : event.size
}

/**
 * Estimates the characters of an event as JSON, without its content, if it is one that every request has: it holds nothing but
 * names and numbers. Infinite for others, and for those of requests that failed.
 */
function roughSize(event: Trace): number {
  switch (event.type) {
    case 'decision':
      return 450 + event.model.length + lengthOf(event.loaded)
    case 'answered': {
      const { error, model = '', why, loaded } = event
      return error === undefined ? 600 + model.length + why.length + lengthOf(loaded) : NOT_FREQUENT
    }
    case 'sampled':
      return event.error === undefined ? 400 + event.model.length : NOT_FREQUENT
    case 'prefix':
      return event.isKept ? 200 : NOT_FREQUENT
    case 'call':
    case 'result':
      return 350 + event.name.length
    default:
      return NOT_FREQUENT
  }
}

const NOT_FREQUENT = Number.POSITIVE_INFINITY

function lengthOf(names: readonly string[]): number {
  let sum = 0
  for (const name of names) sum += name.length + 3
  return sum
}

function withoutContent<Event extends Trace>(event: Event): Event {
  return 'content' in event ? { ...event, content: undefined } : event
}

/** Resolves at the next event, or when the reader has gone. */
function untilNews(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      waiting.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    waiting.add(wake)
    signal.addEventListener('abort', wake)
    if (signal.aborted) wake()
  })
}

/** The time of a line that we wrote. */
function timeOf(line: string): string {
  return /"time":"([^"]*)"/.exec(line)?.[1] ?? ''
}
