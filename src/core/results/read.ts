// Reads a stored result: by page, by lines, by a search, or by a JSON path. All pages concatenate to the exact text.
// Reading a large one pauses again and again, so that others are served meanwhile.
import { cut, toJson, walkJson } from '../../lib/index.ts'
import type { Pause } from '../options.ts'
import { valueAtPath } from './json-path.ts'
import { resultKindOf } from './kind.ts'

/** The model's request, as it wrote it. */
export type ReadInput = {
  readonly handle?: unknown
  readonly page?: unknown
  readonly lines?: unknown
  readonly search?: unknown
  readonly path?: unknown
}

/** A part of a result with a heading. */
export type ReadPart = { readonly heading: string; readonly body: string }

/** How a result is read. */
export type ReadPartOptions = {
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
