// Manages the connection to one server: connects in the background or at the first call, lists its tools, retries with
// back-off, and stops a lazy server that is not used. `TRANSITIONS` is the table of states.
// Implements H2, H4, H6.
import { cleanText, type Fields, isFields } from '@toolshelf/core/internal'
import type { Limiter } from '@toolshelf/core/internal/node'
import type { DefinitionCache } from '../cache/definition-cache.ts'
import {
  CallError,
  type ConnectionFailure,
  failureMessage,
  isAnswer,
  isSilence,
  isUndelivered,
  type LoginHint,
  ourFailure,
  SessionError,
} from '../protocol/protocol.ts'
import { createRedactor, type Redactor } from '../redact.ts'
import type { Listed, ServerSession } from '../session/session.ts'
import type { StdioLimits } from '../session/stdio.ts'
import type { AuthProvider, CallOptions, QuestionHandler, ServerConfig } from '../types.ts'
import { createNotifications, type ListName, type Notifications, withPacedProgress } from './notifications.ts'
import { ServerQuestions } from './questions.ts'
import { type ConnectionView, createServerRecord, NO_FAILURE, type ServerRecord } from './server-record.ts'

export type ConnectionOptions = {
  readonly config: ServerConfig
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly capabilities: () => Fields
  readonly cache: DefinitionCache | undefined
  readonly limit: Limiter
  readonly authorize: () => Promise<AuthProvider | undefined>
  readonly loginHint?: LoginHint | undefined
  readonly times: HostTimeouts
  readonly limits: StdioLimits | undefined
  readonly questionHandler: QuestionHandler | undefined
  readonly onState: () => void
  /** Resolves when the tools are on the shelf. */
  readonly onTools: () => Promise<void>
  /** `client`: the client whose call it belongs to; undefined outside of calls, and if it is ambiguous. */
  readonly onNotification: (method: string, params: Fields, client: object | undefined) => void
  readonly notify: (message: string) => void
  /** Called when prompts, resources or resource templates have changed. */
  readonly onList: (list: 'prompts' | 'resources') => void
}

/** Requests, besides tool calls, during which a server may ask its client questions. */
const CALLS: ReadonlySet<string> = new Set(['prompts/get', 'resources/read', 'completion/complete'])

/** Characters of JSON; longer notifications are dropped. */
const MAX_NOTIFICATION = 1_000_000

