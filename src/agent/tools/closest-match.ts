// Finds the closest match for text that does not occur verbatim in a file.

/** A part of the file and its first line. */
export type ClosestMatch = { readonly line: number; readonly text: string }

const MAX_SHOWN = 20

/** Returns the closest match; undefined if nothing is similar. */
export function closestMatch(text: string, wanted: string): ClosestMatch | undefined {
  const lines = text.split('\n')
  const wantedLines = wanted.replace(/^\n+|\n+$/g, '').split('\n')
  const scores = scoresOf(lines, wantedLines)
  const best = scores.reduce((found, score, start) => (score > (scores[found] ?? 0) ? start : found), 0)
  if ((scores[best] ?? 0) < 1) return undefined
  const shown = lines.slice(best, best + Math.min(wantedLines.length, MAX_SHOWN))
  return { line: best + 1, text: shown.map((line) => line.replace(/\r$/, '')).join('\n') }
}

/** Scores each line by how many wanted lines follow it in order: 2 for the same words, 1 for most of them. */
function scoresOf(lines: readonly string[], wantedLines: readonly string[]): number[] {
  const words = lines.map(wordsIn)
  const wanted = wantedLines.slice(0, MAX_SHOWN).map(wordsIn)
  return words.map((_, start) =>
    wanted.reduce((sum, line, offset) => sum + alike(line, words[start + offset] ?? EMPTY), 0),
  )
}

const EMPTY: ReadonlySet<string> = new Set()

function wordsIn(line: string): ReadonlySet<string> {
  return new Set(line.match(/[\p{L}\p{N}_]+/gu))
}

function alike(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0) return 0
  const shared = [...one].filter((word) => other.has(word)).length
  const share = (2 * shared) / (one.size + other.size)
  return share === 1 ? 2 : share > 0.5 ? 1 : 0
}
