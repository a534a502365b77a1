// The offline model as an upstream: validates each request as the API would, answers from a script, and streams the
// reply like recorded API traffic (wire 1.5). Runs entirely in this process.
import { setTimeout as wait } from 'node:timers/promises'
import { estimateTokens } from '@toolshelf/core'
import {
  countTokens,
  eventsOf,
  type Fields,
  fieldsOf,
  hash,
  type PromptSegment,
  parseBetas,
  renderRequest,
  textOf,
  toJson,
  visibleTools,
} from '@toolshelf/core/internal'
import { createRecent } from '../recent.ts'
import type {
  ChosenWire,
  HttpAnswer,
  MessagesRequest,
  StreamEvent,
  Upstream,
  UpstreamCall,
  UpstreamWire,
} from '../types.ts'
import { withFittedSettings } from './dialects.ts'
import { UpstreamError } from './http.ts'
import { ANTHROPIC } from './messages.ts'
import type { ModelScript } from './script-file.ts'
import { replyTo, type ScriptReply } from './script-model.ts'
import { withoutKeptThoughts } from './thoughts.ts'

export type ScriptUpstreamOptions = {
  readonly script: ModelScript
  readonly name?: string
  /** Overrides the wire that matches the script's API. */
  readonly wire?: UpstreamWire
  readonly onRequest?: (seen: ObservedRequest) => void
}

/** A request that the offline model received, and what it did with it. */
export type ObservedRequest = {
  readonly request: MessagesRequest
  readonly visible: readonly string[]
  readonly segments: readonly PromptSegment[]
  readonly tokens: number
  /** A short description, such as `calls ToolSearch`. */
  readonly action: string
  /** The error with which the API would refuse the request. */
  readonly refused?: string
}

/**
 * Creates an upstream that plays a script in place of a model, for tests and demos.
 *
 * @example
 * const upstream = createScriptUpstream({ script: await loadScript('sum.json') })
 */
export function createScriptUpstream(options: ScriptUpstreamOptions): Upstream {
  const { script, name = 'script', wire, onRequest } = options
  const failed = createRecent<number>(MAX_FAILURES)
  const observe = (request: MessagesRequest, action: string, refused?: string) =>
    onRequest?.({
      request,
      visible: visibleTools(request),
      segments: renderRequest(request),
      tokens: countTokens(request),
      action,
      ...(refused === undefined ? {} : { refused }),
    })

  return {
    name,
    api: 'messages',
    wireFor: () => chosenWire(script, wire),

    async sample(given, call) {
      call.signal.throwIfAborted()
      const own = withoutKeptThoughts(given)
      const request = call.terms ? withFittedSettings(own, ANTHROPIC) : own
      const seed = hash(toJson(request))
      const headers = { 'request-id': `req_script_${seed}` }
      const oracle = await loadOracle()
      const error = oracle.validateRequest(request, {
        ...refusing(script, call),
        requestId: headers['request-id'],
      })
      if (error) {
        observe(request, 'refuses the request', error.body.error.message)
        return { refused: answer(error.status, error.body, headers) }
      }
      const reply = replyTo(request, script, oracle.signThinking, failed.get(seed))
      observe(request, deedOf(reply))
      if ('failure' in reply) {
        const { status, type, message } = reply.failure
        failed.set(seed, (failed.get(seed) ?? 0) + 1)
        const body = { type: 'error', error: { type, message }, request_id: headers['request-id'] }
        return { refused: answer(status, body, headers) }
      }
      if (failed.get(seed)) failed.set(seed, 0)
      const events = [...streamed(messageOf(request, reply, seed))]
      return { events: paced(events, script.delay, reply.isCut, call.signal), headers }
    },

    async countTokens(request, call) {
      const { validateRequest } = await loadOracle()
      const error = validateRequest(request, refusing(script, call))
      return error ? answer(error.status, error.body) : answer(200, { input_tokens: countTokens(request) })
    },

    models: async () => answer(200, modelList(script.models)),
  }
}

/** Maximum requests whose failures are counted for a step's `times`, the only state not in the conversation. */
const MAX_FAILURES = 1000

function chosenWire({ api }: ModelScript, forced: UpstreamWire | undefined): ChosenWire {
  if (forced) return { wire: forced, why: 'asked for' }
  return api === 'current'
    ? { wire: 'native', why: 'the script plays an API that takes references' }
    : { wire: 'append', why: 'the script plays an API from before tool search' }
}

/** Loaded by the first request: whoever only has this door open needs no model of the API. */
const loadOracle = () => import('../oracle.ts')

function refusing({ api, boundThinking }: ModelScript, { headers }: UpstreamCall) {
  const betas = parseBetas(headers['anthropic-beta'])
  return { betas, isOldProxy: api === 'old', bindsThinking: boundThinking }
}

function answer(status: number, body: unknown, headers: HttpAnswer['headers'] = {}): HttpAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

function modelList(models: readonly string[]): Fields {
  const data = models.map((id) => ({
    type: 'model',
    id,
    display_name: `${id} (offline script)`,
    created_at: '1970-01-01T00:00:00Z',
  }))
  return { data, has_more: false, first_id: models[0], last_id: models.at(-1) }
}

function deedOf(reply: ScriptReply): string {
  if ('failure' in reply) return `fails with ${reply.failure.status}`
  const calls = reply.content.filter(({ type }) => type === 'tool_use').map(({ name }) => textOf(name))
  const action = calls.length > 0 ? `calls ${calls.join(', ')}` : `says its piece (${reply.stop})`
  return reply.isCut ? `${action}, cut off` : action
}

function messageOf(
  request: MessagesRequest,
  reply: Exclude<ScriptReply, { failure: unknown }>,
  seed: string,
): Fields {
  const { content, stop } = reply
  return {
    id: `msg_script_${seed}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: {
      input_tokens: countTokens(request),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: estimateTokens(toJson(content)),
    },
  }
}

/** Streams a message like a model: in small deltas, with a ping at the start. */
function* streamed(message: Fields): Generator<StreamEvent> {
  for (const event of eventsOf(message)) {
    if (event.type === 'message_start') {
      const started = fieldsOf(event.message)
      yield { ...event, message: { ...started, usage: { ...fieldsOf(started.usage), output_tokens: 1 } } }
      yield { type: 'ping' }
    } else if (event.type === 'content_block_delta') yield* fragments(event)
    else yield event
  }
}

const FRAGMENTED = ['text', 'thinking', 'partial_json']

function* fragments(event: StreamEvent): Generator<StreamEvent> {
  const delta = fieldsOf(event.delta)
  const key = FRAGMENTED.find((name) => textOf(delta[name]) !== '')
  if (key === undefined) yield event
  else for (const piece of piecesOf(textOf(delta[key]))) yield { ...event, delta: { ...delta, [key]: piece } }
}

const MAX_PIECES = 64

/** Splits text into pieces of about a word, up to a maximum count. */
function piecesOf(text: string): string[] {
  const words = text.split(/(?<=[\s,:])(?=[^\s,:])/)
  const size = Math.ceil(words.length / MAX_PIECES)
  return words.flatMap((_, index) => (index % size === 0 ? [words.slice(index, index + size).join('')] : []))
}

async function* paced(
  events: readonly StreamEvent[],
  delay: number,
  isCut: boolean,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const end = isCut ? Math.ceil(events.length / 2) : events.length
  for (const [index, event] of events.slice(0, end).entries()) {
    if (delay > 0 && index > 0) await wait(delay, undefined, { signal })
    signal.throwIfAborted()
    yield event
  }
  if (isCut) throw new UpstreamError('the script breaks this reply off in the middle ("cut": true).')
}
