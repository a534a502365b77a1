// Shortens and quotes untrusted text for messages of one line.
import { cleanText } from './clean-text.ts'
import { fieldsOf, textOf } from './json.ts'

/** Returns a value for use in a message: short and on one line, strings in quotation marks. */
export function quote(value: unknown): string {
  const text =
    typeof value === 'string' ? `"${value}"` : typeof value === 'function' ? 'a function' : json(value)
  return oneLine(text, 80)
}

/**
 * Returns untrusted text on one line, cut to `limit` characters and without angle brackets, so that it cannot form tags.
 */
export function oneLine(text: unknown, limit: number): string {
  const line = cleanText(String(text).slice(0, limit * 4))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[<>]/g, '')
    .trim()
  return cut(line, limit)
}

/** Cuts a text to at most `limit` characters without splitting a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = /[\uD800-\uDBFF]/.test(text[limit - 2] ?? '') ? limit - 2 : limit - 1
  return `${text.slice(0, Math.max(0, end)).trimEnd()}…`
}

/** A server by name, and how many of its definitions changed since the user accepted them. */
type Changed = {
  readonly name: string
  readonly changes?: { readonly count: number; readonly isHeld: boolean } | undefined
}

/** Says to a model what servers changed, in our words only; empty if nothing did. */
export function aboutChanges(servers: readonly Changed[]): string {
  const named = (wantsHeld: boolean) =>
    servers
      .filter(({ changes }) => changes?.isHeld === wantsHeld)
      .map(({ name, changes }) => `${changes?.count} of ${oneLine(name, 60)}`)
      .slice(0, 20)
      .join(', ')
  const [held, used] = [named(true), named(false)]
  const sentences = [
    held && `Definitions that changed are held back until the user accepts them: ${held}.`,
    used && `Definitions changed since the user first saw them: ${used}.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

/** Returns the message of a thrown value, which need not be an error. */
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

/** Writes characters that are invisible or control a terminal as escapes such as `\u{200b}`. */
export function spellOutInvisible(text: string): string {
  return text.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Co}|\p{Cs}|[\u{E0100}-\u{E01EF}]/gu, (character) =>
    /\s/.test(character) ? ' ' : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
