// Conversions shared by OpenAI's two APIs: errors, models, credentials and tool names.
import type { IncomingMessage } from 'node:http'
import {
  type Fields,
  fieldsOf,
  hash,
  isFields,
  listOf,
  omitFields,
  parseJson,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { traceIdOf } from '@toolshelf/core/internal/node'
import { isDeepJson } from '../json/exact.ts'
import { jsonBytes } from '../json/text.ts'
import type {
  ClientTerms,
  Headers,
  HttpAnswer,
  MessagesRequest,
  StreamEvent,
  UpstreamCall,
  UpstreamOrigin,
} from '../types.ts'
import { appendPath, fetchWhole, openRequest, readWhole } from './http.ts'

/** Anthropic's error types by status. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Converts an OpenAI error response to the Messages format, with the same status. */
export function toMessagesError(answer: HttpAnswer): HttpAnswer {
  // Redirects are not followed, so they are errors too.
  const status = answer.status >= 400 ? answer.status : 502
  const message =
    errorTextOf(jsonOf(answer.body)) ||
    plainText(answer) ||
    `the upstream answered with status ${answer.status} and gave no reason`
  return messagesErrorAnswer(status, message, answer.headers)
}

/** Builds a Messages API error response. */
export function messagesErrorAnswer(status: number, message: string, headers: Headers = {}): HttpAnswer {
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const requestId = headers['x-request-id'] ?? headers['request-id']
  const document = {
    type: 'error',
    error: { type, message },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  }
  const { location: _, ...rest } = headers
  return { status, headers: { ...rest, 'content-type': 'application/json' }, body: JSON.stringify(document) }
}

/** Extracts the message from an error in any known shape; empty if there is none. */
export function errorTextOf(value: unknown): string {
  if (!isFields(value)) return textOf(value) || (Array.isArray(value) ? errorTextOf(value[0]) : '')
  const said = value.error ?? value.message ?? value.detail
  return isFields(said) ? errorTextOf(said) || toJson(said) : textOf(said) || (said ? toJson(said) : '')
}

/** Converts a model list to the Messages format. */
function toModels(answer: HttpAnswer): HttpAnswer {
  if (answer.status !== 200) return toMessagesError(answer)
  const listing = jsonOf(answer.body)
  const entries = Array.isArray(listing) ? listing : fieldsOf(listing).data
  if (!Array.isArray(entries)) {
    const message =
      'the upstream did not answer with a list of models. Check the path of its URL; most end in /v1.'
    return messagesErrorAnswer(502, message, answer.headers)
  }
  const data = entries
    .map(fieldsOf)
    .filter(({ id }) => textOf(id) !== '')
    .map(toModel)
  const document = { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
  return {
    status: 200,
    headers: { ...answer.headers, 'content-type': 'application/json' },
    body: JSON.stringify(document),
  }
}

function toModel({ id, name, created }: Fields): Fields {
  return { type: 'model', id, display_name: textOf(name) || id, created_at: dateOf(created) }
}

/** A date; the API uses the epoch for unknown dates. */
function dateOf(seconds: unknown): string {
  const date = new Date(typeof seconds === 'number' ? seconds * 1000 : 0)
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString()
}

/** Returns the credentials for an OpenAI upstream; an Anthropic key must not be sent there. */
function bearer(headers: Headers, key: string | undefined): Headers {
  const own = headers.authorization ?? (headers['x-api-key'] && `Bearer ${headers['x-api-key']}`)
  if (key !== undefined) return { authorization: `Bearer ${key}` }
  return own && !/^bearer sk-ant-/i.test(own) ? { authorization: own } : {}
}

/** Returns the W3C trace context of the client, which reaches the upstream too. */
function traceContext({ traceparent, tracestate }: Headers): Headers {
  if (traceIdOf(traceparent) === undefined || traceparent === undefined) return {}
  return { traceparent, ...(tracestate === undefined ? {} : { tracestate }) }
}

/** Appends a path to the base URL, with or without a trailing slash. */
function addressOf(base: URL, path: string): URL {
  const address = new URL(base)
  address.pathname = `${base.pathname.replace(/\/+$/, '')}/${path}`
  return address
}

/** Returns where requests of OpenAI's APIs are forwarded; its base URL includes `/v1`. */
function openaiOrigin(base: URL, key: string | undefined): UpstreamOrigin {
  return {
    address: (path) => appendPath(base, path.replace(/^\/(?:v1\/)?/, '/')),
    credentials(headers) {
      const { authorization: _, 'x-api-key': __, ...rest } = headers
      return { ...rest, ...bearer(headers, key) }
    },
  }
}

/** Returns what the upstreams of OpenAI's two APIs have in common. */
export function openaiClient(url: URL, key: string | undefined) {
  return {
    post: (path: string, body: Fields, { headers, signal }: UpstreamCall) =>
      openRequest(addressOf(url, path), {
        method: 'POST',
        headers: { ...traceContext(headers), ...bearer(headers, key), 'content-type': 'application/json' },
        body: jsonBytes(body),
        signal,
      }),
    upstream: {
      origin: openaiOrigin(url, key),
      countTokens: async () => undefined,
      models: async ({ headers, signal }: UpstreamCall) =>
        toModels(
          await fetchWhole(addressOf(url, 'models'), {
            method: 'GET',
            headers: bearer(headers, key),
            signal,
          }),
        ),
    },
  }
}

/** Starts a reply in the Messages shape. */
export function messageStart(id: string, model: string, usage: Fields): StreamEvent {
  const message = { id, type: 'message', role: 'assistant', model, content: [] }
  const nothing = { stop_reason: null, stop_sequence: null }
  return { type: 'message_start', message: { ...message, ...nothing, usage } }
}

/** The delta that adds text to a block of this type. */
export function deltaOf(type: unknown, text: string): Fields {
  if (type === 'thinking') return { type: 'thinking_delta', thinking: text }
  return type === 'text' ? { type: 'text_delta', text } : { type: 'input_json_delta', partial_json: text }
}

/** Returns the tools of a request that may be called now; undefined if all may, or the choice is another one. */
export function allowedTools(
  { tools = [], tool_choice: choice }: MessagesRequest,
  barred: ClientTerms['barred'],
) {
  const { type = 'auto' } = fieldsOf(choice)
  if (!barred || (type !== 'auto' && type !== 'any')) return undefined
  const isAllowed = ({ name, defer_loading: deferral }: Fields) => !deferral && !barred.has(textOf(name))
  return { mode: type === 'any' ? 'required' : 'auto', tools: tools.filter(isAllowed) }
}

/** Converts tool names to OpenAI's format and back. */
export type Names = ReturnType<typeof namesOf>

/** Creates the conversion for the names of these tools. */
export function namesOf(tools: unknown) {
  const names = listOf(tools).map((tool) => textOf(fieldsOf(tool).name))
  const long = new Map(names.map((name) => [shortName(name), name]))
  return { short: shortName, long: (short: string) => long.get(short) ?? short }
}

const MAX_NAME_LENGTH = 64

/** OpenAI allows 64 letters, digits, `_` and `-`; other names get a stable short name. */
function shortName(name: string): string {
  if (name.length <= MAX_NAME_LENGTH && /^[\w-]*$/.test(name)) return name
  const digest = hash(name)
  return `${name.replace(/[^\w-]/g, '_').slice(0, MAX_NAME_LENGTH - digest.length - 1)}_${digest}`
}

/**
 * The system prompt as text, without the line that Claude Code changes with every request for Anthropic: it would defeat
 * the prompt cache of any other server.
 */
export function systemText(system: unknown): string {
  const texts =
    typeof system === 'string' ? [system] : listOf(system).map((block) => textOf(fieldsOf(block).text))
  return texts
    .map((text) => text.replace(/^x-anthropic-billing-header:[^\n]*\n*/, ''))
    .filter(Boolean)
    .join('\n\n')
}

/** Parses JSON; returns undefined if the text is invalid, or nested too deeply to be written again. */
export function jsonOf(text: string): unknown {
  const value = parseJson(text)
  return isDeepJson(text) ? undefined : value
}

/** The body as short text; a proxy may have answered with a whole page. */
function plainText({ body }: HttpAnswer): string {
  return isFields(jsonOf(body)) ? '' : body.trim().slice(0, 500)
}

/** Retries until the server accepts the request or its error names none of the optional fields in `spare`. */
export async function offer(
  request: Fields,
  spare: readonly string[],
  post: (body: Fields) => Promise<IncomingMessage>,
): Promise<{ readonly incoming: IncomingMessage } | { readonly refused: HttpAnswer }> {
  for (let body = request; ; ) {
    const incoming = await post(body)
    if (incoming.statusCode === 200) return { incoming }
    const answer = await readWhole(incoming)
    const named = spare.filter((field) => body[field] !== undefined && isRefused(field, answer))
    if (named.length === 0) return { refused: toMessagesError(answer) }
    body = omitFields(body, ...named)
  }
}

function isRefused(field: string, { status, body }: HttpAnswer): boolean {
  return (status === 400 || status === 422) && new RegExp(`\\b${field}\\b`).test(body)
}

/** The start of a text block in which the model refuses to answer. */
export const REFUSAL_BLOCK: Fields = Object.freeze({ type: 'text', text: '', refusal: true })

/** What the Messages API says beside the stop reason of a refusal. */
export const REFUSAL_DETAILS: Fields = Object.freeze({ type: 'refusal', category: null, explanation: null })
