// A call in which a server asks its client something back. To the client it is one request that is answered with a
// question and sent again with the answer; to the server it is one call that never stopped.
import { randomUUID } from 'node:crypto'
import { inputRequired, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Asker } from '../types.ts'

type Fields = { readonly [name: string]: unknown }

/** What a round of a call carries: the parts of the SDK's context that are used. */
export type Round = {
  readonly signal: AbortSignal
  readonly inputResponses?: Fields | undefined
  readonly requestState: () => unknown
}

export type Exchanges = {
  /** Runs the work, or goes on with the one that waits for this round's answers. */
  run<Result>(
    round: Round,
    client: Answerer,
    work: (asker: Asker, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>
}

/** What the client can do, and whether it can answer a method. */
export type Answerer = { readonly capabilities: Fields; readonly canAnswer: (method: string) => boolean }

type Question = {
  readonly key: string
  readonly method: string
  readonly params: Fields
  readonly answer: (value: Fields) => void
  readonly refuse: (error: Error) => void
}

type Exchange = {
  /** Of the present round. */
  id: string
  readonly controller: AbortController
  readonly finished: Promise<unknown>
  asked: Question[]
  wake: () => void
  expiry: ReturnType<typeof setTimeout> | undefined
}

/** A client that never answers must not hold a call for ever. */
const LONGEST_WAIT = 600_000

export function createExchanges(): Exchanges {
  const open = new Map<string, Exchange>()

  return {
    async run(round, client, work) {
      const state = round.requestState()
      const known = typeof state === 'string' ? open.get(state) : undefined
      if (typeof state === 'string' && !known)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState')
      if (known) deliver(known, round.inputResponses ?? {})
      const exchange = known ?? begin(client, round.inputResponses ?? {}, work)
      return (await follow(exchange, round)) as never
    },
  }

  function begin(
    { capabilities, canAnswer }: Answerer,
    early: Fields,
    work: (asker: Asker, signal: AbortSignal) => Promise<unknown>,
  ): Exchange {
    const controller = new AbortController()
    let count = 0
    const asker: Asker = {
      capabilities,
      ask: (method, params, _signal, name = '') => {
        if (!canAnswer(method)) return Promise.reject(new Error(`the client cannot do ${method}`))
        // A client that knows the question may have brought the answer with the call.
        if (name in early) return Promise.resolve(early[name] as Fields)
        const isFree = name !== '' && exchange.asked.every(({ key }) => key !== name)
        return new Promise((answer, refuse) => {
          exchange.asked.push({ key: isFree ? name : `ask-${++count}`, method, params, answer, refuse })
          exchange.wake()
        })
      },
    }
    const finished = Promise.resolve().then(() => work(asker, controller.signal))
    const exchange: Exchange = {
      id: randomUUID(),
      controller,
      finished,
      asked: [],
      wake: () => {},
      expiry: undefined,
    }
    finished.then(close, close)
    function close() {
      clearTimeout(exchange.expiry)
      open.delete(exchange.id)
      for (const { refuse } of exchange.asked) refuse(new Error('the call is over'))
    }
    return exchange
  }

  /** Until the work is done, or until it asks: then the client gets the question and comes back. */
  async function follow(exchange: Exchange, { signal }: Round): Promise<unknown> {
    const abort = () => exchange.controller.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      const asks = new Promise<typeof ASKS>((resolve) => {
        exchange.wake = () => resolve(ASKS)
        if (exchange.asked.length > 0) resolve(ASKS)
      })
      const outcome = await Promise.race([exchange.finished, asks])
      if (outcome !== ASKS) return outcome
      exchange.id = randomUUID()
      open.set(exchange.id, exchange)
      exchange.expiry = setTimeout(
        () => exchange.controller.abort(new Error('the client never answered')),
        LONGEST_WAIT,
      )
      exchange.expiry.unref()
      const inputRequests = Object.fromEntries(
        exchange.asked.map(({ key, method, params }) => [key, { method, params }]),
      )
      return inputRequired({ inputRequests: inputRequests as never, requestState: exchange.id })
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  function deliver(exchange: Exchange, responses: Fields): void {
    clearTimeout(exchange.expiry)
    open.delete(exchange.id)
    const waiting = exchange.asked
    exchange.asked = []
    exchange.wake = () => {}
    for (const question of waiting) {
      const response = responses[question.key]
      if (response === undefined) exchange.asked.push(question)
      else question.answer(response as Fields)
    }
  }
}

const ASKS = Symbol('asks')
