// Writes the preview of a long result: its kind, its size, and its most informative parts.
import { cleanText, cut, readableText } from '../../lib/index.ts'
import { describeBase64 } from './binary.ts'
import { cellsOf, delimiterOf, resultKindOf, tableStart } from './kind.ts'
import { shapeOf, startOfJson } from './shape.ts'
import type { ResultKind } from './types.ts'

/** A preview, and the kind of the text. */
export type Preview = { readonly kind: ResultKind; readonly text: string }

/** Longest line, in characters. */
const MAX_LINE_LENGTH = 300
/** Characters of HTML to convert. */
const MAX_HTML = 400_000
/** Lines to search for errors. */
const MAX_LINES = 200_000

/**
 * Previews a text in at most `limit` characters. Removes hidden characters and imitations of Toolshelf's own tags,
 * because the preview appears beside Toolshelf's own text.
 *
 * @example
 * previewOf('[{"id": 1}, {"id": 2}]', 1000) // { kind: 'JSON', text: '2 × { id: number }\n[…' }
 */
export function previewOf(text: string, limit: number): Preview {
  const known = resultKindOf(text)
  const preview = cleanText(written(text, known, limit))
  return { kind: known.kind, text: preview.length <= limit ? preview : cut(preview, limit) }
}

function written(text: string, { kind, value }: ReturnType<typeof resultKindOf>, limit: number): string {
  switch (kind) {
    case 'JSON':
      return ofJson(value, limit)
    case 'JSON Lines':
      return ofRecords(value as readonly unknown[], limit)
    case 'CSV':
      return ofCsv(linesOf(text), limit)
    case 'Markdown table':
      return ofTable(linesOf(text), limit)
    case 'HTML':
      return ofHtml(text, limit)
    case 'base64':
      return describeBase64(text)
    default:
      return ofLines(linesOf(text), limit)
  }
}

function ofJson(value: unknown, limit: number): string {
  const shape = cut(`Shape: ${shapeOf(value)}`, Math.floor(limit / 3))
  return `${shape}\nStart:\n${startOfJson(value, limit - shape.length - 10)}`
}

function ofRecords(records: readonly unknown[], limit: number): string {
  const shape = cut(
    `${count(records.length)} records. Shape of the first: ${shapeOf(records[0])}`,
    Math.floor(limit / 3),
  )
  return `${shape}\nFirst records:\n${startOfJson(records, limit - shape.length - 20)}`
}

function ofCsv(lines: readonly string[], limit: number): string {
  const [header = '', ...rows] = lines.filter((line) => line !== '')
  const cells = cellsOf(header, delimiterOf(lines.slice(0, 20)) ?? ',')
  const columns = cut(cells.join(', '), Math.floor(limit / 4))
  return `${count(rows.length)} rows, ${cells.length} columns: ${columns}\n${ends([header, ...rows], limit - columns.length - 60)}`
}

function ofTable(lines: readonly string[], limit: number): string {
  const start = tableStart(lines.slice(0, 40))
  const rows = lines.slice(start + 2).filter((line) => line.includes('|')).length
  return `${count(rows)} rows\n${ends(lines, limit - 30)}`
}

function ofHtml(text: string, limit: number): string {
  const read = readableText(text.slice(0, MAX_HTML))
    .split('\n')
    .filter((line) => line.trim() !== '')
  return `As text:\n${headOf(read, limit - 60).text}`
}

const ERROR = /\b(?:error|exception|fatal|panic|traceback|failed|failure|critical|denied)\b/i

/** Shows the first and the last lines, and between them those that report errors, each with the line after it. */
function ofLines(lines: readonly string[], limit: number): string {
  const sizes = `${count(lines.length)} lines`
  const room = limit - sizes.length - 80
  const head = headOf(lines, Math.floor(room * 0.45))
  const tail = tailOf(lines.slice(head.lines), Math.floor(room * 0.25))
  const end = lines.length - tail.lines
  const errors = errorsIn(lines, head.lines, end, Math.floor(room * 0.3))
  const left = end - head.lines
  const between =
    left <= 0
      ? []
      : errors.length > 0
        ? ['… lines that report errors:', ...errors, '…']
        : [`… ${count(left)} lines …`]
  return [sizes, head.text, ...between, ...(tail.text === '' ? [] : [tail.text])].join('\n')
}

function errorsIn(lines: readonly string[], start: number, end: number, limit: number): string[] {
  const found: string[] = []
  let room = limit
  const last = Math.min(end, start + MAX_LINES)
  for (let index = start; index < last && room > 0; index++) {
    const line = lines[index] ?? ''
    if (!ERROR.test(line.slice(0, 2000))) continue
    const next = index + 1 < end ? [lines[index + 1] ?? ''] : []
    const shown = [line, ...next].map((one, step) => `${index + step + 1}: ${cut(one, MAX_LINE_LENGTH)}`)
    room -= shown.join('\n').length + 1
    if (room > 0) found.push(...shown)
    index += next.length
  }
  return found
}

/** Shows the first lines and the last one. */
function ends(lines: readonly string[], limit: number): string {
  const last = lines.findLast((line) => line.trim() !== '') ?? ''
  const tail = cut(last, Math.min(MAX_LINE_LENGTH, Math.floor(limit / 4)))
  const head = headOf(lines, limit - tail.length - 40)
  const left = lines.length - head.lines
  return left <= 0 ? head.text : `${head.text}\n… ${count(left)} lines …\n${tail}`
}

type Part = { readonly text: string; readonly lines: number }

function headOf(lines: readonly string[], limit: number): Part {
  const shown: string[] = []
  let room = limit
  for (const line of lines) {
    const text = cut(line, shown.length === 0 ? Math.max(MAX_LINE_LENGTH, limit) : MAX_LINE_LENGTH)
    room -= text.length + 1
    if (room < 0 && shown.length > 0) break
    shown.push(room < 0 ? cut(text, limit) : text)
    if (room < 0) break
  }
  return { text: shown.join('\n'), lines: shown.length }
}

function tailOf(lines: readonly string[], limit: number): Part {
  const shown: string[] = []
  let room = limit
  for (let index = lines.length - 1; index >= 0; index--) {
    const text = cut(lines[index] ?? '', MAX_LINE_LENGTH)
    room -= text.length + 1
    if (room < 0) break
    shown.unshift(text)
  }
  return { text: shown.join('\n'), lines: shown.length }
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/)
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
