// An upstream for the Messages API: Anthropic's own or a compatible server.
import { defaultCapabilities } from '@toolshelf/core'
import {
  capabilityOf,
  eventsOf,
  fieldsOf,
  isFields,
  isKnownHost,
  listOf,
  parseBetas,
  searchBetas,
} from '@toolshelf/core/internal'
import { createBufferPool } from '@toolshelf/core/internal/node'
import { exactJson, parseExact } from '../json/exact.ts'
import { jsonBytes } from '../json/text.ts'
import type {
  Headers,
  HttpAnswer,
  MessagesRequest,
  SamplingOutcome,
  StreamEvent,
  Upstream,
  UpstreamCall,
  UpstreamWire,
} from '../types.ts'
import { withFittedSettings } from './dialects.ts'
import {
  appendPath,
  brokenOff,
  fetchWhole,
  openRequest,
  pickRelayHeaders,
  readWhole,
  UpstreamError,
} from './http.ts'
import { maskable, withMaskedSecrets } from './mask.ts'
import { readEventBatches } from './sse.ts'
import { withoutKeptThoughts } from './thoughts.ts'

/** Options of `createMessagesUpstream`. */
export type MessagesOptions = {
  /** The URL in front of `/v1/messages`. */
  readonly url: URL
  /** Replaces the client's credentials. */
  readonly key?: string | undefined
  /** Used for clients without credentials. */
  readonly keyOtherwise?: string | undefined
  /** Overrides the chosen wire. */
  readonly wire?: UpstreamWire | undefined
  /** @internal Maximum bytes of an answer that is read whole, and of one event of a stream; 64,000,000 by default. */
  readonly maxAnswerBytes?: number | undefined
}

/** URL of Anthropic's API. */
export const ANTHROPIC = new URL('https://api.anthropic.com')

/**
 * Creates an upstream that speaks the Messages API: Anthropic's, or a compatible one.
 *
 * @example
 * const upstream = createMessagesUpstream({ url: new URL('https://api.anthropic.com') })
 */
export function createMessagesUpstream(options: MessagesOptions): Upstream {
  const { url: given, key, keyOtherwise, wire, maxAnswerBytes } = options
  const url = withoutVersion(given)
  const credentials = (headers: Headers): Headers => {
    const isOwn = headers['x-api-key'] !== undefined || headers.authorization !== undefined
    const used = key ?? (isOwn ? undefined : keyOtherwise)
    return used === undefined ? headers : withKey(headers, used, url)
  }
  const headersFor = ({ headers, terms }: UpstreamCall): Headers => ({
    ...credentials(terms ? fromOpenaiHeaders(headers, url) : headers),
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  })
  const wireFor: Upstream['wireFor'] = (model) => (wire ? { wire, why: 'forced' } : wireOf(model, url))

  const bodies = createBufferPool()

  const post = (path: string, request: MessagesRequest, call: UpstreamCall) => {
    const own = withoutKeptThoughts(request)
    // A client of the Messages API knows what its model takes.
    const fitted = call.terms ? withFittedSettings(own, url) : own
    const body = jsonBytes(withPromptCache(fitted, call, url), bodies.take)
    return openRequest(appendPath(url, path), {
      method: 'POST',
      headers: headersFor(call),
      body,
      signal: call.signal,
      onSent: () => body.forEach(bodies.giveBack),
    })
  }

  const upstream: Upstream = {
    name: url.host,
    api: 'messages',
    origin: { address: (path) => appendPath(url, path), credentials },
    wireFor,
    async sample(request, call): Promise<SamplingOutcome> {
      const incoming = await post('/v1/messages', request, call)
      if (incoming.statusCode !== 200) return { refused: await readWhole(incoming, maxAnswerBytes) }
      const isStream = String(incoming.headers['content-type']).startsWith('text/event-stream')
      return {
        headers: pickRelayHeaders(incoming),
        events: isStream
          ? streamed(incoming, maxAnswerBytes)
          : whole(await readWhole(incoming, maxAnswerBytes)),
      }
    },
    async countTokens(request, call): Promise<HttpAnswer | undefined> {
      const answer = await readWhole(await post('/v1/messages/count_tokens', request, call))
      return answer.status === 404 || answer.status === 405 ? undefined : answer
    },
    models: (call) =>
      fetchWhole(appendPath(url, '/v1/models'), {
        method: 'GET',
        headers: headersFor(call),
        signal: call.signal,
      }),
  }
  return withMaskedSecrets(upstream, maskable(key, keyOtherwise))
}

