// Implements calls between replicas over the store's messages. Messages can be lost while the store reconnects, so calls
// and outcomes are repeated until they are acknowledged, and a caller detects that the other replica has ended.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fields, fieldsOf } from '../../lib/index.ts'
import type { Replica } from './replica.ts'

/** Calls functions of other replicas, and serves theirs. */
export type RemoteCalls = {
  /**
   * Calls a function. Rejects with a `RemoteCallError` if the replica has ended, the store is unreachable, or the
   * function threw.
   */
  call(to: string, method: string, params: Fields, options?: RemoteCallOptions): Promise<unknown>
  /** Registers the function that answers calls of a method. */
  serve(method: string, handler: RemoteHandler): void
  /** Resolves when the calls of other replicas have ended, or after the timeout. */
  drain(timeoutMs: number): Promise<void>
  close(): void
}

/** Options of a call to another replica. */
export type RemoteCallOptions = {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Fields) => void
}

/** Answers calls of one method. */
export type RemoteHandler = (
  params: Fields,
  context: { readonly signal: AbortSignal; readonly onProgress: (progress: Fields) => void },
) => Promise<unknown>

/** A call of another replica failed. */
export class RemoteCallError extends Error {
  override readonly name = 'RemoteCallError'
  /** `gone`: the replica has ended; `unreachable`: the store does not answer; `failed`: its function threw. */
  readonly reason: 'gone' | 'unreachable' | 'failed'
  /** What the function threw. */
  readonly thrown: ThrownError | undefined

  constructor(reason: RemoteCallError['reason'], message: string, thrown?: ThrownError) {
    super(message)
    this.reason = reason
    this.thrown = thrown
  }
}

/** An error as sent between replicas. */
export type ThrownError = {
  readonly message: string
  readonly code?: number
  readonly data?: unknown
}

/** Times in milliseconds. */
export type RemoteCallTimes = {
  /** Time between two repetitions of an unacknowledged message, and between two checks of a heartbeat. */
  readonly repeatMs: number
  /** How long an outcome waits for its acknowledgement, and a call for a store that does not answer. */
  readonly giveUpAfterMs: number
}

const TIMES: RemoteCallTimes = { repeatMs: 3000, giveUpAfterMs: 30_000 }
const DRAIN_STEP_MS = 50
/** Most concurrent calls of other replicas. */
const MAX_SERVED = 10_000

type Pending = {
  readonly to: string
  readonly settle: (outcome: Fields) => void
  readonly fail: (error: Error) => void
  readonly onProgress: (progress: Fields) => void
  isAccepted: boolean
}

type Served = {
  readonly controller: AbortController
  outcome?: Fields
}

/** Creates the calls of a replica. */
export function createRemoteCalls(replica: Replica, times: RemoteCallTimes = TIMES): RemoteCalls {
  return new Calls(replica, times)
}

class Calls implements RemoteCalls {
  readonly #replica: Replica
  readonly #times: RemoteCallTimes
  /** Calls of this replica. */
  readonly #pending = new Map<string, Pending>()
  /** Calls of others, until their outcome is acknowledged. */
  readonly #served = new Map<string, Served>()
  readonly #handlers = new Map<string, RemoteHandler>()

