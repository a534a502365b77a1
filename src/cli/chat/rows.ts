// What fits on a screen: text that cannot steer the terminal, and as much of it as there are rows.
import { stripVTControlCharacters } from 'node:util'

/** Models, tools and servers write it: colours and cursor movements go, other control characters are seen. */
export function harmless(text: string): string {
  return visible(stripVTControlCharacters(text))
}

/** What is asked to be allowed is shown with all that is in it. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (one) => (one === '\n' ? one : '?'))
}

/** Rows that a text takes, rather too many than too few: words are not broken, wide characters take two columns. */
export function rowsOf(text: string, columns: number): number {
  return text.split('\n').reduce((rows, line) => rows + rowsOfLine(line, columns), 0)
}

/** The end of a text, as much as fits. */
export function lastRows(text: string, rows: number, columns: number): string {
  const kept: string[] = []
  let left = rows
  for (const line of text.split('\n').reverse()) {
    if (left <= 0) break
    kept.unshift(line.slice(-left * usable(columns)))
    left -= rowsOfLine(line, columns)
  }
  return kept.join('\n')
}

/** The beginning of a text, as much as fits. */
export function firstRows(text: string, rows: number, columns: number): string {
  const kept: string[] = []
  let left = rows
  for (const line of text.split('\n')) {
    if (left <= 0) break
    kept.push(line.slice(0, left * usable(columns)))
    left -= rowsOfLine(line, columns)
  }
  return kept.join('\n')
}

function rowsOfLine(line: string, columns: number): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what it means
  const wide = line.match(/[^\u0000-\u007f]/g)?.length ?? 0
  return Math.max(1, Math.ceil((line.length + wide) / usable(columns)))
}

/** A word that does not fit leaves the end of its row empty. */
export function usable(columns: number): number {
  return Math.max(10, Math.floor(columns * 0.85))
}
