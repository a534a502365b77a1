// Classifies errors of requests to a server: whether the request was delivered, whether it was answered, and the message
// for users.

/** A failed call. The message is for the model and the user; `cause` has the server's own error. */
export class CallError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
  }
}

/** Returns whether the request never reached the server, so that it may be sent again. */
export function isUndelivered(error: unknown): boolean {
  const { status, cause } = error as { status?: number; cause?: { code?: string } }
  return status === 404 || cause?.code === 'ECONNREFUSED'
}

/** Returns whether the server has answered with a protocol error. If not, it may still be working. */
export function isAnswer(error: unknown): boolean {
  return typeof (error as { code?: unknown }).code === 'number'
}

/**
 * Returns the message of a failed call for the model. What the server answered is its own; all else is in our words (H9), and
 * the person reads the server's in its status.
 */
export function failureMessage(
  server: string,
  error: unknown,
  message: string,
  { isOpen, wasOpen, category }: { isOpen: boolean; wasOpen: boolean; category: string | undefined },
): string {
  const { code, status } = error as { code?: unknown; status?: number }
  const unsure = 'Whether the call took effect is not known.'
  if (status !== undefined) return `the server "${server}" answered with HTTP ${status}. ${unsure}`
  // A pipe may break before the process is known to have ended.
  if (typeof code === 'string' && isOpen) {
    const failed = /^E[A-Z]+$/.test(code) ? 'cannot be reached' : 'did not answer as it should'
    return `the server "${server}" ${failed} (${code}). ${unsure}`
  }
  if (isOpen || !category) return message
  if (!wasOpen) return `the server "${server}" is not running: ${category}`
  return `the server "${server}" ended during the call: ${category}. ${unsure}`
}
