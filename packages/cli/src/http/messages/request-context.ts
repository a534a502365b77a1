// The state of one HTTP request while the server handles it, and the headers and metrics that report its outcome.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cut, type Figures } from '@toolshelf/core/internal'
import type { MessagesGateway } from '@toolshelf/messages'
import {
  type ApiName,
  conversationStart,
  type Headers,
  type InboundApi,
  maskable,
  maskText,
  type ReplyWriter,
  type RequestOutcome,
  reasonIn,
  traceparentIn,
} from '@toolshelf/messages/internal'
import { GATEWAY_LABEL, type MessagesMetrics } from './metrics.ts'
import type { ReservedTokens } from './token-count.ts'

/** The state of one HTTP request. */
export type RequestContext = {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Undefined if the request's URL is invalid. */
  readonly address: URL | undefined
  readonly path: string
  /** The API that the client speaks, in which errors are written too. */
  readonly api: InboundApi
  readonly gone: AbortSignal
  model: string | undefined
  outcome: RequestOutcome | undefined
  /** Writes the reply in the client's API; undefined if there is none yet, or if it is forwarded. */
  writer: ReplyWriter | undefined
  /** The error message sent to the client, if the request failed. */
  error: string | undefined
  /** The id of the user who sent it. */
  user?: string | undefined
  /** Counts the tokens of the reply, if the user's are limited. */
  tokens?: ReservedTokens | undefined
}

/** Returns the message of an error body for the log and the events: an upstream may repeat the client's key in it. */
export function failureReason(body: string, { incoming }: RequestContext): string {
  const { authorization, 'x-api-key': key } = incoming.headers
  const token = authorization?.replace(/^\S+\s+/, '')
  return maskText(reasonIn(body), maskable(token, String(key ?? '')))
}

/** Finds the model and the number of tools of a forwarded body without parsing it. */
export function peekRequest(
  chunks: readonly Buffer[],
  api: ApiName,
): { model: string | undefined; tools: number } {
  const model = MODEL.exec(startOf(chunks))?.[1] ?? MODEL.exec(endOf(chunks))?.[1]
  return { model, tools: countIn(chunks, SCHEMAS[api]) }
}

/** The first `PEEK_BYTES` bytes, as text. */
function startOf(chunks: readonly Buffer[]): string {
  let text = ''
  for (const chunk of chunks) {
    text += chunk.toString('latin1', 0, PEEK_BYTES - text.length)
    if (text.length >= PEEK_BYTES) break
  }
  return text
}

/** The last `PEEK_BYTES` bytes, as text. */
function endOf(chunks: readonly Buffer[]): string {
  let text = ''
  for (const chunk of [...chunks].reverse()) {
    text = chunk.toString('latin1', Math.max(0, chunk.length - PEEK_BYTES + text.length)) + text
    if (text.length >= PEEK_BYTES) break
  }
  return text
}

/** How often a key occurs; it may straddle chunks. */
function countIn(chunks: readonly Buffer[], key: Buffer): number {
  let count = 0
  let seam: Buffer | undefined
  for (const chunk of chunks) {
    if (seam) count += countInChunk(Buffer.concat([seam, chunk.subarray(0, key.length - 1)]), key)
    count += countInChunk(chunk, key)
    const rest = seam && chunk.length < key.length ? Buffer.concat([seam, chunk]) : chunk
    seam = rest.subarray(-key.length + 1)
  }
  return count
}

function countInChunk(bytes: Buffer, schema: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(schema); at >= 0; at = bytes.indexOf(schema, at + schema.length)) count++
  return count
}

const PEEK_BYTES = 4096
const MODEL = /(?<!\\)"model"\s*:\s*"([\w.:@/[\]-]{1,200})"/
/** A key that every tool has once, in each API. */
const SCHEMAS: { readonly [api in ApiName]: Buffer } = {
  messages: Buffer.from('"input_schema"'),
  chat: Buffer.from('"parameters"'),
  responses: Buffer.from('"parameters"'),
}

/** Returns the response headers that describe the outcome. Streams have no figures, which are known only at the end. */
export function outcomeHeaders({
  mode,
  wire,
  why,
  toolsGiven,
  toolsVisible,
  figures,
}: RequestOutcome): Headers {
  return {
    'x-toolshelf-mode': mode,
    'x-toolshelf-why': cut(why.replace(/[^\x20-\x7e]/g, '?'), 300).replace('…', '...'),
    ...(wire ? { 'x-toolshelf-wire': wire, 'x-toolshelf-tools': `${toolsVisible}/${toolsGiven}` } : {}),
    ...figureHeaders(figures()),
  }
}

