// Implements one session with a server: opens it, lists, sends requests within their time, refuses what is not asked for, closes
// it. Does not validate responses strictly, because one malformed field must not lose the rest.
// Implements H1, H4, H6, H9.
import {
  CLIENT_CAPABILITIES_META_KEY,
  Client,
  type ClientCapabilities,
  InsufficientScopeError,
  LOG_LEVEL_META_KEY,
  type McpSubscription,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { dropOldest, type Fields, fieldsOf, isFields, toJson } from '@toolshelf/core/internal'
import { createYieldBySize, seconds, withTimeout } from '@toolshelf/core/internal/node'
import {
  type ClientCall,
  connectionFailure,
  currentCall,
  isSilence,
  LateServer,
  type LoginHint,
  missingRights,
  PROCESS_ENDED_PREFIX,
  passableMeta,
  SessionError,
  SilenceError,
  withPassableMeta,
} from '../protocol/protocol.ts'
import type {
  AuthProvider,
  CallOptions,
  CallOutput,
  ListedTool,
  QuestionHandler,
  RemoteConfig,
  ServerConfig,
} from '../types.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { createBudget, type StdioLimits, StdioTransport, stdioLimits } from './stdio.ts'

export type ServerSession = ReturnType<typeof describeServer> & {
  /** Reads all pages of a list, up to a limit. */
  list(method: string, field: string, timeoutMs: number): Promise<Listed>
  call(name: string, input: Fields | undefined, options: SessionCallOptions): Promise<CallOutput>
  request(method: string, params: Fields | undefined, options: SessionCallOptions): Promise<Fields>
  /** Sends a notification, such as that the roots have changed; does nothing in the newer protocol, which has none. */
  notify(method: string): Promise<void>
  close(): Promise<void>
}

type SessionCallOptions = CallOptions & {
  readonly timeoutMs: number
  /** The tool as listed: a modern server over HTTP may require some arguments as headers. */
  readonly tool?: ListedTool
}

export type ServerSessionOptions = {
  readonly config: ServerConfig
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly capabilities: Fields
  readonly isKnownLegacy: boolean
  readonly authProvider: AuthProvider | undefined
  readonly loginHint?: LoginHint | undefined
  readonly limits: StdioLimits | undefined
  /** Hides secrets in what the process writes to stderr. */
  readonly redact: (text: string) => string
  /** Closes the transport when aborted, during connecting or later. */
  readonly signal: AbortSignal
  readonly onNotification: (method: string, params: Fields) => void
  /** Called for a request of the server: elicitation, sampling, roots. */
  readonly onRequest: (method: string, params: Fields, signal: AbortSignal) => Promise<Fields>
  /** Called when an open session ends without `close()`. */
  readonly onEnd: (reason: string, stderr: string) => void
}

/** Opens a session; rejects with a `SessionError` if that fails. */
export async function openServerSession(options: ServerSessionOptions): Promise<ServerSession> {
  const { config, isKnownLegacy } = options
  const deadline = Date.now() + config.connectTimeoutMs
  const { transport } = config
  if (transport.kind === 'stdio') {
    const open = (isLegacy: boolean) =>
      connect(options, new StdioTransport(transport, options.limits, options.redact), deadline, isLegacy)
    if (isKnownLegacy) return open(true)
    // Some servers exit at an unknown request; with the older protocol they stay.
    return open(false).catch((error: unknown) => {
      const hasEnded = error instanceof SessionError && error.hasEnded
      if (!hasEnded || options.signal.aborted) throw error
      return open(true)
    })
  }
  const openSse = () =>
    connect(options, new SSEClientTransport(...remote(transport, options)), deadline, true)
  if (transport.kind === 'sse') return openSse()
  const streamable = new StreamableHTTPClientTransport(...remote(transport, options))
  return connect(options, streamable, deadline, isKnownLegacy).catch((error) => {
    if (transport.kind !== 'auto' || !isRefusedByHttp(error)) throw error
    return openSse()
  })
}

function remote(
  { url, headers }: RemoteConfig,
  { authProvider, limits = stdioLimits }: ServerSessionOptions,
) {
  const fetch = boundedFetch(limits.maxMessageBytes)
  const options = {
    requestInit: { headers: { ...headers } },
    fetch,
    ...(authProvider ? { authProvider } : {}),
  }
  return [addressOf(url), options] as const
}

function addressOf(url: string): URL {
  if (!URL.canParse(url))
    throw new Error(
      `its "url" ${JSON.stringify(url)} is not a URL; include the scheme, e.g. https://host/path`,
    )
  return new URL(url)
}

/** Returns whether the error is an HTTP status with which servers that speak only SSE refuse a streamable HTTP request. */
function isRefusedByHttp(error: unknown): boolean {
  const cause = error instanceof SessionError ? error.cause : error
  return cause instanceof SdkHttpError && [400, 404, 405, 406, 415].includes(cause.status ?? 0)
}

/** Milliseconds to probe a process for the newer protocol; at most a third of the connect timeout. */
const MAX_PROBE_MS = 10_000

async function connect(
  options: ServerSessionOptions,
  transport: Transport,
  deadline: number,
  isLegacy: boolean,
): Promise<ServerSession> {
  const { config } = options
  const child = 'ending' in transport ? (transport as StdioTransport) : undefined
  const left = Math.max(1, deadline - Date.now())
  const timeouts = createTimeouts()
  let stopped: string | undefined
  const refusals = createRefusals((why) => {
    stopped = `disconnected: ${why}`
    if (child) child.stop(why)
    else void transport.close().catch(() => {})
  })
  const onRequest: ServerSessionOptions['onRequest'] = (method, params, signal) =>
    timeouts.during(() => refusals.during(() => options.onRequest(method, params, signal), signal))
  const client = newClient({ ...options, onRequest }, child ? Math.min(MAX_PROBE_MS, left / 3) : left)
  watch(transport, refusals.count, () => client.getProtocolEra() === 'modern')
  let isOpen = false
  let isClosing = false
  client.onclose = () => {
    if (!isOpen || isClosing) return
    options.onEnd(
      child ? `${PROCESS_ENDED_PREFIX}${child.ending() ?? 'ended'}` : (stopped ?? 'it closed the connection'),
      child?.tail() ?? '',
    )
  }
  const opening = client.connect(transport, {
    timeout: left,
    ...(isLegacy ? { prior: { kind: 'legacy' as const } } : {}),
  })
  opening.catch(() => {})
  const stop = () => void transport.close().catch(() => {})
  options.signal.addEventListener('abort', stop, { once: true })
  try {
    options.signal.throwIfAborted()
    const late = `it did not answer within ${seconds(config.connectTimeoutMs)}`
    await withTimeout(opening, left, () => new LateServer(late))
  } catch (error) {
    options.signal.removeEventListener('abort', stop)
    await transport.close().catch(() => {})
    const ending = error instanceof LateServer ? undefined : child?.ending()
    const details = { stderr: child?.tail() ?? '', ending, cause: error }
    throw new SessionError(connectionFailure(error, ending, config, options.loginHint), details)
  }
  isOpen = true
  void listenForChanges(client)
  return {
    ...describeServer(client, child),
    ...createRequests(client, timeouts, options, child),
    async close() {
      isClosing = true
      options.signal.removeEventListener('abort', stop)
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
    },
  }
}

/** @param probeTimeoutMs - Milliseconds to wait for an answer to the probe for the newer protocol. */
function newClient(options: ServerSessionOptions, probeTimeoutMs: number): Client {
  const client = new Client(options.clientInfo, {
    capabilities: options.capabilities as ClientCapabilities,
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeTimeoutMs } },
  })
  client.onerror = () => {}
  answerServer(client, options)
  return client
}

