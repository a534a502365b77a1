// Tables for people: columns as wide as their longest cell, numbers to the right.

export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const texts = [header, ...rows].map((row) => row.map(String))
  const widths = header.map((_, column) =>
    texts.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0),
  )
  const isNumber = header.map(
    (_, column) =>
      rows.length > 0 &&
      rows.every((row) => typeof row[column] === 'number' || /^[\d.,±% -]+$/.test(String(row[column]))),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, isNumber[column] ?? false))
      .join('  ')
      .trimEnd()
  return [
    line(texts[0] ?? []),
    widths.map((width) => '─'.repeat(width)).join('  '),
    ...texts.slice(1).map(line),
  ].join('\n')
}

function pad(cell: string, width: number, toRight: boolean): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(cell)))
  return toRight ? space + cell : cell + space
}

/** Wide characters take two columns. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text)
    width += /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\uFF00-\uFF60]/u.test(
      character,
    )
      ? 2
      : 1
  return width
}
