// Refusals of requests that the gateway cannot answer, each with what to do.
import { validateRequest, withoutUnknown } from '../core/oracle/index.ts'
import { parseBetas } from '../lib/index.ts'
import { type RefusedRequest, refuseRequest } from './errors.ts'
import type { ApiName, MessagesRequest, UpstreamCall } from './types.ts'

type UnconvertibleFacts = { readonly api: ApiName; readonly remedy?: string | undefined }

const API_NAMES: { readonly [api in ApiName]: string } = {
  messages: 'the Messages API',
  chat: 'Chat Completions',
  responses: 'Responses',
}

/** Makes the refusal of a request that cannot be converted for its upstream. */
export function refuseUnconvertible(
  what: string,
  { api, remedy = 'Leave it out' }: UnconvertibleFacts,
): RefusedRequest {
  const message = `${what}: cannot be converted for this upstream. ${remedy}, or use an upstream that speaks ${API_NAMES[api]}.`
  return refuseRequest(400, 'invalid_request_error', message)
}

/** Throws a refusal if a request continues a stored thread. */
export function refuseThreads({ thread }: MessagesRequest): void {
  if (thread === undefined || thread === null) return
  const message = 'thread: this gateway does not store threads. Send the whole conversation.'
  throw refuseRequest(400, 'invalid_request_error', message, 'thread_unsupported_request')
}

/** Throws the refusal that the API itself would give. */
export function refuseInvalid(request: MessagesRequest, { headers }: UpstreamCall): void {
  const betas = parseBetas(headers['anthropic-beta'])
  const error = validateRequest(withoutUnknown(request), { betas, isLenient: true })
  if (!error) return
  const { message, details } = error.body.error
  throw refuseRequest(error.status, 'invalid_request_error', message, details?.error_code)
}
