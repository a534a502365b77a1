// The error of a server that neither answers nor reports progress, by which others recognise it.

/** The server neither answered nor reported progress in time. */
export class SilenceError extends Error {
  readonly limit: number
  constructor(limit: number) {
    super('it did not answer in time')
    this.limit = limit
  }
}

/** Whether a request of a session failed because the server was silent for too long. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof SilenceError
}
