// Renders a model's Markdown as styled lines. Keeps line breaks, and drops no meaningful text.
import { columnsOf } from '../terminal/pen.ts'
import { EDGE, type Looks, plainText, type Span, type StyledLine } from './styled.ts'

type Block = { readonly lines: readonly StyledLine[]; readonly end: number }

/** Renders Markdown. `isOpen`: more text is coming, so open marks in the last line count as closed at the end. */
export function markdownLines(text: string, columns: number, isOpen = false): StyledLine[] {
  const source = (isOpen ? withoutLastMarks(text) : text).split('\n')
  const lines: StyledLine[] = []
  for (let at = 0; at < source.length; ) {
    const block = codeBlock(source, at) ?? table(source, at, columns, isOpen)
    lines.push(...(block?.lines ?? [lineOf(source[at] ?? '', isOpen && at === source.length - 1)]))
    at = block?.end ?? at + 1
  }
  return lines
}

/** Removes marks at the very end of streaming text, which may be the start of longer ones. */
function withoutLastMarks(text: string): string {
  let end = text.length
  while (end > 0 && '*_`~'.includes(text[end - 1] ?? '')) end--
  return end === text.length ? text : text.slice(0, end).trimEnd()
}

type Fence = {
  readonly margin: string
  readonly mark: string
  readonly about: string
  /** Index where it is closed, or where the source ends. */
  readonly end: number
}

