// The HTTP endpoints: each reads a request, lets the gateway answer it or forwards it, and writes the response.
// Implements wire 31, 33.
import type { TraceListener } from '@toolshelf/core'
import { hasCode } from '@toolshelf/core/internal'
import { type ClientWork, createClientWork, type LimitError } from '@toolshelf/core/internal/node'
import {
  type Fields,
  type Headers,
  type HttpAnswer,
  type InboundApi,
  type MessagesRequest,
  modelAnswer,
  modelsAnswer,
  newRequestId,
  RefusedRequest,
  type ReplyOptions,
  type RequestOutcome,
  refuseRequest,
  type StreamEvent,
  toOpenaiHeaders,
  type UpstreamCall,
  withoutSearchBetas,
} from '@toolshelf/messages/internal'
import type { ServicePages } from '../service.ts'
import type { BodyMemory } from './body.ts'
import { callFor, createForwarder, type Forwarder, forward } from './forwarder.ts'
import { type AuthenticatedClient, type RequestGuard, refuseUser } from './guard.ts'
import { createInboundReader, settingFor, speaksTo } from './inbound-reader.ts'
import type { MessagesMetrics } from './metrics.ts'
import { failureReason, outcomeHeaders, type RequestContext } from './request-context.ts'
import { type EventStream, openEventStream, sendAnswer, sendMessage } from './respond.ts'
import type { MessagesHttpOptions } from './server.ts'
import { type ReservedTokens, reserveTokens } from './token-count.ts'

type Chosen = 'gateway' | 'setting' | 'maxBodyBytes' | 'silenceMs' | 'headWaitMs' | 'hasOpenMetrics'

export type EndpointOptions = Required<Pick<MessagesHttpOptions, Chosen>> &
  Pick<MessagesHttpOptions, 'trace'> & {
    readonly metrics: MessagesMetrics
    readonly guard: RequestGuard
    /** Which other requests are forwarded to the upstream. */
    readonly mayForward: MayForward
    readonly bodyMemory: BodyMemory
    /** Health, readiness and metrics. */
    readonly pages: ServicePages
  }

/** Paths that need no key. */
const OPEN: ReadonlySet<string> = new Set(['/health', '/ready', '/api/hello'])