/** Returns what a server says about itself once it is connected. */
function describeServer(client: Client, child: StdioTransport | undefined) {
  return {
    info: client.getServerVersion() as { readonly name: string; readonly version: string } | undefined,
    capabilities: (client.getServerCapabilities() ?? {}) as Fields,
    instructions: client.getInstructions(),
    protocol: client.getNegotiatedProtocolVersion(),
    isLegacy: client.getProtocolEra() === 'legacy',
    /** Whether the server may require some arguments as HTTP headers too, because it speaks the newer protocol over HTTP. */
    mirrorsArguments: client.getProtocolEra() === 'modern' && !child,
    pid: child?.pid ?? undefined,
    /** Returns the last lines that the process wrote to stderr; empty for a remote server. */
    stderr: () => child?.tail() ?? '',
  }
}

/** Creates the requests to a connected server. */
function createRequests(
  client: Client,
  timeouts: Timeouts,
  options: Pick<ServerSessionOptions, 'config' | 'loginHint'>,
  child: StdioTransport | undefined,
): Pick<ServerSession, 'list' | 'call' | 'request' | 'notify'> {
  const modern = client.getProtocolEra() === 'modern' ? createModern(client) : undefined
  const explain = (cause: unknown): never => {
    throw explained(cause, options, child?.ending())
  }
  const sendOnce = (method: string, params: Fields | undefined, options: SessionCallOptions) =>
    timeouts
      .limit(options, (limited) =>
        client.request({ method, ...(params ? { params } : {}) }, anything, limited),
      )
      .then(wholeResult, explain)
  const send: typeof sendOnce = (method, params, options) =>
    modern?.instead(method, params ?? {}) ??
    modern?.inRounds((added) => sendOnce(method, { ...params, ...added }, options), options) ??
    sendOnce(method, withMeta(params, options), options)

  return {
    list: (method, field, timeoutMs) =>
      listPages((params) => send(method, params, { timeoutMs }), field, timeoutMs),
    async call(name, input, options) {
      const params = { name, arguments: { ...input } }
      if (!options.tool || !modern || child) return readOutput(await send('tools/call', params, options))
      const { outputSchema: _, ...toolDefinition } = options.tool as Parameters<Client['callTool']>[1] &
        ListedTool
      const call = (added: Fields) =>
        timeouts
          .limit(options, (limited) =>
            // The definition is the server's own, of which the SDK reads only the schema.
            client.callTool({ ...params, ...added }, { ...limited, toolDefinition } as never),
          )
          .then(wholeResult, explain)
      return readOutput(await modern.inRounds(call, options))
    },
    async request(method, params, options) {
      const { resultType: _, ...result } = await send(method, params, options)
      return withPassableMeta(result)
    },
    // The newer protocol has no notifications of clients: a server reads the roots in each call that needs them.
    notify: async (method) => {
      // The SDK's union of notifications cannot be built from a method that varies.
      if (!modern) await client.notification({ method } as never)
    },
  }
}