/** The headers of a client that speaks one of OpenAI's APIs, as this API expects them. */
function fromOpenaiHeaders(headers: Headers, url: URL): Headers {
  const kept = Object.entries(headers).filter(
    ([name]) => name.startsWith('anthropic-') || KEPT_HEADERS.has(name),
  )
  const token = headers.authorization?.replace(/^Bearer +/i, '')
  const version = { 'anthropic-version': headers['anthropic-version'] ?? '2023-06-01' }
  const others = { ...Object.fromEntries(kept), ...version }
  if (token === undefined || token === '') return others
  // An OAuth token is not an API key.
  const isOauth = token.startsWith('sk-ant-oat')
  return isOauth ? { ...others, authorization: `Bearer ${token}` } : withKey(others, token, url)
}

const KEPT_HEADERS = new Set(['user-agent', 'traceparent', 'tracestate', 'x-api-key'])

/**
 * Adds cache breakpoints for clients of OpenAI's APIs to requests with tools: OpenAI caches prompts automatically, so
 * these clients set none, while Anthropic's API needs them. A request with tools is an agent's, which sends the same
 * prompt again in its next turn.
 */
function withPromptCache(request: MessagesRequest, { terms }: UpstreamCall, { host }: URL): MessagesRequest {
  const { tools = [], system, messages } = request
  if (!terms || host !== ANTHROPIC.host || tools.length === 0) return request
  const blocks = messages.flatMap(({ content }) => listOf(content))
  const isMarked = [...tools, ...listOf(system), ...blocks].some((one) =>
    isFields(fieldsOf(one).cache_control),
  )
  return isMarked || isFields(request.cache_control)
    ? request
    : { ...request, cache_control: { type: 'ephemeral' } }
}

/** Removes a trailing `/v1`, which some users add as for OpenAI's base URL. */
function withoutVersion(url: URL): URL {
  const base = new URL(url)
  base.pathname = url.pathname.replace(/\/v1\/*$/, '')
  return base
}

function wireOf(model: string, url: URL): { wire: UpstreamWire; why: string } {
  const capability = capabilityOf(model, 'anthropic', defaultCapabilities)
  if (!isKnownHost(url.href, capability.provider))
    return {
      // If thinking is bound to its prefix, a tool appended to the list would invalidate it.
      wire: capability.boundThinking ? 'bridge' : 'append',
      why: `${url.host} is not known to understand references`,
    }
  if (!capability.modelTakesReferences)
    return { wire: 'append', why: `${model} does not understand references` }
  return { wire: 'native', why: `${url.host} understands references` }
}

function withKey(headers: Headers, key: string, url: URL): Headers {
  const { authorization: _, 'x-api-key': __, ...rest } = headers
  const isAnthropic = url.host === ANTHROPIC.host
  return { ...rest, 'x-api-key': key, ...(isAnthropic ? {} : { authorization: `Bearer ${key}` }) }
}

/** Removes the betas of features that lowering translates, because an upstream without them would refuse the request. */
export function withoutSearchBetas(headers: Headers): Headers {
  const { 'anthropic-beta': given, ...rest } = headers
  if (given === undefined) return headers
  const removed = new Set([...searchBetas(defaultCapabilities), DIRECTIVES])
  const kept = parseBetas(given).filter((beta) => !removed.has(beta))
  return kept.length > 0 ? { ...rest, 'anthropic-beta': kept.join(',') } : rest
}

const DIRECTIVES = 'mid-conversation-output-config-2026-07-01'

async function* streamed(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number | undefined,
): AsyncGenerator<StreamEvent> {
  try {
    for await (const events of readEventBatches(chunks, maxBytes)) {
      for (const { data } of events) {
        const event = parsed(data)
        if (typeof event.type === 'string') yield event as StreamEvent
      }
    }
  } catch (error) {
    throw brokenOff(error)
  }
}

async function* whole({ body }: HttpAnswer): AsyncGenerator<StreamEvent> {
  const message = parsed(body)
  if (!Array.isArray(message.content))
    throw new UpstreamError('the upstream answered with JSON that is not a message.')
  yield* eventsOf(message, exactJson)
}

function parsed(json: string) {
  try {
    const value: unknown = parseExact(json)
    if (isFields(value)) return fieldsOf(value)
  } catch {
    // Reported below, like any other text that is not a JSON object.
  }
  throw new UpstreamError('the upstream did not answer with a JSON object.')
}