  constructor(replica: Replica, times: RemoteCallTimes) {
    this.#replica = replica
    this.#times = times
    replica.onMessage('call', (body, from) => this.#receive(body, from))
    replica.onMessage('accepted', ({ id }) => {
      const call = this.#pending.get(String(id))
      if (call) call.isAccepted = true
    })
    replica.onMessage('progress', ({ id, progress }) =>
      this.#pending.get(String(id))?.onProgress(fieldsOf(progress)),
    )
    replica.onMessage('abort', ({ id }) => this.#served.get(String(id))?.controller.abort())
    replica.onMessage('outcome', (outcome, from) => {
      this.#post(from, 'received', { id: outcome.id })
      this.#pending.get(String(outcome.id))?.settle(outcome)
    })
    replica.onMessage('received', ({ id }) => void this.#served.delete(String(id)))
  }

  serve(method: string, handler: RemoteHandler): void {
    this.#handlers.set(method, handler)
  }

  async call(to: string, method: string, params: Fields, options: RemoteCallOptions = {}): Promise<unknown> {
    const { signal, onProgress = () => {} } = options
    const isAlive = await this.#replica.isAlive(to).catch(() => {
      throw unreachable()
    })
    if (!isAlive) throw gone()
    signal?.throwIfAborted()
    const id = randomUUID()
    const message = { id, method, params }
    const ends: (() => void)[] = []
    try {
      return await new Promise((resolve, fail) => {
        const settle = (outcome: Fields) => {
          waiting.isAccepted = true
          if (outcome.error === undefined) return resolve(outcome.result)
          const thrown = fieldsOf(outcome.error) as ThrownError
          fail(new RemoteCallError('failed', thrown.message, thrown))
        }
        const abort = () => {
          this.#post(to, 'abort', { id })
          fail(signal?.reason)
        }
        const waiting: Pending = { to, settle, fail, onProgress, isAccepted: false }
        this.#pending.set(id, waiting)
        signal?.addEventListener('abort', abort, { once: true })
        ends.push(() => signal?.removeEventListener('abort', abort))
        ends.push(this.#watch(waiting, () => this.#post(to, 'call', message)))
        this.#replica.send(to, 'call', message).catch(() => fail(unreachable()))
      })
    } finally {
      for (const end of ends) end()
      this.#pending.delete(id)
    }
  }

  async drain(timeoutMs: number): Promise<void> {
    for (const end = Date.now() + timeoutMs; this.#served.size > 0 && Date.now() < end; )
      await sleep(DRAIN_STEP_MS)
  }

  close(): void {
    for (const { controller } of this.#served.values()) controller.abort()
    for (const { fail } of this.#pending.values())
      fail(new RemoteCallError('gone', 'this replica is closing; call again'))
  }

  /** Sends a message; a lost one is repeated. */
  #post(to: string, type: string, body: Fields): void {
    this.#replica.send(to, type, body).catch(() => {})
  }

  /** Repeats a call until it is accepted; fails it when its replica has ended. Returns a function that stops this. */
  #watch(call: Pending, repeat: () => void): () => void {
    let reachedAt = Date.now()
    const timer = setInterval(async () => {
      try {
        if (!(await this.#replica.isAlive(call.to))) return call.fail(gone())
        reachedAt = Date.now()
        if (!call.isAccepted) repeat()
      } catch {
        if (Date.now() - reachedAt > this.#times.giveUpAfterMs) call.fail(unreachable())
      }
    }, this.#times.repeatMs)
    timer.unref()
    return () => clearInterval(timer)
  }

  #receive({ id, method, params }: Fields, from: string): void {
    if (typeof id !== 'string' || typeof method !== 'string') return
    const known = this.#served.get(id)
    if (known?.outcome) this.#post(from, 'outcome', known.outcome)
    else if (known) this.#post(from, 'accepted', { id })
    else if (this.#served.size < MAX_SERVED)
      void this.#answer(id, from, this.#handlers.get(method), fieldsOf(params))
  }

  /** Runs a call of another replica; stops it if nobody waits for the outcome any more. */
  async #answer(id: string, from: string, handler: RemoteHandler | undefined, params: Fields): Promise<void> {
    const call: Served = { controller: new AbortController() }
    this.#served.set(id, call)
    const watch = setInterval(() => {
      this.#replica.isAlive(from).then(
        (isAlive) => isAlive || call.controller.abort(),
        () => {},
      )
    }, this.#times.repeatMs)
    watch.unref()
    const onProgress = (progress: Fields) => this.#post(from, 'progress', { id, progress })
    const context = { signal: call.controller.signal, onProgress }
    const outcome = await Promise.resolve()
      .then(() => (handler ?? unknownMethod)(params, context))
      .then(
        (result) => ({ id, result }),
        (error) => ({ id, error: thrownFrom(error) }),
      )
    clearInterval(watch)
    call.outcome = outcome
    this.#deliver(id, from, outcome)
  }

  /** Repeats an outcome until it is acknowledged. */
  #deliver(id: string, from: string, outcome: Fields): void {
    const until = Date.now() + this.#times.giveUpAfterMs
    const again = setInterval(() => {
      const isWaiting = this.#served.has(id)
      if (isWaiting && Date.now() < until) return this.#post(from, 'outcome', outcome)
      clearInterval(again)
      this.#served.delete(id)
    }, this.#times.repeatMs)
    again.unref()
    this.#post(from, 'outcome', outcome)
  }
}

const unknownMethod: RemoteHandler = async () => {
  throw new Error('this replica does not know the call; it may run another version')
}

function thrownFrom(error: unknown): ThrownError {
  const { message = String(error), code, data } = (error ?? {}) as Partial<ThrownError>
  return {
    message,
    ...(Number.isSafeInteger(code) ? { code: code as number } : {}),
    ...(data === undefined ? {} : { data }),
  }
}

const gone = () => new RemoteCallError('gone', 'the replica that runs the call has ended; call again')

const unreachable = () =>
  new RemoteCallError('unreachable', 'the store that replicas share does not answer; try again in a moment')
