// Decides which of a server's questions to forward: only during a call, only to the client that made it, under the
// server's name, as far as the configuration allows, and only a limited number.
// Implements H9.
import type { Fields } from '../../lib/index.ts'
import { type ClientCall, callContext } from '../protocol/index.ts'

import type { QuestionHandler, ServerConfig } from '../types.ts'
import { namedElicitations, namedQuestion } from './named-question.ts'
import { createBucket } from './notifications.ts'

export type ServerQuestions = {
  /** Makes a call; if nobody can answer questions in it, `work` gets no handler. */
  during<Value>(
    asker: QuestionHandler | undefined,
    /** Whether the server has not answered and may still be working. */
    isGivenUp: (error: unknown) => boolean,
    work: (asker: QuestionHandler | undefined) => Promise<Value>,
  ): Promise<Value>
  /** Answers a question that arrives outside of a call's own exchange, as in the older protocol. */
  answer(method: string, params: Fields, signal?: AbortSignal): Promise<Fields>
  /** The client whose call an arriving message belongs to; undefined outside of calls, and if it is ambiguous. */
  owner(): object | undefined
  /** Reviews an error outside of a call: one that sends the user to a page (-32042) is forwarded without the page. */
  review(error: unknown): unknown
  /** Capabilities without those that this server may not use. */
  allowed(capabilities: Fields): Fields
}

export type QuestionOptions = {
  readonly config: ServerConfig
  /** Answers `roots/list` outside of calls, and questions in a call that has no handler of its own. */
  readonly otherwise: QuestionHandler | undefined
  /** Makes a text safe to display and hides secrets in it. */
  readonly shown: (text: string) => string
  readonly notify: (message: string) => void
  readonly now?: () => number
}

/** Questions to the user or to their model, by method; the configuration can deny each by this name. */
const KINDS: { readonly [method: string]: 'elicitation' | 'sampling' } = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
}

export const MOST_IN_A_CALL = 10
export const MOST_IN_A_MINUTE = 30
const MINUTE = 60_000
const ROOTS_BURST = 200
const ROOTS_PER_SECOND = 5
/** Milliseconds for which a server may still ask about a call that was cancelled. */
const AFTERMATH = 30_000

const URL_ELICITATION_REQUIRED = -32042

type OpenCall = ClientCall & {
  readonly owner: object
  /** Handlers of one client may answer for each other. */
  readonly client: object | undefined
  /** Answers what the server asks in this call. */
  readonly asker: QuestionHandler | undefined
  asked: number
}

