// Reads a stored result: by page, by lines, by a search, or by a JSON path. All pages concatenate to the exact text.
import { cut, toJson, walkJson } from '../../lib/index.ts'
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

/** Returns the part that the input asks for, or why there is none. `pageSize` is in characters. */
export function readPart(
  text: string,
  input: ReadInput,
  pageSize: number,
): ReadPart | { readonly problem: string } {
  const selected = select(text, input)
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
  return text.slice(edge(text, (page - 1) * pageSize), edge(text, page * pageSize))
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
function select(text: string, { path, lines, search }: ReadInput): Selected {
  const isGiven = (value: unknown) => value !== undefined && value !== null && value !== ''
  const whole: Selected = { body: text, what: `the result, ${count(text.length)} characters` }
  const part = isGiven(path) ? atPath(text, written(path)) : whole
  if ('problem' in part || (!isGiven(lines) && !isGiven(search))) return part
  if (isGiven(lines) && isGiven(search)) return { problem: 'give "lines" or "search", not both' }
  return isGiven(lines) ? atLines(part.body, written(lines)) : matches(part.body, written(search))
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

function atLines(text: string, wanted: string): Selected {
  const lines = text.split('\n')
  const [, first, last = first] = /^\s*(\d{1,9})\s*(?:[-–:]\s*(\d{1,9}))?\s*$/.exec(wanted) ?? []
  if (first === undefined)
    return { problem: `lines ${quoteInput(wanted)} cannot be read; write them like "120-180"` }
  const [start, end] = [Number(first), Math.min(Number(last), lines.length)]
  if (start < 1 || start > end)
    return { problem: `lines ${quoteInput(wanted)} do not exist; there are lines 1 to ${lines.length}` }
  const hint = lines.length === 1 ? '; it has no other lines: read it by page, search or path' : ''
  return {
    body: lines.slice(start - 1, end).join('\n'),
    what: `lines ${start} to ${end} of ${count(lines.length)}${hint}`,
  }
}

const MAX_MATCHES = 1000
/** Characters of context around a match. */
const AROUND = 150
const MAX_SEARCH_LENGTH = 500

/** Finds lines that contain the text, with their numbers; in JSON the values, with their paths. */
function matches(text: string, search: string): Selected {
  const wanted = search.slice(0, MAX_SEARCH_LENGTH).toLowerCase()
  const { kind, value } = resultKindOf(text)
  const isJson = kind === 'JSON' || kind === 'JSON Lines'
  const found = isJson ? valuesWith(value, wanted) : linesWith(text, wanted)
  const about = JSON.stringify(cut(search, 100))
  const shown = found.slice(0, MAX_MATCHES)
  if (shown.length === 0)
    return { problem: `nothing in the result contains ${about}; search for fewer or other words` }
  const more = found.length > shown.length ? `, the first ${count(MAX_MATCHES)} shown` : ''
  return { body: shown.join('\n'), what: `${count(shown.length)} matches of ${about}${more}` }
}

function linesWith(text: string, wanted: string): string[] {
  const found: string[] = []
  let number = 0
  for (const line of text.split('\n')) {
    number++
    const at = line.toLowerCase().indexOf(wanted)
    if (at < 0) continue
    found.push(`${number}: ${around(line, at, wanted.length)}`)
    if (found.length > MAX_MATCHES) break
  }
  return found
}

/** Finds values whose text or key contains the text. */
function valuesWith(root: unknown, wanted: string): string[] {
  const found: string[] = []
  for (const { path, key, value } of walkJson(root, '')) {
    if (typeof value === 'object' && value !== null) continue
    const text = String(value)
    const at = text.toLowerCase().indexOf(wanted)
    if (at < 0 && !key.toLowerCase().includes(wanted)) continue
    found.push(`${shownPath(path, key)}: ${around(text, Math.max(0, at), wanted.length)}`)
    if (found.length > MAX_MATCHES) break
  }
  return found
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
