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
