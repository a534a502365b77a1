// Decides which of a server's questions to forward: only during a call, only to the client that made it, under the
// server's name, as far as the configuration allows, and only a limited number.
// Implements H9.
import { cleanTexts, type Fields, oneLine } from '@toolshelf/core/internal'
import { type ClientCall, callContext } from '../protocol/protocol.ts'
import type { QuestionHandler, ServerConfig } from '../types.ts'
import { createBucket } from './notifications.ts'

type QuestionOptions = {
  readonly config: ServerConfig
  /** Answers `roots/list` outside of calls, and questions in a call that has no handler of its own. */
  readonly otherwise: QuestionHandler | undefined
  /** Makes a text safe to display and hides secrets in it. */
  readonly shown: (text: string) => string
  readonly notify: (message: string) => void
}

/** Kinds of questions to the user or to their model, by method; the configuration can deny each kind. */
const KINDS: { readonly [method: string]: 'elicitation' | 'sampling' } = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
}

const MAX_PER_CALL = 10
/** Most questions that a server may ask in a minute. */
const MAX_PER_MINUTE = 30
const MINUTE_MS = 60_000
const ROOTS_BURST = 200
const ROOTS_PER_SECOND = 5
/** Milliseconds in which a server may still ask about a call that was cancelled, or log about one that has ended. */
const LATE_MESSAGES_MS = 30_000
/** Most clients whose last call is remembered. */
const MAX_ENDS = 100

const URL_ELICITATION_REQUIRED = -32042

type OpenCall = ClientCall & {
  readonly owner: object
  /** Handlers of one client may answer for each other. */
  readonly client: object | undefined
  /** The position of its start among the starts and ends of all calls. */
  readonly order: number
  /** Answers what the server asks in this call. */
  readonly questionHandler: QuestionHandler | undefined
  asked: number
}

export class ServerQuestions {
  readonly #options: QuestionOptions
  readonly #limits: QuestionLimits
  readonly #mayAskRoots: () => boolean
  readonly #running = new Set<OpenCall>()
  /** Calls that ended without an answer: their server may still be working, and asking. */
  readonly #givenUp = new Set<OpenCall>()
  /** When the last call of each client ended, the latest last. */
  readonly #ends = new Map<object, { readonly order: number; readonly at: number }>()
  /** Counts beginnings and ends of calls. */
  #order = 0

  constructor(options: QuestionOptions) {
    const { config, notify } = options
    this.#options = options
    this.#limits = new QuestionLimits(config.name, notify)
    this.#mayAskRoots = createBucket(ROOTS_BURST, ROOTS_PER_SECOND / 1000, Date.now)
  }

  /** Runs a call; if nobody can answer questions in it, `work` gets no handler. */
  async during<Value>(
    questionHandler: QuestionHandler | undefined,
    isGivenUp: (error: unknown) => boolean,
    work: (questionHandler: QuestionHandler | undefined) => Promise<Value>,
  ): Promise<Value> {
    const call = this.#begin(questionHandler)
    try {
      return await callContext.run(call, () => work(call.questionHandler))
    } catch (error) {
      if (isGivenUp(error)) this.#giveUp(call)
      throw this.review(error, call)
    } finally {
      this.#running.delete(call)
      this.#noteEnd(call)
    }
  }

