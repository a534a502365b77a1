// Implements one session with a server: opens it, sends requests, closes it. Does not validate responses strictly,
// because one malformed field must not lose the rest.
// Implements H1, H4.
import {
  Client,
  type ClientCapabilities,
  InsufficientScopeError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Fields } from '../../lib/index.ts'
import { seconds, TimeoutError, withTimeout } from '../../node/index.ts'
import {
  connectionFailure,
  type LoginHint,
  missingRights,
  PROCESS_ENDED_PREFIX,
  passableMeta,
  SessionError,
  withPassableMeta,
} from '../protocol/index.ts'
import type {
  AuthProvider,
  CallOptions,
  CallOutput,
  ListedTool,
  RemoteConfig,
  ServerConfig,
} from '../types.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type Listed, listPages } from './listing.ts'
import { createModern } from './modern.ts'
import { noteAnswers } from './note-answers.ts'
import { readOutput } from './output.ts'
import { createRefusals } from './refusals.ts'
import { SilenceError } from './silence.ts'
import { createStdioTransport, type StdioLimits, type StdioTransport, stdioLimits } from './stdio.ts'
import { createTimeouts, type Timeouts } from './timeouts.ts'
import { wholeResult, wrapResults } from './whole-results.ts'

/** An open session. */
export type ServerSession = {
  readonly info: { readonly name: string; readonly version: string } | undefined
  readonly capabilities: Fields
  readonly instructions: string | undefined
  readonly protocol: string | undefined
  readonly isLegacy: boolean
  /** Whether the server may require some arguments as HTTP headers too, because it speaks the newer protocol over HTTP. */
  readonly mirrorsArguments: boolean
  readonly pid: number | undefined
  /** Returns the last lines that the process wrote to stderr; empty for a remote server. */
  stderr(): string
  /** Reads all pages of a list, up to a limit. */
  list(method: string, field: string, timeoutMs: number): Promise<Listed>
  call(name: string, input: Fields | undefined, options: SessionCallOptions): Promise<CallOutput>
  request(method: string, params: Fields | undefined, options: SessionCallOptions): Promise<Fields>
  /** Sends a notification, such as that the roots have changed; does nothing in the newer protocol, which has none. */
  notify(method: string): Promise<void>
  close(): Promise<void>
}

/** Options of a call in a session. */
export type SessionCallOptions = CallOptions & {
  readonly timeoutMs: number
  /** The tool as listed: a modern server over HTTP may require some arguments as headers. */
  readonly tool?: ListedTool
}

/** Options of `openServerSession`. */
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
  /** Called for a notification of the server. */
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
      connect(options, createStdioTransport(transport, options.limits, options.redact), deadline, isLegacy)
    if (isKnownLegacy) return open(true)
    // Some servers exit at an unknown request; with the older protocol they stay.
    return open(false).catch((error: unknown) => {
      const hasEnded = error instanceof SessionError && error.hasEnded
      if (!hasEnded || options.signal.aborted) throw error
      return open(true)
    })
  }
  const openSse = () => connect(options, sse(transport, options), deadline, true)
  if (transport.kind === 'sse') return openSse()
  return connect(options, streamable(transport, options), deadline, isKnownLegacy).catch((error) => {
    if (transport.kind !== 'auto' || !isRefusedByHttp(error)) throw error
    return openSse()
  })
}

function streamable(config: RemoteConfig, options: ServerSessionOptions): Transport {
  return new StreamableHTTPClientTransport(addressOf(config), remoteOptions(config, options))
}

function sse(config: RemoteConfig, options: ServerSessionOptions): Transport {
  return new SSEClientTransport(addressOf(config), remoteOptions(config, options))
}

function remoteOptions(
  { headers }: RemoteConfig,
  { authProvider, limits = stdioLimits }: ServerSessionOptions,
) {
  return {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(limits.maxMessageBytes),
    ...(authProvider ? { authProvider } : {}),
  }
}

function addressOf({ url }: RemoteConfig): URL {
  if (!URL.canParse(url))
    throw new Error(
      `its "url" ${JSON.stringify(url)} is not a URL; include the scheme, e.g. https://host/path`,
    )
  return new URL(url)
}

/**
 * Returns whether the error is an HTTP status with which servers that speak only SSE refuse a streamable HTTP request.
 */
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
  refusals.watch(transport)
  const onRequest: ServerSessionOptions['onRequest'] = (method, params, signal) =>
    timeouts.during(() => refusals.during(() => options.onRequest(method, params, signal), signal))
  const client = newClient({ ...options, onRequest }, child ? Math.min(MAX_PROBE_MS, left / 3) : left)
  noteAnswers(transport)
  wrapResults(transport, () => client.getProtocolEra() === 'modern')
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
    await withTimeout(opening, left, `it did not answer within ${seconds(config.connectTimeoutMs)}`)
  } catch (error) {
    options.signal.removeEventListener('abort', stop)
    await transport.close().catch(() => {})
    const ending = error instanceof TimeoutError ? undefined : child?.ending()
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
    info: client.getServerVersion(),
    capabilities: (client.getServerCapabilities() ?? {}) as Fields,
    instructions: client.getInstructions(),
    protocol: client.getNegotiatedProtocolVersion(),
    isLegacy: client.getProtocolEra() === 'legacy',
    mirrorsArguments: client.getProtocolEra() === 'modern' && !child,
    pid: child?.pid ?? undefined,
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
