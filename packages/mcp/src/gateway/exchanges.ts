// Handles a call in which a server asks its client a question. The client sees one request that is answered with a
// question and sent again with the answer; the server sees one uninterrupted call.
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inputRequired, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { type Fields, fieldsOf, parseJson, type StateStore } from '@toolshelf/core/internal'
import { assertSendable } from '../lists/lists.ts'
import type { Progress, QuestionHandler } from '../types.ts'

/** The parts of the SDK's request context that a round of a call uses. */
type Round = {
  readonly signal: AbortSignal
  readonly inputResponses?: Fields | undefined
  readonly requestState: () => unknown
}

/** The calls in which servers may ask questions. */
export type Exchanges = ReturnType<typeof createExchanges>

type Caller = {
  /** Shared by all calls of one client. */
  readonly client: object
  /** Identifies the user and the client; only they may answer. */
  readonly owner: string
  /** Whether the client's request ends with each question. */
  readonly isStateless: boolean
  readonly capabilities: Fields
  readonly canAnswer: (method: string) => boolean
  readonly onProgress: (progress: Progress) => void
}

/** The work of a call; it gets a handler for the server's questions. */
export type Work<Result> = (
  questionHandler: QuestionHandler,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
) => Promise<Result>

type Question = {
  readonly key: string
  readonly method: string
  readonly params: Fields
  readonly answer: (value: Fields) => void
  readonly refuse: (error: Error) => void
}

/** Limits how long a call waits for a client that never answers. */
const MAX_WAIT_MS = 600_000

/**
 * Questions that a client with a session gets at once, the rest in the next rounds. The SDK adds a listener to one signal for
 * each, and Node warns about more than ten.
 */
const MAX_AT_ONCE = 10

const ASKS = Symbol('asks')

/**
 * Creates the exchanges of a gateway.
 *
 * @param store - Brings answers to the replica that asked; undefined if there is only one.
 */
export function createExchanges(store?: StateStore) {
  const remote =
    store &&
    new RemoteRounds(store, ({ state, responses, owner }, { signal, onProgress }) => {
      const exchange = find(state, owner)
      exchange.deliver(responses)
      return exchange.follow({ signal }, { isStateless: true, onProgress })
    })
  /** Calls whose client is answering a question, which must return before the call can end. */
  const open: OpenExchanges = {
    byState: new Map(),
    newState: () => remote?.newState() ?? randomUUID(),
  }

  function find(state: string, owner: string): Exchange {
    const found = open.byState.get(state)
    if (found?.owner !== owner)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState')
    return found
  }

  return {
    // The outcome is what `work` returned, or a question; the map of open exchanges cannot know the type of the first.
    async run<Result>(round: Round, caller: Caller, work: Work<Result>) {
      const state = round.requestState()
      const responses = round.inputResponses ?? {}
      if (typeof state !== 'string')
        return (await new Exchange(open, caller, responses, work).follow(round, caller)) as never
      const replica = remote?.replicaOf(state)
      if (remote && replica !== undefined) {
        const request = { signal: round.signal, onProgress: caller.onProgress }
        return (await remote.run(replica, { state, responses, owner: caller.owner }, request)) as never
      }
      const exchange = find(state, caller.owner)
      exchange.deliver(responses)
      return (await exchange.follow(round, caller)) as never
    },
    /** Resolves when the rounds that other replicas sent have ended, or after the timeout. */
    drain: async (timeoutMs: number) => remote?.drain(timeoutMs),
    close: async () => remote?.close(),
  }
}

type OpenExchanges = {
  readonly byState: Map<string, Exchange>
  readonly newState: () => string
}

/** One call of a server, through all rounds of its client. */
class Exchange {
  readonly owner: string
  readonly #open: OpenExchanges
  readonly #controller = new AbortController()
  readonly #finished: Promise<unknown>
  /** State id of the current round. */
  #id = ''
  #asked: Question[] = []
  #questions = 0
  #wake = () => {}
  /** Stops listening to the signal of the last round. */
  #release = () => {}
  #onProgress: Caller['onProgress'] = () => {}
  #expiry: ReturnType<typeof setTimeout> | undefined

  constructor(open: OpenExchanges, caller: Caller, early: Fields, work: Work<unknown>) {
    this.#open = open
    this.owner = caller.owner
    const questionHandler = this.#askerFor(caller, early)
    this.#finished = Promise.resolve().then(() =>
      work(questionHandler, this.#controller.signal, (progress) => this.#onProgress(progress)),
    )
    const close = () => this.#close()
    this.#finished.then(close, close)
  }

