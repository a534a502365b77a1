// Long results: what kind of text one is, the preview and handle that the model gets instead, and reading by page, lines,
// search or JSON path.

import { type Fields, isFields, toJson, walkJson } from './lib/json.ts'
import { cleanText, cut, errorMessage, readableText } from './lib/text.ts'
import type { Pause } from './options.ts'

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

/** Returns the handle of a result. */
function handleOf(id: string): string {
  return `result_${id}`
}

/** Returns the id in a handle that the model wrote; undefined if it is not one. */
export function idIn(handle: unknown): string | undefined {
  const [, id] = (typeof handle === 'string' && /^\s*(?:result[_:])?([a-z0-9]{8,64})\s*$/.exec(handle)) || []
  return id
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
function resultKindOf(text: string): KnownText {
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
  if (json !== undefined && typeof json === 'object' && json !== null) return { kind: 'JSON', value: json }
  if (looksLikeBase64(text)) return { kind: 'base64' }
  const start = text.slice(0, SAMPLE)
  if (/^\s*(?:<!doctype html|<html[\s>])/i.test(start) || tagCount(start) >= 10) return { kind: 'HTML' }
  const lines = start.split(/\r?\n/, SAMPLE_LINES + 1).slice(0, SAMPLE_LINES)
  if (text.length > SAMPLE && lines.length > 1) lines.pop()
  const records = recordsIn(text, lines)
  if (records) return { kind: 'JSON Lines', value: records }
  if (tableStart(lines) >= 0) return { kind: 'Markdown table' }
  if (delimiterOf(lines) !== undefined) return { kind: 'CSV' }
  return { kind: isLog(lines) ? 'log' : 'text' }
}

/** Parses JSON; returns undefined for anything else. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{"\dtfn-]/.test(text.slice(0, 1000))) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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

function tagCount(start: string): number {
  return (
    start.match(/<\/?(?:p|div|span|a|ul|li|table|tr|td|h[1-6]|script|meta|br|section|img)\b[^<>]{0,500}>/gi)
      ?.length ?? 0
  )
}

/** Returns the values of JSON Lines, in which each line is an object or list. */
function recordsIn(text: string, sample: readonly string[]): unknown[] | undefined {
  const first = sample.filter((line) => line.trim() !== '')
  if (first.length < 2 || !first.every((line) => isContainer(jsonIn(line)))) return undefined
  const records = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(jsonIn)
  return records.every(isContainer) ? records : undefined
}

function isContainer(value: unknown): boolean {
  return isFields(value) || Array.isArray(value)
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

const DELIMITERS = ['\t', ',', ';'] as const

/** Returns the delimiter with which every line has the same number of cells; undefined if the text is not a table. */
function delimiterOf(lines: readonly string[]): string | undefined {
  const rows = lines.filter((line) => line.trim() !== '').slice(0, 20)
  if (rows.length < 3) return undefined
  return DELIMITERS.find((delimiter) => {
    const counts = rows.map((row) => cellsOf(row, delimiter).length)
    return counts[0] !== undefined && counts[0] >= 2 && counts.every((count) => count === counts[0])
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
  const written = lines.filter((line) => line.trim() !== '')
  return written.length >= 5 && written.filter((line) => LOG_LINE.test(line)).length >= written.length / 2
}

type Step =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly start: number; readonly end: number }

const MAX_STEPS = 100
const STEP =
  /^(?:\.?\[\s*(?:(?<index>-?\d{1,9})|(?<start>\d{0,9})\s*:\s*(?<end>\d{0,9})|(?<all>\*)|(?<quoted>"(?:[^"\\]|\\.){0,500}"|'[^']{0,500}'))\s*\]|\.?(?<every>\*)(?=[.[]|$)|\.?(?<key>[^.[\]"'\s][^.[\]]{0,500}))/

/** Parses a path; returns undefined if it is invalid. */
function stepsOf(path: string): Step[] | undefined {
  const steps: Step[] = []
  let rest = path.trim().replace(/^\$(?=[.[]|$)/, '')
  if (rest === '.') return []
  while (rest !== '') {
    const found = STEP.exec(rest)
    if (!found?.groups || steps.length >= MAX_STEPS) return undefined
    const step = stepOf(found.groups)
    if (!step) return undefined
    steps.push(step)
    rest = rest.slice(found[0].length)
  }
  return steps
}

function stepOf({
  index,
  start,
  end,
  quoted,
  key = '',
}: {
  readonly [name: string]: string | undefined
}): Step | undefined {
  if (index !== undefined) return { index: Number(index) }
  if (start !== undefined || end !== undefined)
    return { start: Number(start || 0), end: end ? Number(end) : Number.POSITIVE_INFINITY }
  if (quoted !== undefined) {
    const key: unknown = quoted.startsWith('"') ? jsonIn(quoted) : quoted.slice(1, -1)
    return typeof key === 'string' ? { key } : undefined
  }
  return key === '' ? { start: 0, end: Number.POSITIVE_INFINITY } : { key }
}

/** The value at a path, or why there is none. A slice or `[*]` makes a list of what the rest of the path finds. */
type Found = { readonly value: unknown } | { readonly problem: string }

/** Returns the value at a path. */
function valueAtPath(root: unknown, path: string): Found {
  const steps = stepsOf(path)
  if (!steps)
    return {
      problem: `the path ${JSON.stringify(path.slice(0, 200))} cannot be read; write it like items[0].name, items[*].id or items[10:20]`,
    }
  return walk(root, steps, '')
}

function walk(value: unknown, steps: readonly Step[], place: string): Found {
  let current = value
  let at = place
  for (const [number, step] of steps.entries()) {
    if ('start' in step) return each(current, step, steps.slice(number + 1), at)
    const next = 'key' in step ? member(current, step.key) : item(current, step.index)
    if (next === undefined)
      return {
        problem: `${at || 'the result'} has no ${'key' in step ? JSON.stringify(step.key) : `item ${step.index}`}; it is ${briefly(current)}`,
      }
    current = next.value
    at += 'key' in step ? `.${step.key}` : `[${step.index}]`
  }
  return { value: current }
}

function each(
  value: unknown,
  { start, end }: { readonly start: number; readonly end: number },
  rest: readonly Step[],
  at: string,
): Found {
  const items = Array.isArray(value) ? value : isFields(value) ? Object.values(value) : undefined
  if (!items) return { problem: `${at || 'the result'} is not a list; it is ${briefly(value)}` }
  const found = items.slice(start, end).map((one) => walk(one, rest, `${at}[…]`))
  const values = found.flatMap((one) => ('value' in one ? [one.value] : []))
  const [failed] = found
  return values.length === 0 && failed && 'problem' in failed ? failed : { value: values }
}

/** Returns a member by key; a key may be the index of an item, as in `items.0`. */
function member(value: unknown, key: string): { readonly value: unknown } | undefined {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(key) ? item(value, Number(key)) : undefined
  return isFields(value) && Object.hasOwn(value, key) ? { value: value[key] } : undefined
}

function item(value: unknown, index: number): { readonly value: unknown } | undefined {
  if (!Array.isArray(value)) return undefined
  const place = index < 0 ? value.length + index : index
  return place >= 0 && place < value.length ? { value: value[place] } : undefined
}

function briefly(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (!isFields(value)) return value === null ? 'null' : `a ${typeof value}`
  const keys = Object.keys(value)
  const shown = keys.slice(0, 20).map((key) => key.slice(0, 60))
  return `an object with the keys ${shown.join(', ')}${keys.length > shown.length ? ', …' : ''}`
}

/** The model's request, as it wrote it. */
type ReadInput = {
  readonly handle?: unknown
  readonly page?: unknown
  readonly lines?: unknown
  readonly search?: unknown
  readonly path?: unknown
}

/** A part of a result with a heading. */
type ReadPart = { readonly heading: string; readonly body: string }

/** How a result is read. */
type ReadPartOptions = {
  /** Characters of a page. */
  readonly pageSize: number
  /** Called and awaited again and again while a large result is read. */
  readonly pause?: Pause | undefined
}

/** Returns the part that the input asks for, or why there is none. */
export async function readPart(
  text: string,
  input: ReadInput,
  { pageSize, pause = () => undefined }: ReadPartOptions,
): Promise<ReadPart | { readonly problem: string }> {
  const selected = await select(text, input, pause)
  if ('problem' in selected) return { problem: `Nothing was read: ${selected.problem}.` }
  const { body, what } = selected
  const pages = Math.max(1, pageStarts(body, pageSize))
  const page = wholeNumber(input.page ?? 1)
  if (page === undefined || page < 1 || page > pages)
    return {
      problem: `Nothing was read: page ${quoteInput(input.page)} does not exist; ${what} has ${pages === 1 ? '1 page' : `pages 1 to ${pages}`}.`,
    }
  const next = page < pages ? ` Go on with page ${page + 1}.` : ''
  return { heading: `Page ${page} of ${pages} of ${what}.${next}`, body: pageOf(body, page, pageSize) }
}

/** Returns how many pages a text has. */
function pageStarts(text: string, pageSize: number): number {
  return Math.ceil(text.length / pageSize)
}

/** Returns one page, counted from 1. A page never ends inside a surrogate pair. */
function pageOf(text: string, page: number, pageSize: number): string {
  const part = text.slice(edge(text, (page - 1) * pageSize), edge(text, page * pageSize))
  // A copy: engines keep the whole text in memory as long as a slice of it.
  return part.split('').join('')
}

function edge(text: string, at: number): number {
  const isInside =
    at > 0 &&
    at < text.length &&
    /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') &&
    /[\uDC00-\uDFFF]/.test(text[at] ?? '')
  return isInside ? at + 1 : at
}

type Selected = { readonly body: string; readonly what: string } | { readonly problem: string }

/** Applies the path first, then lines or a search to what it selects. */
async function select(text: string, { path, lines, search }: ReadInput, pause: Pause): Promise<Selected> {
  const isGiven = (value: unknown) => value !== undefined && value !== null && value !== ''
  const whole: Selected = { body: text, what: `the result, ${count(text.length)} characters` }
  const part = isGiven(path) ? atPath(text, written(path)) : whole
  if ('problem' in part || (!isGiven(lines) && !isGiven(search))) return part
  if (isGiven(lines) && isGiven(search)) return { problem: 'give "lines" or "search", not both' }
  return isGiven(lines)
    ? atLines(part.body, written(lines), pause)
    : matches(part.body, written(search), pause)
}

/** Returns a value as text: a model may write a number, or lists nested too deeply for the engine. */
function written(value: unknown): string {
  return typeof value === 'string' ? value : toJson(value)
}

function atPath(text: string, path: string): Selected {
  const { kind, value } = resultKindOf(text)
  if (kind !== 'JSON' && kind !== 'JSON Lines')
    return { problem: `the result is not JSON but ${kind}; read it by page, lines or search` }
  const found = valueAtPath(value, path)
  if ('problem' in found) return found
  return { body: writeValue(found.value), what: `${cut(path, 200)}` }
}

/** Writes JSON with one item per line, which makes pages and lines useful. */
function writeValue(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value) || value.length === 0) return toJson(value)
  return `[\n${value.map(toJson).join(',\n')}\n]`
}

async function atLines(text: string, wanted: string, pause: Pause): Promise<Selected> {
  const [, first, last = first] = /^\s*(\d{1,9})\s*(?:[-–:]\s*(\d{1,9}))?\s*$/.exec(wanted) ?? []
  if (first === undefined)
    return { problem: `lines ${quoteInput(wanted)} cannot be read; write them like "120-180"` }
  let lines = 0
  let [from, to] = [0, 0]
  for (const { start, end } of linesIn(text)) {
    if (++lines % BETWEEN_PAUSES === 0) await pause()
    if (lines === Number(first)) from = start
    if (lines <= Number(last)) to = end
  }
  const [start, end] = [Number(first), Math.min(Number(last), lines)]
  if (start < 1 || start > end)
    return { problem: `lines ${quoteInput(wanted)} do not exist; there are lines 1 to ${lines}` }
  const hint = lines === 1 ? '; it has no other lines: read it by page, search or path' : ''
  return { body: text.slice(from, to), what: `lines ${start} to ${end} of ${count(lines)}${hint}` }
}

/** Yields where each line of a text starts and ends. */
function* linesIn(text: string): Generator<{ readonly start: number; readonly end: number }> {
  for (let start = 0, end = -1; end < text.length; start = end + 1) {
    end = text.indexOf('\n', start)
    if (end < 0) end = text.length
    yield { start, end }
  }
}

const MAX_MATCHES = 1000
/** Characters of context around a match. */
const AROUND = 150
const MAX_SEARCH_LENGTH = 500
/** Values or lines to search before a pause is due. */
const BETWEEN_PAUSES = 500

/** Finds lines that contain the text, with their numbers; in JSON the values, with their paths. */
async function matches(text: string, search: string, pause: Pause): Promise<Selected> {
  const wanted = search.slice(0, MAX_SEARCH_LENGTH).toLowerCase()
  const { kind, value } = resultKindOf(text)
  const isJson = kind === 'JSON' || kind === 'JSON Lines'
  const shown: string[] = []
  let searched = 0
  let hasMore = false
  for (const match of isJson ? valuesWith(value, wanted) : linesWith(text, wanted)) {
    if (++searched % BETWEEN_PAUSES === 0) await pause()
    if (match === undefined) continue
    hasMore = shown.length === MAX_MATCHES
    if (hasMore) break
    shown.push(match)
  }
  const about = JSON.stringify(cut(search, 100))
  if (shown.length === 0)
    return { problem: `nothing in the result contains ${about}; search for fewer or other words` }
  const more = hasMore ? `, the first ${count(MAX_MATCHES)} shown` : ''
  return { body: shown.join('\n'), what: `${count(shown.length)} matches of ${about}${more}` }
}

/** Yields each line that contains the text, and undefined for each other one. */
function* linesWith(text: string, wanted: string): Generator<string | undefined> {
  let number = 0
  for (const { start, end } of linesIn(text)) {
    number++
    const line = text.slice(start, end)
    const at = line.toLowerCase().indexOf(wanted)
    yield at < 0 ? undefined : `${number}: ${around(line, at, wanted.length)}`
  }
}

/** Yields each value whose text or key contains the text, and undefined for each other one. */
function* valuesWith(root: unknown, wanted: string): Generator<string | undefined> {
  for (const node of walkJson(root, '')) {
    const { key, value } = node
    const isInside = typeof value === 'object' && value !== null
    const text = isInside ? '' : String(value)
    const at = isInside ? -1 : text.toLowerCase().indexOf(wanted)
    if (isInside || (at < 0 && !key.toLowerCase().includes(wanted))) yield undefined
    else yield `${shownPath(node.path, key)}: ${around(text, Math.max(0, at), wanted.length)}`
  }
}

/** Longest path, to bound memory: there may be a thousand matches below a key of a megabyte. */
const MAX_PATH_LENGTH = 1000

function shownPath(path: string, key: string): string {
  return path.length > MAX_PATH_LENGTH ? `… ${cut(key, 100)}` : path.replace(/^\./, '')
}

function around(text: string, at: number, length: number): string {
  const [start, end] = [Math.max(0, at - AROUND), Math.min(text.length, at + length + AROUND)]
  const part = text.slice(start, end).toWellFormed()
  return `${start > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`
}

/** Reads a whole number, which models sometimes write as text. */
function wholeNumber(value: unknown): number | undefined {
  const number =
    typeof value === 'number' || (typeof value === 'string' && /^\d{1,9}$/.test(value))
      ? Number(value)
      : Number.NaN
  return Number.isInteger(number) ? number : undefined
}

function quoteInput(value: unknown): string {
  return cut(toJson(value), 60)
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** The name of the tool that reads stored results. */
export const READ_TOOL = 'ReadResult'

/** The definition, without the field names that differ between the API and MCP. */
export const readResultTool = {
  name: READ_TOOL,
  description:
    'Reads a result that was too long to show: such a result has a handle and a preview. Choose the smallest part that answers the question: a JSON path or a search before pages.',
  schema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'As the result gives it, such as result_4k2m9x7q.' },
      path: {
        type: 'string',
        description: 'Of JSON: the part at this path, such as items[0].name, items[*].id or items[10:20].',
      },
      search: {
        type: 'string',
        description:
          'Lines, or values of JSON with their paths, that contain this text; case does not matter.',
      },
      lines: { type: 'string', description: 'Lines from and to, such as 120-180.' },
      page: {
        type: 'integer',
        description: 'Page of the result, or of what path, search or lines select; 1 if left out.',
      },
    },
    required: ['handle'],
  },
} as const

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
  return `[base64 of ${/^[aeiou]/i.test(what) ? 'an' : 'a'} ${what}, ${bytes.toLocaleString('en-US')} bytes]`
}

const MAX_KEYS = 40
const MAX_SHAPE_DEPTH = 4

/** Writes the shape as a type, such as `{ total: number, items: 1,250 × { id: number, labels: 3 × string } }`. */
function shapeOf(value: unknown, depth = MAX_SHAPE_DEPTH): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return 'empty list'
    const count = value.length.toLocaleString('en-US')
    return depth === 0 ? `list of ${count}` : `${count} × ${itemShape(value, depth - 1)}`
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
    return rest > 0 ? [...items, `… ${rest.toLocaleString('en-US')} more`] : items
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
  return text.length <= limit
    ? text
    : `${cut(text, limit)} (${text.length.toLocaleString('en-US')} characters)`
}

