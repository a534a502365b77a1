// Why a server could not be reached, apart from what reaches it: that is loaded only when needed.

/** It could not be opened; the message is for people. */
export class SessionError extends Error {
  readonly stderr: string
  constructor(message: string, stderr: string, cause: unknown) {
    super(message, { cause })
    this.stderr = stderr
  }
}
