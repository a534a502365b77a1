// Wrong configuration throws once, early: a code to search for, the value, and what to do. Odd history never throws.

export type ErrorCode =
  | 'DUPLICATE_TOOL'
  | 'BAD_TOOL'
  | 'BAD_TOOL_NAME'
  | 'BAD_OPTION'
  | 'BAD_CAPABILITIES'
  | 'BAD_REQUEST'

export class ShelfError extends Error {
  readonly code: ErrorCode
  readonly value: unknown

  constructor(code: ErrorCode, message: string, value?: unknown) {
    super(`toolshelf: ${message} [${code}]`)
    this.name = 'ShelfError'
    this.code = code
    this.value = value
  }
}
