// Recognises what kind of text a result is, by its beginning; JSON by parsing it.
import { isFields } from '../../lib/index.ts'
import type { ResultKind } from './types.ts'

/** The kind of a text; `value` is the parsed JSON, a list for JSON Lines. */
export type KnownText = { readonly kind: ResultKind; readonly value?: unknown }

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
export function jsonIn(text: string): unknown {
  if (!/^\s*[[{"\dtfn-]/.test(text.slice(0, 1000))) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns whether a text is nothing but base64, and too long to be a word. */
export function looksLikeBase64(text: string): boolean {
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
export function tableStart(lines: readonly string[]): number {
  return lines.findIndex(
    (line, index) =>
      index < 10 &&
      line.includes('|') &&
      /^\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?)?$/.test((lines[index + 1] ?? '').trim()),
  )
}

const DELIMITERS = ['\t', ',', ';'] as const

/** Returns the delimiter with which every line has the same number of cells; undefined if the text is not a table. */
export function delimiterOf(lines: readonly string[]): string | undefined {
  const rows = lines.filter((line) => line.trim() !== '').slice(0, 20)
  if (rows.length < 3) return undefined
  return DELIMITERS.find((delimiter) => {
    const counts = rows.map((row) => cellsOf(row, delimiter).length)
    return counts[0] !== undefined && counts[0] >= 2 && counts.every((count) => count === counts[0])
  })
}

/** Splits a line into cells, ignoring delimiters inside quotes. */
export function cellsOf(row: string, delimiter: string): string[] {
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
