// Long results: where they are stored, what kind of text one is, and the preview and handle that the model gets instead.

import { type Fields, isContainer, isFields, parseJson } from './lib/json.ts'
import { cleanText, cut, readableText } from './lib/text.ts'

/**
 * Stores the text of results by owner and id. An owner is one conversation or one client; what another owner stored is
 * never returned. Implementations limit how much they keep: a result that was dropped is `undefined`, like one that
 * never existed.
 */
export type ResultStore = {
  /** Stores a text. Storing the same owner and id again changes nothing but keeps it longer. Rejects if it cannot. */
  put(owner: string, id: string, text: string): Promise<void>
  /** Returns the exact text that was stored; undefined if there is none. */
  get(owner: string, id: string): Promise<string | undefined>
  /** Deletes everything of an owner whose conversation has ended. */
  drop(owner: string): Promise<void>
}

/** How a shelf keeps long results out of the context. */
export type ResultSettings = {
  /** Where to store them. */
  readonly store: ResultStore
  /** Longest result, in characters, that is sent whole; 0 stores none unless a server or a tool has its own budget. */
  readonly budget: number
  /** Returns the id of a text: the same in every process, and without collisions. */
  readonly idOf: (text: string) => string
  /** Returns an owner name that nobody can guess. */
  readonly newOwner: () => string
}

/** The kinds of text that previews know. */
export type ResultKind = 'JSON' | 'JSON Lines' | 'CSV' | 'Markdown table' | 'HTML' | 'log' | 'base64' | 'text'

/** A stored result. */
export type ShelvedResult = {
  /** The handle by which the model reads it. */
  readonly handle: string
  /** The tool that returned it, as the model knows it. */
  readonly tool: string
  /** The kind of its text. */
  readonly kind: ResultKind
  /** Its length in characters. */
  readonly size: number
}

/** The results of a conversation, as its state records them. */
export type ResultRecord = {
  /** The owner of these results in the store. */
  readonly owner: string
  /** The results, newest last; the oldest are omitted. */
  readonly shelved: readonly ShelvedResult[]
}

/** The kind of a text; `value` is the parsed JSON, a list for JSON Lines. */
type KnownText = { readonly kind: ResultKind; readonly value?: unknown }

/** Lines to examine. */
const SAMPLE_LINES = 40
/** Characters to examine. */
const SAMPLE = 20_000

/** Characters of the texts that stay parsed. */
const MAX_PARSED = 16_000_000

/** The texts parsed last, the newest at the end: a result is read part by part, and parsing a large one takes long. */
const parsed = new Map<string, KnownText>()
let parsedCharacters = 0

/** Returns the kind of a text. */
export function resultKindOf(text: string): KnownText {
  const known = parsed.get(text) ?? parse(text)
  if (!parsed.delete(text)) parsedCharacters += text.length
  parsed.set(text, known)
  for (const [oldest] of parsed) {
    if (parsedCharacters <= MAX_PARSED) break
    parsed.delete(oldest)
    parsedCharacters -= oldest.length
  }
  return known
}

function parse(text: string): KnownText {
  const json = jsonIn(text)
  if (isContainer(json)) return { kind: 'JSON', value: json }
  if (looksLikeBase64(text)) return { kind: 'base64' }
  const start = text.slice(0, SAMPLE)
  if (/^\s*(?:<!doctype html|<html[\s>])/i.test(start) || (start.match(TAG)?.length ?? 0) >= 10)
    return { kind: 'HTML' }
  const lines = start.split(/\r?\n/, SAMPLE_LINES + 1).slice(0, SAMPLE_LINES)
  if (text.length > SAMPLE && lines.length > 1) lines.pop()
  const records = recordsIn(text, lines)
  if (records) return { kind: 'JSON Lines', value: records }
  if (tableStart(lines) >= 0) return { kind: 'Markdown table' }
  if (delimiterOf(lines) !== undefined) return { kind: 'CSV' }
  return { kind: isLog(lines) ? 'log' : 'text' }
}

