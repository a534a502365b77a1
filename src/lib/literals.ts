// Finds and replaces literal texts that may overlap: a secret that is the start of a longer one must not leave the rest
// of the longer one visible.

export type TextRange = { readonly start: number; readonly end: number }

/** Returns where the literals occur, in order; those that overlap are one range. */
export function literalRanges(text: string, literals: readonly string[]): TextRange[] {
  const found: TextRange[] = []
  for (const literal of literals) {
    if (literal === '') continue
    for (let at = text.indexOf(literal); at >= 0; at = text.indexOf(literal, at + 1))
      found.push({ start: at, end: at + literal.length })
  }
  const ranges: TextRange[] = []
  for (const { start, end } of found.sort((a, b) => a.start - b.start)) {
    const last = ranges.at(-1)
    if (last && start < last.end) ranges[ranges.length - 1] = { ...last, end: Math.max(last.end, end) }
    else ranges.push({ start, end })
  }
  return ranges
}

/** Replaces each range of literals by what `replacement` returns for its length. */
export function replaceLiterals(
  text: string,
  literals: readonly string[],
  replacement: (length: number) => string,
): string {
  let replaced = ''
  let from = 0
  for (const { start, end } of literalRanges(text, literals)) {
    replaced += text.slice(from, start) + replacement(end - start)
    from = end
  }
  return replaced + text.slice(from)
}
