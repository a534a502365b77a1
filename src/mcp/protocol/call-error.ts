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

/** Returns the message for the user or the model; `message` is the error's own, safe to display. */
export function failureMessage(
  server: string,
  error: unknown,
  message: string,
  { isOpen, wasOpen, reason }: { isOpen: boolean; wasOpen: boolean; reason: string | undefined },
): string {
  // A pipe may break before the process is known to have ended.
  if (typeof (error as { code?: unknown }).code === 'string' && isOpen)
    return `the server "${server}" cannot be reached: ${message}. Whether the call took effect is not known.`
  if (isOpen || !reason) return message
  if (!wasOpen) return `the server "${server}" is not running: ${reason}`
  return `the server "${server}" ended during the call: ${reason}. Whether the call took effect is not known.`
}
