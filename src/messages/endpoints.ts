// The HTTP endpoints: each reads a request, lets the gateway answer it or forwards it, and writes the response.
// Implements wire 31, 33.
import { createBufferPool } from '../node/index.ts'
import { readBody } from './body.ts'
import { newRequestId, RefusedRequest, reasonIn, refuseRequest } from './errors.ts'
import { type EventStream, openEventStream } from './event-stream.ts'
import type { Forwarding } from './forwarding.ts'
import type { MessagesGateway, ReplyOptions, RequestOutcome } from './gateway.ts'
import type { AuthenticatedClient, RequestGuard } from './guard.ts'
import type { BodyMemory } from './held-bytes.ts'
import {
  type InboundApi,
  type InboundRequest,
  modelAnswer,
  modelsAnswer,
  toOpenaiHeaders,
} from './inbound/index.ts'
import type { Metrics } from './metrics.ts'
import { callFor, createPassing, forward, ownerOf, type Passing } from './passing.ts'
import { readSetting, type Setting } from './plan.ts'
import { createRequestReader } from './read-request.ts'
import { outcomeHeaders, type RequestContext } from './request-context.ts'
import { sendAnswer, sendMessage } from './respond.ts'
import { createScheduler } from './scheduler.ts'
import type {
  Fields,
  Headers,
  HttpAnswer,
  MessagesRequest,
  StreamEvent,
  Upstream,
  UpstreamCall,
} from './types.ts'
import { withoutSearchBetas } from './upstream/index.ts'

export type EndpointOptions = {
  readonly gateway: MessagesGateway
  readonly setting: Setting
  readonly metrics: Metrics
  readonly guard: RequestGuard
  /** Which other requests are forwarded to the upstream. */
  readonly forwarding: Forwarding
  readonly mostBody: number
  readonly bodyMemory: BodyMemory
  readonly silence: number
  readonly headWaitMs: number
}

type ReadRequest = {
  readonly body: Buffer
  /** Lets another request use the body's buffer. */
  readonly reuseBody: () => void
  /** Undefined if the upstream shall refuse the request itself. */
  readonly inbound: InboundRequest | undefined
  readonly replyOptions: ReplyOptions
}

/** Returns the request handler, which throws the error response to send. */
export function createEndpoints(options: EndpointOptions): (context: RequestContext) => Promise<void> {
  const { gateway, metrics, guard, forwarding } = options
  const { upstream } = gateway
  const passing = createPassing(options)
  const { generate, counting } = createReplies(options, passing)

  async function answer(context: RequestContext): Promise<void> {
    const { incoming, path } = context
    if (!context.address)
      throw refuseRequest(400, 'invalid_request_error', 'the request target is not a valid URL')
    const client = path === '/health' || path === '/api/hello' ? undefined : guard(incoming)
    if (incoming.headers.upgrade !== undefined) refuseUpgrade(context)
    const endpoint = endpoints[`${incoming.method} ${path}`]
    if (endpoint) return endpoint(context, client ?? NOBODY)
    const id = /^\/v1\/models\/([^/]+)$/.exec(path)?.[1]
    if (client && id !== undefined && incoming.method === 'GET' && !speaksTo(upstream, context))
      return model(context, client, id)
    const isForwarded = forwarding(incoming.method ?? '', path)
    if (client && upstream.origin && isForwarded) return passing.through(context, client, upstream.origin)
    throw refuseRequest(404, 'not_found_error', `no such endpoint: ${incoming.method} ${path}`)
  }

  const endpoints: {
    readonly [endpoint: string]: (
      context: RequestContext,
      client: AuthenticatedClient,
    ) => Promise<void> | void
  } = {
    'POST /v1/messages': generate,
    'POST /v1/chat/completions': generate,
    'POST /v1/responses': generate,
    'POST /v1/messages/count_tokens': counting,
    'GET /v1/models': listing,
    'HEAD /api/hello': ({ outgoing }) => sendAnswer(outgoing, document('')),
    'GET /api/hello': ({ outgoing }) => sendAnswer(outgoing, document({ message: 'hello' })),
    'GET /health': ({ outgoing }) => sendAnswer(outgoing, document({ status: 'ok' })),
    'GET /metrics': ({ outgoing }) =>
      sendAnswer(outgoing, {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4' },
        body: metrics.text(),
      }),
  }

  async function listing(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    if (upstream.origin && speaksTo(upstream, context))
      return passing.through(context, client, upstream.origin)
    const answer = await upstream.models(convertedCall(context, client))
    sendAnswer(context.outgoing, modelsAnswer(answer, context.api))
  }

  /** Answers `GET /v1/models/<id>` from the list, for clients that speak another API than the upstream. */
  async function model(context: RequestContext, client: AuthenticatedClient, id: string): Promise<void> {
    const answer = await upstream.models(convertedCall(context, client))
    sendAnswer(context.outgoing, modelAnswer(answer, context.api, decoded(id)))
  }

  /** The call for a request that is converted between two APIs. */
  function convertedCall(context: RequestContext, client: AuthenticatedClient): UpstreamCall {
    const call = callFor(context, client)
    const terms = { api: context.api.name, settings: {}, tools: new Map<string, Fields>() }
    return speaksTo(upstream, context) || context.api.name === 'messages' ? call : { ...call, terms }
  }

  return answer
}

