// Renders tables: columns as wide as their longest cell, numbers right-aligned.
import { stripVTControlCharacters } from 'node:util'
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

/** Makes text from models, tools and servers safe: removes colours and cursor movements, and shows other control characters. */
export function harmless(text: string): string {
  return marked(stripVTControlCharacters(text), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu)
}

/** Spells out control characters, invisible ones and odd blanks as `\\u{200b}`, for requests for permission. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replace(UNSEEN, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
}

const UNSEEN = /(?!\n)[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu

function marked(text: string, unseen: RegExp): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replaceAll(unseen, (one) => (one === '\n' ? one : '?'))
}

/** Returns the rows that a text takes, as an upper bound: words are not broken, non-ASCII characters take two columns. */
export function rowsOf(text: string, columns: number): number {
  return text.split('\n').reduce((rows, line) => rows + rowsOfLine(line, columns), 0)
}

/** Returns as much of the end of a text as fits. */
export function lastRows(text: string, rows: number, columns: number): string {
  const kept: string[] = []
  let left = rows
  for (const line of text.split('\n').reverse()) {
    if (left <= 0) break
    kept.unshift(endOf(line, left * usable(columns)))
    left -= rowsOfLine(line, columns)
  }
  return kept.join('\n')
}

/** Returns as much of the start of a text as fits. */
export function firstRows(text: string, rows: number, columns: number): string {
  const kept: string[] = []
  let left = rows
  for (const line of text.split('\n')) {
    if (left <= 0) break
    kept.push(beginningOf(line, left * usable(columns)))
    left -= rowsOfLine(line, columns)
  }
  return kept.join('\n')
}

function rowsOfLine(line: string, columns: number): number {
  return Math.max(1, Math.ceil(widthOf(line) / usable(columns)))
}

/** Returns an upper bound of the columns that a line takes. */
export function widthOf(line: string): number {
  let width = 0
  for (let at = 0; at < line.length; at++) width += widthAt(line, at)
  return width
}

function widthAt(line: string, at: number): number {
  return line.charCodeAt(at) < 128 ? 1 : 2
}

/** Returns as much of the start of a line as fits in this many columns. */
export function beginningOf(line: string, columns: number): string {
  let at = 0
  for (let left = columns; at < line.length; at++) {
    left -= widthAt(line, at)
    if (left < 0) break
  }
  return line.slice(0, at)
}

/** Returns as much of the end of a line as fits in this many columns. */
export function endOf(line: string, columns: number): string {
  let at = line.length
  for (let left = columns; at > 0; at--) {
    left -= widthAt(line, at - 1)
    if (left < 0) break
  }
  return line.slice(at)
}

/**
 * Wraps long lines, between words if possible. Indents continuation lines by two more columns, so that
 * untrusted text cannot imitate a separate line.
 */
export function wrapLines(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => wrapLine(line, columns))
    .join('\n')
}

function wrapLine(line: string, columns: number): string[] {
  const lead = Math.min(/^ */.exec(line)?.[0].length ?? 0, Math.floor(columns / 3))
  const rows: string[] = []
  for (let at = 0; at < line.length || rows.length === 0; ) {
    const indent = rows.length > 0 ? ' '.repeat(lead + 2) : ''
    const room = Math.max(10, columns - 1 - indent.length)
    const part = beginningOf(line.slice(at, at + room), room)
    const space = at + part.length < line.length ? part.lastIndexOf(' ') : -1
    const taken = space >= (rows.length > 0 ? 0 : lead) ? part.slice(0, space + 1) : part
    rows.push((indent + taken).trimEnd())
    at += taken.length
  }
  return rows
}

/** Returns the columns that count: a word that does not fit leaves the end of its row empty. */
export function usable(columns: number): number {
  return Math.max(10, Math.floor(columns * 0.85))
}
