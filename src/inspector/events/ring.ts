// Keeps the newest events of the process in memory, bounded in number and size, for readers that may come later.
import { setMaxListeners } from 'node:events'
import type { TraceRecord } from '../../core/index.ts'
import { auditLine } from '../../node/index.ts'
import type { EventBatch, EventFeed, ReadEventsOptions } from './feed.ts'

export type EventRingOptions = {
  /** Hides secrets in a text; called when an event is read, not when it happens. */
  readonly redact: (text: string) => string
  readonly maxEvents?: number
  /** Characters of all events together. */
  readonly maxCharacters?: number
}

export type EventRing = EventFeed & { add(record: TraceRecord): void }

const MAX_EVENTS = 20_000
const MAX_CHARACTERS = 16_000_000
/** Lines that one batch holds. */
const BATCH = 200

/** Readers keep only their position, so that a slow one costs nothing; what it missed shows as a gap in `sequence`. */
export function createEventRing(options: EventRingOptions): EventRing {
  const { redact, maxEvents = MAX_EVENTS, maxCharacters = MAX_CHARACTERS } = options
  /** The events from number `first` on; the front is emptied and cut off now and then. */
  let events: string[] = []
  let first = 0
  let start = 0
  let characters = 0
  const waiting = new Set<() => void>()

  function add(record: TraceRecord): void {
    const text = JSON.stringify('content' in record ? { ...record, content: undefined } : record)
    if (text.length > maxCharacters) return
    events.push(text)
    characters += text.length
    while (events.length - start > maxEvents || characters > maxCharacters) {
      characters -= events[start]!.length
      events[start++] = ''
    }
    if (start > maxEvents) {
      events = events.slice(start)
      first += start
      start = 0
    }
    if (waiting.size > 0) for (const wake of [...waiting]) wake()
  }

  function lineAt(number: number): string {
    return auditLine(JSON.parse(events[number - first]!) as TraceRecord, { redact })
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

  return { files: [], add, read }
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
