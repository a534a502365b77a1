// Implements the classic ranker (S6): points per term for name, hint and description.
// Implements S6, S14, S15.

import type { PoolTool } from '../types.ts'
import type { Hit, Rank } from './rank.ts'
import { fold, searchText, UNSPACED, wordPattern } from './search-text.ts'

const MAX_TERMS = 40

/** Ranks as the first tool-search clients did: points per word for name, hint and description (S6). */
export const classicRank: Rank = (tools, query, limit) => {
  const terms = termsOf(query).slice(0, MAX_TERMS)
  const hits: Hit[] = []
  for (const tool of tools) {
    const score = scoreOf(tool, terms)
    if (score > 0) hits.push({ tool, score })
  }
  hits.sort((a, b) => b.score - a.score)
  return { hits: hits.slice(0, limit), matched: hits.length, ranker: 'classic' }
}

/** A term with its pattern, compiled once per search. */
type Term = { readonly text: string; readonly pattern: RegExp }

/** Splits the query into words, also at the separators of names; ignores case, accents and width. */
function termsOf(query: string): Term[] {
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
