// Parses and writes JSON so that every number keeps its digits, even those that JavaScript cannot represent.
import { MAX_JSON_DEPTH } from '@toolshelf/core/internal/node'
import { DepthError, endOfValue, readValue, skipSpace } from './read.ts'
import { jsonBytes } from './text.ts'

/** Numbers with this many digits may lose precision in JavaScript. */
const LONG_NUMBER = /\d{16}/

/**
 * Parses JSON; objects that contain long numbers remember their text for `stringifyExact`. Throws as JSON.parse does, and
 * for values that are nested too deeply to be written again.
 */
export function parseExact(json: string): unknown {
  const value: unknown = JSON.parse(json)
  if (isDeepJson(json)) throw new SyntaxError(`nested more than ${MAX_JSON_DEPTH} levels deep`)
  if (!LONG_NUMBER.test(json)) return value
  const bytes = Buffer.from(json.trim())
  try {
    return readValue(bytes, skipSpace(bytes, 0), bytes.length)
  } catch {
    // Valid JSON that the scanner does not support, such as a key named "__proto__".
    return value
  }
}

/** Returns whether JSON is nested too deeply to be written again. Short texts cannot be, and are not scanned. */
export function isDeepJson(json: string): boolean {
  if (json.length < 2 * MAX_JSON_DEPTH) return false
  const bytes = Buffer.from(json)
  try {
    endOfValue(bytes, skipSpace(bytes, 0))
    return false
  } catch (error) {
    return error instanceof DepthError
  }
}

/** Writes JSON, reusing the original text of unchanged objects. */
export function stringifyExact(value: unknown): string {
  return Buffer.concat(jsonBytes(value)).toString('utf8')
}

/** The exact codec, for replies that are parsed and written again. */
export const exactJson = { parse: parseExact, stringify: stringifyExact }
