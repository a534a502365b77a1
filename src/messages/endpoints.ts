// What each endpoint does with a request: read it, let the gateway answer or forward it, and write what comes.
import { createHash } from 'node:crypto'
import { isFields } from '../lib/index.ts'
import { type BodyLimits, flowOf, readBody } from './body.ts'
import { newRequestId, Refusal, reasonIn, refuse } from './errors.ts'
import { type EventStream, openEventStream } from './event-stream.ts'
import type { Forwarding } from './forwarding.ts'
import { type Asked, type MessagesGateway, newOutcome, type RequestOutcome } from './gateway.ts'
import type { AuthenticatedClient, Guard } from './guard.ts'
import type { BodyMemory } from './held-bytes.ts'
import type { Metrics } from './metrics.ts'
import { readSetting, type Setting } from './plan.ts'
import { createRequestReader } from './read-request.ts'
import { glance, ours, type RequestContext } from './request-context.ts'
import { sendAnswer, sendMessage, sendOn } from './respond.ts'
import { createScheduler } from './scheduler.ts'
import type { Answer, Call, Fields, Headers, MessagesRequest, Origin, StreamEvent } from './types.ts'
import { below, type Flow, open, withoutSearchBetas } from './upstream/index.ts'

export type EndpointOptions = {
  readonly gateway: MessagesGateway
  readonly setting: Setting
  readonly metrics: Metrics
  readonly guard: Guard
  /** Requests that are forwarded beside those that are answered here. */
  readonly forwarding: Forwarding
  readonly mostBody: number
  readonly bodyMemory: BodyMemory
  readonly silence: number
  readonly headWaitMs: number
}

