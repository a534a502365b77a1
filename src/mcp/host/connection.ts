// One server through all of its lives: connected in the background or at the first call, listed, refreshed, reconnected
// with back-off, stopped when idle. Its last good list outlives every failure.
import { cleanText } from '../../lib/index.ts'
import {
  CallError,
  complaint,
  isAnswer,
  isUndelivered,
  SessionError,
  withLastWords,
} from '../protocol/index.ts'
import { createRedactor, redactEntries, redactLists, watchTokens } from '../redact/index.ts'
import type { Listed, ServerSession } from '../session/index.ts'
import type { QuestionHandler, ToolProblem } from '../types.ts'
import { type Connection, type ConnectionOptions, type ConnectionView, unseen } from './connection-types.ts'
import { readTools } from './definitions.ts'
import { watchHealth } from './health.ts'
import { createNotifications } from './notifications.ts'
import { withPacedProgress } from './progress.ts'
import { createQuestions } from './questions.ts'
import { createServerMemory, type Recalled } from './server-memory.ts'

/** A server that stays for so many times what was last waited for it has recovered; one that does not is flapping. */
const STEADY = 10
const LEGACY_IS_FRESH = 7 * 24 * 3_600_000
/** Requests that a client makes, and in which a server may ask it something back. */
const CALLS: ReadonlySet<string> = new Set(['prompts/get', 'resources/read', 'completion/complete'])

