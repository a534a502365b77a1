// What search reads of a tool, and how words are found in it: shared by the query forms and every ranker.
// Implements S6, S14, S15, H5.
import { fullName, splitName } from '../../lib/index.ts'
import type { PoolTool } from '../types.ts'

/** A whole word of any script, where the script has edges to look for. */
export function wordPattern(term: string): RegExp {
  const escaped = term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  if (new RegExp(UNSPACED.source, 'u').test(term)) return new RegExp(escaped, 'u')
  return new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])${escaped}(?![\\p{L}\\p{M}\\p{N}_])`, 'u')
}

/** Made once per tool (S15). */
export type SearchText = {
  readonly parts: readonly string[]
  readonly full: string
  readonly hint: string
  readonly description: string
}

const texts = new WeakMap<PoolTool, SearchText>()

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

const LONGEST_TEXT = 16_384

/** One spelling for case, accents and width; of a text made to be slow only the start is read. */
export function fold(text: string): string {
  const start = text.slice(0, LONGEST_TEXT)
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

/** Scripts that write words without spaces between them, or endings onto them: matched by pairs of characters. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/gu