  /** Answers a question that arrives outside of a call's own exchange, as in the older protocol. */
  async answer(method: string, params: Fields, signal?: AbortSignal): Promise<Fields> {
    const { otherwise } = this.#options
    const call = this.#callNow()
    if (call?.questionHandler) return call.questionHandler.ask(method, params, signal)
    if (this.#isShared()) throw new Error('several clients are calling this server, so none can be asked')
    if (KINDS[method] !== undefined) throw new Error('questions are passed on only during a call')
    const [stranger] = this.#givenUp
    if (!otherwise || (stranger && stranger.client !== (otherwise.client ?? otherwise)))
      throw new Error('no client is there to ask')
    return this.#askRoots(otherwise, method, params, signal)
  }

  /** Returns the client whose call an arriving message belongs to; undefined outside of calls, and if it is ambiguous. */
  owner(): object | undefined {
    const call = this.#callNow()
    if (!call || callContext.getStore() === call) return call?.client
    // A local server does not say which call a message belongs to: it may belong to a call that ended during this one.
    for (const [client, { order, at }] of this.#ends)
      if (client !== call.client && order > call.order && Date.now() - at < LATE_MESSAGES_MS) return undefined
    return call.client
  }

  /**
   * Reviews an error that may send the user to pages (-32042), which are questions too. Returns the same error under the
   * server's name, without the pages if it is outside of a call; or a refusal.
   */
  review(error: unknown, call?: OpenCall): unknown {
    const { config, shown } = this.#options
    const { code, data } = error as { code?: unknown; data?: unknown }
    if (code !== URL_ELICITATION_REQUIRED) return error
    if (config.elicitation === 'deny')
      return new Error(`"${config.name}" asks to open a page: "elicitation" is "deny" in ${config.source}`)
    const mayAsk = (page: Fields) => {
      if (!call) return false
      try {
        this.#limits.count(call, JSON.stringify(page))
        return true
      } catch {
        return false
      }
    }
    const named = namedElicitations(config.name, data, shown, mayAsk)
    return Object.defineProperty(error as object, 'data', { value: named })
  }

  /** Returns the capabilities without those that this server may not use. */
  allowed(capabilities: Fields): Fields {
    const { config } = this.#options
    const denied = Object.values(KINDS).filter((kind) => config[kind] === 'deny')
    return Object.fromEntries(
      Object.entries(capabilities).filter(([name]) => !denied.some((one) => one === name)),
    )
  }

  #begin(handler: QuestionHandler | undefined): OpenCall {
    const source = handler ?? this.#options.otherwise
    const call: OpenCall = {
      owner: this,
      client: source && (source.client ?? source),
      order: ++this.#order,
      asked: 0,
      questionHandler: source && {
        ...(source.client ? { client: source.client } : {}),
        ...(source.capabilities ? { capabilities: this.allowed(source.capabilities) } : {}),
        ask: (...question) => this.#pass(call, source, ...question),
      },
      answered: () => void this.#givenUp.delete(call),
    }
    this.#running.add(call)
    return call
  }

  #noteEnd({ client }: OpenCall): void {
    if (!client) return
    this.#ends.delete(client)
    this.#ends.set(client, { order: ++this.#order, at: Date.now() })
    for (const [other, { at }] of this.#ends) {
      if (Date.now() - at < LATE_MESSAGES_MS && this.#ends.size <= MAX_ENDS) return
      this.#ends.delete(other)
    }
  }

  #giveUp(call: OpenCall): void {
    if (!call.client) return
    this.#givenUp.add(call)
    setTimeout(() => this.#givenUp.delete(call), LATE_MESSAGES_MS).unref()
  }

  /** Returns the call that a message responds to; else the call of the only client calling now. */
  #callNow(): OpenCall | undefined {
    const own = callContext.getStore() as OpenCall | undefined
    if (own?.owner === this) return this.#running.has(own) ? own : undefined
    const calls = [...this.#running].filter(({ client }) => client !== undefined)
    const clients = new Set([...calls, ...this.#givenUp].map(({ client }) => client))
    return clients.size === 1 ? calls[0] : undefined
  }

  #isShared(): boolean {
    return new Set([...this.#running, ...this.#givenUp].flatMap(({ client }) => client ?? [])).size > 1
  }

  /** Forwards a question if it is allowed. */
  async #pass(call: OpenCall, questionHandler: QuestionHandler, ...question: Question): Promise<Fields> {
    const [method, params, signal, key] = question
    const { config, shown } = this.#options
    const kind = KINDS[method]
    if (kind === undefined) return this.#askRoots(questionHandler, ...question)
    if (config[kind] === 'deny')
      throw new Error(`"${config.name}" may not use ${kind}: it is set to "deny" in ${config.source}`)
    const named = namedQuestion(config.name, method, params, shown)
    this.#limits.count(call)
    return questionHandler.ask(method, named, signal, key)
  }

  /** Forwards a request for roots. It needs no user interaction, but a flood would still reach the client. */
  #askRoots(questionHandler: QuestionHandler, ...question: Question): Promise<Fields> {
    if (!this.#mayAskRoots()) throw new Error('too many requests for roots; try again later')
    return questionHandler.ask(...question)
  }
}

type Question = Parameters<QuestionHandler['ask']>

/** Counts a server's questions, in each call and over the last minute. */
class QuestionLimits {
  readonly #server: string
  readonly #notify: (message: string) => void
  #recent: { readonly at: number; readonly page: string | undefined }[] = []
  #hasNoted = false

  constructor(server: string, notify: (message: string) => void) {
    this.#server = server
    this.#notify = notify
  }

  /**
   * Throws if the question is one too many.
   * @param page - The page of a question that only opens one: a repeated call may ask for the same page again.
   */
  count(call: Pick<OpenCall, 'asked'>, page?: string): void {
    const time = Date.now()
    this.#recent = this.#recent.filter(({ at }) => time - at < MINUTE_MS)
    const isRepeated = page !== undefined && this.#recent.some((one) => one.page === page)
    const limit =
      call.asked >= MAX_PER_CALL
        ? `${MAX_PER_CALL} questions in one call`
        : !isRepeated && this.#recent.length >= MAX_PER_MINUTE
          ? `${MAX_PER_MINUTE} questions in a minute`
          : undefined
    if (limit === undefined) {
      call.asked++
      if (!isRepeated) this.#recent.push({ at: time, page })
      return
    }
    if (!this.#hasNoted)
      this.#notify(`server "${this.#server}" asked more than ${limit}; the rest is refused.`)
    this.#hasNoted = true
    throw new Error(`no more than ${limit} of "${this.#server}" are passed on`)
  }
}

const MAX_MESSAGE_LENGTH = 20_000
const MAX_URL_LENGTH = 8000

/**
 * Rewrites a question so that it names the server and contains no hidden or misleading text. Throws if it cannot be shown
 * to the user safely.
 */
function namedQuestion(
  server: string,
  method: string,
  params: Fields,
  shown: (text: string) => string,
): Fields {
  if (method === 'sampling/createMessage') return namedSampling(server, params, shown)
  const { message, url, mode, requestedSchema } = params
  const isUrl = mode === 'url'
  const text = String(message ?? '')
  if (text.length > MAX_MESSAGE_LENGTH)
    throw new Error(`the question has ${text.length} characters; at most ${MAX_MESSAGE_LENGTH} can be shown`)
  const page = isUrl ? pageAt(server, url) : undefined
  const asks = page ? `asks you to open a page of ${page.host}` : 'asks'
  return {
    ...params,
    ...(page ? { url: page.href } : {}),
    message: `The MCP server "${oneLine(server, 60)}" ${asks}:\n${shown(text)}`,
    ...(requestedSchema === undefined ? {} : { requestedSchema: cleanTexts(requestedSchema) }),
  }
}

/**
 * Names the server in a sampling request, which clients show the user in full before a model gets it, and which the
 * model reads too.
 */
function namedSampling(server: string, params: Fields, shown: (text: string) => string): Fields {
  const { systemPrompt } = params
  const from = `This request comes from the MCP server "${oneLine(server, 60)}".`
  return {
    ...params,
    systemPrompt: typeof systemPrompt === 'string' ? `${from}\n\n${shown(systemPrompt)}` : from,
  }
}

/** Returns the URL that a browser would open, in normalised form. */
function pageAt(server: string, url: unknown): URL {
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  const isWeb = address?.protocol === 'https:' || address?.protocol === 'http:'
  if (address && isWeb && address.href.length <= MAX_URL_LENGTH) return address
  throw new Error(
    `"${server}" asks to open ${oneLine(String(url), 80)}; only http and https pages are passed on, of ${MAX_URL_LENGTH} characters at most`,
  )
}

/**
 * Returns the data of an error that sends the user to pages (-32042), under the server's name and without pages that
 * cannot be shown or may not be requested.
 */
function namedElicitations(
  server: string,
  data: unknown,
  shown: (text: string) => string,
  mayAsk: (page: Fields) => boolean,
): unknown {
  const { elicitations } = (data ?? {}) as Fields
  if (!Array.isArray(elicitations)) return data
  const named = elicitations.flatMap((one: Fields | null) => {
    try {
      const page = namedQuestion(server, 'elicitation/create', { ...one, mode: 'url' }, shown)
      return mayAsk(page) ? [page] : []
    } catch {
      return []
    }
  })
  return { ...(data as Fields), elicitations: named }
}
