// The ranker of the documents (S6): points per term for name, hint and description.
import { fullName, splitName } from './names.ts'
import type { Hit, Rank } from './rank.ts'
import type { PoolTool } from './types.ts'

export const classic: Rank = (tools, query, limit) => {
  const terms = termsOf(query)
  const hits: Hit[] = []
  for (const tool of tools) {
    const score = scoreOf(tool, terms)
    if (score > 0) hits.push({ tool, score })
  }
  hits.sort((a, b) => b.score - a.score)
  return { hits: hits.slice(0, limit), matched: hits.length }
}

/** A term with its pattern, compiled once per search. */
type Term = { readonly text: string; readonly pattern: RegExp }

/** Scripts that write words without spaces between them, or endings onto them: matched by pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/gu

/** Words of the query, cut at the separators of names; case, accents and width do not matter. */
export function termsOf(query: string): Term[] {
  const words = fold(query).split(/[\s_\-./,;:!?"'`()[\]{}、。，；：！？]+/u)
  const pieces = words.flatMap((word) => [
    ...word.split(UNSPACED),
    ...[...word.matchAll(UNSPACED)].flatMap(pairs),
  ])
  return [...new Set(pieces.filter((piece) => piece !== ''))].map((text) => ({
    text,
    pattern: wordPattern(text),
  }))
}

function pairs([run]: RegExpMatchArray): string[] {
  const characters = [...(run ?? '')]
  if (characters.length <= 2) return [characters.join('')]
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** A whole word of any script, where the script has edges to look for. */
export function wordPattern(term: string): RegExp {
  const escaped = term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  if (new RegExp(UNSPACED.source, 'u').test(term)) return new RegExp(escaped, 'u')
  return new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])${escaped}(?![\\p{L}\\p{M}\\p{N}_])`, 'u')
}

/** What search reads of a tool, made once per tool (S15). */
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
      parts: [...new Set([...splitName(entry.name), ...splitName(entry.original)].map(fold))],
      full: fold(fullName(entry.name)),
      hint: fold(entry.hint),
      description: fold(String(entry.tool.description ?? '')),
    }
    texts.set(entry, text)
  }
  return text
}

/** One spelling for case, accents and width. */
export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .toLowerCase()
    .normalize('NFC')
}

function scoreOf(entry: PoolTool, terms: readonly Term[]): number {
  const { parts, full, hint, description } = searchText(entry)
  const isMcp = entry.server !== undefined
  let score = 0
  for (const { text, pattern } of terms) {
    if (parts.includes(text)) score += isMcp ? 12 : 10
    else if (parts.some((part) => part.includes(text))) score += isMcp ? 6 : 5
    else if (score === 0 && full.includes(text)) score += 3
    if (hint !== '' && pattern.test(hint)) score += 4
    if (pattern.test(description)) score += 2
  }
  return score
}