function fenceAt(source: readonly string[], at: number): Fence | undefined {
  const [, margin = '', mark, about = ''] = /^( *)(`{3,}|~{3,}) *([^`]*)$/.exec(source[at] ?? '') ?? []
  if (mark === undefined) return undefined
  const isClosing = (line: string) => line.trim().startsWith(mark) && /^ *(`+|~+) *$/.test(line)
  const closing = source.findIndex((line, index) => index > at && isClosing(line))
  return { margin, mark, about, end: closing < 0 ? source.length : closing }
}

/** Returns a code block unchanged, up to its closing fence or the end. */
function codeBlock(source: readonly string[], at: number): Block | undefined {
  const fence = fenceAt(source, at)
  if (!fence) return undefined
  const { about, end } = fence
  const indent = fence.margin.length
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

/** Returns how many of the first lines render the same whatever follows; `fence` reopens a code block that is cut there. */
export function closedLines(source: readonly string[]): { readonly count: number; readonly fence?: string } {
  const unsure = source.length - 1
  const last = source.findLastIndex((line) => line.trim() !== '')
  let at = 0
  while (at < last) {
    const fence = fenceAt(source, at)
    if (fence) {
      // Both pieces contain some code: fences with nothing between them would be shown literally.
      const cut = last - 1
      const isCut = fence.end >= last
      if (isCut) return cut < at + 2 ? { count: at } : { count: cut, fence: fence.margin + fence.mark }
      at = fence.end + 1
      continue
    }
    const end = tableEnd(source, at)
    const isTableOpen =
      end === undefined ? isRow(source[at]) && at + 1 >= unsure : end >= unsure || end > last
    if (isTableOpen) break
    at = end ?? at + 1
  }
  return { count: at }
}

const isRow = (line: string | undefined) => line?.includes('|') === true

/** The first line after a table; undefined if none starts here. */
function tableEnd(source: readonly string[], at: number): number | undefined {
  if (!isRow(source[at]) || !isRow(source[at + 1])) return undefined
  if (!cellsOf(source[at + 1] ?? '').every((cell) => RULES.test(cell))) return undefined
  const after = source.findIndex((line, index) => index > at && !isRow(line))
  return after < 0 ? source.length : after
}

const RULES = /^:?-+:?$/

/** A table that is too wide, or may get another row, stays as it was written. */
function table(source: readonly string[], at: number, columns: number, isOpen: boolean): Block | undefined {
  const end = tableEnd(source, at)
  if (end === undefined) return undefined
  if (isOpen && end >= source.length - 1) return { lines: source.slice(at, end).map(asWritten), end }
  const isRight = cellsOf(source[at + 1] ?? '').map((cell) => /^-+:$/.test(cell))
  const header = cellsOf(source[at] ?? '').map((cell) => spansOf(cell, { bold: true }))
  const rows = source.slice(at + 2, end).map((line) => cellsOf(line).map((cell) => spansOf(cell)))
  const all = [header, ...rows]
  const widths = Array.from({ length: Math.max(...all.map(({ length }) => length)) }, (_, column) =>
    Math.max(1, ...all.map((row) => widthOf(row[column]))),
  )
  const isTooWide = widths.reduce((sum, width) => sum + width + GAP.length, 0) > columns - EDGE
  if (isTooWide) return { lines: source.slice(at, end).map(asWritten), end }
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP)
  const [first, ...others] = all.map((row) => rowOf(row, widths, isRight))
  return { lines: [first as StyledLine, { spans: [{ text: rule, dim: true }] }, ...others], end }
}

const GAP = '  '

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '')
  const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim())
  return cells.at(-1) === '' ? cells.slice(0, -1) : cells
}

function rowOf(
  cells: readonly (readonly Span[])[],
  widths: readonly number[],
  isRight: readonly boolean[],
): StyledLine {
  const spans = widths.flatMap((width, column) => {
    const cell = cells[column] ?? []
    const isLast = column === widths.length - 1
    const space = ' '.repeat(width - widthOf(cell))
    const gap = isLast ? '' : GAP
    if (isRight[column]) return [{ text: space }, ...cell, { text: gap }]
    return isLast ? cell : [...cell, { text: `${space}${gap}` }]
  })
  return { spans: spans.filter(({ text }) => text !== '') }
}

function widthOf(cell: readonly Span[] | undefined): number {
  return columnsOf(plainText({ spans: cell ?? [] }))
}

type Found = { readonly spans: readonly Span[]; readonly end: number }

type Reading = {
  readonly text: string
  readonly looks: Looks
  /** More text is coming: open marks count as closed at the end. */
  readonly isOpen: boolean
  readonly depth: number
  /** Marks without a closing counterpart: searched only once. */
  readonly unclosed: Set<string>
}

/** Maximum nesting of marks. */
const MAX_DEPTH = 4

/** Maximum characters of a line to parse; a longer line is not prose. */
const MAX_LINE_LENGTH = 10_000

/** Parses a line; `isOpen` if more text is coming. */
function spansOf(text: string, looks: Looks = {}, isOpen = false): Span[] {
  if (text.length > MAX_LINE_LENGTH) return [{ ...looks, text }]
  return read({ text, looks, isOpen, depth: 0, unclosed: new Set() })
}

const SPECIAL = /[`*_~[\\]/g

function read(reading: Reading): Span[] {
  const { text, looks } = reading
  const spans: Span[] = []
  let taken = 0
  const take = (end: number) => {
    if (end > taken) spans.push({ ...looks, text: text.slice(taken, end) })
  }
  for (let at = next(text, 0); at < text.length; ) {
    const found =
      escapeAt(reading, at) ?? codeAt(reading, at) ?? linkAt(reading, at) ?? emphasisAt(reading, at)
    if (found) {
      take(at)
      spans.push(...found.spans)
      taken = found.end
      at = next(text, taken)
    } else at = next(text, at + runAt(text, at).length)
  }
  take(text.length)
  return spans
}

function next(text: string, from: number): number {
  SPECIAL.lastIndex = from
  return SPECIAL.exec(text)?.index ?? text.length
}

/** A run of the same character. */
function runAt(text: string, at: number): string {
  let end = at + 1
  while (text[end] === text[at]) end++
  return text.slice(at, end)
}

/** Reads a backslash escape; only before a mark, because elsewhere a backslash has other meanings. */
function escapeAt({ text, looks }: Reading, at: number): Found | undefined {
  const escaped = text[at + 1] ?? ''
  return text[at] === '\\' && /[*_`~#|]/.test(escaped)
    ? { spans: [{ ...looks, text: escaped }], end: at + 2 }
    : undefined
}

function codeAt({ text, looks, isOpen, unclosed }: Reading, at: number): Found | undefined {
  if (text[at] !== '`') return undefined
  const mark = runAt(text, at)
  const begin = at + mark.length
  const end = unclosed.has(mark) ? -1 : closingRun(text, mark, begin)
  if (end < 0) unclosed.add(mark)
  if (end < 0 && !(isOpen && begin < text.length)) return undefined
  const inner = end < 0 ? text.slice(begin) : text.slice(begin, end)
  const isPadded = inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== ''
  const code = isPadded ? inner.slice(1, -1) : inner
  return { spans: [{ ...looks, color: 'cyan', text: code }], end: end < 0 ? text.length : end + mark.length }
}

function closingRun(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; ) {
    const { length } = runAt(text, at)
    if (length === mark.length) return at
    at = text.indexOf(mark, at + length)
  }
  return -1
}

const LINK = /\[([^[\]]+)\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?)\)/y

