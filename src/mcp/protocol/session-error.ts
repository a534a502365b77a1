// Defines the error of a session that could not be opened. A separate file, so that using it does not load the SDK.

/** The session could not be opened; the message is for users. */
export class SessionError extends Error {
  readonly stderr: string
  constructor(message: string, stderr: string, cause: unknown) {
    super(message, { cause })
    this.stderr = stderr
  }
}
