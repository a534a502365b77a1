// Defines the error of a session that could not be opened. A separate file, so that using it does not load the SDK.
import type { ConnectionFailure } from './reasons.ts'

/** The session could not be opened; the message is for users, the category for models. */
export class SessionError extends Error {
  readonly category: string
  readonly stderr: string
  /** The server's process ended by itself before it was ready. */
  readonly hasEnded: boolean
  constructor(
    { reason, category }: ConnectionFailure,
    options: { stderr: string; ending?: string | undefined; cause: unknown },
  ) {
    super(reason, { cause: options.cause })
    this.category = category
    this.stderr = options.stderr
    this.hasEnded = options.ending !== undefined && !isSpawnError(options.cause)
  }
}

/** Whether a process could not even be started. */
function isSpawnError(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException | undefined)?.syscall).startsWith('spawn')
}
