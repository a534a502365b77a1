// Converts error responses and headers from the Messages API to OpenAI's, which Chat Completions and Responses share.
import { fieldsOf, parseJson, textOf } from '@toolshelf/core/internal'
import { reasonIn } from '../errors.ts'
import type { Fields, Headers, HttpAnswer } from '../types.ts'

/** Codes that agents act on; a conversation that is too long makes them compact it. */
const TOO_LONG =
  /prompt is too long|context (window|length)|exceed(s|ed)? .*context|too many (input )?tokens/i

const ERRORS: { readonly [type: string]: { readonly type: string; readonly code: string | null } } = {
  invalid_request_error: { type: 'invalid_request_error', code: null },
  request_too_large: { type: 'invalid_request_error', code: 'request_too_large' },
  authentication_error: { type: 'invalid_request_error', code: 'invalid_api_key' },
  permission_error: { type: 'invalid_request_error', code: 'permission_denied' },
  not_found_error: { type: 'invalid_request_error', code: 'not_found' },
  rate_limit_error: { type: 'rate_limit_exceeded', code: 'rate_limit_exceeded' },
  billing_error: { type: 'insufficient_quota', code: 'insufficient_quota' },
  timeout_error: { type: 'server_error', code: 'timeout' },
  overloaded_error: { type: 'server_error', code: 'server_overloaded' },
  api_error: { type: 'server_error', code: null },
}

/** Returns the error object of OpenAI's APIs for a response in the Messages envelope. */
export function toOpenaiError({ status, body }: HttpAnswer): Fields {
  const { type, param } = errorIn(body)
  const message = reasonIn(body)
  const name = textOf(type)
  const otherwise = status < 500 ? 'invalid_request_error' : 'api_error'
  const known = ERRORS[Object.hasOwn(ERRORS, name) ? name : otherwise]
  const code = status < 500 && TOO_LONG.test(message) ? 'context_length_exceeded' : known?.code
  return { message, type: known?.type, param: param ?? paramIn(message), code: code ?? null }
}

/** Converts an error response; statuses that only Anthropic uses become OpenAI's. */
export function toOpenaiAnswer(answer: HttpAnswer): HttpAnswer {
  return {
    status: answer.status === 529 ? 503 : answer.status,
    headers: toOpenaiHeaders(answer.headers),
    body: JSON.stringify({ error: toOpenaiError(answer) }),
  }
}

function errorIn(body: string): Fields {
  return fieldsOf(fieldsOf(parseJson(body)).error)
}

/** The parameter that a message starts with, as in `messages.0.content: …`. */
function paramIn(message: string): string | null {
  return /^([a-z_]+(?:[.[][\w.\]]*)?): /.exec(message)?.[1] ?? null
}

const LIMITS = ['limit', 'remaining', 'reset'] as const

/** Adds OpenAI's names for the request id and for rate limits; removes Anthropic's. */
export function toOpenaiHeaders(headers: Headers): Headers {
  const { 'request-id': id, ...rest } = headers
  const kept = Object.entries(rest).filter(([name]) => !name.startsWith('anthropic-'))
  return {
    ...(id === undefined ? {} : { 'x-request-id': id }),
    ...rateLimits(headers),
    ...Object.fromEntries(kept),
  }
}

function rateLimits(headers: Headers): Headers {
  const renamed: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'])
    for (const limit of LIMITS) {
      const value = headers[`anthropic-ratelimit-${kind}-${limit}`]
      if (value !== undefined)
        renamed[`x-ratelimit-${limit}-${kind}`] = limit === 'reset' ? waitOf(value) : value
    }
  return renamed
}

/** Converts the time of a reset, as Anthropic sends it, to the duration until then, as OpenAI sends it. */
function waitOf(time: string): string {
  const milliseconds = Date.parse(time) - Date.now()
  return Number.isNaN(milliseconds) ? time : `${Math.max(0, Math.ceil(milliseconds / 1000))}s`
}
