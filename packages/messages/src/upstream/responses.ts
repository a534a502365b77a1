// An upstream for OpenAI's Responses API: stateless, using OpenAI's tool search on models that support it (wire 41).
// Implements wire 41.
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Fields, fieldsOf, isFields, textOf } from '@toolshelf/core/internal'
import { jsonBytes } from '../json/text.ts'
import type {
  ChosenWire,
  MessagesRequest,
  SamplingOutcome,
  Upstream,
  UpstreamCall,
  UpstreamWire,
} from '../types.ts'
import { dialectOf } from './dialects.ts'
import { fetchWhole, openRequest, pickRelayHeaders, UpstreamError } from './http.ts'
import { maskable, withMaskedSecrets } from './mask.ts'
import { nativeTools } from './native-tools.ts'
import { offer } from './offer.ts'
import { addressOf, bearer, jsonOf, openaiOrigin, toModels, traceContext } from './openai.ts'
import { toMessageEvents } from './responses-events.ts'
import { toResponses } from './responses-request.ts'
import { readEvents } from './sse.ts'
import { stoppedAt } from './stop-sequences.ts'
import { type Thoughts, thoughtsOf } from './thoughts.ts'

type ResponsesOptions = { readonly url: URL; readonly key?: string; readonly wire?: UpstreamWire }

/**
 * Creates an upstream that speaks OpenAI's Responses API.
 *
 * @example
 * const upstream = createResponsesUpstream({ url: new URL('https://api.openai.com/v1') })
 */
export function createResponsesUpstream({ url, key, wire }: ResponsesOptions): Upstream {
  const name = `responses ${url.host}`
  const upstream: Upstream = {
    name,
    api: 'responses',
    origin: openaiOrigin(url, key),
    wireFor(model) {
      const chosen: ChosenWire = wire ? { wire, why: 'it is forced' } : wireOf(model)
      const { maxTools } = dialectOf(url, model)
      return maxTools === undefined ? chosen : { ...chosen, maxTools }
    },
    sample: (request, call) => sample(url, key, request, call, thoughtsOf(name, request.model)),
    countTokens: async () => undefined,
    async models({ headers, signal }) {
      return toModels(
        await fetchWhole(addressOf(url, 'models'), { method: 'GET', headers: bearer(headers, key), signal }),
      )
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

async function sample(
  url: URL,
  key: string | undefined,
  request: MessagesRequest,
  { headers, signal, terms }: UpstreamCall,
  thoughts: Thoughts,
): Promise<SamplingOutcome> {
  // A lowered request has only plain tools; OpenAI's own search is used only for other requests.
  const isLowered = !request.tools?.some((tool) => 'defer_loading' in tool)
  const native = nativeTools(terms, !isLowered)
  const { body, names, searchName } = toResponses(request, dialectOf(url, request.model), thoughts, native)
  const post = (offered: Fields) =>
    openRequest(addressOf(url, 'responses'), {
      method: 'POST',
      headers: { ...traceContext(headers), ...bearer(headers, key), 'content-type': 'application/json' },
      body: jsonBytes(offered),
      signal,
    })
  const accepted = await offer(body, SPARE, post)
  if ('refused' in accepted) return accepted
  const { incoming } = accepted
  const context = { model: request.model, names, searchName, thoughts, native }
  const events = toMessageEvents(eventsIn(incoming, signal), context)
  return { events: stoppedAt(request, events), headers: pickRelayHeaders(incoming) }
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
