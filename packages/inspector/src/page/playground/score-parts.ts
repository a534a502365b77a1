// Splits a hit's score into parts and assigns each a shade: the same label has the same shade in every drawing.
import type { RankedHit } from '../../api.ts'

/** Returns the parts of a score; the whole score where the ranker does not explain it. */
export function scoreParts({ parts, score }: Pick<RankedHit, 'parts' | 'score'>): RankedHit['parts'] {
  return parts.length > 0 ? parts : [{ label: 'score', amount: score }]
}

/** A score without parts stands alone, so that it shares the first shade. */
const shades = new Map<string, number>([['score', 0]])
const MAX_LABELS = 200

/** Returns the number of a label's shade. */
export function shadeOfLabel(label: string): number {
  const known = shades.get(label)
  if (known !== undefined) return known
  if (shades.size > MAX_LABELS) return 0
  const shade = shades.size - 1
  shades.set(label, shade)
  return shade
}