/** Rewrites an error to say how long we waited, which rights are missing, or how the process ended. */
function explained(
  cause: unknown,
  { config: { name }, loginHint }: Pick<ServerSessionOptions, 'config' | 'loginHint'>,
  ending: string | undefined,
): unknown {
  if (cause instanceof SilenceError)
    return new Error(`the server "${name}" did not answer within ${seconds(cause.limit)}`, { cause })
  if (cause instanceof InsufficientScopeError)
    return new Error(`${cause.message}. ${missingRights(name, cause.requiredScope, loginHint)}`, { cause })
  if (isCode(cause, SdkErrorCode.ConnectionClosed) && ending)
    return new Error(`${PROCESS_ENDED_PREFIX}${ending}`, { cause })
  return cause
}

function withMeta(params: Fields | undefined, { meta }: SessionCallOptions): Fields | undefined {
  const passed = passableMeta(meta)
  return Object.keys(passed).length > 0 ? { ...params, _meta: passed } : params
}

/** Accepts every response unchanged. */
const anything: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'toolshelf', validate: (value) => ({ value }) },
}

const NOTIFICATIONS = [
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/message',
  'notifications/elicitation/complete',
] as const

const REQUESTS = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
} as const

function answerServer(
  client: Client,
  { capabilities, onNotification, onRequest }: ServerSessionOptions,
): void {
  for (const method of NOTIFICATIONS) {
    client.setNotificationHandler(method, ({ params }) => onNotification(method, (params ?? {}) as Fields))
  }
  for (const [capability, method] of Object.entries(REQUESTS)) {
    if (capabilities[capability] === undefined) continue
    client.setRequestHandler(method, async ({ params }, context) => {
      // The client's answer passes through; the SDK's result type depends on the method.
      return (await onRequest(method, (params ?? {}) as Fields, context.mcpReq.signal)) as never
    })
  }
}

