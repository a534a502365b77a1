// Handles the requests of a client in both protocol versions.
import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '@toolshelf/core/internal'
import { type ClientWork, traceIdOf } from '@toolshelf/core/internal/node'
import { assertSendable } from '../lists/lists.ts'
import type { CallOptions, Progress } from '../types.ts'
import type { ClientSession } from './client-session.ts'
import { canAnswer, capabilitiesOf, clientInfoIn, showsPages } from './clients.ts'
import type { Exchanges, Work } from './exchanges.ts'
import type { Relisting } from './updates.ts'
import type { ClientView } from './views.ts'

type Request = ServerContext['mcpReq']

type RequestOptions = Pick<ClientView, 'host' | 'resourcesAndPrompts' | 'pageTools'> & {
  readonly server: Server
  readonly isStateless: boolean
  /** The `uid` of the user that the client acts for; undefined if the gateway has no users. */
  readonly uid: string | undefined
  /** Returns the client that makes this request; the same object for all requests of one client. */
  readonly clientOf: (envelope: Fields | undefined) => object
  readonly clientSession: ClientSession
  readonly work: ClientWork
  readonly exchanges: Exchanges
  readonly relisting: Relisting
  readonly ready: (() => Promise<unknown>) | undefined
}

/** Registers a handler for every request that the gateway answers. */
export function answerRequests(options: RequestOptions): void {
  const context = createRequestContext(options)
  answerToolRequests(options, context)
  answerResourceRequests(options, context)
  answerPromptRequests(options, context)
}

type RequestContext = ReturnType<typeof createRequestContext>

function createRequestContext({ server, isStateless, uid, clientOf, host, exchanges, work }: RequestOptions) {
  const inOrder = createOrder(work)
  let running = 0

  async function exchange(request: Request, work: Work<unknown>): Promise<never> {
    const capabilities = capabilitiesOf(server, request.envelope)
    const caller = {
      client: clientOf(request.envelope as Fields | undefined),
      owner: JSON.stringify([uid ?? null, clientInfoIn(request.envelope as Fields | undefined) ?? null]),
      isStateless,
      capabilities,
      canAnswer: (method: string) => canAnswer(capabilities, method),
      onProgress: progressFor(request),
    }
    // A server's answer passes through as it is: `never` fits the result type of any handler of the SDK. The lists below
    // are cast for the same reason.
    return (await exchanges.run(request, caller, work)) as never
  }

  // The SDK's own type of a handler depends on the method in ways that do not concern the order.
  const handle = (method: 'ping', handler: (request: never, context: ServerContext) => Promise<never>) =>
    server.setRequestHandler(method, (request, context) =>
      inOrder(context.http?.req, () => handler(request as never, context)),
    )

  return {
    /** Registers a handler, which handles the messages of one body one after the other, each in the client's turn. */
    handle: handle as never as Server['setRequestHandler'],
    /** Starts the servers with the first request: the client's capabilities are known only then. */
    begin: ({ envelope }: Request) => host.start(capabilitiesOf(server, envelope)),
    /** Returns how long a client may cache a list: not at all while more tools are expected. Only in the newer protocol. */
    fresh() {
      if (!isStateless) return {}
      const isComplete = host
        .status()
        .every(({ state, hasListed }) => state !== 'pending' && (state !== 'connected' || hasListed))
      return { ttlMs: isComplete ? FRESH_FOR_MS : 0, cacheScope: 'private' }
    },
    /** Runs a call in which a server may ask something. It continues when its client disconnects, so their number is limited. */
    async inExchange(request: Request, work: Work<unknown>) {
      if (running >= MAX_RUNNING)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidRequest,
          `${MAX_RUNNING} requests of this client are running; wait until some have ended`,
        )
      running++
      try {
        return await exchange(request, work)
      } finally {
        running--
      }
    },
  }
}