/** Parses JSON; returns undefined for anything else. */
export function jsonIn(text: string): unknown {
  return /^\s*[[{"\dtfn-]/.test(text.slice(0, 1000)) ? parseJson(text) : undefined
}

/** Returns whether a text is nothing but base64, and too long to be a word. */
function looksLikeBase64(text: string): boolean {
  if (text.length < 400 || !/^(?:data:[\w.+/-]+;base64,)?[A-Za-z0-9+/_-]{100}/.test(text.slice(0, 300)))
    return false
  // Trims first, because one expression for both would backtrack at each line break.
  const body = text.slice(text.indexOf(',') + 1).trimEnd()
  const data = body.slice(0, body.length - (/={1,2}$/.exec(body.slice(-2))?.[0].length ?? 0))
  // Searches for any other character, because a repetition over millions of them can overflow the engine's stack.
  return data !== '' && !/[^A-Za-z0-9+/_\r\n-]/.test(data) && /[0-9]/.test(data.slice(0, 200))
}

const TAG = /<\/?(?:p|div|span|a|ul|li|table|tr|td|h[1-6]|script|meta|br|section|img)\b[^<>]{0,500}>/gi

/** Returns the values of JSON Lines, in which each line is an object or list. */
function recordsIn(text: string, sample: readonly string[]): unknown[] | undefined {
  const first = sample.filter(isWritten)
  if (first.length < 2 || !first.every((line) => isContainer(jsonIn(line)))) return undefined
  const records = text.split('\n').filter(isWritten).map(jsonIn)
  return records.every(isContainer) ? records : undefined
}

/** Returns the index of the header of a Markdown table near the beginning; -1 if there is none. */
function tableStart(lines: readonly string[]): number {
  return lines.findIndex(
    (line, index) =>
      index < 10 &&
      line.includes('|') &&
      /^\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?)?$/.test((lines[index + 1] ?? '').trim()),
  )
}

/** Returns the delimiter with which every line has the same number of cells; undefined if the text is not a table. */
function delimiterOf(lines: readonly string[]): string | undefined {
  const rows = lines.filter(isWritten).slice(0, 20)
  if (rows.length < 3) return undefined
  return ['\t', ',', ';'].find((delimiter) => {
    const counts = rows.map((row) => cellsOf(row, delimiter).length)
    return Number(counts[0]) >= 2 && counts.every((count) => count === counts[0])
  })
}

/** Splits a line into cells, ignoring delimiters inside quotes. */
function cellsOf(row: string, delimiter: string): string[] {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (const character of row) {
    if (character === '"') isQuoted = !isQuoted
    if (character === delimiter && !isQuoted) {
      cells.push(cell)
      cell = ''
    } else cell += character
  }
  return [...cells, cell]
}

const LOG_LINE =
  /^\s*(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:|\d{10,13}\b|\[?(?:trace|debug|info|warn(?:ing)?|error|fatal|critical)\b)/i

function isLog(lines: readonly string[]): boolean {
  const written = lines.filter(isWritten)
  return written.length >= 5 && written.filter((line) => LOG_LINE.test(line)).length >= written.length / 2
}

function isWritten(line: string): boolean {
  return line.trim() !== ''
}

/** Writes a number for people and models. */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** The name of the tool that reads stored results. */
export const READ_TOOL = 'ReadResult'

/** A text to store for an owner; at most `budget` characters are shown in its place. */
type TextToShelve = {
  readonly owner: string
  readonly text: string
  readonly budget: number
  /** The tool through which the model calls the reading tool, if that is not on its list. */
  readonly caller?: string | undefined
}

/** What the model gets in place of a text. */
export type Replacement = {
  readonly handle: string
  /** A note of ours, as the first block of the result, where no server can write; then the preview. */
  readonly texts: readonly [note: string, preview: string]
  /** What events say of it. */
  readonly sizes: { readonly kind: ResultKind; readonly size: number; readonly shown: number }
}

/** Stores the text and returns its replacement. Rejects if the store does; then the text must be sent whole. */
export async function shelveText(results: ResultSettings, shelved: TextToShelve): Promise<Replacement> {
  const id = results.idOf(shelved.text)
  await results.store.put(shelved.owner, id, shelved.text)
  return replacementFor(id, shelved, results.budget)
}

/** Longest result, in characters, that is sent whole by default: about 8,600 tokens of JSON. */
export const DEFAULT_BUDGET = 25_000

/** The share of the budget that the preview takes. */
const PREVIEW_SHARE = 0.2
const MIN_PREVIEW_LENGTH = 500

/** Characters reserved for the line above a page. */
const HEADING = 400

/**
 * Returns the page size for a budget. A page with its heading stays within the budget, so that another gateway with the
 * same budget passes it on.
 */
export function pageSizeFor(budget: number): number {
  return Math.max(MIN_PREVIEW_LENGTH, (budget > 0 ? budget : DEFAULT_BUDGET) - HEADING)
}

/** Kinds that need an article. */
const NAMES: { readonly [kind in ResultKind]?: string } = {
  log: 'a log',
  text: 'a text',
  'Markdown table': 'a Markdown table',
}

/** Returns the replacement of a text with this id, of which the reading tool shows pages by its `general` budget. */
export function replacementFor(
  id: string,
  { text, budget, caller }: Omit<TextToShelve, 'owner'>,
  general: number = budget,
): Replacement {
  const limit = Math.max(MIN_PREVIEW_LENGTH, Math.floor(budget * PREVIEW_SHARE))
  const { kind, text: preview } = previewOf(text, limit)
  const handle = `result_${id}`
  const pages = Math.ceil(text.length / pageSizeFor(general))
  const path = kind === 'JSON' || kind === 'JSON Lines' ? ', "path": "items[0].name"' : ''
  const input = `{"handle": "${handle}"}`
  const call = caller
    ? `${caller}: {"name": "${READ_TOOL}", "arguments": ${input}}`
    : `${READ_TOOL}: ${input}`
  const note = `<shelved-result handle="${handle}">
The result is ${NAMES[kind] ?? kind} of ${count(text.length)} characters, too long to show here; all of it is kept. A preview follows. Read what you need with ${call} with one of "page": 1 (to ${pages}), "search": "text", "lines": "1-9"${path}. Do not call the tool again for it.
</shelved-result>`
  const sizes = { kind, size: text.length, shown: note.length + preview.length }
  return { handle, texts: [note, preview], sizes }
}

/** Lists the results that can still be read, for a summary that replaces their previews. */
export function aboutShelved(shelved: readonly ShelvedResult[]): string {
  if (shelved.length === 0) return ''
  const lines = shelved
    .slice(-20)
    .map(({ handle, tool, kind, size }) => `- ${handle}: ${kind} of ${count(size)} characters from ${tool}`)
  return ['Results that are still on the shelf; read them with ReadResult:', ...lines].join('\n')
}

/** First characters of each type in base64. */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ['iVBORw0KGgo', 'PNG image'],
  ['/9j/', 'JPEG image'],
  ['R0lGOD', 'GIF image'],
  ['UklGR', 'WebP image or WAV audio'],
  ['JVBERi', 'PDF document'],
  ['UEsDB', 'ZIP archive or Office document'],
  ['H4sI', 'gzip archive'],
  ['SUQz', 'MP3 audio'],
  ['T2dnUw', 'Ogg audio'],
  ['PD94bWw', 'XML document'],
]

/** Describes base64 in one phrase, such as `[base64 of a PNG image, 48,204 bytes]`. */
function describeBase64(text: string): string {
  const [, named] = /^data:([\w.+/-]{1,100});base64,/.exec(text.slice(0, 200)) ?? []
  const body = text.slice(named === undefined ? 0 : text.indexOf(',') + 1)
  const known = BEGINNINGS.find(([beginning]) => body.startsWith(beginning))?.[1]
  const what = named ?? known ?? 'binary data'
  const bytes = Math.floor((body.length * 3) / 4)
  return `[base64 of ${/^[aeiou]/i.test(what) ? 'an' : 'a'} ${what}, ${count(bytes)} bytes]`
}

const MAX_KEYS = 40
const MAX_SHAPE_DEPTH = 4

/** Writes the shape as a type, such as `{ total: number, items: 1,250 × { id: number, labels: 3 × string } }`. */
function shapeOf(value: unknown, depth = MAX_SHAPE_DEPTH): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return 'empty list'
    const items = count(value.length)
    return depth === 0 ? `list of ${items}` : `${items} × ${itemShape(value, depth - 1)}`
  }
  if (!isFields(value)) return value === null ? 'null' : typeof value
  const keys = Object.keys(value)
  if (depth === 0) return `object of ${keys.length} keys`
  const shown = keys.slice(0, MAX_KEYS).map((key) => `${keyText(key)}: ${shapeOf(value[key], depth - 1)}`)
  const rest = keys.length - shown.length
  return `{ ${[...shown, ...(rest > 0 ? [`… ${rest} more keys`] : [])].join(', ')} }`
}