/** Answers a visit, or throws what to answer. */
export function createEndpoints(options: EndpointOptions): (visit: RequestContext) => Promise<void> {
  const { gateway, setting, metrics, guard, forwarding, mostBody, bodyMemory } = options
  const { silence, headWaitMs } = options
  const { upstream } = gateway
  const scheduler = createScheduler()
  const reader = createRequestReader()

  async function answer(visit: RequestContext): Promise<void> {
    const { incoming, path } = visit
    if (!visit.address) throw refuse(400, 'invalid_request_error', 'this is no address')
    const guest = path === '/health' || path === '/api/hello' ? undefined : guard(incoming)
    const endpoint = endpoints[`${incoming.method} ${path}`]
    if (endpoint) return endpoint(visit, guest ?? NOBODY)
    const isForwarded = forwarding(incoming.method ?? '', path)
    if (guest && upstream.origin && isForwarded) return passThrough(visit, guest, upstream.origin)
    throw refuse(404, 'not_found_error', `there is nothing at ${incoming.method} ${path}`)
  }

  const endpoints: {
    readonly [endpoint: string]: (visit: RequestContext, guest: AuthenticatedClient) => Promise<void> | void
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

  async function messages(visit: RequestContext, guest: AuthenticatedClient): Promise<void> {
    const { outgoing } = visit
    if (settingFor(visit, guest).mode === 'pass') return passUnread(visit, guest)
    const { body, request, asked } = await read(visit, guest)
    if (!isMessages(request)) return passMistake(visit, guest, body)
    visit.model = request.model
    let stream: EventStream | undefined
    const onDecided = (deed: RequestOutcome) => {
      visit.deed = deed
      if (request.stream === true)
        stream ??= openEventStream(outgoing, { headWaitMs, silence, headers: early(deed) })
    }
    try {
      const { deed, sampled } = await gateway.reply(request, { ...asked, onDecided })
      visit.deed = deed
      if (!sampled) return await forward(visit, originOf(), passedCall(request, asked), body)
      if ('refused' in sampled) throw new Refusal(sampled.refused)
      onDecided(deed)
      const id = newRequestId()
      const headers = () => ({ 'request-id': id, ...sampled.headers, ...ours(deed) })
      const events = watched(sampled.events, visit)
      await (stream ? stream.send(events, headers()) : sendMessage(outgoing, events, headers))
    } finally {
      stream?.close()
    }
  }

  async function counting(visit: RequestContext, guest: AuthenticatedClient): Promise<void> {
    if (settingFor(visit, guest).mode === 'pass') return passUnread(visit, guest)
    const { body, request, asked } = await read(visit, guest)
    if (!isMessages(request)) return passMistake(visit, guest, body)
    visit.model = request.model
    const { deed, answer } = await gateway.count(request, asked)
    visit.deed = deed
    if (answer) return sendAnswer(visit.outgoing, answer, ours(deed))
    return forward(visit, originOf(), passedCall(request, asked), body)
  }

  /** Betas of tool search stay here, unless the upstream knows it or is to be asked as it is. */
  function passedCall({ model }: MessagesRequest, { setting, call }: Asked): Call {
    const takesAll = setting.mode === 'pass' || upstream.wireFor(model).wire === 'native'
    return takesAll ? call : { ...call, headers: withoutSearchBetas(call.headers) }
  }

  async function listing(visit: RequestContext, guest: AuthenticatedClient): Promise<void> {
    if (upstream.origin) return passThrough(visit, guest, upstream.origin)
    sendAnswer(visit.outgoing, await upstream.models(callFor(visit, guest)))
  }

  async function read(
    visit: RequestContext,
    guest: AuthenticatedClient,
  ): Promise<{ body: Buffer; request: Fields; asked: Asked }> {
    const owner = ownerOf(guest)
    const body = await readBody(visit.incoming, limitsFor(visit, owner))
    const call = callFor(visit, guest)
    const slice = await scheduler.turn()
    const request = await reader.read(body, owner, slice)
    refuseTooMany(request)
    return { body, request, asked: { setting: settingFor(visit, guest), call, owner, slice } }
  }

  /** A body's bytes count until its request is over. */
  function limitsFor({ gone }: RequestContext, owner: string): BodyLimits {
    const held = bodyMemory.hold(owner)
    gone.addEventListener('abort', held.release, { once: true })
    return { maxBytes: mostBody, held }
  }

  /** What the request asks for, where its key lets it; else what its key or everyone gets. */
  function settingFor({ incoming }: RequestContext, { key }: AuthenticatedClient): Setting {
    const given = incoming.headers['x-toolshelf-mode']
    if (given === undefined) return key?.setting ?? setting
    const asked = readSetting(String(given))
    if (key?.setting && !key.mayChoose && !isSame(asked, key.setting))
      throw refuse(
        403,
        'permission_error',
        `this key is fixed to the mode "${key.setting.mode}"; leave out the header x-toolshelf-mode`,
      )
    if (!asked || (asked.mode === 'pass' && !upstream.origin))
      throw refuse(
        400,
        'invalid_request_error',
        `x-toolshelf-mode is "${String(given).slice(0, 40)}"; use auto, auto:N, emulate, shelve, off${upstream.origin ? ' or pass' : ''}`,
      )
    return asked
  }

  function originOf(): Origin {
    if (!upstream.origin) throw new Error('this upstream takes no requests as they are')
    return upstream.origin
  }

  /** What is no request at all is the upstream's to refuse, where it speaks the same language. */
  async function passMistake(visit: RequestContext, guest: AuthenticatedClient, body: Buffer): Promise<void> {
    if (upstream.origin) return forward(visit, upstream.origin, callFor(visit, guest), body)
    throw refuse(
      400,
      'invalid_request_error',
      'a request needs "model", a string, and "messages", a list of objects; "tools" is one, too',
    )
  }

  /** Asked to pass on whatever comes, as it comes. */
  async function passUnread(visit: RequestContext, guest: AuthenticatedClient): Promise<void> {
    const flow = flowOf(visit.incoming, limitsFor(visit, ownerOf(guest)))
    const deed = newOutcome({ mode: 'pass', wire: undefined, why: 'asked for' }, {})
    visit.deed = deed
    const glanced = flow.whole.then((chunks) => {
      const { model, tools } = glance(chunks)
      visit.model = model
      deed.toolsGiven = deed.toolsVisible = tools
    })
    await Promise.all([glanced, forward(visit, originOf(), callFor(visit, guest), flow)])
  }

  async function passThrough(
    visit: RequestContext,
    guest: AuthenticatedClient,
    origin: Origin,
  ): Promise<void> {
    const hasBody = visit.incoming.method !== 'GET' && visit.incoming.method !== 'HEAD'
    const limits = hasBody ? limitsFor(visit, ownerOf(guest)) : undefined
    const body = limits && (await readBody(visit.incoming, limits))
    return forward(visit, origin, callFor(visit, guest), body)
  }

  return answer
}

function isSame(one: Setting | undefined, other: Setting): boolean {
  return one?.mode === other.mode && one.share === other.share
}

/** What is known of a reply before the upstream has answered. */
function early(deed: RequestOutcome): () => Headers {
  const { 'x-toolshelf-tools': _, ...known } = ours(deed)
  return () => ({ 'request-id': newRequestId(), ...known })
}

const NOBODY: AuthenticatedClient = { headers: {}, key: undefined }

async function forward(
  visit: RequestContext,
  { url, credentials, secrets = [] }: Origin,
  call: Call,
  body: Buffer | Flow | undefined,
): Promise<void> {
  const { incoming, outgoing, address, path, deed } = visit
  const answer = await open(below(url, path + (address?.search ?? '')), {
    method: incoming.method ?? 'GET',
    headers: {
      ...credentials(call.headers),
      ...(secrets.length > 0 ? { 'accept-encoding': 'identity' } : {}),
    },
    ...(body === undefined ? {} : { body }),
    signal: call.signal,
  })
  // Nothing is sent again once there is an answer.
  if (body && 'drop' in body) void body.whole.then(body.drop, () => {})
  await sendOn(outgoing, answer, deed ? ours(deed) : {}, secrets)
}

/** An upstream may say in its stream that it failed. */
async function* watched(
  events: AsyncIterable<StreamEvent>,
  visit: RequestContext,
): AsyncGenerator<StreamEvent> {
  for await (const event of events) {
    if (event.type === 'error') visit.error = reasonIn(JSON.stringify(event))
    yield event
  }
}

function callFor({ gone }: RequestContext, { headers }: AuthenticatedClient): Call {
  return { headers, signal: gone }
}

function isMessages(request: Fields): request is MessagesRequest {
  const { model, messages, tools } = request
  return typeof model === 'string' && areFields(messages) && (tools === undefined || areFields(tools))
}

/** As many as the API takes. */
const MOST_MESSAGES = 100_000

function refuseTooMany({ messages }: Fields): void {
  const count = Array.isArray(messages) ? messages.length : 0
  if (count <= MOST_MESSAGES) return
  const message = `messages: at most ${MOST_MESSAGES} are taken, but there are ${count}`
  throw refuse(400, 'invalid_request_error', message)
}

function areFields(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
}

/** Conversations of different clients are kept apart, whatever they say. */
function ownerOf({ headers, key }: AuthenticatedClient): string {
  const credentials = [key?.secret, headers['x-api-key'], headers.authorization]
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}

function document(value: unknown): Answer {
  const body = value === '' ? '' : JSON.stringify(value)
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
