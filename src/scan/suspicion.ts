// The type of a scan's findings, and how scans normalise a text.
import { cut, spellOutInvisible } from '../lib/index.ts'

/** What a suspicious text attempts. */
export type SuspicionKind = 'override' | 'secrecy' | 'exfiltration' | 'hidden' | 'shadowing' | 'stuffing'

/** `warn`: an honest server does not write this. `note`: some do, and the user may want to know. */
export type TextFinding = {
  readonly kind: SuspicionKind
  readonly level: 'warn' | 'note'
  /** `description`, `inputSchema.properties.x.description` … */
  readonly where: string
  /** The words in question, safe to display: one line, nothing invisible. */
  readonly excerpt: string
  readonly message: string
}

/** A finding with the tool that it is about. */
export type Suspicion = TextFinding & { readonly tool: string }

/** Characters of one text that are scanned; models read fewer. */
export const MAX_TEXT_LENGTH = 65_536
const AROUND = 50
const MAX_EXCERPT_LENGTH = 200

/**
 * Normalises a text for matching: look-alike letters, no invisible characters, no emphasis marks, single spaces.
 */
export function plain(text: string): string {
  const read = text.slice(0, MAX_TEXT_LENGTH)
  return (isPlain(read) ? read : latin(read)).replace(/[*`"]+/g, '').replace(/\s+/g, ' ')
}

/** Returns whether a text is printable ASCII, as nearly every text is. */
export function isPlain(text: string): boolean {
  return !/[^\t\n\r -~]/.test(text)
}

function latin(text: string): string {
  return text
    .normalize('NFKC')
    .slice(0, MAX_TEXT_LENGTH)
    .replace(/[\p{Cf}\p{Variation_Selector}“”„«»]+/gu, '')
    .replace(/[‘’ʼ´]/g, "'")
    .replace(/\p{Cc}/gu, ' ')
}

/** Returns the found text with some context, safe to display. */
export function excerpt(text: string, start: number, end: number): string {
  const from = Math.max(0, start - AROUND)
  const words = spellOutInvisible(text.slice(from, Math.min(end, start + MAX_EXCERPT_LENGTH) + AROUND)).trim()
  return `${from > 0 ? '…' : ''}${cut(words, MAX_EXCERPT_LENGTH)}`
}