export function createConnection(options: ConnectionOptions): Connection {
  const { config, cache, limit, times } = options
  const redactor = createRedactor(config)
  const redact = redactor.text
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const shown = (text: string) => cleanText(redact(text))
  const questions = createQuestions({ config, otherwise: options.asker, shown, notify: options.notify })
  let view = unseen(config)
  const memory = createServerMemory({
    config,
    cache,
    clean: (entries) => redactEntries(entries, redactor),
    onChange(capability) {
      keep()
      options.onList(capability)
    },
  })
  let isWatching = false
  let priming: Promise<void> | undefined
  let session: ServerSession | undefined
  let connecting: Promise<ServerSession> | undefined
  let isKnownLegacy = false
  const closing = new AbortController()
  let isClosed = false
  let attempts = 0
  let connectedAt = 0
  let lastWait = 0
  let running = 0
  let idleTimer: ReturnType<typeof setTimeout> | undefined
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let stopping: Promise<void> | undefined

  const set = (change: Partial<ConnectionView>) => {
    view = { ...view, ...change }
    options.onState()
  }

  /** Runs later, unless closed before; never keeps the process alive. */
  const later = (task: () => unknown, milliseconds: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      task()
    }, milliseconds)
    timer.unref()
    timers.add(timer)
    return timer
  }

  /** Returns what can be kept for the next start. */
  async function setTools(
    { entries, isCut }: Pick<Listed, 'entries' | 'isCut'>,
    isCached: boolean,
  ): Promise<readonly unknown[]> {
    const { tools, problems, listed } = await readTools(entries, {
      config,
      clean: (entry) => redactEntries([entry], redactor)[0],
      mirrorsArguments: session?.mirrorsArguments,
    })
    view = { ...view, tools, problems: isCut ? [endless(entries.length), ...problems] : problems, isCached }
    await options.onTools()
    return listed
  }

  async function recall(): Promise<Recalled | undefined> {
    const recalled = await memory.recall()
    if (!recalled || isClosed) return undefined
    view = { ...view, isRemembered: true }
    if (session) return recalled
    isKnownLegacy = recalled.isLegacy && recalled.age < LEGACY_IS_FRESH
    const { info, capabilities, instructions } = recalled
    view = { ...view, info, capabilities, instructions }
    return recalled
  }

  function prime(): Promise<void> {
    priming ??= showCached()
    return priming
  }

  async function showCached(): Promise<void> {
    const cached = await recall()
    if (!cached || isClosed) return
    await setTools({ entries: cached.tools, isCut: false }, true)
    if (config.lazy) set({ state: 'idle' })
  }

  async function start(): Promise<void> {
    await prime()
    if (view.state === 'pending' && !isClosed) await connect(config.alwaysLoad === true).catch(() => {})
  }

  function connect(isUrgent: boolean): Promise<ServerSession> {
    connecting ??= limit(open, isUrgent)
      .catch((error: unknown) => {
        fail(shown((error as Error).message), error instanceof SessionError ? redact(error.stderr) : '')
        throw error
      })
      .finally(() => {
        connecting = undefined
      })
    return connecting
  }

  async function open(): Promise<ServerSession> {
    if (isClosed) throw new Error('the host was closed')
    // The protocol's machinery takes longer to load than a gateway may take to answer its first client.
    const { openServerSession } = await import('../session/session.ts')
    const startedAt = performance.now()
    let ended: string | undefined
    const opened: ServerSession = await openServerSession({
      config,
      clientInfo: options.clientInfo,
      capabilities: questions.allowed(options.capabilities()),
      isKnownLegacy,
      authorize: watchTokens(await options.authorize(), redactor),
      limits: options.limits,
      redact,
      signal: closing.signal,
      onNotification: (method, params) => notifications.hear(method, params, questions.owner()),
      onRequest: questions.answer,
      onEnd: (reason, stderr) => {
        ended = reason
        if (session === opened) end(redact(reason), redact(stderr))
      },
    })
    try {
      const listed = memory.isFreshFor(said(opened).info) ? undefined : await listTools(opened)
      if (isClosed || ended) throw new Error(ended ?? 'the host was closed')
      await adopt(opened, listed, Math.round(performance.now() - startedAt))
    } catch (error) {
      await opened.close()
      throw new SessionError((error as Error).message, opened.stderr(), error)
    }
    return opened
  }

  async function listTools(open: ServerSession): Promise<Listed> {
    if (!open.capabilities.tools) return { entries: [], isCut: false, ttlMs: undefined }
    return open.list('tools/list', 'tools', config.connectTimeout)
  }

  /** Without a list the last one is still good. */
  async function adopt(
    opened: ServerSession,
    listed: Listed | undefined,
    startMilliseconds: number,
  ): Promise<void> {
    session = opened
    isKnownLegacy = opened.isLegacy
    connectedAt = performance.now()
    const { protocol, pid } = opened
    view = { ...view, ...said(opened), protocol, pid, startMilliseconds, stderr: '' }
    if (listed) await show(listed)
    else {
      view = { ...view, isCached: false }
      await options.onTools()
    }
    if (session !== opened) return
    set({ state: 'connected', reason: undefined })
    keep()
    if (isWatching) void memory.lists.refresh(opened, 'connected')
    const isOver = () => session !== opened || isClosed
    watchHealth({
      session: opened,
      times,
      later,
      isBusy: () => running > 0,
      isOver,
      onSilence: () => {
        if (!isOver()) end('it no longer answers', redact(opened.stderr()))
      },
    })
    rest()
  }

  /** What a server says of itself, without secrets. */
  function said(from: ServerSession): Pick<ConnectionView, 'info' | 'capabilities' | 'instructions'> {
    const { info, capabilities, instructions } = from
    return {
      info: redactor.data(info),
      capabilities: redactor.data(capabilities) ?? {},
      instructions: typeof instructions === 'string' ? redact(instructions) : undefined,
    }
  }

  async function show(listed: Listed): Promise<void> {
    memory.setTools(await setTools(listed, false), view.info, listed.ttlMs)
  }

  /** For the next start. */
  function keep(): void {
    if (!session) return
    memory.keep({ ...said(session), isLegacy: session.isLegacy })
  }

  /** The connection is gone. A lazy server may rest; others are tried again. */
  function end(reason: string, stderr: string): void {
    session = undefined
    if (performance.now() - connectedAt > STEADY * lastWait) attempts = 0
    set({ pid: undefined, stderr })
    if (config.lazy) set({ state: 'idle', reason: withLastWords(reason, stderr) })
    else fail(reason, stderr)
  }

  function fail(reason: string, stderr: string): void {
    if (isClosed) return
    set({ state: 'failed', reason: withLastWords(reason, stderr), stderr })
    if (config.lazy && view.tools.length > 0) return
    lastWait = Math.min(times.longestRetry, times.firstRetry * 2 ** attempts++)
    clearTimeout(retryTimer)
    retryTimer = later(
      () => {
        if (!session && !connecting && !isClosed) connect(false).catch(() => {})
      },
      lastWait * (0.75 + Math.random() / 2),
    )
  }

  async function ready(): Promise<ServerSession> {
    if (isClosed) throw new Error(`the connection to "${config.name}" was closed`)
    if (config.disabled) throw new Error(`the server "${config.name}" is disabled in ${config.source}`)
    await stopping
    return session ?? connect(true)
  }

  /** Counts what runs, so that nothing in use is stopped. */
  async function use<Value>(
    asker: QuestionHandler | undefined,
    work: (open: ServerSession, asker: QuestionHandler | undefined) => Promise<Value>,
    isCall = true,
  ): Promise<Value> {
    running++
    clearTimeout(idleTimer)
    let open: ServerSession | undefined
    // Only now, when the server is ready, may it ask: neither its start nor its lists are part of a call.
    const attempt = (to: ServerSession) =>
      isCall
        ? questions.during(asker, isGivenUp, (own) => work(to, own))
        : work(to, undefined).catch((error: unknown) => {
            throw questions.review(error)
          })
    const isGivenUp = (error: unknown) => session !== undefined && !isAnswer(error)
    try {
      open = await ready()
      try {
        return await attempt(open)
      } catch (error) {
        if (!isUndelivered(error) || isClosed) throw error
        if (session === open) {
          session = undefined
          await open.close()
        }
        return await attempt(await ready())
      }
    } catch (error) {
      throw new CallError(complaintOf(error, open), redactor.error(error))
    } finally {
      running--
      rest()
    }
  }

  const complaintOf = (error: unknown, open: ServerSession | undefined) =>
    complaint(config.name, error, shown((error as Error).message), {
      isOpen: session !== undefined,
      wasOpen: open !== undefined,
      reason: view.reason,
    })

  /** After the last call of a lazy server, it stops. */
  function rest(): void {
    clearTimeout(idleTimer)
    if (!config.lazy || running > 0 || !session || isClosed) return
    idleTimer = later(() => {
      const open = session
      if (!open || running > 0) return
      session = undefined
      set({ state: 'idle', reason: undefined, pid: undefined })
      stopping = open.close().finally(() => {
        stopping = undefined
      })
    }, times.idle)
  }

  const notifications = createNotifications({
    refresh: times.refresh,
    later,
    relist(list) {
      if (list !== 'tools' && !isWatching) return false
      // The last good list stays when a refresh fails (H4).
      if (session && list === 'tools') refresh().catch(() => {})
      else if (session && list !== 'tools') void memory.lists.refresh(session, list)
      return true
    },
    deliver(method, params, client) {
      const heard = redactor.data(params)
      if (heard) options.onNotification(method, heard, client)
    },
  })

  async function refresh(): Promise<void> {
    const open = await ready()
    const listed = await listTools(open)
    if (session !== open) return
    await show(listed)
    keep()
  }

  /** Lists what the server has said is fresh no longer. One that rests is not woken for it. */
  async function freshen(): Promise<void> {
    if (!session) return
    await Promise.all([
      memory.isStale() ? refresh().catch(() => {}) : undefined,
      isWatching ? memory.lists.refresh(session, 'accessed') : undefined,
    ])
  }

  return {
    view: () => ({ ...view, ...memory.lists.known(), ...(session ? { stderr: session.stderr() } : {}) }),
    shownConfig: redactor.config,
    recall,
    prime,
    start,
    call: (tool, input, { timeout = config.callTimeout, asker: given, ...rest }) =>
      use(given, (open, asker) =>
        withPacedProgress(rest, redact, (paced) => {
          const listed = view.tools.find(({ name }) => name === tool)
          const who = asker ? { asker } : {}
          return open.call(tool, input, { ...paced, timeout, ...who, ...(listed ? { tool: listed } : {}) })
        }),
      ),
    request: (method, params, { timeout = config.callTimeout, asker: given, ...rest }) =>
      use(
        given,
        (open, asker) =>
          withPacedProgress(rest, redact, async (paced) => {
            const all = { ...paced, timeout, ...(asker ? { asker } : {}) }
            return redactLists(method, await open.request(method, params, all), redactor)
          }),
        CALLS.has(method),
      ),
    async notify(method) {
      await session?.notify(method)
    },
    refresh,
    freshen,
    watchLists() {
      isWatching = true
      if (session) void memory.lists.refresh(session, 'connected')
    },
    async close() {
      isClosed = true
      closing.abort(new Error('the host was closed'))
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      const open = session
      session = undefined
      await Promise.allSettled([open?.close(), stopping, connecting, memory.written()])
    },
  }
}

function endless(count: number): ToolProblem {
  const message = `its list does not end, or is too large; what came after the first ${count} was left out`
  return { tool: 'all', kind: 'limited', message }
}
