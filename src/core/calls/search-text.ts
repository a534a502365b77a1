// Builds the searchable text of a tool, and patterns for words in it; shared by the query forms and the rankers.
// Implements S6, S14, S15, H5.
import { fullName, splitName } from '../../lib/index.ts'
import type { PoolTool } from '../types.ts'

/** Returns a pattern for a whole word; in scripts without spaces, for any occurrence. */
export function wordPattern(term: string): RegExp {
  const escaped = term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  if (new RegExp(UNSPACED.source, 'u').test(term)) return new RegExp(escaped, 'u')
  return new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])${escaped}(?![\\p{L}\\p{M}\\p{N}_])`, 'u')
}

/** The searchable text of a tool, built once per tool (S15). */
export type SearchText = {
  readonly parts: readonly string[]
  readonly full: string
  readonly hint: string
  readonly description: string
}

const texts = new WeakMap<PoolTool, SearchText>()

/** Returns the searchable text of a tool, cached per tool. */
export function searchText(entry: PoolTool): SearchText {
  let text = texts.get(entry)
  if (!text) {
    text = {
      parts: [...new Set([entry.name, entry.original, entry.server ?? ''].flatMap(splitName).map(fold))],
      full: fold(fullName(entry.name)),
      hint: fold(entry.hint),
      description: fold(String(entry.tool.description ?? '')),
    }
    texts.set(entry, text)
  }
  return text
}

const MAX_TEXT_LENGTH = 16_384

/** Normalises case, accents and width. Reads only the start of a long text, to bound the work. */
export function fold(text: string): string {
  const start = text.slice(0, MAX_TEXT_LENGTH)
  if (isAscii(start)) return start.toLowerCase()
  return start
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .toLowerCase()
    .normalize('NFC')
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) return false
  return true
}

/** Scripts without spaces between words, or with endings attached to them: matched by pairs of characters (S14). */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/gu
