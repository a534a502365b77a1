// Defines the error for invalid configuration, thrown early with a code, the value, and what to do. An invalid history
// never throws.

/** What is wrong, as `error.code`. */
type ErrorCode =
  | 'DUPLICATE_TOOL'
  | 'BAD_TOOL'
  | 'BAD_TOOL_NAME'
  | 'BAD_OPTION'
  | 'BAD_CAPABILITIES'
  | 'BAD_REQUEST'

/** Thrown for an invalid option, tool or request; never for what a model or server sends. */
export class ShelfError extends Error {
  readonly code: ErrorCode
  /** The offending value. */
  readonly value: unknown

  constructor(code: ErrorCode, message: string, value?: unknown) {
    super(`toolshelf: ${message} [${code}]`)
    this.name = 'ShelfError'
    this.code = code
    this.value = value
  }
}
