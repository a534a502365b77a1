// Implements a fetch with limits: fails when a message is too long, slows down a flood of events, and delays
// reconnecting streams.
// Implements H6.
import { setTimeout as sleep } from 'node:timers/promises'
import { wellFormedJson } from '@toolshelf/core/internal'
import { proxiedFetch } from '@toolshelf/core/internal/node'
import { createBudget } from './stdio.ts'

/** The clock; replaceable in tests. */
type FetchClock = {
  readonly now: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>
}

const realClock: FetchClock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    sleep(milliseconds, undefined, { ref: false, ...(signal ? { signal } : {}) }),
}

/** Creates a fetch that fails when a body, or one event of an event stream, has more than `maxBytes` bytes. */
export function boundedFetch(maxBytes: number, clock: FetchClock = realClock): typeof fetch {
  const pauseOf = createReconnectPace(clock.now)
  return async (input, init) => {
    const pause = isStream(init) ? pauseOf() : 0
    if (pause > 0) await clock.sleep(pause, init?.signal ?? undefined)
    const response = await proxiedFetch(input, init && { ...init, ...wellFormedBody(init) })
    if (!response.body) return response
    const isEvents = response.headers.get('content-type')?.includes('text/event-stream') ?? false
    const { status, statusText, headers } = response
    const body = response.body.pipeThrough(isEvents ? eventMeter(maxBytes) : meter(maxBytes))
    return new Response(body, { status, statusText, headers })
  }
}

function wellFormedBody({ body }: RequestInit): RequestInit {
  return typeof body === 'string' ? { body: wellFormedJson(body) } : {}
}

function isStream({ method = 'GET', headers }: RequestInit = {}): boolean {
  return method === 'GET' && (new Headers(headers).get('accept')?.includes('text/event-stream') ?? false)
}

/** Milliseconds: a stream reopened sooner than this counts as reset. */
const MIN_STREAM_MS = 10_000
const FIRST_PAUSE_MS = 1000
const MAX_RECONNECT_PAUSE_MS = 60_000

/**
 * Returns the delay before a stream is opened: none for the first, then doubling while streams end within ten seconds.
 * Without it, the SDK would obey a server that closes its stream at once and sends a tiny `retry`.
 */
function createReconnectPace(now: () => number): () => number {
  let openedAt = Number.NEGATIVE_INFINITY
  let resets = 0
  return () => {
    const time = now()
    resets = time - openedAt < MIN_STREAM_MS ? resets + 1 : 0
    const pause = resets === 0 ? 0 : Math.min(MAX_RECONNECT_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (resets - 1))
    openedAt = time + pause
    return pause
  }
}

type Meter = TransformStream<Uint8Array, Uint8Array>

function meter(maxBytes: number): Meter {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length
      if (size > maxBytes) throw tooLong(maxBytes)
      controller.enqueue(chunk)
    },
  })
}

/** Events that may arrive at once. */
const BURST = 2000
/** Events that may arrive per millisecond after that. */
const PER_MILLISECOND = 0.2
/** Bytes that count as one event, in addition to each event. */
const BYTES_OF_ONE = 16_384
const MAX_PAUSE_MS = 5000

/** Limits the length of each event and the rate of events; the stream as a whole may last forever. */
function eventMeter(maxBytes: number): Meter {
  const spend = createBudget(BURST, PER_MILLISECOND)
  let size = 0
  let isLineEmpty = true
  let before = 0
  let last = performance.now()

  /** Counts the bytes since the last empty line; returns how many events have ended. */
  function read(chunk: Uint8Array): number {
    let events = 0
    for (const byte of chunk) {
      size++
      if (byte === RETURN || (byte === NEWLINE && before !== RETURN)) {
        if (isLineEmpty) {
          events++
          size = 0
        }
        isLineEmpty = true
      } else if (byte !== NEWLINE) isLineEmpty = false
      before = byte
    }
    return events
  }

  return new TransformStream({
    async transform(chunk, controller) {
      const events = read(chunk)
      if (size > maxBytes) throw tooLong(maxBytes)
      controller.enqueue(chunk)
      const now = performance.now()
      const pause = spend(now - last, events + chunk.length / BYTES_OF_ONE)
      last = now
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(pause, MAX_PAUSE_MS)))
    },
  })
}

const NEWLINE = 10
const RETURN = 13

function tooLong(maxBytes: number): Error {
  return new Error(`it sent a message of more than ${Math.round(maxBytes / 1_000_000)} MB`)
}
