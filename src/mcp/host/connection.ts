// One server through all of its lives: connected in the background or at the first call, listed, refreshed, reconnected
// with back-off, stopped when idle. Its last good list outlives every failure.
import type { AuthProvider } from '@modelcontextprotocol/client'
import type {
  Asker,
  CallOptions,
  CallOutput,
  ListedTool,
  ServerConfig,
  ServerState,
  ToolProblem,
} from '../types.ts'
import { createAskers } from './askers.ts'
import { CallError, isAnswer, isUndelivered } from './call-error.ts'
import type { CachedServer, DefinitionCache } from './definition-cache.ts'
import { readTools } from './definitions.ts'
import { watchHealth } from './health.ts'
import type { Limiter } from './limiter.ts'
import type { Listed } from './listing.ts'
import { createPace } from './pace.ts'
import { withLastWords } from './reasons.ts'
import { redactor, withoutSecrets } from './redact.ts'
import type { Fields, Session } from './session.ts'
import { SessionError } from './session-error.ts'
import type { StdioLimits } from './stdio.ts'
import type { Times } from './times.ts'

export type Connection = {
  readonly view: () => ConnectionView
  /** Takes what an earlier run learned of the server, but for its tools. */
  recall(): Promise<unknown>
  /** And its tools. */
  prime(): Promise<void>
  start(): Promise<void>
  call(tool: string, input: Fields | undefined, options: CallOptions): Promise<CallOutput>
  request(method: string, params: Fields | undefined, options: CallOptions): Promise<Fields>
  notify(method: string): Promise<void>
  refresh(): Promise<void>
  close(): Promise<void>
}

/** What is known of the server now. */
export type ConnectionView = {
  readonly state: ServerState
  readonly reason: string | undefined
  readonly tools: readonly ListedTool[]
  readonly problems: readonly ToolProblem[]
  readonly isCached: boolean
  readonly info: { readonly name: string; readonly version: string } | undefined
  readonly protocol: string | undefined
  readonly capabilities: Fields
  readonly instructions: string | undefined
  readonly startMilliseconds: number | undefined
  readonly pid: number | undefined
  readonly stderr: string
}

export type ConnectionOptions = {
  readonly config: ServerConfig
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly capabilities: () => Fields
  readonly cache: DefinitionCache | undefined
  readonly limit: Limiter
  readonly authorize: () => Promise<AuthProvider | undefined>
  readonly times: Times
  readonly limits: StdioLimits | undefined
  readonly asker: Asker | undefined
  readonly onState: () => void
  /** Resolves when the shelf has them. */
  readonly onTools: () => Promise<void>
  readonly onNotification: (method: string, params: Fields) => void
}

/** A server that stays for so many times what was last waited for it has recovered; one that does not is flapping. */
const STEADY = 10
const LEGACY_IS_FRESH = 7 * 24 * 3_600_000
const MOST_PROBLEMS = 200

