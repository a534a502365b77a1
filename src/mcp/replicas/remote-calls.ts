// Calls between replicas over the messages of the store. Messages can be lost while the store reconnects, so calls and
// outcomes are repeated until they are acknowledged, and a caller notices that the other replica has ended.
import { randomUUID } from 'node:crypto'
import { type Fields, fieldsOf } from '../../lib/index.ts'
import type { Replica } from './replica.ts'

/** Calls functions of other replicas, and serves theirs. */
export type RemoteCalls = {
  /** Rejects with a `RemoteCallError` if the replica has ended, the store is unreachable, or the function threw. */
  call(to: string, method: string, params: Fields, options?: RemoteCallOptions): Promise<unknown>
  /** Registers the function that answers calls of a method. */
  serve(method: string, handler: RemoteHandler): void
  close(): void
}

export type RemoteCallOptions = {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Fields) => void
}

export type RemoteHandler = (
  params: Fields,
  context: { readonly signal: AbortSignal; readonly onProgress: (progress: Fields) => void },
) => Promise<unknown>

/** Why a call of another replica failed. */
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

/** An error as it travels between replicas. */
export type ThrownError = {
  readonly message: string
  readonly code?: number
  readonly data?: unknown
}

/** Milliseconds. */
export type RemoteCallTimes = {
  /** Between two repetitions of a message that was not acknowledged, and two looks at a heartbeat. */
  readonly repeatMs: number
  /** How long an outcome waits for its acknowledgement, and a call for a store that does not answer. */
  readonly patienceMs: number
}

const TIMES: RemoteCallTimes = { repeatMs: 3000, patienceMs: 30_000 }
/** Calls of other replicas at once. */
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
  const pending = new Map<string, Pending>()
  const served = new Map<string, Served>()
  const handlers = new Map<string, RemoteHandler>()
  const tell = (to: string, type: string, body: Fields) => void replica.send(to, type, body).catch(() => {})

  replica.onMessage('call', ({ id, method, params }, from) => {
    if (typeof id !== 'string' || typeof method !== 'string') return
    const known = served.get(id)
    if (known?.outcome) return tell(from, 'outcome', known.outcome)
    if (known) return tell(from, 'accepted', { id })
    if (served.size < MAX_SERVED) void answer(id, from, handlers.get(method), fieldsOf(params))
  })
  replica.onMessage('accepted', ({ id }) => {
    const call = pending.get(String(id))
    if (call) call.isAccepted = true
  })
  replica.onMessage('progress', ({ id, progress }) => pending.get(String(id))?.onProgress(fieldsOf(progress)))
  replica.onMessage('abort', ({ id }) => served.get(String(id))?.controller.abort())
  replica.onMessage('outcome', (outcome, from) => {
    tell(from, 'received', { id: outcome.id })
    pending.get(String(outcome.id))?.settle(outcome)
  })
  replica.onMessage('received', ({ id }) => void served.delete(String(id)))

  /** Runs a call of another replica, and repeats its outcome until it is acknowledged. */
  async function answer(id: string, from: string, handler: RemoteHandler | undefined, params: Fields) {
    const call: Served = { controller: new AbortController() }
    served.set(id, call)
    const watch = setInterval(() => {
      // Whoever waits for the outcome has ended, and its client with it.
      replica.isAlive(from).then(
        (isAlive) => isAlive || call.controller.abort(),
        () => {},
      )
    }, times.repeatMs)
    watch.unref()
    const onProgress = (progress: Fields) => tell(from, 'progress', { id, progress })
    const context = { signal: call.controller.signal, onProgress }
    const outcome = await Promise.resolve()
      .then(() => {
        if (!handler) throw new Error('this replica does not know the call; it may run another version')
        return handler(params, context)
      })
      .then(
        (result) => ({ id, result }),
        (error) => ({ id, error: thrownFrom(error) }),
      )
    clearInterval(watch)
    call.outcome = outcome
    repeatOutcome(id, from, outcome)
  }

  function repeatOutcome(id: string, from: string, outcome: Fields): void {
    const until = Date.now() + times.patienceMs
    const again = setInterval(() => {
      if (!served.has(id)) return clearInterval(again)
      if (Date.now() < until) return tell(from, 'outcome', outcome)
      clearInterval(again)
      served.delete(id)
    }, times.repeatMs)
    again.unref()
    tell(from, 'outcome', outcome)
  }

  /** Repeats a call until it is accepted; ends it when its replica has ended. */
  function watchCall(id: string, call: Pending, repeat: () => void): () => void {
    let reachedAt = Date.now()
    const timer = setInterval(async () => {
      try {
        if (!(await replica.isAlive(call.to))) return call.fail(gone())
        reachedAt = Date.now()
        if (!call.isAccepted && pending.has(id)) repeat()
      } catch {
        if (Date.now() - reachedAt > times.patienceMs) call.fail(unreachable())
      }
    }, times.repeatMs)
    timer.unref()
    return () => clearInterval(timer)
  }

  async function call(
    to: string,
    method: string,
    params: Fields,
    { signal, onProgress = () => {} }: RemoteCallOptions = {},
  ): Promise<unknown> {
    const isAlive = await replica.isAlive(to).catch(() => {
      throw unreachable()
    })
    if (!isAlive) throw gone()
    signal?.throwIfAborted()
    const id = randomUUID()
    let stop = () => {}
    let abort = () => {}
    try {
      return await new Promise((resolve, fail) => {
        const settle = (outcome: Fields) => {
          if (outcome.error === undefined) return resolve(outcome.result)
          const thrown = fieldsOf(outcome.error) as ThrownError
          fail(new RemoteCallError('failed', thrown.message, thrown))
        }
        const waiting: Pending = { to, settle, fail, onProgress, isAccepted: false }
        pending.set(id, waiting)
        abort = () => {
          tell(to, 'abort', { id })
          fail(signal?.reason)
        }
        signal?.addEventListener('abort', abort, { once: true })
        stop = watchCall(id, waiting, () => tell(to, 'call', { id, method, params }))
        replica.send(to, 'call', { id, method, params }).catch(() => fail(unreachable()))
      })
    } finally {
      stop()
      signal?.removeEventListener('abort', abort)
      pending.delete(id)
    }
  }

  return {
    call,
    serve: (method, handler) => void handlers.set(method, handler),
    close() {
      for (const { controller } of served.values()) controller.abort()
      for (const { fail } of pending.values()) fail(new RemoteCallError('gone', 'this replica is closing'))
    },
  }
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
