// An upstream for OpenAI's Responses API: stateless, using OpenAI's tool search on models that support it (wire 41).
// Implements wire 41.
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Fields, fieldsOf, isFields, listOf, textOf } from '@toolshelf/core/internal'
import type { ChosenWire, MessagesRequest, StreamEvent, Upstream, UpstreamWire } from '../types.ts'
import { dialectOf } from './dialects.ts'
import { pickRelayHeaders, UpstreamError } from './http.ts'
import { maskable, withMaskedSecrets } from './mask.ts'
import { nativeTools } from './native-tools.ts'
import { jsonOf, offer, openaiClient } from './openai.ts'
import { toMessageEvents } from './responses-events.ts'
import { toResponses } from './responses-request.ts'
import { readEvents } from './sse.ts'
import { thoughtsOf } from './thoughts.ts'

type ResponsesOptions = { readonly url: URL; readonly key?: string; readonly wire?: UpstreamWire }

/**
 * Creates an upstream that speaks OpenAI's Responses API.
 *
 * @example
 * const upstream = createResponsesUpstream({ url: new URL('https://api.openai.com/v1') })
 */
export function createResponsesUpstream({ url, key, wire }: ResponsesOptions): Upstream {
  const name = `responses ${url.host}`
  const client = openaiClient(url, key)
  const upstream: Upstream = {
    ...client.upstream,
    name,
    api: 'responses',
    wireFor(model) {
      const chosen: ChosenWire = wire ? { wire, why: 'it is forced' } : wireOf(model)
      const { maxTools } = dialectOf(url, model)
      return maxTools === undefined ? chosen : { ...chosen, maxTools }
    },
    async sample(request, call) {
      // A lowered request has only plain tools; OpenAI's own search is used only for other requests.
      const isLowered = !request.tools?.some((tool) => 'defer_loading' in tool)
      const native = nativeTools(call.terms, !isLowered)
      const thoughts = thoughtsOf(name, request.model)
      const dialect = dialectOf(url, request.model)
      const { body, names, searchName } = toResponses(request, dialect, thoughts, native)
      const accepted = await offer(body, SPARE, (offered) => client.post('responses', offered, call))
      if ('refused' in accepted) return accepted
      const { incoming } = accepted
      const context = { model: request.model, names, searchName, thoughts, native }
      const events = toMessageEvents(eventsIn(incoming, call.signal), context)
      return { events: stoppedAt(request, events), headers: pickRelayHeaders(incoming) }
    },
  }
  return withMaskedSecrets(upstream, maskable(key))
}

/** One digit of a version: `gpt-35-turbo` is Azure's name for 3.5. */
const VERSION = /(?:^|[/:])gpt-(\d)(?:\.(\d+))?(?!\d)/

function wireOf(model: string): ChosenWire {
  const [, major, minor] = VERSION.exec(model) ?? []
  const isAble = Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 4)
  return isAble
    ? { wire: 'native', why: 'has tool_search, as gpt-5.4 and later do' }
    : { wire: 'append', why: 'tool_search needs gpt-5.4 or later' }
}

/** Optional fields that not every model accepts. */
const SPARE = ['reasoning', 'include', 'temperature', 'top_p']

/** Reads a streamed or complete response; some servers send one when the other was requested. */
async function* eventsIn(incoming: IncomingMessage, signal: AbortSignal): AsyncGenerator<Fields> {
  try {
    if (/\bjson\b/.test(incoming.headers['content-type'] ?? '')) yield lastEvent(parsed(await text(incoming)))
    else
      for await (const { event, data } of readEvents(incoming))
        if (data !== '[DONE]') yield { type: event, ...parsed(data) }
  } catch (error) {
    if (signal.aborted || error instanceof UpstreamError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new UpstreamError(`the upstream cut its reply off (${why}). Try again.`, { cause: error })
  }
}

/** The final stream event for a complete response. */
function lastEvent(response: Fields): Fields {
  if (isFields(response.error)) return { type: 'response.failed', response }
  const status = Array.isArray(response.output) ? textOf(response.status) || 'completed' : 'missing'
  return { type: `response.${status}`, response }
}

function parsed(json: string): Fields {
  const value = jsonOf(json)
  if (!isFields(value)) throw new UpstreamError('the upstream did not answer with a JSON object.')
  return fieldsOf(value)
}

/** Cuts the text of a reply where it first has one of the request's stop sequences. */
function stoppedAt(
  { stop_sequences }: MessagesRequest,
  events: AsyncIterable<StreamEvent>,
): AsyncIterable<StreamEvent> {
  const sequences = listOf(stop_sequences).map(textOf).filter(Boolean)
  return sequences.length === 0 ? events : cut(sequences, events)
}

async function* cut(
  sequences: readonly string[],
  events: AsyncIterable<StreamEvent>,
): AsyncGenerator<StreamEvent> {
  /** The end of a text that may be the start of a sequence. */
  let held = ''
  let found: string | undefined
  const textDelta = (index: unknown, text: string): StreamEvent[] =>
    text === '' ? [] : [{ type: 'content_block_delta', index, delta: { type: 'text_delta', text } }]
  for await (const event of events) {
    const delta = fieldsOf(event.delta)
    if (event.type === 'message_delta' && found !== undefined)
      yield { ...event, delta: { ...delta, stop_reason: 'stop_sequence', stop_sequence: found } }
    else if (!event.type.startsWith('content_block_')) yield event
    else if (found !== undefined) continue
    else if (delta.type === 'text_delta') {
      const text = held + textOf(delta.text)
      found = firstIn(text, sequences)
      const end = found === undefined ? text.length - openLength(text, sequences) : text.indexOf(found)
      held = text.slice(end)
      yield* textDelta(event.index, text.slice(0, end))
      if (found !== undefined) yield { type: 'content_block_stop', index: event.index }
    } else {
      if (event.type === 'content_block_stop') yield* textDelta(event.index, held)
      held = event.type === 'content_block_stop' ? '' : held
      yield event
    }
  }
}

function firstIn(text: string, sequences: readonly string[]): string | undefined {
  const present = sequences.filter((sequence) => text.includes(sequence))
  return present.sort((one, other) => text.indexOf(one) - text.indexOf(other))[0]
}

/** How many characters at the end of a text may be the start of a sequence. */
function openLength(text: string, sequences: readonly string[]): number {
  const longest = Math.max(...sequences.map(({ length }) => length)) - 1
  for (let length = Math.min(longest, text.length); length > 0; length--)
    if (sequences.some((sequence) => sequence.startsWith(text.slice(-length)))) return length
  return 0
}
