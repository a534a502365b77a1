// A request that failed, and how far it came.

/** The message is for the model and for people, `cause` holds the server's own error. */
export class CallError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
  }
}

/** The request never reached the server, so that it may be sent once more. */
export function isUndelivered(error: unknown): boolean {
  const { status, cause } = error as { status?: number; cause?: { code?: string } }
  return status === 404 || cause?.code === 'ECONNREFUSED'
}

/** The server has answered, with an error of the protocol. Else it may still be at work. */
export function isAnswer(error: unknown): boolean {
  return typeof (error as { code?: unknown }).code === 'number'
}

/** What a person or a model reads of a request that failed; `message` is the error's own, fit to be shown. */
export function complaint(
  server: string,
  error: unknown,
  message: string,
  { isOpen, wasOpen, reason }: { isOpen: boolean; wasOpen: boolean; reason: string | undefined },
): string {
  // A pipe may break before its process is known to have ended.
  if (typeof (error as { code?: unknown }).code === 'string' && isOpen)
    return `the server "${server}" cannot be reached: ${message}. Whether the call took effect is not known.`
  if (isOpen || !reason) return message
  if (!wasOpen) return `the server "${server}" is not running: ${reason}`
  return `the server "${server}" ended during the call: ${reason}. Whether the call took effect is not known.`
}
