// Error responses in the Messages API's envelope.
import { randomUUID } from 'node:crypto'
import { fieldsOf, parseJson, textOf } from '@toolshelf/core/internal'
import type { HttpAnswer } from './types.ts'

/** Thrown to end a request with an error response. */
export class RefusedRequest extends Error {
  readonly code = 'REFUSED'
  readonly answer: HttpAnswer
  constructor(answer: HttpAnswer) {
    super(`answered with status ${answer.status}`)
    this.answer = answer
  }
}

/** The API's error types. */
type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'api_error'
  | 'overloaded_error'

/** Makes a refusal with this status and message. */
export function refuseRequest(
  status: number,
  type: ErrorType,
  message: string,
  code?: string,
): RefusedRequest {
  return new RefusedRequest(errorAnswer(status, type, message, code))
}

/** Makes the refusal of a request that is invalid. */
export function invalidRequest(message: string): RefusedRequest {
  return refuseRequest(400, 'invalid_request_error', message)
}

/** Makes a refusal that the client may retry after `retryAfterSeconds`. */
export function refuseForNow(
  message: string,
  retryAfterSeconds: number,
  status: 429 | 503 = 503,
): RefusedRequest {
  const type = status === 429 ? 'rate_limit_error' : 'overloaded_error'
  const { headers, ...answer } = errorAnswer(status, type, message)
  return new RefusedRequest({ ...answer, headers: { ...headers, 'retry-after': String(retryAfterSeconds) } })
}

export function errorAnswer(status: number, type: ErrorType, message: string, code?: string): HttpAnswer {
  const id = newRequestId()
  const details = code === undefined ? {} : { details: { error_code: code } }
  const body = { type: 'error', error: { type, message, ...details }, request_id: id }
  return {
    status,
    headers: { 'content-type': 'application/json', 'request-id': id },
    body: JSON.stringify(body),
  }
}

/** Extracts the message from an error body in any known envelope. */
export function reasonIn(body: string): string {
  const { error } = fieldsOf(parseJson(body))
  return textOf(fieldsOf(error).message) || textOf(error) || body.slice(0, 300)
}

/** Makes an id for a response of the gateway itself. */
export function newRequestId(): string {
  return `req_toolshelf_${randomUUID().replaceAll('-', '').slice(0, 20)}`
}