/** The endpoints that the gateway itself answers, unless it leaves a request to the upstream. */
function createReplies(options: EndpointOptions, passing: Passing) {
  const { gateway, silence, headWaitMs } = options
  const { upstream } = gateway
  const scheduler = createScheduler()
  const reader = createRequestReader()
  const bodies = createBufferPool()

  return { generate, counting }

  /** Answers a request for a reply in the client's API. */
  async function generate(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    const { outgoing, api } = context
    if (settingFor(context, client, options).mode === 'pass') return passing.unread(context, client)
    const { body, reuseBody, inbound, replyOptions } = await read(context, client)
    if (!inbound) return passing.mistake(context, client, body)
    const { request } = inbound
    context.model = request.model
    const writer = inbound.reply()
    context.writer = writer
    let stream: EventStream | undefined
    const onDecided = (outcome: RequestOutcome) => {
      context.outcome = outcome
      if (request.stream === true)
        stream ??= openEventStream(outgoing, { headWaitMs, silence, headers: early(outcome, api), writer })
    }
    try {
      const { outcome, sampled } = await gateway.reply(request, { ...replyOptions, onDecided })
      context.outcome = outcome
      if (!sampled) return await forward(context, passing.origin(), passedCall(request, replyOptions), body)
      reuseBody()
      if ('refused' in sampled) throw new RefusedRequest(sampled.refused)
      onDecided(outcome)
      const id = newRequestId()
      const headers = () => ({
        ...inClientApi({ 'request-id': id, ...sampled.headers }, api),
        ...outcomeHeaders(outcome),
      })
      const { events } = sampled
      const onError = (event: StreamEvent) => {
        context.error = reasonIn(JSON.stringify(event))
      }
      await (stream
        ? stream.send(events, headers(), onError)
        : sendMessage(outgoing, events, headers, { writer, api, onError }))
    } finally {
      stream?.close()
    }
  }

  async function counting(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    if (settingFor(context, client, options).mode === 'pass') return passing.unread(context, client)
    const { body, reuseBody, inbound, replyOptions } = await read(context, client)
    if (!inbound) return passing.mistake(context, client, body)
    const { request } = inbound
    context.model = request.model
    const { outcome, answer } = await gateway.count(request, replyOptions)
    context.outcome = outcome
    if (!answer) return forward(context, passing.origin(), passedCall(request, replyOptions), body)
    reuseBody()
    sendAnswer(context.outgoing, answer, outcomeHeaders(outcome))
  }

  /** Removes the tool-search betas, unless the upstream supports tool search or the mode is `pass`. */
  function passedCall({ model }: MessagesRequest, { setting, call }: ReplyOptions): UpstreamCall {
    const takesAll = setting.mode === 'pass' || upstream.wireFor(model).wire === 'native'
    return takesAll ? call : { ...call, headers: withoutSearchBetas(call.headers) }
  }

  /** Reads a request. `reuseBody` is for callers that do not forward the body. */
  async function read(context: RequestContext, client: AuthenticatedClient): Promise<ReadRequest> {
    const owner = ownerOf(client)
    const body = await readBody(context.incoming, passing.limitsFor(context, owner), bodies)
    const slice = await scheduler.turn()
    let isReferred = false
    const fields = await reader.read(body, owner, slice, () => {
      isReferred = true
    })
    refuseTooMany(fields)
    const reuseBody = () => {
      if (!isReferred) bodies.giveBack(body)
    }
    const inbound = convert(fields, context)
    const call = { ...callFor(context, client), ...(inbound?.terms ? { terms: inbound.terms } : {}) }
    const facts = { ...inbound, api: context.api.name }
    const setting = settingFor(context, client, options)
    return { body, reuseBody, inbound, replyOptions: { setting, call, owner, slice, inbound: facts } }
  }

  /** Converts a request; undefined if it is malformed and the upstream, which speaks the same API, shall refuse it. */
  function convert(fields: Fields, context: RequestContext): InboundRequest | undefined {
    try {
      return context.api.read(fields)
    } catch (error) {
      if (error instanceof RefusedRequest && upstream.origin && speaksTo(upstream, context)) return undefined
      throw error
    }
  }
}

