// JSON of values in which every number keeps its digits, also those that JavaScript cannot hold.
import { readValue } from './read.ts'
import { skipSpace } from './scan.ts'
import { jsonBytes } from './text.ts'

/** Digits that a number of JavaScript may not hold exactly. */
const LONG_NUMBER = /\d{16}/

/** Parses JSON; objects near long numbers remember their text, for `stringifyExact`. Throws as JSON.parse does. */
export function parseExact(json: string): unknown {
  const value: unknown = JSON.parse(json)
  if (!LONG_NUMBER.test(json)) return value
  const bytes = Buffer.from(json.trim())
  try {
    return readValue(bytes, skipSpace(bytes, 0), bytes.length)
  } catch {
    // Valid JSON that only JSON.parse can read, such as a key named "__proto__".
    return value
  }
}

/** The JSON of a value, with the text of what was read and did not change. */
export function stringifyExact(value: unknown): string {
  return Buffer.concat(jsonBytes(value)).toString('utf8')
}

/** For replies that are read and written again. */
export const exactJson = { parse: parseExact, stringify: stringifyExact }