/**
 * Subscribes to changes of the lists, which servers of the newer protocol send only to subscribers; subscribes again, with
 * growing delays, if the server ends the subscription.
 */
async function listenForChanges(client: Client): Promise<void> {
  if (client.getProtocolEra() !== 'modern') return
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {}
  const filter = {
    ...(tools?.listChanged ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged ? { resourcesListChanged: true } : {}),
  }
  if (Object.keys(filter).length === 0) return
  for (let attempt = 0; attempt < MAX_LISTENS && client.transport; attempt++) {
    try {
      const { closed } = await client.listen(filter)
      if ((await closed) !== 'remote') return
    } catch {
      // The server does not support it; its lists are still read at each connection.
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** attempt).unref())
  }
}

const MAX_LISTENS = 6

function isCode(error: unknown, code: SdkErrorCode): boolean {
  return error instanceof SdkError && error.code === code
}

type Timeouts = ReturnType<typeof createTimeouts>

const MAX_TIMER_MS = 2 ** 31 - 1

function createTimeouts() {
  /** Functions that restart each request's timeout. */
  const renewals = new Set<() => void>()
  let questions = 0
  return {
    /** Makes a request, and cancels it after `timeout` milliseconds without a response or progress. */
    async limit<Value>(
      {
        timeoutMs,
        signal,
        onProgress,
      }: Pick<CallOptions, 'signal' | 'onProgress'> & { readonly timeoutMs: number },
      request: (options: RequestOptions) => Promise<Value>,
    ) {
      const late = new AbortController()
      let timer: ReturnType<typeof setTimeout> | undefined
      const renew = () => {
        clearTimeout(timer)
        timer = setTimeout(
          () => (questions > 0 ? renew() : late.abort(new SilenceError(timeoutMs))),
          timeoutMs,
        )
      }
      renew()
      renewals.add(renew)
      try {
        return await request({
          timeout: MAX_TIMER_MS,
          allowInputRequired: true,
          signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
          onprogress: (progress) => {
            renew()
            onProgress?.(progress)
          },
        })
      } catch (error) {
        throw late.signal.aborted ? late.signal.reason : error
      } finally {
        clearTimeout(timer)
        renewals.delete(renew)
      }
    },
    /** Runs `answer` for a question of the server; no request times out meanwhile, and all timeouts restart after it. */
    async during<Value>(answer: () => Promise<Value>) {
      questions++
      try {
        return await answer()
      } finally {
        questions--
        for (const renew of renewals) renew()
      }
    },
  }
}

/** Refused requests of a server that are answered at once. */
const MAX_REFUSED = 1000
/** Refused requests per millisecond that are answered after that. */
const REFUSED_PER_MILLISECOND = 5 / 1000

/** @param onFlood - Ends the session; called once, with the reason. */
function createRefusals(onFlood: (reason: string) => void) {
  const reason = `it kept asking after ${MAX_REFUSED} of its questions were refused`
  const spend = createBudget(MAX_REFUSED, REFUSED_PER_MILLISECOND)
  let last = performance.now()
  let isFlooded = false

  function count(): void {
    const now = performance.now()
    const excess = spend(now - last, 1)
    last = now
    if (excess === 0 || isFlooded) return
    isFlooded = true
    onFlood(reason)
  }

  return {
    /** Counts an error that is sent to the server, whoever refuses: we, the SDK, or nobody knows the method. */
    count,
    /** Runs `answer` for a request of the server, and counts it if the server cancels it, so that no error is sent. */
    async during<Value>(answer: () => Promise<Value>, signal: AbortSignal) {
      if (isFlooded) throw new Error(reason)
      try {
        return await answer()
      } finally {
        if (signal.aborted) count()
      }
    },
  }
}

