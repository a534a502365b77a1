// Renders chat items as styled lines.
import { columnsOf } from '../terminal/pen.ts'
import { harmless } from '../terminal/table.ts'
import { markdownLines } from './markdown.ts'
import { type Looks, lastLines, type StyledLine } from './styled.ts'

/** An entry of the chat: a message, a call, a notice. */
export type Item = {
  readonly kind: Kind
  readonly text: string
  /** Prefix of the first row; the rows below are indented by its width. */
  readonly lead?: string
  /** An empty row precedes it. */
  readonly isApart?: boolean
  /** It continues a code block that this line opened. */
  readonly fence?: string
  /** More of it is coming. */
  readonly isOpen?: boolean
  /** Styled lines below it. */
  readonly more?: readonly StyledLine[]
}

type Kind =
  | 'welcome'
  | 'user'
  | 'output'
  | 'said'
  | 'thought'
  | 'summary'
  | 'call'
  | 'failed'
  | 'notice'
  | 'spent'

const LOOKS: { readonly [kind in Kind]: Looks & { readonly indent?: number } } = {
  welcome: { color: 'gray' },
  user: { color: 'cyan' },
  output: { color: 'gray', indent: 2 },
  said: {},
  thought: { dim: true, italic: true, indent: 2 },
  summary: { color: 'gray', indent: 2 },
  call: { color: 'blue', indent: 2 },
  failed: { color: 'red', indent: 2 },
  notice: { color: 'yellow', indent: 2 },
  spent: { color: 'gray', indent: 2 },
}

type RenderOptions = {
  readonly columns: number
  /** Without styles: Markdown is shown as it was written. */
  readonly isPlain: boolean
}

/** Renders the end of all items, as many rows as fit. */
export function lastLinesOf(items: readonly Item[], rows: number, paper: RenderOptions): StyledLine[] {
  const lines: StyledLine[] = []
  for (const item of items.toReversed()) {
    if (lines.length >= rows) break
    lines.unshift(...itemLines(item, paper))
  }
  return lastLines(lines, rows, paper.columns)
}

export function itemLines(item: Item, { columns, isPlain }: RenderOptions): StyledLine[] {
  const { kind, text, fence, isOpen } = item
  const safe = harmless(shortened(kind === 'user' ? `> ${text}` : text, isOpen))
  if (kind === 'said' && !isPlain)
    return markdownLines(fence === undefined ? safe : `${fence}\n${safe}`, columns, isOpen)
  const { indent = 0, ...looks } = LOOKS[kind]
  const isApart = item.isApart ?? kind === 'user'
  const lead = harmless(item.lead ?? '')
  const lines: StyledLine[] = safe.split('\n').map((line, index) => ({
    spans: [{ ...looks, text: line }],
    indent,
    ...(lead === '' ? {} : { lead: index === 0 ? lead : ' '.repeat(columnsOf(lead)) }),
    ...(isApart && index === 0 ? { isApart } : {}),
  }))
  return [...lines, ...(item.more ?? []).map((line) => ({ ...line, indent: indent + 2 }))]
}

/** Maximum characters and lines of one item to draw: more than any reply has, so that endless text does not block the screen. */
const MAX_DRAWN = 50_000
const MAX_LINES = 3000

/** Cuts a long item; keeps the end of an item that is still growing. */
function shortened(text: string, isOpen = false): string {
  if (isOpen) return text.slice(startOfEnd(text))
  const end = endOfStart(text)
  const left = text.length - end
  return left === 0
    ? text
    : `${text.slice(0, end)}\n… and ${left.toLocaleString('en-US')} more characters, which are not shown`
}

function endOfStart(text: string): number {
  const maxLength = Math.min(text.length, MAX_DRAWN)
  let end = -1
  for (let line = 0; line < MAX_LINES; line++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0 || end >= maxLength) return maxLength
  }
  return end
}

function startOfEnd(text: string): number {
  const min = Math.max(0, text.length - MAX_DRAWN)
  let start = text.length
  for (let line = 0; line < MAX_LINES; line++) {
    start = text.lastIndexOf('\n', start - 1)
    if (start <= min) return min
  }
  return start + 1
}

/** A line of output, with an optional label. */
export type OutputLine = string | { readonly lead: string; readonly text: string }

export function itemOf(kind: 'output' | 'notice', line: OutputLine): Item {
  return typeof line === 'string' ? { kind, text: line } : { kind, ...line }
}

/** Makes a line with a label, padded to this width. */
export function withLabel(label: string, text: string, width: number): OutputLine {
  return { lead: `${label.padEnd(width)} `, text }
}

const WIDEST = 40

/** Makes lines with names and descriptions in two columns; a long name gets a line of its own. */
export function inColumns(entries: readonly (readonly [name: string, text: string])[]): OutputLine[] {
  const short = entries.map(([name]) => name.length).filter((length) => length <= WIDEST)
  const width = Math.max(3, ...short) + 1
  return entries.flatMap(([name, text]) =>
    name.length > WIDEST ? [name, withLabel('', text, width)] : [withLabel(name, text, width)],
  )
}
