// Renders tables: columns as wide as their longest cell, numbers right-aligned.
import { columnsOf, fit, padEnd, padStart } from './pen.ts'

type Row = readonly (string | number)[]

/** Renders rows as a table; `cut` cuts the cells of its widest columns until it fits in `maxWidth` columns. */
export function table(
  header: readonly string[],
  rows: readonly Row[],
  maxWidth = Number.POSITIVE_INFINITY,
  cut: (text: string, columns: number) => string = fit,
): string {
  const texts = [header, ...rows].map((row) => row.map(String))
  const widths = fitting(
    header.map((_, column) =>
      texts.reduce((widest, row) => Math.max(widest, columnsOf(row[column] ?? '')), 0),
    ),
    maxWidth - GAP.length * (header.length - 1),
  )
  const isNumber = header.map((_, column) => {
    // An empty cell, such as a cost that is not known, says nothing about its column.
    const filled = rows.map((row) => row[column] ?? '').filter((cell) => cell !== '')
    return (
      filled.length > 0 && filled.every((cell) => typeof cell === 'number' || /^[\d.,±% −-]+$/.test(cell))
    )
  })
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return (isNumber[column] ? padStart : padEnd)(cut(cell, width), width)
      })
      .join(GAP)
      .trimEnd()
  return [
    line(texts[0] ?? []),
    widths.map((width) => '─'.repeat(width)).join(GAP),
    ...texts.slice(1).map(line),
  ].join('\n')
}

const GAP = '  '

function fitting(widths: number[], maxWidth: number): number[] {
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - maxWidth; excess > 0; excess--) {
    const widest = widths.indexOf(Math.max(...widths))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}