/** Most requests to remember until their response arrives; beyond this the oldest is forgotten. */
const MAX_NOTED = 1000

/**
 * Watches what passes the transport. Counts the errors that are sent; reports to a call that its request was answered, even
 * after the request was cancelled; and wraps results before the SDK reads them, which `wholeResult` unwraps.
 */
function watch(transport: Transport, onRefusal: () => void, isModern: () => boolean): void {
  const calls = new Map<unknown, ClientCall>()
  const requests = new Set<unknown>()
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    if ('error' in message) onRefusal()
    if ('method' in message && 'id' in message) {
      const call = currentCall()
      if (call) calls.set(message.id, call)
      if (METHODS.has(message.method)) requests.add(message.id)
      dropOldest(calls, MAX_NOTED)
      dropOldest(requests, MAX_NOTED)
    }
    return send(message, options)
  }
  transport.onmessage = (message) => {
    if ('method' in message || !('id' in message)) return
    calls.get(message.id)?.answered()
    calls.delete(message.id)
    if (!('result' in message) || !requests.delete(message.id) || !isModern()) return
    const { resultType = 'complete' } = message.result
    if (resultType === 'complete') Object.assign(message, { result: wrapped(message.result) })
  }
}

function readOutput({ resultType: _, isError, ...given }: Fields): CallOutput {
  const result = withPassableMeta(given)
  const blocks = result.content ?? []
  const content = Array.isArray(blocks) ? (blocks as unknown[]) : [blocks]
  return {
    ...result,
    ...(typeof isError === 'boolean' ? { isError } : {}),
    content: content.map((block) => (isBlock(block) ? block : asText(block))),
  }
}

const BLOCK_FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource_link', ['uri', 'name']],
])

function isBlock(block: unknown): block is CallOutput['content'][number] {
  const { type, ...fields } = (block ?? {}) as Fields
  if (type === 'resource') return typeof (fields.resource as Fields | null)?.uri === 'string'
  return BLOCK_FIELDS.get(type)?.every((field) => typeof fields[field] === 'string') ?? false
}

/** Converts a block to text: a string as it is, anything else as JSON. */
function asText(block: unknown): CallOutput['content'][number] {
  return { type: 'text', text: typeof block === 'string' ? block : toJson(block) }
}

const METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

const WHOLE = 'toolshelf/whole'

const wrapped = (whole: unknown) => ({
  [WHOLE]: whole,
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  tools: [],
  content: [],
  prompts: [],
  messages: [],
  resources: [],
  resourceTemplates: [],
  contents: [],
  completion: { values: [] },
})

/** Returns the result that the server sent. */
function wholeResult(result: unknown): Fields {
  const fields = fieldsOf(result)
  return isFields(fields[WHOLE]) ? fields[WHOLE] : fields
}

export type Listed = {
  readonly entries: readonly unknown[]
  readonly isCut: boolean
  /** How long the list stays fresh: the shortest time of its pages; undefined if any page gives none. */
  readonly ttlMs: number | undefined
}

const MAX_PAGES = 1000
const MAX_ENTRIES = 50_000
/** Most characters of JSON, because entries are parsed, compared and indexed. */
const MAX_CHARACTERS = 16_000_000

