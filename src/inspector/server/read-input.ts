// Validates the input of endpoints; throws a failure with a status and a message.

/** Thrown to answer a request with an error. */
export class InspectorFailure extends Error {
  readonly status: number
  /** Seconds after which the reader may try again. */
  readonly retryAfter: number | undefined

  constructor(status: number, message: string, retryAfter?: number) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** Returns the value; throws unless it is text of at most this many characters. */
export function readText(value: unknown, name: string, max: number): string {
  if (typeof value !== 'string') throw new InspectorFailure(400, `"${name}" must be text`)
  if (value.length > max)
    throw new InspectorFailure(400, `"${name}" has ${value.length} characters; at most ${max} are allowed`)
  return value
}

/** Returns the value or undefined; throws unless it is text of at most this many characters. */
export function readOptionalText(value: unknown, name: string, max: number): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, name, max)
}

/** Returns the value; throws unless it is a list of short texts. */
export function readNames(value: unknown, name: string, max = 10_000): readonly string[] {
  if (!Array.isArray(value) || value.length > max)
    throw new InspectorFailure(400, `"${name}" must be a list of at most ${max} names`)
  return value.map((one) => readText(one, name, MAX_NAME_LENGTH))
}

/** Characters of the longest name. */
export const MAX_NAME_LENGTH = 1000
