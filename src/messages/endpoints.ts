// What each endpoint does with a request: read it, let the gateway answer or forward it, and write what comes.
import { createHash } from 'node:crypto'
import { isFields } from '../core/oracle/json.ts'
import { flowOf, parseBody, readBody } from './body.ts'
import { newRequestId, reasonIn, refuse } from './errors.ts'
import { type Asked, type Gateway, newDeed } from './gateway.ts'
import { admit, type GuardOptions, type Guest } from './guard.ts'
import type { Metrics } from './metrics.ts'
import { readSetting, type Setting } from './plan.ts'
import { sendAnswer, sendMessage, sendOn, sendStream } from './respond.ts'
import type { Answer, Call, Fields, MessagesRequest, Origin, StreamEvent } from './types.ts'
import { type Flow, open } from './upstream/http.ts'
import { below, withoutSearchBetas } from './upstream/messages.ts'
import { glance, ours, type Visit } from './visit.ts'

export type EndpointOptions = {
  readonly gateway: Gateway
  readonly setting: Setting
  readonly metrics: Metrics
  readonly guard: GuardOptions
  readonly mostBody: number
  readonly silence: number
}

/** Answers a visit, or throws what to answer. */
export function createEndpoints(options: EndpointOptions): (visit: Visit) => Promise<void> {
  const { gateway, setting, metrics, guard, mostBody, silence } = options
  const { upstream } = gateway

  async function answer(visit: Visit): Promise<void> {
    const { incoming, path } = visit
    if (!visit.address) throw refuse(400, 'invalid_request_error', 'this is no address')
    const guest = path === '/health' || path === '/api/hello' ? undefined : admit(incoming, guard)
    const endpoint = endpoints[`${incoming.method} ${path}`]
    if (endpoint) return endpoint(visit, guest ?? NOBODY)
    if (guest && upstream.origin && path.startsWith('/v1/')) return passThrough(visit, guest, upstream.origin)
    throw refuse(404, 'not_found_error', `there is nothing at ${incoming.method} ${path}`)
  }

  const endpoints: { readonly [endpoint: string]: (visit: Visit, guest: Guest) => Promise<void> | void } = {
    'POST /v1/messages': messages,
    'POST /v1/messages/count_tokens': counting,
    'GET /v1/models': listing,
    'HEAD /api/hello': ({ outgoing }) => sendAnswer(outgoing, document('')),
    'GET /api/hello': ({ outgoing }) => sendAnswer(outgoing, document({ message: 'hello' })),
    'GET /health': ({ outgoing }) =>
      sendAnswer(outgoing, document({ status: 'ok', upstream: upstream.name })),
    'GET /metrics': ({ outgoing }) =>
      sendAnswer(outgoing, {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4' },
        body: metrics.text(),
      }),
  }

  async function messages(visit: Visit, guest: Guest): Promise<void> {
    const { outgoing } = visit
    if (settingFor(visit, guest).mode === 'pass') return passUnread(visit, guest)
    const { body, request, asked } = await read(visit, guest)
    if (!isMessages(request)) return passMistake(visit, guest, body)
    visit.model = request.model
    const { deed, sampled } = await gateway.reply(request, asked)
    visit.deed = deed
    if (!sampled) return forward(visit, originOf(), passedCall(request, asked), body)
    if ('refused' in sampled) {
      visit.error = reasonIn(sampled.refused.body)
      return sendAnswer(outgoing, sampled.refused, ours(deed))
    }
    const all = { 'request-id': newRequestId(), ...sampled.headers, ...ours(deed) }
    return request.stream === true
      ? sendStream(outgoing, watched(sampled.events, visit), all, silence)
      : sendMessage(outgoing, watched(sampled.events, visit), all)
  }

  async function counting(visit: Visit, guest: Guest): Promise<void> {
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

  async function listing(visit: Visit, guest: Guest): Promise<void> {
    if (upstream.origin) return passThrough(visit, guest, upstream.origin)
    sendAnswer(visit.outgoing, await upstream.models(callFor(visit, guest)))
  }

  async function read(visit: Visit, guest: Guest): Promise<{ body: Buffer; request: Fields; asked: Asked }> {
    const body = await readBody(visit.incoming, mostBody)
    const call = callFor(visit, guest)
    return {
      body,
      request: parseBody(body),
      asked: { setting: settingFor(visit, guest), call, owner: ownerOf(call) },
    }
  }

  /** The request's own word, its key's, or everyone's. */
  function settingFor({ incoming }: Visit, { key }: Guest): Setting {
    const given = incoming.headers['x-toolshelf-mode']
    if (given === undefined) return key?.setting ?? setting
    const asked = readSetting(String(given))
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
  async function passMistake(visit: Visit, guest: Guest, body: Buffer): Promise<void> {
    if (upstream.origin) return forward(visit, upstream.origin, callFor(visit, guest), body)
    throw refuse(
      400,
      'invalid_request_error',
      'a request needs "model", a string, and "messages", a list of objects; "tools" is one, too',
    )
  }

  /** Asked to pass on whatever comes, as it comes. */
  async function passUnread(visit: Visit, guest: Guest): Promise<void> {
    const flow = flowOf(visit.incoming, mostBody)
    const deed = newDeed({ mode: 'pass', wire: undefined, why: 'asked for' }, {})
    visit.deed = deed
    const glanced = flow.whole.then((body) => {
      const { model, tools } = glance(body)
      visit.model = model
      deed.toolsGiven = deed.toolsVisible = tools
    })
    await Promise.all([glanced, forward(visit, originOf(), callFor(visit, guest), flow)])
  }

  async function passThrough(visit: Visit, guest: Guest, origin: Origin): Promise<void> {
    const hasBody = visit.incoming.method !== 'GET' && visit.incoming.method !== 'HEAD'
    const body = hasBody ? await readBody(visit.incoming, mostBody) : undefined
    return forward(visit, origin, callFor(visit, guest), body)
  }

  return answer
}

const NOBODY: Guest = { headers: {}, key: undefined }

async function forward(
  visit: Visit,
  { url, credentials }: Origin,
  call: Call,
  body: Buffer | Flow | undefined,
): Promise<void> {
  const { incoming, outgoing, address, path, deed } = visit
  const answer = await open(below(url, path + (address?.search ?? '')), {
    method: incoming.method ?? 'GET',
    headers: credentials(call.headers),
    ...(body === undefined ? {} : { body }),
    signal: call.signal,
  })
  await sendOn(outgoing, answer, deed ? ours(deed) : {})
}

/** An upstream may say in its stream that it failed. */
async function* watched(events: AsyncIterable<StreamEvent>, visit: Visit): AsyncGenerator<StreamEvent> {
  for await (const event of events) {
    if (event.type === 'error') visit.error = reasonIn(JSON.stringify(event))
    yield event
  }
}

function callFor({ gone }: Visit, { headers }: Guest): Call {
  return { headers, signal: gone }
}

function isMessages(request: Fields): request is MessagesRequest {
  const { model, messages, tools } = request
  return typeof model === 'string' && areFields(messages) && (tools === undefined || areFields(tools))
}

function areFields(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
}

/** Conversations of different clients are kept apart, whatever they say. */
function ownerOf({ headers }: Call): string {
  return createHash('sha256').update(`${headers['x-api-key']}\n${headers.authorization}`).digest('base64')
}

function document(value: unknown): Answer {
  const body = value === '' ? '' : JSON.stringify(value)
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
