// The parts of a hit's score, and a shade for each: the same label has the same shade in every drawing.
import type { RankedHit } from '../../api.ts'

/** The parts of a score; the whole score where the ranker does not explain it. */
export function scoreParts({ parts, score }: Pick<RankedHit, 'parts' | 'score'>): RankedHit['parts'] {
  return parts.length > 0 ? parts : [{ label: 'score', amount: score }]
}

const shades = new Map<string, number>()
const MOST_LABELS = 200

export function shadeOfLabel(label: string): number {
  const known = shades.get(label)
  if (known !== undefined) return known
  if (shades.size > MOST_LABELS) return 0
  shades.set(label, shades.size)
  return shades.size - 1
}