const SAMPLE_ITEMS = 5

/** Returns the shape of a list's first items; several if they differ. */
function itemShape(items: readonly unknown[], depth: number): string {
  const shapes = [...new Set(items.slice(0, SAMPLE_ITEMS).map((item) => shapeOf(item, depth)))]
  if (shapes.length === 1) return String(shapes[0])
  const [first] = items
  return isFields(first)
    ? shapeOf(Object.assign({}, ...items.slice(0, SAMPLE_ITEMS)), depth)
    : shapes.slice(0, 3).join(' | ')
}

function keyText(key: string): string {
  return /^[\w$-]{1,60}$/.test(key) ? key : JSON.stringify(cut(key, 60))
}

type Detail = { readonly items: number; readonly text: number; readonly depth: number }

/** Levels of detail; each shows less than the one before. */
const DETAILS: readonly Detail[] = [
  { items: 20, text: 300, depth: 12 },
  { items: 10, text: 200, depth: 8 },
  { items: 5, text: 120, depth: 6 },
  { items: 3, text: 80, depth: 5 },
  { items: 2, text: 60, depth: 4 },
  { items: 1, text: 40, depth: 3 },
]

/** Returns the beginning of a value as JSON of at most `limit` characters, and counts what is omitted. */
function startOfJson(value: unknown, limit: number): string {
  for (const detail of DETAILS) {
    const room = { left: limit * 2 }
    const json = layOut(shortened(value, detail, detail.depth, room))
    if (room.left >= 0 && json.length <= limit) return json
  }
  const leastDetail = DETAILS[DETAILS.length - 1] as Detail
  return cut(layOut(shortened(value, leastDetail, 2, { left: limit * 2 })), limit)
}