export function createConnection(options: ConnectionOptions): Connection {
  const { config, cache, limit, times } = options
  const redact = redactor(config)
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const askers = createAskers(options.asker)
  let view: ConnectionView = {
    state: config.disabled ? 'disabled' : 'pending',
    reason: undefined,
    tools: [],
    problems: [],
    isCached: false,
    info: undefined,
    protocol: undefined,
    capabilities: {},
    instructions: undefined,
    startMilliseconds: undefined,
    pid: undefined,
    stderr: '',
  }
  let recalling: Promise<CachedServer | undefined> | undefined
  let priming: Promise<void> | undefined
  let session: Session | undefined
  let connecting: Promise<Session> | undefined
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
  let writing: Promise<unknown> = Promise.resolve()

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
  async function setTools({ entries, isCut }: Listed, isCached: boolean): Promise<readonly unknown[]> {
    const { tools, problems, listed } = readTools(entries, session?.mirrorsArguments)
    const all = isCut ? [endless(entries.length), ...problems] : problems
    view = { ...view, tools, problems: all.slice(0, MOST_PROBLEMS), isCached }
    await options.onTools()
    return listed
  }

  function recall(): Promise<CachedServer | undefined> {
    recalling ??= readCache()
    return recalling
  }

  async function readCache(): Promise<CachedServer | undefined> {
    const cached = config.disabled ? undefined : await cache?.read(config)
    if (!cached || isClosed) return undefined
    isKnownLegacy = cached.isLegacy && cached.age < LEGACY_IS_FRESH
    const { info, capabilities, instructions } = cached
    view = { ...view, info, capabilities, instructions }
    return cached
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

  function connect(isUrgent: boolean): Promise<Session> {
    connecting ??= limit(open, isUrgent)
      .catch((error: unknown) => {
        fail(redact((error as Error).message), error instanceof SessionError ? redact(error.stderr) : '')
        throw error
      })
      .finally(() => {
        connecting = undefined
      })
    return connecting
  }

  async function open(): Promise<Session> {
    if (isClosed) throw new Error('the host was closed')
    // The protocol's machinery takes longer to load than a gateway may take to answer its first client.
    const { openSession } = await import('./session.ts')
    const startedAt = performance.now()
    let ended: string | undefined
    const opened: Session = await openSession({
      config,
      clientInfo: options.clientInfo,
      capabilities: options.capabilities(),
      isKnownLegacy,
      authorize: await options.authorize(),
      limits: options.limits,
      signal: closing.signal,
      onNotification: hear,
      onRequest: askers.ask,
      onEnd: (reason, stderr) => {
        ended = reason
        if (session === opened) end(redact(reason), redact(stderr))
      },
    })
    try {
      const listed = opened.capabilities.tools
        ? await opened.list('tools/list', 'tools', config.connectTimeout)
        : { entries: [], isCut: false }
      if (isClosed || ended) throw new Error(ended ?? 'the host was closed')
      await adopt(opened, listed, Math.round(performance.now() - startedAt))
    } catch (error) {
      await opened.close()
      throw new SessionError((error as Error).message, opened.stderr(), error)
    }
    return opened
  }

  async function adopt(opened: Session, listed: Listed, startMilliseconds: number): Promise<void> {
    session = opened
    isKnownLegacy = opened.isLegacy
    connectedAt = performance.now()
    const { info, capabilities, instructions, protocol, pid } = opened
    view = { ...view, info, capabilities, instructions, protocol, pid, startMilliseconds, stderr: '' }
    const kept = await setTools(listed, false)
    if (session !== opened) return
    set({ state: 'connected', reason: undefined })
    remember(opened, kept)
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

  function remember(opened: Session, listed: readonly unknown[]): void {
    const { info, capabilities, instructions, isLegacy } = opened
    const server: CachedServer = { tools: listed, info, capabilities, instructions, isLegacy }
    writing = Promise.all([writing, cache?.write(config, server)])
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

  async function ready(): Promise<Session> {
    if (isClosed) throw new Error(`the connection to "${config.name}" was closed`)
    if (config.disabled) throw new Error(`the server "${config.name}" is disabled in ${config.source}`)
    await stopping
    return session ?? connect(true)
  }

  /** Counts what runs, so that nothing in use is stopped, and knows who may be asked on its behalf. */
  async function use<Value>(
    asker: Asker | undefined,
    work: (open: Session) => Promise<Value>,
  ): Promise<Value> {
    running++
    clearTimeout(idleTimer)
    const leave = askers.enter(asker)
    let isGivenUp = false
    let open: Session | undefined
    try {
      open = await ready()
      try {
        return await work(open)
      } catch (error) {
        if (!isUndelivered(error) || isClosed) throw error
        if (session === open) {
          session = undefined
          await open.close()
        }
        return await work(await ready())
      }
    } catch (error) {
      isGivenUp = session !== undefined && !isAnswer(error)
      throw new CallError(complaint(error, open), withoutSecrets(error, redact))
    } finally {
      running--
      leave(isGivenUp)
      rest()
    }
  }

  function complaint(error: unknown, open: Session | undefined): string {
    const message = redact((error as Error).message)
    // A pipe may break before its process is known to have ended.
    if (typeof (error as { code?: unknown }).code === 'string' && session)
      return `the server "${config.name}" cannot be reached: ${message}. Whether the call took effect is not known.`
    if (session || !view.reason) return message
    if (!open) return `the server "${config.name}" is not running: ${view.reason}`
    return `the server "${config.name}" ended during the call: ${view.reason}. Whether the call took effect is not known.`
  }

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

  function whoever(asker = options.asker) {
    return asker ? { asker } : {}
  }

  // The last good list stays when a refresh fails (H4).
  const refreshSoon = createPace(times.refresh, later, () => {
    if (session) refresh().catch(() => {})
  })

  function hear(method: string, params: Fields): void {
    if (method === 'notifications/tools/list_changed') refreshSoon()
    else options.onNotification(method, params)
  }

  async function refresh(): Promise<void> {
    const open = await ready()
    if (!open.capabilities.tools) return
    const listed = await open.list('tools/list', 'tools', config.connectTimeout)
    if (session !== open) return
    remember(open, await setTools(listed, false))
  }

  return {
    view: () => (session ? { ...view, stderr: redact(session.stderr()) } : view),
    recall,
    prime,
    start,
    call: (tool, input, { timeout = config.callTimeout, asker, ...rest }) =>
      use(asker, (open) => {
        const listed = view.tools.find(({ name }) => name === tool)
        return open.call(tool, input, {
          ...rest,
          timeout,
          ...whoever(asker),
          ...(listed ? { tool: listed } : {}),
        })
      }),
    request: (method, params, { timeout = config.callTimeout, asker, ...rest }) =>
      use(asker, (open) => open.request(method, params, { ...rest, timeout, ...whoever(asker) })),
    async notify(method) {
      await session?.notify(method)
    },
    refresh,
    async close() {
      isClosed = true
      closing.abort(new Error('the host was closed'))
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      const open = session
      session = undefined
      await Promise.allSettled([open?.close(), stopping, connecting, writing])
    },
  }
}

function endless(count: number): ToolProblem {
  const message = `its list does not end, or is too large; what came after the first ${count} was left out`
  return { tool: 'all', kind: 'dropped', message }
}