function answerToolRequests(
  { server, host, clientSession, relisting, ready }: RequestOptions,
  { handle, begin, fresh, inExchange }: RequestContext,
): void {
  handle('tools/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    relisting.listed()
    void host.refreshStaleLists({ timeoutMs: MAX_REFRESH_MS })
    const withPageTools = showsPages(capabilitiesOf(server, mcpReq.envelope))
    return { tools: clientSession.tools({ withPageTools }) as never[], ...fresh() }
  })
  handle('tools/call', async ({ params }, { mcpReq, http }) => {
    begin(mcpReq)
    await ready?.()
    return inExchange(mcpReq, (questionHandler, signal, onProgress) =>
      clientSession.call(params.name, params.arguments, {
        questionHandler,
        signal,
        onProgress,
        ...metaOf(mcpReq, http),
      }),
    )
  })
}

function answerResourceRequests(
  { resourcesAndPrompts, pageTools }: RequestOptions,
  { handle, begin, fresh, inExchange }: RequestContext,
): void {
  handle('resources/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    return { resources: (await resourcesAndPrompts.resources()) as never[], ...fresh() }
  })
  handle('resources/templates/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    return { resourceTemplates: (await resourcesAndPrompts.templates()) as never[], ...fresh() }
  })
  handle('resources/read', ({ params }, { mcpReq, http }) =>
    inExchange(mcpReq, async (questionHandler, signal, onProgress) => {
      const options = { questionHandler, signal, onProgress, ...metaOf(mcpReq, http) }
      const read = await resourcesAndPrompts.readResource(params.uri, options).catch(ownError)
      if (read.isPage && questionHandler.client) pageTools.read(questionHandler.client, read.server)
      return read.result
    }),
  )
}

function answerPromptRequests(
  { resourcesAndPrompts }: RequestOptions,
  { handle, begin, fresh, inExchange }: RequestContext,
): void {
  handle('prompts/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    return { prompts: (await resourcesAndPrompts.prompts()) as never[], ...fresh() }
  })
  handle('prompts/get', ({ params }, { mcpReq, http }) =>
    inExchange(mcpReq, (questionHandler, signal, onProgress) =>
      resourcesAndPrompts
        .getPrompt(params as Fields, { questionHandler, signal, onProgress, ...metaOf(mcpReq, http) })
        .catch(ownError),
    ),
  )
  handle('completion/complete', async ({ params }, { mcpReq, http }) => {
    const options = { signal: mcpReq.signal, ...metaOf(mcpReq, http) }
    return (await resourcesAndPrompts.complete(params as Fields, options)) as never
  })
}

/** Returns a function that handles the messages of one body one after the other, each in the client's turn. */
function createOrder(work: ClientWork) {
  const last = new WeakMap<object, Promise<unknown>>()
  return <Result>(body: object | undefined, run: () => Promise<Result>): Promise<Result> => {
    const handled = Promise.resolve(body && last.get(body)).then(async () => {
      await work.turn()
      return run()
    })
    if (body)
      last.set(
        body,
        handled.catch(() => {}),
      )
    return handled
  }
}

/** Most concurrent calls of one session. */
const MAX_RUNNING = 500
/** Milliseconds that clients may cache lists; those that listen are notified of changes earlier. */
const FRESH_FOR_MS = 60_000
const MAX_REFRESH_MS = 5000

/**
 * Returns the client's `_meta` to forward, without its progress token. Adds the trace context of the HTTP request unless the
 * message has its own.
 */
function metaOf({ _meta }: Request, http: ServerContext['http']): Pick<CallOptions, 'meta'> {
  const headers = http?.req?.headers
  const traceparent = headers?.get('traceparent')
  if (_meta?.traceparent !== undefined || traceIdOf(traceparent) === undefined)
    return _meta ? { meta: _meta } : {}
  const tracestate = headers?.get('tracestate')
  return { meta: { ..._meta, traceparent, ...(tracestate ? { tracestate } : {}) } }
}

function progressFor({ _meta, notify }: Request): (progress: Progress) => void {
  const progressToken = _meta?.progressToken
  const send = async (params: object) =>
    // `params` come from the server as they are, without the SDK's type.
    notify(assertSendable({ method: 'notifications/progress', params }) as never)
  return (progress) => {
    if (progressToken !== undefined) send({ ...progress, progressToken }).catch(() => {})
  }
}

/** Throws a server's own error, so that the client gets it. */
function ownError(error: unknown): never {
  const { cause } = error as Error
  throw cause instanceof ProtocolError ? cause : error
}