export function createServerQuestions(options: QuestionOptions): ServerQuestions {
  const { config, otherwise, shown, notify, now = Date.now } = options
  const running = new Set<OpenCall>()
  const givenUp = new Set<OpenCall>()
  const identity = {}
  const mayAskRoots = createBucket(ROOTS_BURST, ROOTS_PER_SECOND / 1000, now)
  let recent: { readonly at: number; readonly page: string | undefined }[] = []
  let hasNoted = false

  function begin(given: QuestionHandler | undefined): OpenCall {
    const source = given ?? otherwise
    const call: OpenCall = {
      owner: identity,
      client: source && (source.client ?? source),
      asked: 0,
      asker: source && {
        ...(source.client ? { client: source.client } : {}),
        ...(source.capabilities ? { capabilities: allowed(source.capabilities) } : {}),
        ask: (method, params, signal, key) => pass(call, source, method, params, signal, key),
      },
      answered: () => void givenUp.delete(call),
    }
    running.add(call)
    return call
  }

  function giveUp(call: OpenCall): void {
    if (!call.client) return
    givenUp.add(call)
    setTimeout(() => givenUp.delete(call), AFTERMATH).unref()
  }

  /** The call that a message came in answer to; else the call of the only client calling now. */
  function callNow(): OpenCall | undefined {
    const own = callContext.getStore() as OpenCall | undefined
    if (own?.owner === identity) return running.has(own) ? own : undefined
    const calls = [...running].filter(({ client }) => client !== undefined)
    const clients = new Set([...calls, ...givenUp].map(({ client }) => client))
    return clients.size === 1 ? calls[0] : undefined
  }

  function isShared(): boolean {
    return new Set([...running, ...givenUp].flatMap(({ client }) => client ?? [])).size > 1
  }

  /** Forwards a question if it is allowed. */
  async function pass(
    call: OpenCall,
    asker: QuestionHandler,
    method: string,
    params: Fields,
    signal: AbortSignal | undefined,
    key?: string,
  ): Promise<Fields> {
    const kind = KINDS[method]
    if (kind === undefined) return askRoots(asker, method, params, signal, key)
    if (config[kind] === 'deny')
      throw new Error(`"${config.name}" may not use ${kind}: it is set to "deny" in ${config.source}`)
    const question = namedQuestion(config.name, method, params, shown)
    count(call)
    return asker.ask(method, question, signal, key)
  }

  /** Roots need no user interaction, but a flood of requests would still reach the client. */
  function askRoots(
    asker: QuestionHandler,
    ...question: Parameters<QuestionHandler['ask']>
  ): Promise<Fields> {
    if (!mayAskRoots()) throw new Error('the roots were asked for too often; ask again in a while')
    return asker.ask(...question)
  }

  /** @param page - The page of a question that only opens one: a repeated call may ask for the same page again. */
  function count(call: Pick<OpenCall, 'asked'>, page?: string): void {
    const time = now()
    recent = recent.filter(({ at }) => time - at < MINUTE)
    const isRepeated = page !== undefined && recent.some((one) => one.page === page)
    const limit =
      call.asked >= MOST_IN_A_CALL
        ? `${MOST_IN_A_CALL} questions in one call`
        : !isRepeated && recent.length >= MOST_IN_A_MINUTE
          ? `${MOST_IN_A_MINUTE} questions in a minute`
          : undefined
    if (limit === undefined) {
      call.asked++
      if (!isRepeated) recent.push({ at: time, page })
      return
    }
    if (!hasNoted) notify(`server "${config.name}" asked more than ${limit}; the rest is refused.`)
    hasNoted = true
    throw new Error(`no more than ${limit} of "${config.name}" are passed on`)
  }

  /**
   * An error may send the user to pages (-32042), which are questions too. Returns the same error with the server's
   * name, or a refusal.
   */
  function reviewed(error: unknown, call?: OpenCall): unknown {
    const { code, data } = error as { code?: unknown; data?: unknown }
    if (code !== URL_ELICITATION_REQUIRED) return error
    if (config.elicitation === 'deny')
      return new Error(`"${config.name}" asks to open a page: "elicitation" is "deny" in ${config.source}`)
    const mayAsk = (page: Fields) => {
      if (!call) return false
      try {
        count(call, JSON.stringify(page))
        return true
      } catch {
        return false
      }
    }
    const named = namedElicitations(config.name, data, shown, mayAsk)
    return Object.defineProperty(error as object, 'data', { value: named })
  }

  function allowed(capabilities: Fields): Fields {
    const denied = Object.values(KINDS).filter((kind) => config[kind] === 'deny')
    return Object.fromEntries(
      Object.entries(capabilities).filter(([name]) => !denied.includes(name as never)),
    )
  }

  return {
    async during(asker, isGivenUp, work) {
      const call = begin(asker)
      try {
        return await callContext.run(call, () => work(call.asker))
      } catch (error) {
        if (isGivenUp(error)) giveUp(call)
        throw reviewed(error, call)
      } finally {
        running.delete(call)
      }
    },
    review: (error) => reviewed(error),
    async answer(method, params, signal) {
      const call = callNow()
      if (call?.asker) return call.asker.ask(method, params, signal)
      if (isShared()) throw new Error('several clients are calling this server, so none can be asked')
      if (KINDS[method] !== undefined) throw new Error('questions are passed on only during a call')
      const [stranger] = givenUp
      if (!otherwise || (stranger && stranger.client !== (otherwise.client ?? otherwise)))
        throw new Error('there is nobody to ask')
      return askRoots(otherwise, method, params, signal)
    },
    owner: () => callNow()?.client,
    allowed,
  }
}