/** The link's text, followed by its URL. */
function linkAt(reading: Reading, at: number): Found | undefined {
  const { text, looks, depth } = reading
  if (text[at] !== '[' || text[at - 1] === '!') return undefined
  LINK.lastIndex = at
  const [whole, label = '', address = ''] = LINK.exec(text) ?? []
  if (whole === undefined) return undefined
  const inner = { text: label, looks: { ...looks, underline: true }, isOpen: false, depth: depth + 1 }
  const spans = read({ ...inner, unclosed: new Set() })
  const behind = label === address ? [] : [{ ...looks, dim: true, text: ` (${address})` }]
  return { spans: [...spans, ...behind], end: at + whole.length }
}

const EMPHASIS: { readonly [mark: string]: Looks } = {
  '*': { italic: true },
  _: { italic: true },
  '**': { bold: true },
  __: { bold: true },
  '***': { bold: true, italic: true },
  '~~': { strikethrough: true },
}

function emphasisAt(reading: Reading, at: number): Found | undefined {
  const { text, looks, isOpen, depth, unclosed } = reading
  const mark = runAt(text, at)
  const added = EMPHASIS[mark]
  const begin = at + mark.length
  if (!added || depth >= MAX_DEPTH || !opens(text, at, begin)) return undefined
  const end = unclosed.has(mark) ? -1 : closing(text, mark, begin)
  if (end < 0) unclosed.add(mark)
  if (end < 0 && !isOpen) return undefined
  const inner = end < 0 ? text.slice(begin) : text.slice(begin, end)
  // A name such as __init__ is not emphasis.
  if (mark === '__' && !inner.includes(' ')) return undefined
  const spans = read({
    text: inner,
    looks: { ...looks, ...added },
    isOpen: end < 0,
    depth: depth + 1,
    unclosed: new Set(),
  })
  return { spans, end: end < 0 ? text.length : end + mark.length }
}

/** Never inside a word, a product or a path: snake_case, 2*3*4 and src/*.ts stay as they are. */
function opens(text: string, at: number, begin: number): boolean {
  const before = text[at - 1] ?? ' '
  const after = text[begin] ?? ' '
  const isShort = begin === at + 1
  return (
    /[\s([{"'>:*_~]|[^ -~]/.test(before) && !/[\s/,;:!?)\]}%=|]/.test(after) && !(isShort && after === '.')
  )
}

function closing(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from + 1); at >= 0; ) {
    const run = runAt(text, at)
    const isAlone = run.length === mark.length || run.length === 3
    const after = at + run.length
    if (isAlone && closes(text[at - 1] ?? ' ', text[after] ?? ' ')) return after - mark.length
    at = text.indexOf(mark, after)
  }
  return -1
}

function closes(before: string, after: string): boolean {
  return !/[\s([{]/.test(before) && /[\s)\]}"'.,;:!?*_~-]|[^ -~]/.test(after)
}
