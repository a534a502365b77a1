// Describes JSON: its shape in one line, and a copy cut down to a number of characters.
import { cut, type Fields, isFields } from '../../lib/index.ts'
import { describeBase64 } from './binary.ts'
import { looksLikeBase64 } from './kind.ts'

const MAX_KEYS = 40
const MAX_SHAPE_DEPTH = 4

/** Writes the shape as a type, such as `{ total: number, items: 1,250 × { id: number, labels: 3 × string } }`. */
export function shapeOf(value: unknown, depth = MAX_SHAPE_DEPTH): string {
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
export function startOfJson(value: unknown, limit: number): string {
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
