// Formats a record as a line of the audit file: JSON, short, without secrets, and without content unless enabled.

import type { TraceRecord } from '../events.ts'
import { type Fields, isFields, toJson, wellFormedJson } from '../lib/json.ts'
import { cut } from '../lib/text.ts'

/** Options of `auditLine`. */
export type AuditLineOptions = {
  /** Hides secrets in a text. */
  readonly redact: (text: string) => string
  /** Keeps arguments and results, redacted and cut. Default: false. */
  readonly hasContent?: boolean
}

/** Characters of one text; queries and errors are shorter. */
const MAX_TEXT_LENGTH = 2000
/** Characters of the arguments or the result of one call. */
const MAX_CONTENT_LENGTH = 16_000
/** Lines that are longer, or nested too deeply for JSON, keep only the fields that every record has. */
const MAX_LINE_LENGTH = 64_000

/** Returns a record as one line of JSON. */
export function auditLine(record: TraceRecord, { redact, hasContent = false }: AuditLineOptions): string {
  const content = 'content' in record ? record.content : undefined
  const plain = plainText(
    content === undefined ? record : { ...record, content: undefined },
    redact,
    headOf(record),
  )
  const kept = hasContent && content !== undefined ? written(content, redact, MAX_CONTENT_LENGTH) : undefined
  const isLong = kept !== undefined && kept.length > MAX_CONTENT_LENGTH
  const shown = isLong ? toJson(cut(kept, MAX_CONTENT_LENGTH)) : kept
  const line = plain && shown ? `${plain.slice(0, -1)},"content":${shown}}` : plain
  if (line !== undefined && line.length <= MAX_LINE_LENGTH) return line
  const { version, time, processId, sequence, conversation, type } = record
  const min = { version, time, processId, sequence, conversation, type, isCut: true }
  return written(min, redact, MAX_TEXT_LENGTH)
}

/** Returns the JSON of the fields that every record starts with; they contain no secrets. */
function headOf({ time, processId, sequence, conversation }: TraceRecord): string {
  const own = conversation === undefined ? '' : `"conversation":"${conversation}",`
  return `{"version":1,"time":"${time}","processId":${processId},"sequence":${sequence},${own}`
}

/**
 * Returns JSON with secrets hidden, in one pass; undefined if some text is long, escaped or secret and needs the slow
 * path.
 */
function plainText(value: object, redact: (text: string) => string, head: string): string | undefined {
  const text = toJson(value)
  // A value from someone else's file may be nested too deeply for the engine.
  if (!text.startsWith('{')) return undefined
  const event = text.startsWith(head) ? text.slice(head.length) : text
  const isPlain = !text.includes('\\') && !hasLongText(text) && redact(event) === event
  return isPlain ? text : written(value, redact, MAX_TEXT_LENGTH)
}

/** Returns whether a text in this JSON, which has no escapes, may be too long. */
function hasLongText(json: string): boolean {
  let from = 0
  while (json.length - from > MAX_TEXT_LENGTH) {
    const quote = json.indexOf('"', from)
    if (quote < 0 || quote - from > MAX_TEXT_LENGTH) return true
    from = quote + 1
  }
  return false
}

/** Returns JSON with secrets hidden in all texts and keys; `"…"` for a value that has no JSON. */
function written(value: unknown, redact: (text: string) => string, maxLength: number): string {
  try {
    return wellFormedJson(JSON.stringify(value, (_, inner) => hidden(inner, redact, maxLength)) ?? 'null')
  } catch {
    return '"…"'
  }
}

function hidden(value: unknown, redact: (text: string) => string, maxLength: number): unknown {
  if (typeof value === 'string') return cut(redact(value), maxLength)
  if (!isFields(value)) return value
  const keys = Object.keys(value)
  if (keys.every((key) => redact(key) === key)) return value
  return Object.fromEntries(keys.map((key) => [redact(key), (value as Fields)[key]]))
}
