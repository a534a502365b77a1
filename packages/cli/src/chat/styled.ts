// Styled lines: what a screen draws, how many rows they take, and the part of their end that fits.
import { columnsOf, rowStarts } from '../terminal/pen.ts'
import { beginningOf, endOf, rowsOf, usable, widthOf } from '../terminal/table.ts'

/** How text is styled. */
export type Looks = {
  readonly bold?: boolean
  readonly italic?: boolean
  readonly underline?: boolean
  readonly strikethrough?: boolean
  readonly dim?: boolean
  readonly color?: string
}

/** A piece of text in one style. */
export type Span = Looks & { readonly text: string }

export type StyledLine = {
  readonly spans: readonly Span[]
  /** Prefix of the first row; the rows below it are indented. */
  readonly lead?: string
  /** A line along the left side of every row. */
  readonly hasEdge?: boolean
  readonly indent?: number
  /** An empty row precedes it. */
  readonly isApart?: boolean
}

/** Columns that an edge takes, with the space after it. */
export const EDGE = 2

/** Returns the text of a line without styles. */
export function plainText({ spans }: StyledLine): string {
  return spans.map(({ text }) => text).join('')
}

/** Returns how many rows a line takes on a screen of this many columns. */
export function rowsOfLine(line: StyledLine, columns: number): number {
  return rowsOf(plainText(line), room(line, columns)) + (line.isApart ? 1 : 0)
}

/**
 * Inserts line breaks between words, so that no row starts with a space, and within words that are longer than a row.
 * Ink wraps code.
 */
export function brokenSpans(line: StyledLine, columns: number): readonly Span[] {
  if (line.hasEdge) return line.spans
  const breaks = breaksIn(plainText(line), room(line, columns))
  if (breaks.size === 0) return line.spans
  const positions = [...breaks.keys()]
  let [next, begin] = [0, 0]
  return line.spans.map((span) => {
    const end = begin + span.text.length
    let text = ''
    let at = begin
    for (; (positions[next] ?? end) < end; next++) {
      const position = positions[next] as number
      const { text: put, skipped } = breaks.get(position) as Break
      text += span.text.slice(at - begin, position - begin) + put
      at = position + skipped
    }
    text += span.text.slice(at - begin)
    begin = end
    return { ...span, text }
  })
}

/** A replacement for this many characters. */
type Break = { readonly text: string; readonly skipped: number }

const SPACE_TO_ROW: Break = { text: '\n', skipped: 1 }
const NO_SPACE: Break = { text: '', skipped: 1 }
const WITHIN_WORD: Break = { text: '\n', skipped: 0 }

/** Breaks by their position, in order. */
function breaksIn(text: string, columns: number): ReadonlyMap<number, Break> {
  const breaks = new Map<number, Break>()
  let used = 0
  for (const { 0: whole, 1: gap = '', 2: word = '', index } of text.matchAll(/( *)([^ ]+)/g)) {
    const isBreaking = index > 0 && used + columnsOf(whole) > columns
    if (isBreaking)
      for (let at = 0; at < gap.length; at++) breaks.set(index + at, at === 0 ? SPACE_TO_ROW : NO_SPACE)
    const taken = isBreaking ? 0 : used + gap.length
    used = taken + columnsOf(word)
    if (used <= columns) continue
    // Ink breaks long words too, but takes seconds for a reply without spaces.
    if (taken === 0)
      for (const position of rowStarts(word, columns)) breaks.set(index + gap.length + position, WITHIN_WORD)
    used %= columns
  }
  return breaks
}

/** Returns the last lines that fit in these rows; the first of them may be cut. */
export function lastLines(lines: readonly StyledLine[], rows: number, columns: number): StyledLine[] {
  const kept: StyledLine[] = []
  let left = rows
  for (const line of lines.toReversed()) {
    if (left <= 0) break
    const maxColumns = left * usable(room(line, columns))
    kept.unshift(
      widthOf(plainText(line)) > maxColumns ? { ...line, spans: lastOf(line.spans, maxColumns) } : line,
    )
    left -= rowsOfLine(line, columns)
  }
  return kept
}

/** Returns the first lines that fit in these rows; the last of them may be cut. */
export function firstLines(lines: readonly StyledLine[], rows: number, columns: number): StyledLine[] {
  const kept: StyledLine[] = []
  let left = rows
  for (const line of lines) {
    if (left <= 0) break
    const maxColumns = left * usable(room(line, columns))
    kept.push(
      widthOf(plainText(line)) > maxColumns ? { ...line, spans: firstOf(line.spans, maxColumns) } : line,
    )
    left -= rowsOfLine(line, columns)
  }
  return kept
}

function firstOf(spans: readonly Span[], columns: number): Span[] {
  const kept: Span[] = []
  let left = columns
  for (const span of spans) {
    if (left <= 0) break
    kept.push({ ...span, text: beginningOf(span.text, left) })
    left -= widthOf(span.text)
  }
  return kept
}

function room({ lead = '', hasEdge, indent = 0 }: StyledLine, columns: number): number {
  return columns - columnsOf(lead) - (hasEdge ? EDGE : 0) - indent
}

function lastOf(spans: readonly Span[], columns: number): Span[] {
  const kept: Span[] = []
  let left = columns
  for (const span of spans.toReversed()) {
    if (left <= 0) break
    kept.unshift({ ...span, text: endOf(span.text, left) })
    left -= widthOf(span.text)
  }
  return kept
}
