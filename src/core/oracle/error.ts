// How the API refuses: the envelope of its errors (wire 11).
// Implements wire 11.

/** What `validate` answers when the API would not take the request. */
export type ApiError = {
  status: number
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

/** A reason to refuse, before it is wrapped. */
export type Refusal = { readonly message: string; readonly code?: string; readonly isTooLarge?: boolean }

export function toApiError(refusal: Refusal, requestId: string): ApiError {
  const { message, code, isTooLarge = false } = refusal
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

/** The first refusal among these, if any; later items are not looked at. */
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
