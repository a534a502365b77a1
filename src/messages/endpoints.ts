// The HTTP endpoints: each reads a request, lets the gateway answer it or forwards it, and writes the response.
// Implements wire 31, 33.
import { createHash } from 'node:crypto'
import { isFields } from '../lib/index.ts'
import { flowOf, type RequestBodyLimits, readBody } from './body.ts'
import { newRequestId, RefusedRequest, reasonIn, refuseRequest } from './errors.ts'
import { type EventStream, openEventStream } from './event-stream.ts'
import type { Forwarding } from './forwarding.ts'
import { type MessagesGateway, newOutcome, type ReplyOptions, type RequestOutcome } from './gateway.ts'
import type { AuthenticatedClient, RequestGuard } from './guard.ts'
import type { BodyMemory } from './held-bytes.ts'
import type { Metrics } from './metrics.ts'
import { readSetting, type Setting } from './plan.ts'
import { createRequestReader } from './read-request.ts'
import { outcomeHeaders, peekRequest, type RequestContext } from './request-context.ts'
import { sendAnswer, sendMessage, sendOn } from './respond.ts'
import { createScheduler } from './scheduler.ts'
import type {
  Fields,
  Headers,
  HttpAnswer,
  MessagesRequest,
  StreamEvent,
  UpstreamCall,
  UpstreamOrigin,
} from './types.ts'
import { below, type Flow, open, withoutSearchBetas } from './upstream/index.ts'

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

