// Reads stored results for the model: by page, lines, search or JSON path.

import { type Fields, fieldsOf, isContainer, isFields, toJson, walkJson } from './lib/json.ts'
import { cut, errorMessage } from './lib/text.ts'
import type { Pause } from './options.ts'
import { count, jsonIn, pageSizeFor, READ_TOOL, resultKindOf } from './results.ts'

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

/** What the model gets for a call of the reading tool: texts, ours first. */
type Reading = { readonly texts: readonly string[]; readonly isError?: true }

/**
 * Reads what a call of the reading tool asks for, or says why it cannot.
 *
 * @param find - Returns the text with an id; undefined if it expired, was dropped or belongs to another conversation.
 * @param budget - The shelf's; a page with its heading stays within it.
 * @param pause - Called and awaited again and again while a large result is read.
 */
export async function readShelved(
  find: (id: string) => Promise<string | undefined> | string | undefined,
  budget: number,
  input: unknown,
  pause: Pause = () => undefined,
): Promise<Reading> {
  const wanted = fieldsOf(input)
  const { handle } = wanted
  const [, id] = (typeof handle === 'string' && /^\s*(?:result[_:])?([a-z0-9]{8,64})\s*$/.exec(handle)) || []
  try {
    const text = id === undefined ? undefined : await find(id)
    return text === undefined
      ? unknownHandle(handle)
      : await readPart(text, wanted, pageSizeFor(budget), pause)
  } catch (error) {
    return problem(`The shelf cannot be read now: ${errorMessage(error)}. Try again.`)
  }
}

function unknownHandle(handle: unknown): Reading {
  const name = typeof handle === 'string' ? toJson(cut(handle, 80)) : 'That'
  return problem(`${name} is not on the shelf, or no longer. Call the tool that returned it again.`)
}

function problem(text: string): Reading {
  return { texts: [text], isError: true }
}

async function readPart(text: string, input: Fields, pageSize: number, pause: Pause): Promise<Reading> {
  const selected = await select(text, input, pause)
  if ('problem' in selected) return problem(`Nothing was read: ${selected.problem}.`)
  const { body, what } = selected
  const pages = Math.max(1, Math.ceil(body.length / pageSize))
  const page = wholeNumber(input.page ?? 1)
  if (page === undefined || page < 1 || page > pages)
    return problem(
      `Nothing was read: page ${quoteInput(input.page)} does not exist; ${what} has ${pages === 1 ? '1 page' : `pages 1 to ${pages}`}.`,
    )
  const next = page < pages ? ` Go on with page ${page + 1}.` : ''
  const heading = `Page ${page} of ${pages} of ${what}.${next}`
  return { texts: [heading, pageOf(body, page, pageSize)].filter((text) => text !== '') }
}

/** Returns one page, counted from 1. A page never ends inside a surrogate pair. */
function pageOf(text: string, page: number, pageSize: number): string {
  const part = text.slice(edge(text, (page - 1) * pageSize), edge(text, page * pageSize))
  // A copy: engines keep the whole text in memory as long as a slice of it.
  return part.split('').join('')
}

function edge(text: string, at: number): number {
  const isInside = /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '')
  return isInside ? at + 1 : at
}

type Selected = { readonly body: string; readonly what: string } | { readonly problem: string }

/** Applies the path first, then lines or a search to what it selects. */
async function select(text: string, { path, lines, search }: Fields, pause: Pause): Promise<Selected> {
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
  return { body: writeValue(found.value), what: cut(path, 200) }
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
    const isInside = isContainer(value)
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
