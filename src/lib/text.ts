// Shortens and quotes text of strangers for one line of ours.
import { cleanText } from './clean-text.ts'
import { fieldsOf, textOf } from './json.ts'

/** A value as it may stand in a message: short, on one line. */
export function quote(value: unknown): string {
  const text =
    typeof value === 'string' ? `"${value}"` : typeof value === 'function' ? 'a function' : json(value)
  return oneLine(text, 80)
}

/** Foreign text on one line, cut, and unable to open or close a tag of ours. */
export function oneLine(text: unknown, limit: number): string {
  const line = cleanText(String(text).slice(0, limit * 4))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[<>]/g, '')
    .trim()
  return cut(line, limit)
}

/** A text of at most so many characters, never half of a pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = /[\uD800-\uDBFF]/.test(text[limit - 2] ?? '') ? limit - 2 : limit - 1
  return `${text.slice(0, Math.max(0, end)).trimEnd()}…`
}

/** The message of whatever was thrown; anything may be, not only errors. */
export function errorMessage(error: unknown): string {
  try {
    return textOf(fieldsOf(error).message) || String(error)
  } catch {
    return Object.prototype.toString.call(error)
  }
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** Writes characters that do not show, or would steer a terminal, as escapes such as `\u{200b}`. */
export function spellOutInvisible(text: string): string {
  return text.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Co}|\p{Cs}|[\u{E0100}-\u{E01EF}]/gu, (character) =>
    /\s/.test(character) ? ' ' : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