/** Returns the request handler, which throws the error response to send. */
export function createEndpoints(options: EndpointOptions): (context: RequestContext) => Promise<void> {
  const { gateway, setting, metrics, guard, forwarding, mostBody, bodyMemory } = options
  const { silence, headWaitMs } = options
  const { upstream } = gateway
  const scheduler = createScheduler()
  const reader = createRequestReader()

  async function answer(context: RequestContext): Promise<void> {
    const { incoming, path } = context
    if (!context.address) throw refuseRequest(400, 'invalid_request_error', 'this is no address')
    const client = path === '/health' || path === '/api/hello' ? undefined : guard(incoming)
    const endpoint = endpoints[`${incoming.method} ${path}`]
    if (endpoint) return endpoint(context, client ?? NOBODY)
    const isForwarded = forwarding(incoming.method ?? '', path)
    if (client && upstream.origin && isForwarded) return passThrough(context, client, upstream.origin)
    throw refuseRequest(404, 'not_found_error', `there is nothing at ${incoming.method} ${path}`)
  }

  const endpoints: {
    readonly [endpoint: string]: (
      context: RequestContext,
      client: AuthenticatedClient,
    ) => Promise<void> | void
  } = {
    'POST /v1/messages': messages,
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

  async function messages(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    const { outgoing } = context
    if (settingFor(context, client).mode === 'pass') return passUnread(context, client)
    const { body, request, replyOptions } = await read(context, client)
    if (!isMessages(request)) return passMistake(context, client, body)
    context.model = request.model
    let stream: EventStream | undefined
    const onDecided = (outcome: RequestOutcome) => {
      context.outcome = outcome
      if (request.stream === true)
        stream ??= openEventStream(outgoing, { headWaitMs, silence, headers: early(outcome) })
    }
    try {
      const { outcome, sampled } = await gateway.reply(request, { ...replyOptions, onDecided })
      context.outcome = outcome
      if (!sampled) return await forward(context, originOf(), passedCall(request, replyOptions), body)
      if ('refused' in sampled) throw new RefusedRequest(sampled.refused)
      onDecided(outcome)
      const id = newRequestId()
      const headers = () => ({ 'request-id': id, ...sampled.headers, ...outcomeHeaders(outcome) })
      const events = watched(sampled.events, context)
      await (stream ? stream.send(events, headers()) : sendMessage(outgoing, events, headers))
    } finally {
      stream?.close()
    }
  }

  async function counting(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    if (settingFor(context, client).mode === 'pass') return passUnread(context, client)
    const { body, request, replyOptions } = await read(context, client)
    if (!isMessages(request)) return passMistake(context, client, body)
    context.model = request.model
    const { outcome, answer } = await gateway.count(request, replyOptions)
    context.outcome = outcome
    if (answer) return sendAnswer(context.outgoing, answer, outcomeHeaders(outcome))
    return forward(context, originOf(), passedCall(request, replyOptions), body)
  }

  /** Removes the tool-search betas, unless the upstream supports tool search or the mode is `pass`. */
  function passedCall({ model }: MessagesRequest, { setting, call }: ReplyOptions): UpstreamCall {
    const takesAll = setting.mode === 'pass' || upstream.wireFor(model).wire === 'native'
    return takesAll ? call : { ...call, headers: withoutSearchBetas(call.headers) }
  }

  async function listing(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    if (upstream.origin) return passThrough(context, client, upstream.origin)
    sendAnswer(context.outgoing, await upstream.models(callFor(context, client)))
  }

  async function read(
    context: RequestContext,
    client: AuthenticatedClient,
  ): Promise<{ body: Buffer; request: Fields; replyOptions: ReplyOptions }> {
    const owner = ownerOf(client)
    const body = await readBody(context.incoming, limitsFor(context, owner))
    const call = callFor(context, client)
    const slice = await scheduler.turn()
    const request = await reader.read(body, owner, slice)
    refuseTooMany(request)
    return { body, request, replyOptions: { setting: settingFor(context, client), call, owner, slice } }
  }

  /** Counts the body's bytes as held until the request ends. */
  function limitsFor({ gone }: RequestContext, owner: string): RequestBodyLimits {
    const held = bodyMemory.hold(owner)
    gone.addEventListener('abort', held.release, { once: true })
    return { maxBytes: mostBody, held }
  }

  /** The setting from the request's header if its key allows that, else the key's, else the server's default. */
  function settingFor({ incoming }: RequestContext, { key }: AuthenticatedClient): Setting {
    const given = incoming.headers['x-toolshelf-mode']
    if (given === undefined) return key?.setting ?? setting
    const requested = readSetting(String(given))
    if (key?.setting && !key.mayChoose && !isSame(requested, key.setting))
      throw refuseRequest(
        403,
        'permission_error',
        `this key is fixed to the mode "${key.setting.mode}"; leave out the header x-toolshelf-mode`,
      )
    if (!requested || (requested.mode === 'pass' && !upstream.origin))
      throw refuseRequest(
        400,
        'invalid_request_error',
        `x-toolshelf-mode is "${String(given).slice(0, 40)}"; use auto, auto:N, emulate, shelve, off${upstream.origin ? ' or pass' : ''}`,
      )
    return requested
  }

  function originOf(): UpstreamOrigin {
    if (!upstream.origin) throw new Error('this upstream takes no requests as they are')
    return upstream.origin
  }

  /** Forwards a malformed request so that a Messages upstream refuses it itself; other upstreams get a 400 from here. */
  async function passMistake(
    context: RequestContext,
    client: AuthenticatedClient,
    body: Buffer,
  ): Promise<void> {
    if (upstream.origin) return forward(context, upstream.origin, callFor(context, client), body)
    throw refuseRequest(
      400,
      'invalid_request_error',
      'a request needs "model", a string, and "messages", a list of objects; "tools" is one, too',
    )
  }

  /** Forwards the request without parsing it (mode `pass`). */
  async function passUnread(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    const flow = flowOf(context.incoming, limitsFor(context, ownerOf(client)))
    const outcome = newOutcome({ mode: 'pass', wire: undefined, why: 'asked for' }, {})
    context.outcome = outcome
    const peeked = flow.whole.then((chunks) => {
      const { model, tools } = peekRequest(chunks)
      context.model = model
      outcome.toolsGiven = outcome.toolsVisible = tools
    })
    await Promise.all([peeked, forward(context, originOf(), callFor(context, client), flow)])
  }

  async function passThrough(
    context: RequestContext,
    client: AuthenticatedClient,
    origin: UpstreamOrigin,
  ): Promise<void> {
    const hasBody = context.incoming.method !== 'GET' && context.incoming.method !== 'HEAD'
    const limits = hasBody ? limitsFor(context, ownerOf(client)) : undefined
    const body = limits && (await readBody(context.incoming, limits))
    return forward(context, origin, callFor(context, client), body)
  }

  return answer
}

function isSame(one: Setting | undefined, other: Setting): boolean {
  return one?.mode === other.mode && one.share === other.share
}

/** Headers for a stream that starts before the upstream has answered. */
function early(outcome: RequestOutcome): () => Headers {
  const { 'x-toolshelf-tools': _, ...known } = outcomeHeaders(outcome)
  return () => ({ 'request-id': newRequestId(), ...known })
}

const NOBODY: AuthenticatedClient = { headers: {}, key: undefined }

async function forward(
  context: RequestContext,
  { url, credentials, secrets = [] }: UpstreamOrigin,
  call: UpstreamCall,
  body: Buffer | Flow | undefined,
): Promise<void> {
  const { incoming, outgoing, address, path, outcome } = context
  const answer = await open(below(url, path + (address?.search ?? '')), {
    method: incoming.method ?? 'GET',
    headers: {
      ...credentials(call.headers),
      ...(secrets.length > 0 ? { 'accept-encoding': 'identity' } : {}),
    },
    ...(body === undefined ? {} : { body }),
    signal: call.signal,
  })
  // No retry follows a response, so the buffered body can go.
  if (body && 'drop' in body) void body.whole.then(body.drop, () => {})
  await sendOn(outgoing, answer, outcome ? outcomeHeaders(outcome) : {}, secrets)
}

/** Records an error that the upstream reports inside its stream. */
async function* watched(
  events: AsyncIterable<StreamEvent>,
  context: RequestContext,
): AsyncGenerator<StreamEvent> {
  for await (const event of events) {
    if (event.type === 'error') context.error = reasonIn(JSON.stringify(event))
    yield event
  }
}

function callFor({ gone }: RequestContext, { headers }: AuthenticatedClient): UpstreamCall {
  return { headers, signal: gone }
}

function isMessages(request: Fields): request is MessagesRequest {
  const { model, messages, tools } = request
  return typeof model === 'string' && areFields(messages) && (tools === undefined || areFields(tools))
}

/** The API's own limit. */
const MOST_MESSAGES = 100_000

function refuseTooMany({ messages }: Fields): void {
  const count = Array.isArray(messages) ? messages.length : 0
  if (count <= MOST_MESSAGES) return
  const message = `messages: at most ${MOST_MESSAGES} are taken, but there are ${count}`
  throw refuseRequest(400, 'invalid_request_error', message)
}

function areFields(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
}

/** Identifies a client by its credentials, so that no client can reach another's conversations. */
function ownerOf({ headers, key }: AuthenticatedClient): string {
  const credentials = [key?.secret, headers['x-api-key'], headers.authorization]
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}

function document(value: unknown): HttpAnswer {
  const body = value === '' ? '' : JSON.stringify(value)
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
