// Reads the input of endpoints: what is wrong becomes a failure with a status and a message.

export class InspectorFailure extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Throws unless the value is text of at most so many characters. */
export function readText(value: unknown, name: string, most: number): string {
  if (typeof value !== 'string') throw new InspectorFailure(400, `"${name}" must be text`)
  if (value.length > most)
    throw new InspectorFailure(400, `"${name}" has ${value.length} characters; at most ${most} are allowed`)
  return value
}

/** The same for a value that may be left out. */
export function readOptionalText(value: unknown, name: string, most: number): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, name, most)
}

/** Throws unless the value is a list of short texts. */
export function readNames(value: unknown, name: string, most = 10_000): readonly string[] {
  if (!Array.isArray(value) || value.length > most)
    throw new InspectorFailure(400, `"${name}" must be a list of at most ${most} names`)
  return value.map((one) => readText(one, name, MAX_NAME_LENGTH))
}

export const MAX_NAME_LENGTH = 1000
