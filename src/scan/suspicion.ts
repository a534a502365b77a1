// What a scan finds, and how the scans read a text.
import { cut, spellOutInvisible } from '../lib/index.ts'

export type SuspicionKind = 'override' | 'secrecy' | 'exfiltration' | 'hidden' | 'shadowing' | 'stuffing'

/** `warn`: an honest server does not write this. `note`: some do, and a person may want to know. */
export type Finding = {
  readonly kind: SuspicionKind
  readonly level: 'warn' | 'note'
  /** `description`, `inputSchema.properties.x.description` … */
  readonly where: string
  /** The words in question, made harmless: one line, nothing invisible. */
  readonly excerpt: string
  readonly message: string
}

export type Suspicion = Finding & { readonly tool: string }

/** Of one text; a model sees less. */
export const LONGEST_TEXT = 65_536
const AROUND = 50
const LONGEST_EXCERPT = 200

/** As a model reads it, whatever letters it is made of: no invisible characters, no marks of emphasis, one space. */
export function plain(text: string): string {
  const read = text.slice(0, LONGEST_TEXT)
  return (isPlain(read) ? read : latin(read)).replace(/[*`"]+/g, '').replace(/\s+/g, ' ')
}

/** Printable ASCII, as nearly every text is. */
export function isPlain(text: string): boolean {
  return /^[\t\n\r -~]*$/.test(text)
}

function latin(text: string): string {
  return text
    .normalize('NFKC')
    .slice(0, LONGEST_TEXT)
    .replace(/[\p{Cf}\p{Variation_Selector}“”„«»]+/gu, '')
    .replace(/[‘’ʼ´]/g, "'")
    .replace(/\p{Cc}/gu, ' ')
}

export function excerpt(text: string, start: number, end: number): string {
  const from = Math.max(0, start - AROUND)
  const words = spellOutInvisible(text.slice(from, Math.min(end, start + LONGEST_EXCERPT) + AROUND)).trim()
  return `${from > 0 ? '…' : ''}${cut(words, LONGEST_EXCERPT)}`
}
