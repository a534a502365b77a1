// Repairs query words that no tool has: words cut short ("notif"), mistyped ("calender") or written together
// ("filename"). Only unknown words are repaired, so a repaired word never outranks an exact one.

import { editDistance } from '../../lib/index.ts'
import { stem } from './stem.ts'

/** A stem to search for in place of an unknown word. */
export type Repair = {
  readonly word: string
  readonly how: 'prefix' | 'typo' | 'part'
  readonly share: number
}

const MIN_PREFIX_LENGTH = 3
const MIN_TYPO_LENGTH = 4
const MAX_WORD_LENGTH = 40
const MAX_REPAIRS = 8

/** Returns stems near an unknown word: completions, else the two words it consists of, else corrections. */
export function repair(
  word: string,
  stems: readonly string[],
  isKnown: (word: string) => boolean,
  mayCorrect: boolean,
): Repair[] {
  if (word.length > MAX_WORD_LENGTH || !/^\p{L}+$/u.test(word)) return []
  const longer = completions(word, stems)
  if (longer.length > 0) return longer
  const halves = split(word, isKnown)
  return halves.length > 0 || !mayCorrect ? halves : corrections(word, stems)
}

function completions(word: string, stems: readonly string[]): Repair[] {
  if (word.length < MIN_PREFIX_LENGTH) return []
  const found = stems.filter((other) => other.startsWith(word) && other !== word)
  return nearestFirst(found).map((other) => ({ word: other, how: 'prefix', share: 1 }))
}

function corrections(word: string, stems: readonly string[]): Repair[] {
  if (word.length < MIN_TYPO_LENGTH) return []
  const maxDistance = word.length < 8 ? 1 : 2
  const stemmed = stem(word)
  let nearest = maxDistance
  let found: string[] = []
  for (const other of stems) {
    if (Math.abs(other.length - word.length) > nearest || other.length < MIN_TYPO_LENGTH) continue
    const distance = Math.min(editDistance(word, other, nearest), editDistance(stemmed, other, nearest))
    if (distance > nearest) continue
    if (distance < nearest) found = []
    nearest = distance
    found.push(other)
  }
  return nearestFirst(found).map((other) => ({ word: other, how: 'typo', share: 1 / nearest }))
}

function split(word: string, isKnown: (word: string) => boolean): Repair[] {
  for (let end = word.length - 3; end >= 3; end--) {
    const [head, tail] = [word.slice(0, end), word.slice(end)]
    if (isKnown(head) && isKnown(tail))
      return [head, tail].map((part) => ({ word: part, how: 'part', share: 1 }))
  }
  return []
}

/** Sorts short words first, then alphabetically, so that the order of tools does not matter. */
function nearestFirst(words: string[]): string[] {
  return words.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, MAX_REPAIRS)
}