/** Writes JSON with one line per member of the outer two levels. */
function layOut(value: unknown, levels = 2): string {
  if (levels === 0 || typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const members = isList
    ? value.map((item) => layOut(item, levels - 1))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${layOut(item, levels - 1)}`)
  const isShort = members.join().length < 200 && !members.some((member) => member.includes('\n'))
  const body = members.join(isShort ? ', ' : ',\n')
  if (isShort) return isList ? `[${body}]` : `{${body}}`
  return isList ? `[\n${body}\n]` : `{\n${body}\n}`
}

function shortened(value: unknown, detail: Detail, depth: number, room: { left: number }): unknown {
  if (room.left < 0) return '…'
  if (typeof value === 'string') {
    const text = looksLikeBase64(value) ? describeBase64(value) : shortText(value, detail.text)
    room.left -= text.length + 4
    return text
  }
  room.left -= 8
  if (Array.isArray(value)) {
    if (depth === 0) return `… list of ${value.length}`
    const items = value.slice(0, detail.items).map((item) => shortened(item, detail, depth - 1, room))
    const rest = value.length - items.length
    return rest > 0 ? [...items, `… ${count(rest)} more`] : items
  }
  return isFields(value) ? shortFields(value, detail, depth, room) : value
}

function shortFields(value: Fields, detail: Detail, depth: number, room: { left: number }): unknown {
  const keys = Object.keys(value)
  if (depth === 0) return `… object of ${keys.length} keys`
  const maxKeys = Math.max(MAX_KEYS, detail.items)
  const shown = keys.slice(0, maxKeys).map((key) => {
    room.left -= key.length + 4
    return [key.length > 100 ? cut(key, 100) : key, shortened(value[key], detail, depth - 1, room)] as const
  })
  const rest = keys.length - shown.length
  return Object.fromEntries([...shown, ...(rest > 0 ? [['…', `${rest} more keys`] as const] : [])])
}

function shortText(text: string, limit: number): string {
  return text.length <= limit ? text : `${cut(text, limit)} (${count(text.length)} characters)`
}

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
export function previewOf(text: string, limit: number): { readonly kind: ResultKind; readonly text: string } {
  const known = resultKindOf(text)
  return { kind: known.kind, text: cut(cleanText(previewText(text, known, limit)), limit) }
}

function previewText(text: string, { kind, value }: KnownText, limit: number): string {
  const lines = kind.startsWith('JSON') ? [] : text.split(/\r?\n/)
  switch (kind) {
    case 'JSON':
      return ofJson(value, limit)
    case 'JSON Lines':
      return ofRecords(value as readonly unknown[], limit)
    case 'CSV':
      return ofCsv(lines, limit)
    case 'Markdown table':
      return ofTable(lines, limit)
    case 'HTML':
      return ofHtml(text, limit)
    case 'base64':
      return describeBase64(text)
    default:
      return ofLines(lines, limit)
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
  const read = readableText(text.slice(0, MAX_HTML)).split('\n').filter(isWritten)
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
  const skipped =
    errors.length > 0 ? ['… lines that report errors:', ...errors, '…'] : [leftOut(end - head.lines)]
  const between = end > head.lines ? skipped : []
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
  const last = lines.findLast(isWritten) ?? ''
  const tail = cut(last, Math.min(MAX_LINE_LENGTH, Math.floor(limit / 4)))
  const head = headOf(lines, limit - tail.length - 40)
  const left = lines.length - head.lines
  return left <= 0 ? head.text : `${head.text}\n${leftOut(left)}\n${tail}`
}

function leftOut(lines: number): string {
  return `… ${count(lines)} lines …`
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