function figureHeaders(figures: Figures | undefined): Headers {
  if (!figures) return {}
  const { tokensWithout, tokensWith, tokensSaved, extraRoundTrips, dollarsSaved } = figures
  return {
    'x-toolshelf-tokens-without': String(tokensWithout),
    'x-toolshelf-tokens-with': String(tokensWith),
    'x-toolshelf-tokens-saved': String(tokensSaved),
    'x-toolshelf-extra-round-trips': String(extraRoundTrips),
    ...(dollarsSaved === undefined ? {} : { 'x-toolshelf-dollars-saved': dollarsSaved.toFixed(6) }),
  }
}

/** Paths with metrics of their own. */
const ENDPOINTS = new Set([
  ...['/v1/messages', '/v1/messages/count_tokens', '/v1/chat/completions', '/v1/responses', '/v1/models'],
])

export function recordRequest(
  metrics: MessagesMetrics,
  { path, outcome }: RequestContext,
  status: number,
  milliseconds: number,
): void {
  const mode = outcome?.mode ?? 'none'
  const endpoint = ENDPOINTS.has(path) ? path : 'other'
  metrics.add('toolshelf_requests_total', { ...GATEWAY_LABEL, endpoint, mode, status: String(status) })
  metrics.observe('toolshelf_request_seconds', { ...GATEWAY_LABEL, endpoint }, milliseconds / 1000)
  if (!outcome) return
  metrics.add('toolshelf_searches_total', { ...GATEWAY_LABEL, mode }, outcome.searches)
  metrics.add('toolshelf_rounds_total', { mode }, outcome.rounds)
  metrics.add('toolshelf_tools_offered_total', { mode }, outcome.toolsGiven)
  metrics.add('toolshelf_tools_visible_total', { mode }, outcome.toolsVisible)
  recordFigures(metrics, mode, outcome.figures())
}

function recordFigures(metrics: MessagesMetrics, mode: string, figures: Figures | undefined): void {
  if (!figures) return
  const { dollarsWithout, dollarsWith, dollarsSaved } = figures
  metrics.add('toolshelf_extra_round_trips_total', { mode }, figures.extraRoundTrips)
  metrics.add('toolshelf_search_output_tokens_total', { mode }, figures.searchOutputTokens)
  metrics.add('toolshelf_tokens_without_total', { mode }, figures.tokensWithout)
  metrics.add('toolshelf_tokens_with_total', { mode }, figures.tokensWith)
  metrics.add('toolshelf_tokens_saved', { mode }, figures.tokensSaved)
  if (dollarsWithout === undefined || dollarsWith === undefined || dollarsSaved === undefined) return
  metrics.add('toolshelf_dollars_without_total', { mode }, dollarsWithout)
  metrics.add('toolshelf_dollars_with_total', { mode }, dollarsWith)
  metrics.add('toolshelf_dollars_saved', { mode }, dollarsSaved)
}

/**
 * Reports a request. Does nothing if nobody listens, or for requests that ask for no reply or were refused unread: strangers must not
 * be able to fill a log.
 */
export function reportAnswer(
  { openTrace }: MessagesGateway,
  { incoming, api, model, outcome, error, user }: RequestContext,
  status: number,
  milliseconds: number,
): void {
  if (!openTrace || (outcome === undefined && model === undefined)) return
  const headers = headersOf(incoming)
  const trace = outcome?.trace ?? openTrace(conversationStart(headers, user))
  const figures = outcome?.figures()
  // Without spreads, which take longer than all the rest of this.
  trace({
    type: 'answered',
    status,
    milliseconds,
    model,
    mode: outcome?.mode ?? 'refused',
    wire: outcome?.wire,
    why: outcome?.why ?? 'invalid request',
    api: api.name,
    pool: outcome?.pool,
    toolsGiven: outcome?.toolsGiven ?? 0,
    toolsVisible: outcome?.toolsVisible ?? 0,
    searches: outcome?.searches ?? 0,
    loaded: outcome?.loaded ?? [],
    rounds: outcome?.rounds ?? 0,
    traceparent: traceparentIn(headers),
    error,
    tokensWithout: figures?.tokensWithout,
    tokensWith: figures?.tokensWith,
    dollarsWithout: figures?.dollarsWithout,
    dollarsWith: figures?.dollarsWith,
  })
}

/** The headers that say something about a conversation. */
function headersOf({ headers }: RequestContext['incoming']): Headers {
  const { traceparent, 'user-agent': agent } = headers
  return {
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    ...(agent === undefined ? {} : { 'user-agent': agent }),
  }
}
