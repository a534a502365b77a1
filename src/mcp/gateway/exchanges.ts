// Handles a call in which a server asks its client something. The client sees one request that is answered with a
// question and sent again with the answer; the server sees one uninterrupted call.

import { randomUUID } from 'node:crypto'
import { inputRequired, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Fields } from '../../lib/index.ts'
import type { Progress, QuestionHandler } from '../types.ts'
import { sendable } from './sendable.ts'

/** The parts of the SDK's request context that a round of a call uses. */
export type Round = {
  readonly signal: AbortSignal
  readonly inputResponses?: Fields | undefined
  readonly requestState: () => unknown
}

export type Exchanges = {
  /** Runs the work, or resumes the one that waits for this round's answers. */
  run<Result>(round: Round, caller: Caller, work: Work<Result>): Promise<Result>
}

export type Caller = {
  /** Shared by all calls of one client. */
  readonly client: object
  /** Ends with each question, because the client's request ends then. */
  readonly isStateless: boolean
  /** The user that the client acts for: only they may continue its calls. */
  readonly userId?: string | undefined
  readonly capabilities: Fields
  readonly canAnswer: (method: string) => boolean
  readonly onProgress: (progress: Progress) => void
}

export type Work<Result> = (
  asker: QuestionHandler,
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
const LONGEST_WAIT = 600_000

const ASKS = Symbol('asks')

export function createExchanges(): Exchanges {
  /** Calls whose client is answering a question; their outcome waits for it. */
  const open = new Map<string, Exchange>()
  return {
    async run(round, caller, work) {
      const state = round.requestState()
      const found = typeof state === 'string' ? open.get(state) : undefined
      const known = found?.userId === caller.userId ? found : undefined
      if (typeof state === 'string' && !known)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState')
      const responses = round.inputResponses ?? {}
      known?.deliver(responses)
      const exchange = known ?? new Exchange(open, caller, responses, work)
      return (await exchange.follow(round, caller)) as never
    },
  }
}

/** One call of a server, through all rounds of its client. */
class Exchange {
  readonly userId: string | undefined
  readonly #open: Map<string, Exchange>
  readonly #controller = new AbortController()
  readonly #finished: Promise<unknown>
  /** Of the current round. */
  #id: string = randomUUID()
  #asked: Question[] = []
  #questions = 0
  #wake = () => {}
  /** Stops listening to the signal of the last round. */
  #release = () => {}
  #onProgress: Caller['onProgress'] = () => {}
  #expiry: ReturnType<typeof setTimeout> | undefined

  constructor(open: Map<string, Exchange>, caller: Caller, early: Fields, work: Work<unknown>) {
    this.#open = open
    this.userId = caller.userId
    const asker = this.#askerFor(caller, early)
    this.#finished = Promise.resolve().then(() =>
      work(asker, this.#controller.signal, (progress) => this.#onProgress(progress)),
    )
    const close = () => this.#close()
    this.#finished.then(close, close)
  }

  /** Waits until the work is done or asks something: then the client gets the question and returns with the answer. */
  async follow({ signal }: Round, caller: Caller): Promise<unknown> {
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
    const inputRequests = Object.fromEntries(
      this.#asked.map(({ key, method, params }) => [key, { method, params }]),
    )
    return inputRequired({ inputRequests: inputRequests as never, requestState: this.#id })
  }

  /** Gives the client's answers to the questions that wait for them. */
  deliver(responses: Fields): void {
    clearTimeout(this.#expiry)
    this.#open.delete(this.#id)
    const waiting = this.#asked
    this.#asked = []
    this.#wake = () => {}
    for (const question of waiting) {
      const response = Object.hasOwn(responses, question.key) ? responses[question.key] : undefined
      if (response === undefined) this.#asked.push(question)
      else question.answer(response as Fields)
    }
  }

  /** @param early - Answers that a client, expecting the questions, sent with the call. */
  #askerFor({ client, capabilities, canAnswer }: Caller, early: Fields): QuestionHandler {
    return {
      client,
      capabilities,
      ask: async (method, params, _signal, name = '') => {
        if (!canAnswer(method)) throw new Error(`the client does not support ${method}`)
        sendable(params)
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

  /** The signal of the newest round aborts the work, also while the client is answering a question. */
  #obey(signal: AbortSignal): void {
    const abort = () => {
      this.#open.delete(this.#id)
      this.#controller.abort(signal.reason)
    }
    this.#release()
    this.#release = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  }

  #awaitAnswers(): void {
    this.#id = randomUUID()
    this.#open.set(this.#id, this)
    this.#expiry = setTimeout(() => {
      this.#open.delete(this.#id)
      const silence = new Error('the client never answered')
      this.#refuseAll(silence)
      this.#controller.abort(silence)
    }, LONGEST_WAIT)
    this.#expiry.unref()
  }

  /** Drops the questions that the client has not received yet. */
  #close(): void {
    this.#release()
    if (!this.#open.has(this.#id)) this.#refuseAll(new Error('the call has ended'))
  }

  #refuseAll(reason: Error): void {
    for (const { refuse } of this.#asked) refuse(reason)
  }
}
