// Keeps one connection to a server open: connects at the first use, checks it regularly, and reconnects with back-off
// after a loss. Calls never queue up behind a lost connection: they fail until it is back, in time, with a StoreError.
import { hasCode, StoreError } from '@toolshelf/core/internal'
import { withTimeout } from '@toolshelf/core/internal/node'

type LinkOptions<Connection> = StoreCallOptions & {
  /**
   * Connects. Must destroy the connection when the signal aborts, even while it is being opened, and call `onLost` when it
   * breaks.
   */
  readonly open: (signal: AbortSignal, onLost: (error: unknown) => void) => Promise<Connection>
  /** Called when a lost connection is open again. */
  readonly onReopened?: () => void
}

/** A connection that is reopened whenever it is lost. */
export type Link<Connection> = {
  /** Runs the work with the connection; rejects with a `StoreError` if there is none or it does not answer in time. */
  use<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value>
  /** Returns the connection if it is open. */
  current(): Connection | undefined
  close(): void
}

const FIRST_DELAY_MS = 50
const MAX_DELAY_MS = 2000
const CHECK_MS = 10_000

type Live<Connection> = { readonly connection: Connection; readonly controller: AbortController }

/** Creates a link, which connects at its first use. */
export function createLink<Connection>(options: LinkOptions<Connection>): Link<Connection> {
  const { label, timeoutMs, open } = options
  const call = createCalls(options)
  let live: Live<Connection> | undefined
  let attempt: Promise<Live<Connection>> | undefined
  let opening: AbortController | undefined
  let failure: unknown
  let hasLost = false
  let isClosed = false
  const retry = createRetry(() => connect().catch(() => {}))
  function drop(controller: AbortController, error: unknown): void {
    controller.abort(error)
    if (live?.controller !== controller) return
    live = undefined
    hasLost = true
    failure = error
    retry.schedule()
  }

  async function tryOpen(controller: AbortController): Promise<Live<Connection>> {
    try {
      const opened = open(controller.signal, (error) => drop(controller, error))
      const connection = await withTimeout(opened, timeoutMs, `no answer within ${timeoutMs} ms`)
      if (controller.signal.aborted) throw new StoreError(`${label} closed the connection`)
      live = { connection, controller }
    } catch (thrown) {
      // Keeps the error that broke the connection, which says more than the errors that follow from it.
      controller.abort(thrown)
      failure = controller.signal.reason
      retry.schedule()
      throw failure
    } finally {
      attempt = undefined
      opening = undefined
    }
    retry.reset()
    if (hasLost) options.onReopened?.()
    hasLost = false
    return live
  }

  function connect(): Promise<Live<Connection>> {
    if (isClosed) return Promise.reject(closedError(label))
    if (attempt) return attempt
    opening = new AbortController()
    attempt = tryOpen(opening)
    return attempt
  }

  async function reach(): Promise<Live<Connection>> {
    if (retry.isWaiting() && !attempt) throw storeErrorOf(label, failure)
    return live ?? connect()
  }

  async function use<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    let used: Live<Connection> | undefined
    return call(
      async () => {
        used = await reach()
        return work(used.connection)
      },
      () => used && drop(used.controller, new StoreError(`${label} did not answer`)),
    )
  }

  return {
    use,
    current: () => live?.connection,
    close() {
      isClosed = true
      retry.stop()
      opening?.abort(closedError(label))
      live?.controller.abort()
      live = undefined
    },
  }
}

/** Pings the server regularly, and reconnects if it does not answer in time. Returns a function that stops it. */
export function checkRegularly(link: Link<unknown>, check: () => Promise<unknown>): () => void {
  const timer = setInterval(() => link.current() && void check().catch(() => {}), CHECK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Retries with growing delays until it is reset. */
function createRetry(work: () => unknown) {
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let isStopped = false
  return {
    isWaiting: () => timer !== undefined,
    schedule(): void {
      if (timer || isStopped) return
      const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures++, 10))
      timer = setTimeout(
        () => {
          timer = undefined
          work()
        },
        delay * (0.5 + Math.random() / 2),
      )
      timer.unref()
    },
    reset(): void {
      failures = 0
      clearTimeout(timer)
      timer = undefined
    },
    stop(): void {
      isStopped = true
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/** Creates the error of calls after `close`. */
function closedError(label: string): StoreError {
  return new StoreError(`${label}: the store is closed`)
}

type StoreCallOptions = {
  /** The server's name in errors, such as `Redis at 127.0.0.1:6379`, without secrets. */
  readonly label: string
  /** Milliseconds after which a call fails. */
  readonly timeoutMs: number
}

/** Calls to one server that may be pending at the same time. */
const MAX_PENDING = 20_000

/** Returns a function that runs calls; it calls `onTimeout` for one that got no answer. */
function createCalls({ label, timeoutMs }: StoreCallOptions) {
  let pending = 0
  return async function call<Value>(work: () => Promise<Value>, onTimeout?: () => void): Promise<Value> {
    if (pending >= MAX_PENDING)
      throw new StoreError(`${label} has ${pending} unanswered requests; try again later`)
    pending++
    const answer = work()
    let late: StoreError | undefined
    const noAnswer = () => {
      late = new StoreError(`${label} did not answer within ${timeoutMs} ms; check that it is up`)
      return late
    }
    try {
      return await withTimeout(answer, timeoutMs, noAnswer)
    } catch (error) {
      if (late && error === late) onTimeout?.()
      throw storeErrorOf(label, error)
    } finally {
      pending--
    }
  }
}

/** Wraps what a client library threw, and says what to check. */
function storeErrorOf(label: string, error: unknown): StoreError {
  if (hasCode<StoreError>(error, 'STORE')) return error
  return new StoreError(`${label} failed: ${reasonOf(error)}`, { cause: error })
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A host with several addresses: reports only the first failure.
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0])
  return error.message || (error as NodeJS.ErrnoException).code || error.name
}