/** A preview, and the kind of the text. */
type Preview = { readonly kind: ResultKind; readonly text: string }

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
  const preview = cleanText(previewText(text, known, limit))
  return { kind: known.kind, text: preview.length <= limit ? preview : cut(preview, limit) }
}

function previewText(text: string, { kind, value }: ReturnType<typeof resultKindOf>, limit: number): string {
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

/** A text to store for an owner; at most `budget` characters are shown in its place. */
type TextToShelve = {
  readonly owner: string
  readonly text: string
  readonly budget: number
  /** The tool through which the model calls the reading tool, if that is not on its list. */
  readonly caller?: string | undefined
}

/** Stores the text and returns its replacement. Rejects if the store does; then the text must be sent whole. */
export async function shelveText(
  results: ResultSettings,
  { owner, text, budget, caller }: TextToShelve,
): Promise<Replacement> {
  const id = results.idOf(text)
  await results.store.put(owner, id, text)
  return replacementFor(text, id, { budget, pageSize: pageSizeFor(results.budget), caller })
}

/** Reads what a call of the reading tool asks for, with pauses, or returns why it cannot. */
export async function readShelved(
  { store, budget }: Pick<ResultSettings, 'store' | 'budget'>,
  owner: string | undefined,
  input: unknown,
  pause?: Pause,
): Promise<ReadPart | { readonly problem: string }> {
  const wanted = (typeof input === 'object' && input !== null ? input : {}) as ReadInput
  const id = idIn(wanted.handle)
  if (id === undefined || owner === undefined) return { problem: unknownHandle(wanted.handle) }
  try {
    const text = await store.get(owner, id)
    if (text === undefined) return { problem: unknownHandle(wanted.handle) }
    return await readPart(text, wanted, { pageSize: pageSizeFor(budget), pause })
  } catch (error) {
    return { problem: `The shelf cannot be read now: ${errorMessage(error)}. Try again.` }
  }
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

/** What replaces a text. */
type Replacement = {
  /** Toolshelf's own text: the first block of the result, where no server can write. */
  readonly note: string
  readonly preview: string
  readonly handle: string
  readonly kind: ResultKind
}

/** Kinds that need an article. */
const NAMES: { readonly [kind in ResultKind]?: string } = {
  log: 'a log',
  text: 'a text',
  'Markdown table': 'a Markdown table',
}

type ReplacementOptions = {
  /** Longest result, in characters, that is sent whole. */
  readonly budget: number
  /** The page size of the reading tool, in characters. */
  readonly pageSize: number
  /** The tool through which the model calls the reading tool, if that is not on its list. */
  readonly caller?: string | undefined
}

/** Returns the replacement of a text. */
export function replacementFor(
  text: string,
  id: string,
  { budget, pageSize, caller }: ReplacementOptions,
): Replacement {
  const { kind, text: preview } = previewOf(
    text,
    Math.max(MIN_PREVIEW_LENGTH, Math.floor(budget * PREVIEW_SHARE)),
  )
  const handle = handleOf(id)
  const pages = Math.ceil(text.length / pageSize)
  const size = text.length.toLocaleString('en-US')
  const path = kind === 'JSON' || kind === 'JSON Lines' ? ', "path": "items[0].name"' : ''
  const input = `{"handle": "${handle}"}`
  const call = caller
    ? `${caller}: {"name": "${READ_TOOL}", "arguments": ${input}}`
    : `${READ_TOOL}: ${input}`
  const note = `<shelved-result handle="${handle}">
The result is ${NAMES[kind] ?? kind} of ${size} characters, too long to show here; all of it is kept. A preview follows. Read what you need with ${call} with one of "page": 1 (to ${pages}), "search": "text", "lines": "1-9"${path}. Do not call the tool again for it.
</shelved-result>`
  return { note, preview, handle, kind }
}

/** Returns the text for the model about an unknown handle: expired, dropped, or another conversation's. */
export function unknownHandle(handle: unknown): string {
  const name = typeof handle === 'string' ? toJson(cut(handle, 80)) : 'That'
  return `${name} is not on the shelf, or no longer. Call the tool that returned it again.`
}

const MAX_NAMED = 20

/** Lists the results that can still be read, for a summary that replaces their previews. */
export function aboutShelved(shelved: readonly ShelvedResult[]): string {
  if (shelved.length === 0) return ''
  const lines = shelved
    .slice(-MAX_NAMED)
    .map(
      ({ handle, tool, kind, size }) =>
        `- ${handle}: ${kind} of ${size.toLocaleString('en-US')} characters from ${tool}`,
    )
  return ['Results that are still on the shelf; read them with ReadResult:', ...lines].join('\n')
}
