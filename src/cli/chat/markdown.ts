// Markdown as lines with looks, for what a model says. A line stays a line, and nothing that means something is left out.
import { columnsOf } from '../../mcp/doctor/pen.ts'
import { spansOf } from './inline.ts'
import { EDGE, type Span, type StyledLine, textOf } from './styled.ts'

type Block = { readonly lines: readonly StyledLine[]; readonly end: number }

/** `isOpen`: more is coming, so that what was begun in the last line is taken to be ended there. */
export function markdownLines(text: string, columns: number, isOpen = false): StyledLine[] {
  const source = (isOpen ? withoutLastMarks(text) : text).split('\n')
  const lines: StyledLine[] = []
  for (let at = 0; at < source.length; ) {
    const block = codeBlock(source, at) ?? table(source, at, columns)
    lines.push(...(block?.lines ?? [lineOf(source[at] ?? '', isOpen && at === source.length - 1)]))
    at = block?.end ?? at + 1
  }
  return lines
}

/** Marks at the very end cannot be told from the beginning of longer ones yet. */
function withoutLastMarks(text: string): string {
  let end = text.length
  while (end > 0 && '*_`~'.includes(text[end - 1] ?? '')) end--
  return end === text.length ? text : text.slice(0, end).trimEnd()
}

/** Kept as it is, up to its closing fence or the end. */
function codeBlock(source: readonly string[], at: number): Block | undefined {
  const [, margin = '', fence, about = ''] = /^( *)(`{3,}|~{3,}) *([^`]*)$/.exec(source[at] ?? '') ?? []
  if (fence === undefined) return undefined
  const isClosing = (line: string) => line.trim().startsWith(fence) && /^ *(`+|~+) *$/.test(line)
  const closing = source.findIndex((line, index) => index > at && isClosing(line))
  const end = closing < 0 ? source.length : closing
  const indent = margin.length
  const code = source.slice(at + 1, end).map((line) => {
    const text = line.slice(0, indent).trim() === '' ? line.slice(indent) : line
    return { spans: [{ text }], hasEdge: true, indent }
  })
  const label = about.trim() === '' ? [] : [{ spans: [{ text: about.trim(), dim: true }], indent }]
  const lines = [...label, ...code]
  return { lines: lines.length > 0 ? lines : source.slice(at, end + 1).map(asWritten), end: end + 1 }
}

function asWritten(text: string): StyledLine {
  return { spans: [{ text }] }
}

function lineOf(line: string, isOpen: boolean): StyledLine {
  const [, quoted] = /^ {0,3}> ?(.*)$/.exec(line) ?? []
  return quoted === undefined ? plainLineOf(line, isOpen) : { ...plainLineOf(quoted, isOpen), hasEdge: true }
}

function plainLineOf(line: string, isOpen: boolean): StyledLine {
  if (RULE.test(line)) return { spans: [{ text: '─'.repeat(24), dim: true }] }
  const [, marks, title] = /^ {0,3}(#{1,6}) +(\S.*)$/.exec(line) ?? []
  if (title) return { spans: spansOf(title, { bold: true, underline: marks === '#' }, isOpen) }
  const [lead, margin, mark] = /^( *)([-*+]|\d{1,9}[.)]) +(?=\S)/.exec(line) ?? []
  if (lead === undefined) return { spans: spansOf(line, {}, isOpen) }
  const bullet = mark === '-' || mark === '*' ? '•' : mark
  return { lead: `${margin}${bullet} `, spans: spansOf(line.slice(lead.length), {}, isOpen) }
}

const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/

/** Aligned to the left; one that is too wide stays as it was written. */
function table(source: readonly string[], at: number, columns: number): Block | undefined {
  const isRow = (line: string | undefined) => line?.includes('|') === true
  if (!isRow(source[at]) || !isRow(source[at + 1])) return undefined
  if (!cellsOf(source[at + 1] ?? '').every((cell) => /^:?-+:?$/.test(cell))) return undefined
  const after = source.findIndex((line, index) => index > at && !isRow(line))
  const end = after < 0 ? source.length : after
  const header = cellsOf(source[at] ?? '').map((cell) => spansOf(cell, { bold: true }))
  const rows = source.slice(at + 2, end).map((line) => cellsOf(line).map((cell) => spansOf(cell)))
  const all = [header, ...rows]
  const widths = Array.from({ length: Math.max(...all.map(({ length }) => length)) }, (_, column) =>
    Math.max(1, ...all.map((row) => widthOf(row[column]))),
  )
  const isTooWide = widths.reduce((sum, width) => sum + width + GAP.length, 0) > columns - EDGE
  if (isTooWide) return { lines: source.slice(at, end).map(asWritten), end }
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP)
  const [first, ...others] = all.map((row) => rowOf(row, widths))
  return { lines: [first as StyledLine, { spans: [{ text: rule, dim: true }] }, ...others], end }
}

const GAP = '  '

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '')
  const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim())
  return cells.at(-1) === '' ? cells.slice(0, -1) : cells
}

function rowOf(cells: readonly (readonly Span[])[], widths: readonly number[]): StyledLine {
  const spans = widths.flatMap((width, column) => {
    const cell = cells[column] ?? []
    const isLast = column === widths.length - 1
    return isLast ? cell : [...cell, { text: `${' '.repeat(width - widthOf(cell))}${GAP}` }]
  })
  return { spans }
}

function widthOf(cell: readonly Span[] | undefined): number {
  return columnsOf(textOf({ spans: cell ?? [] }))
}
