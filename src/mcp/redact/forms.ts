// Lists the forms in which a secret may appear in a server's output: plain, escaped, encoded, or in part.
// Implements H8.
import type { Pattern } from './matcher.ts'

/** Length of a piece: output with this many consecutive characters of a long secret is hidden. */
const PIECE = 12
/** Secrets with this many characters or more are also hidden piece by piece. */
const MIN_LENGTH_FOR_PIECES = 16
/** From this many patterns on, no more pieces are added. */
const MAX_PATTERNS = 50_000
/** Shorter secrets are not searched for in base64 and hex, where they would match by chance. */
const SHORTEST_BASE64 = 6

/** Returns the patterns for all forms of these secrets. */
export function patternsFor(secrets: Iterable<string>): readonly Pattern[] {
  const patterns = new Map<string, Pattern>()
  for (const secret of secrets) {
    for (const text of writtenForms(secret)) patterns.set(text, { text })
    for (const text of base64Forms(secret)) patterns.set(`base64 ${text}`, { text, isBase64: true })
    if (patterns.size < MAX_PATTERNS) for (const text of piecesOf(secret)) patterns.set(text, { text })
  }
  return [...patterns.values()]
}

/**
 * The secret as it is, and escaped for JSON (once and twice), shells, URLs and HTML, and in hex. Matched
 * case-insensitively.
 */
function writtenForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const url = encodeURIComponent(secret.toWellFormed())
  const forms = [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    json.replaceAll('/', '\\/'),
    secret.replaceAll("'", "\\'"),
    secret.replaceAll("'", "'\\''"),
    secret.replace(/["$`\\]/g, '\\$&'),
    secret.replace(/[^\w@%+=:,./-]/g, '\\$&'),
    url,
    url.replaceAll('%20', '+'),
    url.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`),
    encodeURI(secret.toWellFormed()),
    ...HTML_QUOTES.map((quotes) => html(secret, quotes)),
    ...(secret.length >= SHORTEST_BASE64 ? [Buffer.from(secret).toString('hex')] : []),
  ]
  return [...new Set(forms)]
}

/** The spellings of `"` and `'` in HTML, escaped or not. */
const HTML_QUOTES = [
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&#34;', '&#39;'],
  ['&quot;', '&apos;'],
  ['"', "'"],
] as const

function html(text: string, [double, single]: readonly [string, string]): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', double)
    .replaceAll("'", single)
}

/**
 * The base64 digits that depend on the secret alone, for each of the three offsets at which it can start in an encoded
 * text such as `user:secret` or a JSON document; in both alphabets.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret)
  if (bytes.length < SHORTEST_BASE64) return []
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const sure = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/** All pieces of a long secret that mix letters and digits, to find it in output that was cut or wrapped. */
function piecesOf(secret: string): string[] {
  if (secret.length < MIN_LENGTH_FOR_PIECES || /\s/.test(secret)) return []
  const pieces = Array.from({ length: secret.length - PIECE + 1 }, (_, at) => secret.slice(at, at + PIECE))
  return pieces.filter((piece) => /\d/.test(piece) && /[A-Za-z]/.test(piece))
}