/** Returns the request handler, which throws the error response to send. */
export function createEndpoints(options: EndpointOptions): (context: RequestContext) => Promise<void> {
  const { gateway, guard, mayForward, pages, hasOpenMetrics } = options
  const { upstream } = gateway
  const forwarder = createForwarder(options)
  const { generate, counting } = createReplies(options, forwarder)

  async function answer(context: RequestContext): Promise<void> {
    const { incoming, path } = context
    if (!context.address)
      throw refuseRequest(400, 'invalid_request_error', 'the request target is not a valid URL')
    const isOpen = OPEN.has(path) || (hasOpenMetrics && path === '/metrics')
    const client = isOpen ? undefined : await guard.admit(incoming)
    if (incoming.headers.upgrade !== undefined) refuseUpgrade(context)
    context.user = client?.user?.id
    await withinLimits(context, client?.work, options.trace, () => dispatch(context, client))
  }

  async function dispatch(context: RequestContext, client: AuthenticatedClient | undefined): Promise<void> {
    const { incoming, path } = context
    const endpoint = endpoints[`${incoming.method} ${path}`]
    if (endpoint) return endpoint(context, client ?? NOBODY)
    const id = /^\/v1\/models\/([^/]+)$/.exec(path)?.[1]
    if (client && id !== undefined && incoming.method === 'GET' && !speaksTo(upstream, context))
      return model(context, client, id)
    const isForwarded = mayForward(incoming.method ?? '', path)
    if (client && upstream.origin && isForwarded) return forwarder.through(context, client, upstream.origin)
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
    'GET /ready': async ({ outgoing }) => sendAnswer(outgoing, await pages.ready()),
    'GET /metrics': async ({ outgoing }, { user }) => {
      if (user && !user.profile.isOperator)
        throw refuseRequest(403, 'permission_error', 'metrics are for operators')
      sendAnswer(outgoing, await pages.metrics())
    },
  }

  async function listing(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    if (upstream.origin && speaksTo(upstream, context))
      return forwarder.through(context, client, upstream.origin)
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
function createReplies(options: EndpointOptions, forwarder: Forwarder) {
  const { gateway, silenceMs, headWaitMs } = options
  const { upstream } = gateway
  const read = createInboundReader(options, forwarder)

  return { generate, counting }

  /** Answers a request for a reply in the client's API. */
  async function generate(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    const { outgoing, api } = context
    const isUnread = settingFor(context, client, options).mode === 'pass' && !client.work.isLimited('tokens')
    if (isUnread) return forwarder.unread(context, client)
    const { body, reuseBody, fields, inbound, replyOptions } = await read(context, client)
    const tokens = await reserveTokens(client.work, { bytes: body.length, fields, isSampling: true })
    context.tokens = tokens
    if (!inbound) return forwarder.mistake(context, client, body)
    const { request } = inbound
    context.model = request.model
    const writer = inbound.reply()
    context.writer = writer
    let stream: EventStream | undefined
    const onDecided = (outcome: RequestOutcome) => {
      context.outcome = outcome
      if (request.stream === true)
        stream ??= openEventStream(outgoing, { headWaitMs, silenceMs, headers: early(outcome, api), writer })
    }
    try {
      const { outcome, sampled } = await gateway.reply(request, { ...replyOptions, tokens, onDecided })
      context.outcome = outcome
      if (!sampled) return await forward(context, forwarder.origin(), passedCall(request, replyOptions), body)
      reuseBody()
      if ('refused' in sampled) throw new RefusedRequest(sampled.refused)
      onDecided(outcome)
      const id = newRequestId()
      const headers = () => ({
        ...inClientApi({ 'request-id': id, ...sampled.headers }, api),
        ...outcomeHeaders(outcome),
      })
      const events = counted(sampled.events, context)
      const onError = (event: StreamEvent) => {
        context.error = failureReason(JSON.stringify(event), context)
      }
      await (stream
        ? stream.send(events, headers(), onError)
        : sendMessage(outgoing, events, headers, { writer, api, onError }))
    } finally {
      stream?.close()
    }
  }

  async function counting(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    if (settingFor(context, client, options).mode === 'pass') return forwarder.unread(context, client)
    const { body, reuseBody, inbound, replyOptions } = await read(context, client)
    if (!inbound) return forwarder.mistake(context, client, body)
    const { request } = inbound
    context.model = request.model
    const { outcome, answer } = await gateway.count(request, replyOptions)
    context.outcome = outcome
    if (!answer) return forward(context, forwarder.origin(), passedCall(request, replyOptions), body)
    reuseBody()
    sendAnswer(context.outgoing, answer, outcomeHeaders(outcome))
  }

  /** Removes the tool-search betas, unless the upstream supports tool search or the mode is `pass`. */
  function passedCall({ model }: MessagesRequest, { setting, call }: ReplyOptions): UpstreamCall {
    const takesAll = setting.mode === 'pass' || upstream.wireFor(model).wire === 'native'
    return takesAll ? call : { ...call, headers: withoutSearchBetas(call.headers) }
  }
}

/** Passes the events on, and counts their tokens if the user's are limited. */
function counted(events: AsyncIterable<StreamEvent>, { tokens }: RequestContext): AsyncIterable<StreamEvent> {
  return tokens ? countedBy(tokens, events) : events
}

async function* countedBy(tokens: ReservedTokens, events: AsyncIterable<StreamEvent>) {
  for await (const event of events) {
    tokens.event(event)
    yield event
  }
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
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

const NOBODY: AuthenticatedClient = {
  ...{ headers: {}, key: undefined, owner: '' },
  work: createClientWork({ client: 'nobody' }),
}

/** Answers a request of a user who is within their limits; settles afterwards what it has used. */
async function withinLimits(
  context: RequestContext,
  work: ClientWork | undefined,
  trace: TraceListener | undefined,
  answer: () => Promise<void>,
): Promise<void> {
  try {
    await work?.use('calls')
    await answer()
  } catch (error) {
    if (!hasCode<LimitError>(error, 'LIMIT')) throw error
    trace?.(error.event)
    throw refuseUser(error.refusal)
  } finally {
    await context.tokens?.settle(usedTokens(context))
  }
}

/** The tokens that a request has used, once it has been answered. */
function usedTokens({ outgoing, gone, outcome, tokens }: RequestContext): number {
  // The upstream may have read the request before its client left.
  const isSent = outgoing.headersSent ? outgoing.statusCode < 400 : gone.aborted && outcome !== undefined
  return isSent && tokens ? tokens.total() : 0
}

/** Clients that prefer WebSockets fall back to HTTP on this status. */
function refuseUpgrade({ path }: RequestContext): never {
  const instead = path.startsWith('/v1/realtime')
    ? 'the Realtime API is not supported; use POST /v1/responses'
    : `WebSockets are not supported at ${path}; send the request with POST`
  const message = `${instead}, and stream: true for events`
  throw refuseRequest(426, 'invalid_request_error', message)
}

function document(value: unknown): HttpAnswer {
  const body = value === '' ? '' : JSON.stringify(value)
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

type MayForward = (method: string, path: string) => boolean

const ALWAYS = ['GET /v1/models/*']
const RULE = /^[A-Z]+ \/v1(?:\/(?:[\w.:@~-]+|\*))+$/

/** The requests that are forwarded unread: few, as they carry the operator's key. Each rule is a method and a path; `*` matches one segment, as in `GET /v1/files/*`. */
export function createForwardRules(rules: readonly string[]): MayForward {
  const wrong = rules.find((rule) => !RULE.test(rule))
  if (wrong !== undefined)
    throw new Error(`forward: "${wrong}" is not a rule; write a method and a path, as in "GET /v1/files/*"`)
  const patterns = [...ALWAYS, ...rules].map((rule) => rule.split('/'))
  return (method, path) => {
    const parts = `${method} ${path}`.split('/')
    return patterns.some((pattern) => pattern.length === parts.length && pattern.every(fits(parts)))
  }
}

/** `*` matches no escapes, dots or empty segments: an upstream could resolve them to a path outside the rule. */
function fits(parts: readonly string[]): (segment: string, index: number) => boolean {
  return (segment, index) => {
    const part = parts[index] ?? ''
    return segment === '*' ? /^[\w.:@~-]+$/.test(part) && !/^\.+$/.test(part) : segment === part
  }
}
