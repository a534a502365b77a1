// The error of a session that could not be opened, in a file of its own so that the SDK is not loaded for it.

/** The session could not be opened; the message is for users. */
export class SessionError extends Error {
  readonly stderr: string
  constructor(message: string, stderr: string, cause: unknown) {
    super(message, { cause })
    this.stderr = stderr
  }
}
