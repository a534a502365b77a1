// Parses inline Markdown: emphasis, code and links as spans. Ambiguous marks stay as they were written.
import type { Looks, Span } from './styled.ts'

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
export function spansOf(text: string, looks: Looks = {}, isOpen = false): Span[] {
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
