// Shares the event loop among requests: work that takes milliseconds waits for its turn, so that many requests at once,
// or a very large one, never keep streams, new connections and /health waiting for longer than a slice.

export type Slice = {
  /** True when the work should let others go first. */
  readonly isOver: () => boolean
  /** Waits for the next turn. */
  readonly next: () => Promise<void>
}

export type Scheduler = {
  /** Waits until it is the caller's turn to work. */
  readonly turn: () => Promise<Slice>
}

export type SchedulerOptions = {
  /** Milliseconds of work between two looks at sockets and timers. */
  readonly sliceMs?: number
  readonly now?: () => number
  /** Calls back in the next pass of the event loop. */
  readonly defer?: (callback: () => void) => void
  /** Calls back as soon as all that can go on now has done so. */
  readonly soon?: (callback: () => void) => void
}

const SLICE_MS = 10

/** Turns are taken in order of arrival. As long as a slice has time left, the next in line follows at once. */
export function createScheduler(options: SchedulerOptions = {}): Scheduler {
  const { sliceMs = SLICE_MS, now = () => performance.now() } = options
  const { defer = (callback) => void setImmediate(callback), soon = afterMicrotasks } = options
  const waiting: (() => void)[] = []
  /** When the work of this pass of the event loop began; undefined before it did. */
  let started: number | undefined
  let isDeferred = false

  const isOver = (): boolean => started !== undefined && now() - started >= sliceMs
  const begin = (): void => {
    started ??= now()
    if (isDeferred) return
    isDeferred = true
    defer(pass)
  }
  const letNext = (): void => {
    if (isOver()) return
    const next = waiting.shift()
    if (!next) return
    begin()
    next()
    soon(letNext)
  }
  const pass = (): void => {
    isDeferred = false
    started = undefined
    letNext()
  }
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve)
      begin()
    })
  const slice: Slice = { isOver, next }
  return {
    async turn() {
      if (waiting.length > 0 || isOver()) await next()
      else begin()
      return slice
    },
  }
}

/** Lets others go first where a slice is over. */
export async function rest(slice: Slice | undefined): Promise<void> {
  if (slice?.isOver()) await slice.next()
}

/** Ticks run when no microtask is left: whoever was woken has then worked as far as it can. */
function afterMicrotasks(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback))
}
