// Checks the body of a request: its size, and that it is valid JSON.

import type { Fields } from '@toolshelf/core/internal'
import type { Refusal } from '../error.ts'

/** Documentation, "Request size limits": 32 MB. A character takes at least a byte. */
const MAX_CHARACTERS = 32 * 1024 * 1024

/** Matches an escaped lone surrogate in JSON; a literal backslash is written twice. */
const LONE_HALF = /(?<!\\)(?:\\\\)*\\ud[89a-f]/

/** Checks the size of a request, and that its JSON has no lone surrogates. */
export function checkBody(request: Fields): Refusal | undefined {
  const json = written(request)
  if (json.length > MAX_CHARACTERS) return { message: 'Request exceeds the maximum size', isTooLarge: true }
  const { index } = LONE_HALF.exec(json) ?? {}
  if (index === undefined) return undefined
  const place = `line 1 column ${index + 1} (char ${index})`
  return { message: `The request body is not valid JSON: no low surrogate in string: ${place}` }
}

/** The request as its host would write it, halves of characters included; empty if it is nested too deeply for that. */
function written(request: Fields): string {
  try {
    return JSON.stringify(request)
  } catch {
    return ''
  }
}