/** Whether the upstream speaks the client's API. */
function speaksTo({ api: own }: Upstream, { api }: RequestContext): boolean {
  return api.name === own
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

/** Returns the setting from the request's header if its key allows that, else the key's, else the server's default. */
function settingFor(
  context: RequestContext,
  { key }: AuthenticatedClient,
  { setting, gateway: { upstream } }: EndpointOptions,
): Setting {
  const given = context.incoming.headers['x-toolshelf-mode']
  const isPassable = upstream.origin !== undefined && speaksTo(upstream, context)
  if (given === undefined) {
    const chosen = key?.setting ?? setting
    if (chosen.mode === 'pass' && !isPassable)
      throw refuseRequest(
        400,
        'invalid_request_error',
        `this gateway forwards requests unchanged (mode pass), and its upstream does not serve ${context.path}`,
      )
    return chosen
  }
  const requested = readSetting(String(given))
  if (key?.setting && !key.mayChoose && !isSame(requested, key.setting))
    throw refuseRequest(
      403,
      'permission_error',
      `this key is fixed to the mode "${key.setting.mode}"; leave out the header x-toolshelf-mode`,
    )
  if (!requested || (requested.mode === 'pass' && !isPassable))
    throw refuseRequest(
      400,
      'invalid_request_error',
      `x-toolshelf-mode is "${String(given).slice(0, 40)}"; use auto, auto:N, emulate, shelve, off${isPassable ? ' or pass' : ''}`,
    )
  return requested
}

function isSame(one: Setting | undefined, other: Setting): boolean {
  return one?.mode === other.mode && one.share === other.share
}

/** Headers for a stream that starts before the upstream has answered. */
function early(outcome: RequestOutcome, api: InboundApi): () => Headers {
  const { 'x-toolshelf-tools': _, ...known } = outcomeHeaders(outcome)
  return () => ({ ...inClientApi({ 'request-id': newRequestId() }, api), ...known })
}

/** The upstream's headers with the names that the client's API has for them. */
function inClientApi(headers: Headers, { name }: InboundApi): Headers {
  return name === 'messages' ? headers : toOpenaiHeaders(headers)
}

const NOBODY: AuthenticatedClient = { headers: {}, key: undefined }

/** Clients that prefer WebSockets fall back to HTTP on this status. */
function refuseUpgrade({ path }: RequestContext): never {
  const message = `WebSockets are not supported at ${path}; send the request with POST, and stream: true for events`
  throw refuseRequest(426, 'invalid_request_error', message)
}

/** The API's own limit. */
const MOST_MESSAGES = 100_000

function refuseTooMany({ messages, input }: Fields): void {
  const count = Math.max(...[messages, input].map((list) => (Array.isArray(list) ? list.length : 0)))
  if (count <= MOST_MESSAGES) return
  const message = `messages: at most ${MOST_MESSAGES} are allowed, but there are ${count}`
  throw refuseRequest(400, 'invalid_request_error', message)
}

function document(value: unknown): HttpAnswer {
  const body = value === '' ? '' : JSON.stringify(value)
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