/** Reads all pages of a list. `ask` requests one page; `field` holds its entries; `timeout` covers all pages. */
async function listPages(
  ask: (params: Fields | undefined) => Promise<Fields>,
  field: string,
  timeoutMs: number,
): Promise<Listed> {
  const entries: unknown[] = []
  const seen = new Set<unknown>()
  let cursor: unknown
  let size = 0
  let isLate = false
  let ttlMs: number | undefined
  const hasRoom = () => !isLate && entries.length < MAX_ENTRIES && size < MAX_CHARACTERS
  const yieldBySize = createYieldBySize()
  /** Adds the entries of a page; returns false if there is no room for all of them. */
  const take = async (found: readonly unknown[]) => {
    for (const entry of found) {
      const length = lengthOf(entry)
      await yieldBySize(length)
      size += length
      if (entries.length >= MAX_ENTRIES || size > MAX_CHARACTERS) return false
      entries.push(entry)
    }
    return true
  }
  const walk = async () => {
    for (let page = 0; page < MAX_PAGES && hasRoom(); page++) {
      const result = await ask(cursor === undefined ? undefined : { cursor })
      const found = result?.[field]
      if (!Array.isArray(found)) throw new Error(`its answer has no list "${field}"`)
      if (!(await take(found))) return true
      ttlMs = page === 0 ? ttlOf(result) : shorter(ttlMs, ttlOf(result))
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || seen.has(cursor)) return false
      seen.add(cursor)
      size += cursor.length
    }
    return true
  }
  const late = `it did not list its ${field} within ${seconds(timeoutMs)}`
  const isCut = await withTimeout(walk(), timeoutMs, late).catch((error: Error) => {
    isLate = true
    throw isSilence(error) ? new Error(late, { cause: error }) : error
  })
  return { entries, isCut, ttlMs }
}

function ttlOf({ ttlMs }: Fields): number | undefined {
  return typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : undefined
}

function shorter(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.min(one, other)
}

/** Characters of an entry's JSON. One that cannot be serialised counts as an eighth of the limit; it is dropped later. */
function lengthOf(entry: unknown): number {
  try {
    return JSON.stringify(entry)?.length ?? 0
  } catch {
    return MAX_CHARACTERS / 8
  }
}

const MAX_ROUNDS = 20

/** Creates the newer protocol of a client: a call is sent again with the answers, client capabilities go with each request. */
function createModern(client: Client) {
  const subscriptions = new Map<string, McpSubscription>()
  const hasLogging = client.getServerCapabilities()?.logging !== undefined
  let level: unknown = 'info'

  const metaFor = (questionHandler: QuestionHandler | undefined) => ({
    ...(questionHandler?.capabilities
      ? { [CLIENT_CAPABILITIES_META_KEY]: questionHandler.capabilities }
      : {}),
    ...(hasLogging ? { [LOG_LEVEL_META_KEY]: level } : {}),
  })

  async function subscribe(uri: string): Promise<Fields> {
    if (!subscriptions.has(uri)) subscriptions.set(uri, await client.listen({ resourceSubscriptions: [uri] }))
    return {}
  }

  async function unsubscribe(uri: string): Promise<Fields> {
    await subscriptions.get(uri)?.close()
    subscriptions.delete(uri)
    return {}
  }

  return {
    /** Sends a request, and again with the answers each time the server asks; `send` gets the parameters to add. */
    async inRounds(
      send: (added: Fields) => Promise<Fields>,
      { questionHandler, signal, meta }: SessionCallOptions,
    ) {
      let added: Fields = {}
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const result = await send({ ...added, _meta: { ...passableMeta(meta), ...metaFor(questionHandler) } })
        if (result.resultType !== 'input_required') return result
        const { inputRequests, requestState } = result
        added = {
          inputResponses: await answer((inputRequests ?? {}) as Questions, questionHandler, signal),
          ...(requestState !== undefined ? { requestState } : {}),
        }
      }
      throw new Error(`it asked ${MAX_ROUNDS} questions without giving an answer`)
    },
    /** Handles subscriptions and log levels, which the newer protocol has no requests for; undefined for other methods. */
    instead(method: string, params: Fields): Promise<Fields> | undefined {
      if (method === 'resources/subscribe') return subscribe(String(params.uri))
      if (method === 'resources/unsubscribe') return unsubscribe(String(params.uri))
      if (method !== 'logging/setLevel') return undefined
      level = params.level
      return Promise.resolve({})
    },
  }
}

type Questions = { readonly [key: string]: { readonly method: string; readonly params?: Fields } }

async function answer(
  questions: Questions,
  questionHandler: QuestionHandler | undefined,
  signal: AbortSignal | undefined,
): Promise<Fields> {
  const answers = Object.entries(questions).map(async ([key, { method, params = {} }]) => {
    if (!questionHandler) throw new Error(`it asks for ${method}, but no client can answer`)
    return [key, await questionHandler.ask(method, params, signal, key)] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}
