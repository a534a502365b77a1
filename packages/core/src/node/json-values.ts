// Checks a JSON text in one pass before it is parsed: it may have millions of tiny values, or of brackets in brackets, which
// take seconds to parse and walk, and a hundred bytes of memory each.

/** Maximum nesting depth of a request; deeper values could be parsed, but not walked or written again. */
export const MAX_JSON_DEPTH = 1000

/** Limits of a JSON text. */
type JsonLimits = { readonly maxValues: number; readonly maxDepth: number }

const requestLimits: JsonLimits = { maxValues: 1_000_000, maxDepth: MAX_JSON_DEPTH }

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

/** This many bytes of a string are scanned one by one before a native search, which is slower for a short way. */
const SHORT = 64

/**
 * Returns why a JSON text is too complex to be parsed, such as "has more than 1000000 values"; undefined if it is not.
 *
 * @param limits - Default: those of request bodies.
 */
export function whyTooComplex(json: Buffer, limits: JsonLimits = requestLimits): string | undefined {
  const { maxValues, maxDepth } = limits
  if (json.length <= Math.min(maxValues, maxDepth)) return undefined
  let values = 1
  let level = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) at = endOfJsonString(json, at) - 1
    else if (byte === COMMA) values++
    else if (byte === LIST || byte === OBJECT) {
      if (++level > maxDepth) return `is nested more than ${maxDepth} levels deep`
      const next = json[at + 1]
      if (next !== LIST_END && next !== OBJECT_END) values++
    } else if (byte === LIST_END || byte === OBJECT_END) level--
    if (values > maxValues) return `has more than ${maxValues} values`
  }
  return undefined
}

/** Returns the offset after the closing quote of the string that starts at `start`; infinite if it has none. */
export function endOfJsonString(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; ) {
    for (const stop = Math.min(json.length, at + SHORT); at < stop; at++) {
      const byte = json[at]
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) at++
    }
    const quote = json.indexOf(QUOTE, at)
    if (quote < 0) break
    let escapes = 0
    while (quote - 1 - escapes >= at && json[quote - 1 - escapes] === BACKSLASH) escapes++
    if (escapes % 2 === 0) return quote + 1
    at = quote + 1
  }
  return Number.POSITIVE_INFINITY
}
