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

type Exchange = {
  /** Of the current round. */
  id: string
  readonly controller: AbortController
  readonly finished: Promise<unknown>
  asked: Question[]
  wake: () => void
  /** Stops listening to the signal of the last round. */
  release: () => void
  onProgress: (progress: Progress) => void
  expiry: ReturnType<typeof setTimeout> | undefined
}

/** Limits how long a call waits for a client that never answers. */
const LONGEST_WAIT = 600_000

export function createExchanges(): Exchanges {
  /** Calls whose client is answering a question; their outcome waits for it. */
  const open = new Map<string, Exchange>()

  return {
    async run(round, caller, work) {
      const state = round.requestState()
      const known = typeof state === 'string' ? open.get(state) : undefined
      if (typeof state === 'string' && !known)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState')
      if (known) deliver(known, round.inputResponses ?? {})
      const exchange = known ?? begin(caller, round.inputResponses ?? {}, work)
      return (await follow(exchange, round, caller)) as never
    },
  }

  function begin(caller: Caller, early: Fields, work: Work<unknown>): Exchange {
    const { client, capabilities, canAnswer } = caller
    const controller = new AbortController()
    let count = 0
    const asker: QuestionHandler = {
      client,
      capabilities,
      ask: async (method, params, _signal, name = '') => {
        if (!canAnswer(method)) throw new Error(`the client does not support ${method}`)
        sendable(params)
        // A client that expects the question may have sent the answer with the call.
        if (Object.hasOwn(early, name)) return early[name] as Fields
        const isFree = name !== '' && exchange.asked.every(({ key }) => key !== name)
        return new Promise((answer, refuse) => {
          exchange.asked.push({ key: isFree ? name : `ask-${++count}`, method, params, answer, refuse })
          exchange.wake()
        })
      },
    }
    const finished = Promise.resolve().then(() =>
      work(asker, controller.signal, (progress) => exchange.onProgress(progress)),
    )
    const exchange: Exchange = {
      id: randomUUID(),
      controller,
      finished,
      asked: [],
      wake: () => {},
      release: () => {},
      onProgress: () => {},
      expiry: undefined,
    }
    /** Drops the questions that the client has not received yet. */
    const close = () => {
      exchange.release()
      if (open.has(exchange.id)) return
      for (const { refuse } of exchange.asked) refuse(new Error('the call has ended'))
    }
    finished.then(close, close)
    return exchange
  }

  /** Waits until the work is done or asks something: then the client gets the question and returns with the answer. */
  async function follow(exchange: Exchange, { signal }: Round, caller: Caller): Promise<unknown> {
    obey(exchange, signal)
    exchange.onProgress = caller.onProgress
    const asks = new Promise<typeof ASKS>((resolve) => {
      exchange.wake = () => resolve(ASKS)
      if (exchange.asked.length > 0) resolve(ASKS)
    })
    const outcome = await Promise.race([exchange.finished, asks])
    if (outcome !== ASKS) return outcome
    exchange.onProgress = () => {}
    if (caller.isStateless) exchange.release()
    waitFor(exchange)
    const inputRequests = Object.fromEntries(
      exchange.asked.map(({ key, method, params }) => [key, { method, params }]),
    )
    return inputRequired({ inputRequests: inputRequests as never, requestState: exchange.id })
  }

  /** The signal of the newest round aborts the work, also while the client is answering a question. */
  function obey(exchange: Exchange, signal: AbortSignal): void {
    const abort = () => {
      open.delete(exchange.id)
      exchange.controller.abort(signal.reason)
    }
    exchange.release()
    exchange.release = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  }

  function waitFor(exchange: Exchange): void {
    exchange.id = randomUUID()
    open.set(exchange.id, exchange)
    exchange.expiry = setTimeout(() => {
      open.delete(exchange.id)
      const silence = new Error('the client never answered')
      for (const { refuse } of exchange.asked) refuse(silence)
      exchange.controller.abort(silence)
    }, LONGEST_WAIT)
    exchange.expiry.unref()
  }

  function deliver(exchange: Exchange, responses: Fields): void {
    clearTimeout(exchange.expiry)
    open.delete(exchange.id)
    const waiting = exchange.asked
    exchange.asked = []
    exchange.wake = () => {}
    for (const question of waiting) {
      const response = Object.hasOwn(responses, question.key) ? responses[question.key] : undefined
      if (response === undefined) exchange.asked.push(question)
      else question.answer(response as Fields)
    }
  }
}

const ASKS = Symbol('asks')