/** The connection to one server, across its sessions. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #config: ServerConfig
  readonly #redactor: Redactor
  readonly #record: ServerRecord
  readonly #questions: ServerQuestions
  readonly #notifications: Notifications
  readonly #backoff: Backoff
  readonly #lifecycle = createLifecycle()
  readonly #timers = createTimers()
  #priming: Promise<void> | undefined
  #isWatchingLists = false
  /** Calls and requests in flight: a server in use is not stopped. */
  #inFlight = 0

  constructor(options: ConnectionOptions) {
    const { config, times, questionHandler, notify } = options
    this.#options = options
    this.#config = config
    this.#redactor = createRedactor(config)
    this.#backoff = createBackoff(times.firstRetryMs, times.maxRetryMs)
    this.#record = createServerRecord({
      ...options,
      redactor: this.#redactor,
      lifecycle: this.#lifecycle,
      clientCapabilities: this.#clientCapabilities,
    })
    this.#questions = new ServerQuestions({
      config,
      otherwise: questionHandler,
      shown: this.#printable,
      notify,
    })
    this.#notifications = createNotifications({
      refreshMs: times.refreshMs,
      later: this.#timers.start,
      relist: (list) => this.#relist(list),
      deliver: (method, params, client) => {
        if (JSON.stringify(params).length <= MAX_NOTIFICATION)
          options.onNotification(method, this.#redactor.data(params), client)
      },
    })
  }

  view(): ConnectionView {
    const stderr = this.#session?.stderr()
    return { ...this.#record.view(), ...(stderr === undefined ? {} : { stderr }) }
  }

  /** Returns the configuration without its secrets. */
  shownConfig(): ServerConfig {
    return this.#redactor.config()
  }

  /** Reads what an earlier run stored about the server, except its tools. */
  readCache(): Promise<unknown> {
    return this.#record.readCache()
  }

  /** Like `readCache`, and shows the stored tools. */
  publishCachedTools(): Promise<void> {
    this.#priming ??= this.#showCached()
    return this.#priming
  }

  async start(): Promise<void> {
    await this.publishCachedTools()
    if (this.#record.view().state !== 'pending' || this.#lifecycle.isClosed()) return
    if (this.#config.blocked !== undefined)
      return this.#record.fail('failed', ourFailure(this.#printable(this.#config.blocked)), '')
    await this.#connect(this.#config.alwaysLoad === true).catch(() => {})
  }

  /** Connects now, unless it is connected. Rejects with the reason of a failure. */
  async connect(): Promise<void> {
    try {
      await this.#ready()
    } catch (error) {
      const { reason } = this.#record.view()
      throw new CallError(this.#explain(error, undefined, reason), this.#redactor.error(error))
    }
  }

  /** Ends the session; the next call begins another. */
  async disconnect(): Promise<void> {
    this.#timers.cancel('retry')
    if (this.#session) await this.#stop(this.#session)
  }

  call(tool: string, input: Fields | undefined, options: CallOptions) {
    const { timeoutMs = this.#config.callTimeoutMs, questionHandler: handler, ...rest } = options
    return this.#use(handler, (session, questionHandler) =>
      withPacedProgress(rest, this.#redactor.text, (paced) => {
        const listed = this.#record.view().tools.find(({ name }) => name === tool)
        const optional = {
          ...(questionHandler ? { questionHandler } : {}),
          ...(listed ? { tool: listed } : {}),
        }
        return session.call(tool, input, { ...paced, timeoutMs, ...optional })
      }),
    )
  }

  request(method: string, params: Fields | undefined, options: CallOptions) {
    const { timeoutMs = this.#config.callTimeoutMs, questionHandler: handler, ...rest } = options
    return this.#use(
      handler,
      (session, questionHandler) =>
        withPacedProgress(rest, this.#redactor.text, async (paced) => {
          const all = { ...paced, timeoutMs, ...(questionHandler ? { questionHandler } : {}) }
          const result = await session.request(method, params, all)
          // What a server answers to anything but a list is its own word.
          return method.endsWith('/list') ? this.#redactor.list(result) : result
        }),
      CALLS.has(method),
    )
  }

  async notify(method: string): Promise<void> {
    await this.#session?.notify(method)
  }

  async refresh(): Promise<void> {
    const session = await this.#ready()
    const listed = await this.#listTools(session)
    if (this.#session !== session) return
    await this.#record.setTools(listed)
    this.#record.save()
  }

  /** Does not start a server that is idle. */
  async refreshStaleLists(): Promise<void> {
    const session = this.#session
    if (!session) return
    const { memory } = this.#record
    await Promise.all([
      memory.isStale() ? this.refresh().catch(() => {}) : undefined,
      this.#isWatchingLists ? memory.lists.refresh(session, 'accessed') : undefined,
    ])
  }

  /** From now on, lists prompts and resources too. */
  watchLists(): void {
    this.#isWatchingLists = true
    if (this.#session) void this.#record.memory.lists.refresh(this.#session, 'connected')
  }

  async close(): Promise<void> {
    const phase = this.#lifecycle.phase()
    this.#lifecycle.apply({ type: 'close' })
    this.#timers.clear()
    await Promise.allSettled([
      'session' in phase ? phase.session.close() : undefined,
      'stopping' in phase ? phase.stopping : undefined,
      'opening' in phase ? phase.opening : undefined,
      this.#record.memory.written(),
    ])
  }

  get #session(): ServerSession | undefined {
    return this.#lifecycle.session()
  }

  /** Hides secrets and characters that could control a terminal. */
  readonly #printable = (text: string) => this.#redactor.text(cleanText(text))

  /** What the server is told that its client can do: nothing before the client is known. */
  readonly #clientCapabilities = () => this.#questions.allowed(this.#options.capabilities())

  async #showCached(): Promise<void> {
    const cached = await this.#record.readCache()
    if (!cached || this.#lifecycle.isClosed()) return
    // To a client that can do less, the server may list less.
    if (!covers(this.#clientCapabilities(), cached.clientCapabilities)) {
      this.#priming = undefined
      return
    }
    await this.#record.showCachedTools(cached)
    if (this.#config.lazy) this.#record.report({ state: 'idle' })
  }

  #watched(provider: AuthProvider | undefined): AuthProvider | undefined {
    const token = async () => {
      const found = await provider?.token()
      if (found !== undefined) this.#redactor.add(found)
      return found
    }
    const onUnauthorized = provider?.onUnauthorized?.bind(provider)
    return provider && { token, ...(onUnauthorized ? { onUnauthorized } : {}) }
  }

  /** Joins the attempt in progress, or starts one. */
  #connect(isUrgent: boolean): Promise<ServerSession> {
    const phase = this.#lifecycle.phase()
    if ('opening' in phase) return phase.opening
    const opening: Promise<ServerSession> = this.#options
      .limit(() => this.#open(), isUrgent)
      .catch((error: unknown) => {
        const current = this.#lifecycle.phase()
        const { stderr = '', category = 'failed to start' } = error as Partial<SessionError>
        const failure = { reason: this.#printable((error as Error).message), category }
        if ('opening' in current && current.opening === opening)
          this.#fail(failure, this.#redactor.text(stderr))
        throw error
      })
    this.#lifecycle.apply({ type: 'connect', opening })
    return opening
  }

  async #open(): Promise<ServerSession> {
    if (this.#lifecycle.isClosed()) throw new Error('the host was closed')
    const { clientInfo, limits, authorize, loginHint } = this.#options
    // Imported here because loading the MCP SDK takes longer than a gateway may take to answer its first client.
    const { openServerSession } = await import('../session/session.ts')
    const startedAt = performance.now()
    let ended: string | undefined
    const session: ServerSession = await openServerSession({
      config: this.#config,
      clientInfo,
      capabilities: this.#clientCapabilities(),
      isKnownLegacy: this.#record.isKnownLegacy(),
      authProvider: this.#watched(await authorize()),
      loginHint,
      limits,
      redact: this.#redactor.text,
      signal: this.#lifecycle.signal,
      onNotification: (method, params) => this.#notifications.hear(method, params, this.#questions.owner()),
      onRequest: (...question) => this.#questions.answer(...question),
      onEnd: (reason, stderr) => {
        ended = reason
        this.#end(session, reason, stderr)
      },
    })
    try {
      const listed = this.#record.hasFreshTools(session) ? undefined : await this.#listTools(session)
      if (this.#lifecycle.isClosed() || ended) throw new Error(ended ?? 'the host was closed')
      await this.#adopt(session, listed, Math.round(performance.now() - startedAt))
    } catch (error) {
      await session.close()
      const failure = { reason: (error as Error).message, category: 'did not list its tools' }
      throw new SessionError(failure, { stderr: session.stderr(), cause: error })
    }
    return session
  }

  async #listTools(session: ServerSession): Promise<Listed> {
    if (!session.capabilities.tools) return { entries: [], isCut: false, ttlMs: undefined }
    return session.list('tools/list', 'tools', this.#config.connectTimeoutMs)
  }

  async #adopt(session: ServerSession, listed: Listed | undefined, startMilliseconds: number): Promise<void> {
    this.#lifecycle.apply({ type: 'opened', session })
    this.#backoff.connected()
    this.#record.describe(session, startMilliseconds)
    await this.#record.setTools(listed)
    if (this.#session !== session) return
    this.#record.report({ state: 'connected', ...NO_FAILURE })
    this.#record.save()
    if (this.#isWatchingLists) void this.#record.memory.lists.refresh(session, 'connected')
    this.#watchHealth(session)
    this.#scheduleStop()
  }

  /** Pings an unused server regularly until the session is over. Only in the older protocol: the newer one has no ping. */
  #watchHealth(session: ServerSession, misses = 0): void {
    if (!session.isLegacy) return
    const { healthIntervalMs, pingTimeoutMs } = this.#options.times
    const look = async () => {
      if (this.#session !== session) return
      // The timeout of a running call detects a dead server itself.
      const missed = this.#inFlight > 0 ? misses : (await answers(session, pingTimeoutMs)) ? 0 : misses + 1
      if (this.#session !== session) return
      if (missed < MAX_MISSES) return this.#watchHealth(session, missed)
      await session.close()
      this.#end(session, 'it no longer answers', session.stderr())
    }
    this.#timers.start(look, healthIntervalMs)
  }

  /** Handles the end of the session in use: a lazy server waits for the next call, others are reconnected. */
  #end(session: ServerSession, message: string, output: string): void {
    if (this.#session !== session) return
    const [reason, stderr] = [this.#redactor.text(message), this.#redactor.text(output)]
    this.#backoff.disconnected()
    this.#record.update({ pid: undefined })
    if (!this.#config.lazy) this.#fail(ourFailure(reason), stderr)
    else if (this.#lifecycle.apply({ type: 'stopped' })) this.#record.fail('idle', ourFailure(reason), stderr)
  }

  /** Retries later, except a lazy server whose tools are known: the next call connects to it. */
  #fail(failure: ConnectionFailure, stderr: string): void {
    if (!this.#lifecycle.apply({ type: 'failed' })) return
    this.#record.fail('failed', failure, stderr)
    if (this.#config.lazy && this.#record.view().tools.length > 0) return
    const retry = () => {
      if (this.#lifecycle.phase().state === 'failed') this.#connect(false).catch(() => {})
    }
    this.#timers.start(retry, this.#backoff.nextDelay(), 'retry')
  }

  /** Returns the session in use, or connects. */
  async #ready(): Promise<ServerSession> {
    const { name, source, disabled, blocked } = this.#config
    const phase = this.#lifecycle.phase()
    if (phase.state === 'closed') throw new Error(`the connection to "${name}" was closed`)
    if (disabled) throw new Error(`the server "${name}" is disabled in ${source}`)
    if (blocked !== undefined) throw new Error(blocked)
    if (phase.state === 'idle') await phase.stopping
    return this.#session ?? this.#connect(true)
  }

  async #use<Value>(
    handler: QuestionHandler | undefined,
    work: (session: ServerSession, questionHandler: QuestionHandler | undefined) => Promise<Value>,
    isCall = true,
  ): Promise<Value> {
    this.#inFlight++
    this.#timers.cancel('idle')
    let session: ServerSession | undefined
    // A server may ask questions only from here on, because neither its start nor its lists are part of a call.
    const attempt = (target: ServerSession) =>
      isCall
        ? this.#questions.during(handler, isGivenUp, (questionHandler) => work(target, questionHandler))
        : work(target, undefined).catch((error: unknown) => {
            throw this.#questions.review(error)
          })
    const isGivenUp = (error: unknown) => this.#session !== undefined && !isAnswer(error)
    try {
      session = await this.#ready()
      try {
        return await attempt(session)
      } catch (error) {
        if (!isUndelivered(error) || this.#lifecycle.isClosed()) throw error
        if (this.#session === session) void this.#stop(session)
        return await attempt(await this.#ready())
      }
    } catch (error) {
      throw new CallError(this.#explain(error, session), this.#redactor.error(error))
    } finally {
      this.#inFlight--
      this.#scheduleStop()
    }
  }

  #explain(error: unknown, session: ServerSession | undefined, why = this.#record.view().category): string {
    const state = { isOpen: this.#session !== undefined, wasOpen: session !== undefined, category: why }
    return failureMessage(this.#config.name, error, this.#printable((error as Error).message), state)
  }

  /** Closes the session in use; the next call opens another. */
  #stop(session: ServerSession): Promise<void> {
    // Closes only after the transition, so that its end does not count as a failure.
    const stopping = Promise.resolve().then(() => session.close())
    this.#lifecycle.apply({ type: 'stopped', stopping })
    this.#record.report({ state: 'idle', ...NO_FAILURE, pid: undefined })
    return stopping
  }

  /** Stops a lazy server when it has not been used for `times.idleMs`. */
  #scheduleStop(): void {
    this.#timers.cancel('idle')
    if (!this.#config.lazy || this.#inFlight > 0 || !this.#session) return
    const stop = () => {
      if (this.#session && this.#inFlight === 0) void this.#stop(this.#session)
    }
    this.#timers.start(stop, this.#options.times.idleMs, 'idle')
  }

  /** Refreshes a list that the server reports as changed; returns false for a list that nobody watches. */
  #relist(list: ListName): boolean {
    if (list !== 'tools' && !this.#isWatchingLists) return false
    const session = this.#session
    // The last good list stays when a refresh fails (H4).
    if (session && list === 'tools') this.refresh().catch(() => {})
    else if (session && list !== 'tools') void this.#record.memory.lists.refresh(session, list)
    return true
  }
}

/** Returns whether a client can do everything that another could. */
function covers(all: unknown, some: unknown): boolean {
  if (!isFields(some)) return true
  return isFields(all) && Object.entries(some).every(([name, part]) => covers(all[name], part))
}

/** The state of a connection, with its session. */
type ConnectionPhase =
  /** No session. `stopping` resolves when the previous one has closed. */
  | { readonly state: 'idle'; readonly stopping?: Promise<void> }
  | { readonly state: 'connecting'; readonly opening: Promise<ServerSession> }
  | { readonly state: 'ready'; readonly opening: Promise<ServerSession>; readonly session: ServerSession }
  | { readonly state: 'failed' }
  | { readonly state: 'closed' }

type ConnectionTransition =
  | { readonly type: 'connect'; readonly opening: Promise<ServerSession> }
  | { readonly type: 'opened'; readonly session: ServerSession }
  /** The attempt has failed, or the session has ended and must be replaced. */
  | { readonly type: 'failed' }
  /** The session has ended or is being closed, and the next call opens another. */
  | { readonly type: 'stopped'; readonly stopping?: Promise<void> }
  /** The host no longer needs the server. */
  | { readonly type: 'close' }

type State = ConnectionPhase['state']

const TRANSITIONS: {
  readonly [from in State]: { readonly [transition in ConnectionTransition['type']]?: State }
} = {
  idle: { connect: 'connecting', close: 'closed' },
  connecting: { opened: 'ready', failed: 'failed', close: 'closed' },
  ready: { stopped: 'idle', failed: 'failed', close: 'closed' },
  failed: { connect: 'connecting', close: 'closed' },
  closed: {},
}

/** The current state of a connection. */
export type Lifecycle = ReturnType<typeof createLifecycle>

/** Creates a lifecycle in the state `idle`. */
function createLifecycle() {
  const closing = new AbortController()
  let phase = { state: 'idle' } as ConnectionPhase
  return {
    phase: () => phase,
    /** Returns the session in use; undefined in every state but `ready`. */
    session: () => (phase.state === 'ready' ? phase.session : undefined),
    isClosed: () => phase.state === 'closed',
    /** Aborted once the connection is closed. */
    signal: closing.signal as AbortSignal,
    /** Changes the state; returns false, and changes nothing, if the table has no such transition. */
    apply({ type, ...data }: ConnectionTransition) {
      const state = TRANSITIONS[phase.state][type]
      if (state === undefined) return false
      const opening = 'opening' in phase && state === 'ready' ? { opening: phase.opening } : {}
      phase = { state, ...opening, ...data } as ConnectionPhase
      if (state === 'closed') closing.abort(new Error('the host was closed'))
      return true
    },
  }
}

const MAX_MISSES = 2

/** Returns whether a server answers at all; its refusal is an answer. */
function answers(session: ServerSession, timeoutMs: number): Promise<boolean> {
  return session.request('ping', undefined, { timeoutMs }).then(
    () => true,
    (error: unknown) => !isSilence(error),
  )
}

/** Timeouts and intervals of a host, in milliseconds. */
export const defaultTimeouts = {
  /** Delay of the first retry; doubles with each failure, up to `maxRetryMs`. */
  firstRetryMs: 1000,
  /** Longest delay between two retries. */
  maxRetryMs: 300_000,
  /** Time without calls after which a lazy server is stopped. */
  idleMs: 300_000,
  /** Interval between health checks of an inactive server. */
  healthIntervalMs: 60_000,
  /** Timeout of a health check. */
  pingTimeoutMs: 10_000,
  /** Time after which a server that is still starting no longer delays the next one. */
  startSlotMs: 2000,
  /** Shortest interval between two refreshes of a list that keeps changing. */
  refreshMs: 500,
  /** Interval between checks whether a definition held back has been accepted. */
  pinRecheckMs: 2000,
  /** How long to wait for the running calls of a server that was removed. */
  drainMs: 60_000,
}

export type HostTimeouts = Readonly<typeof defaultTimeouts>

function createTimers() {
  const timers = new Map<unknown, ReturnType<typeof setTimeout>>()
  const cancel = (key: unknown) => {
    clearTimeout(timers.get(key))
    timers.delete(key)
  }
  return {
    /** Runs the task once, unless `clear` is called first. A later timer of the same name replaces an earlier one. */
    start(task: () => unknown, milliseconds: number, name?: string) {
      const key = name ?? {}
      cancel(key)
      const timer = setTimeout(() => {
        timers.delete(key)
        task()
      }, milliseconds)
      timer.unref()
      timers.set(key, timer)
    },
    cancel,
    clear() {
      for (const key of timers.keys()) cancel(key)
    },
  }
}

/** A connection that lasts this many times the previous delay counts as recovered; a shorter one as flapping. */
const RECOVERED_AFTER_DELAYS = 10

/** Delays between attempts to connect. */
type Backoff = ReturnType<typeof createBackoff>

/** Creates delays from `firstMs` to `maxMs` milliseconds. */
function createBackoff(firstMs: number, maxMs: number) {
  let failures = 0
  let delay = 0
  let connectedAt = 0
  return {
    /** Returns the milliseconds to wait before the next attempt: doubles with each failure, with 25 % jitter. */
    nextDelay() {
      delay = Math.min(maxMs, firstMs * 2 ** failures++)
      return delay * (0.75 + Math.random() / 2)
    },
    connected() {
      connectedAt = performance.now()
    },
    /** Starts over with the shortest delay if the connection lasted long enough. */
    disconnected() {
      if (performance.now() - connectedAt > RECOVERED_AFTER_DELAYS * delay) failures = 0
    },
  }
}
