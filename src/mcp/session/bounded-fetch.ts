// A fetch with limits: an endless message must not fill our memory, and a server that floods events is throttled.
// Implements H6.
import { setTimeout as sleep } from 'node:timers/promises'
import { createBudget } from './throttle.ts'

export type FetchClock = {
  readonly now: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>
}

const realClock: FetchClock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    sleep(milliseconds, undefined, { ref: false, ...(signal ? { signal } : {}) }),
}

export function boundedFetch(longest: number, clock: FetchClock = realClock): typeof fetch {
  const pauseOf = createReconnectPace(clock.now)
  return async (input, init) => {
    const pause = isStream(init) ? pauseOf() : 0
    if (pause > 0) await clock.sleep(pause, init?.signal ?? undefined)
    const response = await fetch(input, init)
    if (!response.body) return response
    const isEvents = response.headers.get('content-type')?.includes('text/event-stream') ?? false
    const { status, statusText, headers } = response
    const body = response.body.pipeThrough(isEvents ? eventMeter(longest) : meter(longest))
    return new Response(body, { status, statusText, headers })
  }
}

function isStream({ method = 'GET', headers }: RequestInit = {}): boolean {
  return method === 'GET' && (new Headers(headers).get('accept')?.includes('text/event-stream') ?? false)
}

/** Milliseconds: a stream reopened sooner than this was reset. */
const SHORTEST_STREAM = 10_000
const FIRST_PAUSE = 1000
const LONGEST_RECONNECT_PAUSE = 60_000

/**
 * A server may close its event stream at once and send a tiny `retry`, which the SDK obeys: doubles the delay before
 * the next attempt until a stream lasts.
 */
function createReconnectPace(now: () => number): () => number {
  let openedAt = Number.NEGATIVE_INFINITY
  let resets = 0
  return () => {
    const time = now()
    resets = time - openedAt < SHORTEST_STREAM ? resets + 1 : 0
    const pause = resets === 0 ? 0 : Math.min(LONGEST_RECONNECT_PAUSE, FIRST_PAUSE * 2 ** (resets - 1))
    openedAt = time + pause
    return pause
  }
}

type Meter = TransformStream<Uint8Array, Uint8Array>

function meter(longest: number): Meter {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length
      if (size > longest) throw tooLong(longest)
      controller.enqueue(chunk)
    },
  })
}

const BURST = 2000
/** Events; a long one counts once per this many bytes. */
const PER_MILLISECOND = 0.2
const BYTES_OF_ONE = 16_384
const LONGEST_PAUSE = 5000

/** A stream may last forever; only the length of each event is limited. */
function eventMeter(longest: number): Meter {
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
      if (size > longest) throw tooLong(longest)
      controller.enqueue(chunk)
      const now = performance.now()
      const pause = spend(now - last, events + chunk.length / BYTES_OF_ONE)
      last = now
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(pause, LONGEST_PAUSE)))
    },
  })
}

const NEWLINE = 10
const RETURN = 13

function tooLong(longest: number): Error {
  return new Error(`it sent a message of more than ${Math.round(longest / 1_000_000)} MB`)
}
