// Defines the format of the API's errors (wire 11).
// Implements wire 11.

/** The error with which the API would refuse a request. */
export type ApiError = {
  status: number
  /** The JSON body, as the API would send it. */
  body: {
    type: 'error'
    error: {
      type: 'invalid_request_error' | 'request_too_large'
      message: string
      details?: { error_code: string }
    }
    request_id: string
  }
}

/** A reason to refuse a request, before it becomes an `ApiError`. */
export type Refusal =
  | string
  | { readonly message: string; readonly code?: string; readonly isTooLarge?: boolean }

export function toApiError(refusal: Refusal, requestId: string): ApiError {
  const { message, code, isTooLarge = false } = typeof refusal === 'string' ? { message: refusal } : refusal
  const details = code === undefined ? {} : { details: { error_code: code } }
  return {
    status: isTooLarge ? 413 : 400,
    body: {
      type: 'error',
      error: { type: isTooLarge ? 'request_too_large' : 'invalid_request_error', message, ...details },
      request_id: requestId,
    },
  }
}

/** Returns the first refusal; checks no later items. */
export function firstRefusal<Item>(
  items: Iterable<Item>,
  check: (item: Item) => Refusal | undefined,
): Refusal | undefined {
  for (const item of items) {
    const refusal = check(item)
    if (refusal) return refusal
  }
  return undefined
}