  /** Waits until the work is done or asks a question, which the client gets and answers with its next request. */
  async follow(
    { signal }: Pick<Round, 'signal'>,
    caller: Pick<Caller, 'isStateless' | 'onProgress'>,
  ): Promise<unknown> {
    this.#obey(signal)
    this.#onProgress = caller.onProgress
    const asks = new Promise<typeof ASKS>((resolve) => {
      this.#wake = () => resolve(ASKS)
      if (this.#asked.length > 0) resolve(ASKS)
    })
    const outcome = await Promise.race([this.#finished, asks])
    if (outcome !== ASKS) return outcome
    this.#onProgress = () => {}
    if (caller.isStateless) this.#release()
    this.#awaitAnswers()
    const asked = caller.isStateless ? this.#asked : this.#asked.slice(0, MAX_AT_ONCE)
    const inputRequests = Object.fromEntries(
      asked.map(({ key, method, params }) => [key, { method, params }]),
    )
    // The questions come from the server as they are, without the SDK's types.
    return inputRequired({ inputRequests: inputRequests as never, requestState: this.#id })
  }

  /** Passes the client's answers to the questions that wait for them. */
  deliver(responses: Fields): void {
    clearTimeout(this.#expiry)
    this.#open.byState.delete(this.#id)
    const waiting = this.#asked
    this.#asked = []
    this.#wake = () => {}
    for (const question of waiting) {
      const response = Object.hasOwn(responses, question.key) ? responses[question.key] : undefined
      if (response === undefined) this.#asked.push(question)
      else question.answer(response as Fields)
    }
  }

  /** Returns the handler of the server's questions. @param early - Answers that the client already sent with the call. */
  #askerFor({ client, capabilities, canAnswer }: Caller, early: Fields): QuestionHandler {
    return {
      client,
      capabilities,
      ask: async (method, params, _signal, name = '') => {
        if (!canAnswer(method)) throw new Error(`the client does not support ${method}`)
        assertSendable(params)
        if (Object.hasOwn(early, name)) return early[name] as Fields
        const isFree = name !== '' && this.#asked.every(({ key }) => key !== name)
        return new Promise((answer, refuse) => {
          const key = isFree ? name : `ask-${++this.#questions}`
          this.#asked.push({ key, method, params, answer, refuse })
          this.#wake()
        })
      },
    }
  }

  /** Aborts the work when the newest round's signal aborts, even while the client is answering a question. */
  #obey(signal: AbortSignal): void {
    const abort = () => {
      this.#open.byState.delete(this.#id)
      this.#controller.abort(signal.reason)
    }
    this.#release()
    this.#release = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  }

  #awaitAnswers(): void {
    this.#id = this.#open.newState()
    this.#open.byState.set(this.#id, this)
    this.#expiry = setTimeout(() => {
      this.#open.byState.delete(this.#id)
      const silence = new Error('the client never answered')
      this.#refuseAll(silence)
      this.#controller.abort(silence)
    }, MAX_WAIT_MS)
    this.#expiry.unref()
  }

  /** Rejects the questions that the client has not received yet. */
  #close(): void {
    this.#release()
    if (!this.#open.byState.has(this.#id)) this.#refuseAll(new Error('the call has ended'))
  }

  #refuseAll(reason: Error): void {
    for (const { refuse } of this.#asked) refuse(reason)
  }
}

/** The client's answers to the questions of one round. */
type RoundAnswers = { readonly state: string; readonly responses: Fields; readonly owner: string }

/** The request that brings the answers, and waits for what follows. */
type RoundRequest = {
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
}

/** Continues a call of this replica. */
type RoundHandler = (answers: RoundAnswers, request: RoundRequest) => Promise<unknown>

/** Milliseconds between two signs of life of a running round. */
const BEAT_MS = 3000
/** Milliseconds of silence after which the other replica counts as ended. */
const SILENCE_MS = 12_000
const RETRY_MS = 2000
const ID = /^([0-9a-f]{24})\./

type Waiting = {
  readonly onProgress: (progress: Progress) => void
  readonly settle: (outcome: Fields) => void
  heardAt: number
}

/**
 * The rounds that this replica runs for others, and others for it: a client of the newer protocol has no session, so a
 * balancer may send the next round of its call to any replica.
 */
class RemoteRounds {
  /** Random; new with every start. */
  readonly #id = randomBytes(12).toString('hex')
  readonly #store: StateStore
  readonly #answer: RoundHandler
  readonly #waiting = new Map<string, Waiting>()
  readonly #served = new Map<string, { readonly controller: AbortController; readonly over: Promise<void> }>()
  #stopListening: (() => Promise<void>) | undefined
  #isClosed = false

  constructor(store: StateStore, answer: RoundHandler) {
    this.#store = store
    this.#answer = answer
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
          if (performance.now() - waiting.heardAt > SILENCE_MS) settle({ error: { message: GONE } })
        }, BEAT_MS)
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
    const { type, from, id, ...body } = fieldsOf(parseJson(text))
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
    const beat = setInterval(() => this.#send(from, { type: 'alive', id }), BEAT_MS)
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
