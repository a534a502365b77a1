// Brings an answer to the replica whose call asked the question: a client of the newer protocol has no session, so a
// balancer may send the next round of its call to any replica.
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { type Fields, fieldsOf, parseJson, type StateStore } from '@toolshelf/core/internal'
import type { Progress } from '../types.ts'

/** The client's answers to the questions of one round. */
type RoundAnswers = { readonly state: string; readonly responses: Fields; readonly owner: string }

/** The request that brings the answers, and waits for what follows. */
type RoundRequest = {
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
}

/** Continues a call of this replica. */
type RoundHandler = (answers: RoundAnswers, request: RoundRequest) => Promise<unknown>

/** Times in milliseconds. */
type RoundTimes = {
  /** Time between two signs of life of a running round. */
  readonly beatMs: number
  /** Silence after which the other replica counts as ended. */
  readonly silenceMs: number
}

const TIMES: RoundTimes = { beatMs: 3000, silenceMs: 12_000 }
const RETRY_MS = 2000
const ID = /^([0-9a-f]{24})\./

type Waiting = {
  readonly onProgress: (progress: Progress) => void
  readonly settle: (outcome: Fields) => void
  heardAt: number
}

/** The rounds that this replica runs for others, and others for it. */
export class RemoteRounds {
  /** Random; new with every start. */
  readonly #id = randomBytes(12).toString('hex')
  readonly #store: StateStore
  readonly #answer: RoundHandler
  readonly #times: RoundTimes
  readonly #waiting = new Map<string, Waiting>()
  readonly #served = new Map<string, { readonly controller: AbortController; readonly over: Promise<void> }>()
  #stopListening: (() => Promise<void>) | undefined
  #isClosed = false

  constructor(store: StateStore, answer: RoundHandler, times: RoundTimes = TIMES) {
    this.#store = store
    this.#answer = answer
    this.#times = times
    void this.#listen()
  }

  /** Returns a new state, which names this replica. */
  newState(): string {
    return `${this.#id}.${randomUUID()}`
  }

  /** Returns the replica that a state names; undefined for this one, and for a state that names none. */
  replicaOf(state: string): string | undefined {
    const [, replica] = ID.exec(state) ?? []
    return replica === this.#id ? undefined : replica
  }

  /** Sends a client's answers to the replica that waits for them. Resolves with the end of the round. */
  async run(replica: string, answers: RoundAnswers, { signal, onProgress }: RoundRequest): Promise<unknown> {
    signal.throwIfAborted()
    const { beatMs, silenceMs } = this.#times
    const id = randomUUID()
    const ends: (() => void)[] = [() => this.#waiting.delete(id)]
    try {
      return await new Promise((resolve, reject) => {
        const settle = ({ error, result }: Fields) =>
          error === undefined ? resolve(result) : reject(errorFrom(fieldsOf(error)))
        const waiting: Waiting = { onProgress, settle, heardAt: performance.now() }
        this.#waiting.set(id, waiting)
        const abort = () => {
          this.#send(replica, { type: 'abort', id })
          reject(signal.reason)
        }
        signal.addEventListener('abort', abort, { once: true })
        const watch = setInterval(() => {
          if (performance.now() - waiting.heardAt > silenceMs) settle({ error: { message: GONE } })
        }, beatMs)
        watch.unref()
        ends.push(
          () => signal.removeEventListener('abort', abort),
          () => clearInterval(watch),
        )
        this.#publish(replica, { type: 'round', id, ...answers }).catch(() =>
          settle({ error: { message: UNREACHABLE } }),
        )
      })
    } finally {
      for (const end of ends) end()
    }
  }

  /** Resolves when the rounds of other replicas have ended, or after the timeout. */
  async drain(timeoutMs: number): Promise<void> {
    const all = Promise.all([...this.#served.values()].map(({ over }) => over))
    await Promise.race([all, sleep(timeoutMs, undefined, { ref: false })])
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { controller } of this.#served.values()) controller.abort()
    for (const { settle } of this.#waiting.values()) settle({ error: { message: CLOSING } })
    await this.#stopListening?.().catch(() => {})
  }

  async #listen(): Promise<void> {
    while (!this.#isClosed) {
      try {
        this.#stopListening = await this.#store.subscribe(channelOf(this.#id), (text) => this.#receive(text))
        return this.#isClosed ? await this.#stopListening() : undefined
      } catch {
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    }
  }

  #receive(text: string): void {
    const { type, from, id, ...body } = parseFields(text)
    if (typeof from !== 'string' || typeof id !== 'string') return
    if (type === 'round') this.#serve(from, id, body)
    if (type === 'abort') this.#served.get(id)?.controller.abort()
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    waiting.heardAt = performance.now()
    if (type === 'progress') waiting.onProgress(fieldsOf(body.progress) as Progress)
    if (type === 'outcome') waiting.settle(body)
  }

  #serve(from: string, id: string, { state, responses, owner }: Fields): void {
    const controller = new AbortController()
    const beat = setInterval(() => this.#send(from, { type: 'alive', id }), this.#times.beatMs)
    beat.unref()
    const answers = { state: String(state), responses: fieldsOf(responses), owner: String(owner) }
    const onProgress = (progress: Progress) => this.#send(from, { type: 'progress', id, progress })
    const over = Promise.resolve()
      .then(() => this.#answer(answers, { signal: controller.signal, onProgress }))
      .then(
        (result) => ({ result }),
        ({ message, code, data }: Fields) => ({ error: { message, code, data } }),
      )
      .then((outcome) => this.#publish(from, { type: 'outcome', id, ...outcome }))
      .catch(() => {}) // The other replica reports the silence.
      .finally(() => {
        clearInterval(beat)
        this.#served.delete(id)
      })
    this.#served.set(id, { controller, over })
  }

  async #publish(to: string, message: Fields): Promise<void> {
    await this.#store.publish(channelOf(to), JSON.stringify({ ...message, from: this.#id }))
  }

  /** Sends a message that may be lost. */
  #send(to: string, message: Fields): void {
    this.#publish(to, message).catch(() => {})
  }
}

const GONE = 'the replica that runs the call has ended; call again'
const UNREACHABLE = 'the store that replicas share does not answer; try again in a moment'
const CLOSING = 'this replica is closing; call again'

const channelOf = (replica: string) => `replica/${replica}`

function errorFrom({ code = ProtocolErrorCode.InternalError, message, data }: Fields): ProtocolError {
  return new ProtocolError(Number(code), String(message), data)
}

/** Parses a message of another replica; returns no fields if it is not an object. */
function parseFields(text: string): Fields {
  return fieldsOf(parseJson(text))
}
