// Defines the error of a session that could not be opened. A separate file, so that using it does not load the SDK.

/** The session could not be opened; the message is for users. */
export class SessionError extends Error {
  readonly stderr: string
  /** The server's process ended by itself before it was ready. */
  readonly hasEnded: boolean
  constructor(message: string, options: { stderr: string; ending?: string | undefined; cause: unknown }) {
    super(message, { cause: options.cause })
    this.stderr = options.stderr
    this.hasEnded = options.ending !== undefined && !isSpawnError(options.cause)
  }
}

/** Whether a process could not even be started. */
function isSpawnError(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException | undefined)?.syscall).startsWith('spawn')
}
