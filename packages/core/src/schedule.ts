// Time, in every runtime: turns on the event loop, timers, and what runs again and again.
//
// CPU-heavy work runs in turns, so that neither many requests nor a very large one delay streams, new connections or /health
// by more than one time slice. Owners of work take turns, so that one with much work does not delay the others.
import type { Pause, Timer } from './options.ts'
import type { Shelf } from './shelf.ts'

/** The caller's share of the event loop. */
export type Slice = {
  /** Whether the slice is used up and the caller should yield. */
  readonly isOver: () => boolean
  /** Waits for the next turn. */
  readonly next: () => Promise<void>
}

/** Hands out turns. */
type Scheduler = {
  /** Waits for the turn of the owner's next work. Work without an owner has one owner in common. */
  readonly turn: (owner?: unknown) => Promise<Slice>
  /**
   * Waits for the owner's turn if the slice is used up, or if others wait or are running; otherwise returns undefined.
   */
  readonly pause: (owner?: unknown) => Promise<void> | undefined
}

/** Options of `createScheduler`. */
type SchedulerOptions = {
  /** Milliseconds of work before the event loop handles sockets and timers. */
  readonly sliceMs?: number
  readonly now?: () => number
  /** Runs the callback in the next iteration of the event loop. */
  readonly defer?: (callback: () => void) => void
  /** Runs the callback after all pending microtasks. */
  readonly soon?: (callback: () => void) => void
}

const SLICE_MS = 10

/**
 * Creates a scheduler that serves owners in turns, and the work of one owner first come, first served. While the slice has
 * time left, the next in line starts at once.
 */
export function createScheduler(options: SchedulerOptions = {}): Scheduler {
  const { sliceMs = SLICE_MS, now = () => performance.now() } = options
  const { defer = nextIteration, soon = afterMicrotasks } = options
  /** Waiting work by owner, in the order of their turns. */
  const waiting = new Map<unknown, (() => void)[]>()
  /** When work began in this iteration of the event loop; undefined if none has. */
  let started: number | undefined
  let isDeferred = false
  /** A turn lasts until all pending microtasks have run, so that those who ask at the same time follow one by one. */
  let isTaken = false

  const isOver = (): boolean => started !== undefined && now() - started >= sliceMs
  const begin = (): void => {
    started ??= now()
    if (isDeferred) return
    isDeferred = true
    defer(pass)
  }
  const take = (): void => {
    begin()
    isTaken = true
    soon(() => {
      isTaken = false
      letNext()
    })
  }
  const letNext = (): void => {
    const [first] = waiting
    if (isTaken || isOver() || !first) return
    const [owner, queue] = first
    const next = queue.shift()
    // To the end: the other owners come first.
    waiting.delete(owner)
    if (queue.length > 0) waiting.set(owner, queue)
    take()
    next?.()
  }
  const pass = (): void => {
    isDeferred = false
    started = undefined
    letNext()
  }
  const next = (owner: unknown): Promise<void> =>
    new Promise((resolve) => {
      const queue = waiting.get(owner)
      if (queue) queue.push(resolve)
      else waiting.set(owner, [resolve])
      begin()
    })
  const pause = (owner?: unknown): Promise<void> | undefined => {
    if (isTaken || waiting.size > 0 || isOver()) return next(owner)
    take()
    return undefined
  }
  return {
    async turn(owner) {
      await pause(owner)
      return {
        isOver() {
          // Work that resumes after I/O has not had a turn in this iteration.
          begin()
          return isOver()
        },
        next: () => next(owner),
      }
    },
    pause,
  }
}

/** What runtimes have besides the language's own, where they have it. */
const runtime = globalThis as unknown as {
  readonly setImmediate?: (callback: () => void) => unknown
  readonly process?: { readonly nextTick?: (callback: () => void) => void }
  readonly navigator?: { readonly userAgent?: string }
}

/**
 * Whether work of several requests may wait for one another. In Cloudflare's runtime it must not: what one request waits for
 * ends with it, and its clock stands still while it computes.
 */
export const hasTurns = runtime.navigator?.userAgent !== 'Cloudflare-Workers'

/** There is one event loop, so all work of a process shares its turns. */
export const turns = hasTurns ? createScheduler() : withoutTurns()

function withoutTurns(): Scheduler {
  const slice: Slice = { isOver: () => false, next: async () => {} }
  return { turn: async () => slice, pause: () => undefined }
}

/** Yields if the slice is used up. */
export async function yieldIfOver(slice: Slice | undefined): Promise<void> {
  if (slice?.isOver()) await slice.next()
}

/** Returns a function that waits for the next turn if the slice is used up, and otherwise returns undefined. */
export function pauseIn(slice: Slice): Pause {
  return () => (slice.isOver() ? slice.next() : undefined)
}

/** Sockets and timers come first. A browser delays its timers, but not its messages. */
function nextIteration(callback: () => void): void {
  if (runtime.setImmediate) runtime.setImmediate(callback)
  else if (typeof MessageChannel === 'undefined') setTimeout(callback)
  else {
    const { port1, port2 } = new MessageChannel()
    const come = () => {
      port1.close()
      callback()
    }
    port1.addEventListener('message', come, { once: true })
    port1.start()
    port2.postMessage(undefined)
  }
}

/** `nextTick` after a microtask runs once the microtask queue is empty, so the woken task has run as far as it can. */
function afterMicrotasks(callback: () => void): void {
  const { nextTick = nextIteration } = runtime.process ?? {}
  queueMicrotask(() => nextTick(callback))
}

/** Starts a timer; `over` resolves when it ends, `cancel` stops it. */
export function startTimer(milliseconds: number): Timer {
  let handle: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    handle = setTimeout(resolve, milliseconds)
  })
  return { over, cancel: () => clearTimeout(handle) }
}

/** Formats milliseconds as seconds, such as `1.5 s`. */
export function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1000).toFixed(1))} s`
}

/** Returns the result of the work; rejects if it takes longer, with what `complaint` says or makes. Does not stop the work. */
export async function withTimeout<Value>(
  work: Promise<Value>,
  milliseconds: number,
  complaint: string | (() => Error),
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<never>((_, reject) => {
    const late = () => (typeof complaint === 'string' ? new Error(complaint) : complaint())
    timer = setTimeout(() => reject(late()), milliseconds)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}

/**
 * Reloads the capability table of a shelf now and every `intervalMs` milliseconds until stopped; keeps the last good table if
 * a reload fails (G3).
 *
 * @example
 * const { stop } = keepCapabilitiesFresh(shelf, capabilitiesFromFile('capabilities.json'), 60_000)
 */
export function keepCapabilitiesFresh(
  shelf: Shelf,
  load: () => Promise<unknown>,
  intervalMs: number,
): { stop: () => void } {
  const timer: unknown = setInterval(() => void shelf.refreshCapabilities(load), intervalMs)
  // In Node, it does not keep the process alive; elsewhere it is a number.
  ;(timer as { readonly unref?: () => void }).unref?.()
  void shelf.refreshCapabilities(load)
  return { stop: () => clearInterval(timer as number) }
}
