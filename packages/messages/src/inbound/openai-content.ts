// Conversions of content that Chat Completions and Responses share.
import { type Fields, inputOf, isFields, textOf, toJson } from '@toolshelf/core/internal'
import { refuseRequest } from '../errors.ts'
import { parseExact } from '../json/exact.ts'

/** Most messages or items, calls included, of a request that is converted: more would hold up other requests. */
const MAX_ITEMS = 20_000

/** Throws a refusal if a request has too many messages or items to convert. */
export function refuseTooMany(field: 'messages' | 'input', count: number): void {
  if (count <= MAX_ITEMS) return
  const message = `${field}: at most ${MAX_ITEMS} messages, calls and outputs can be converted, but there are ${count}; summarize the conversation`
  throw refuseRequest(400, 'invalid_request_error', message)
}

export type ToolChoice = {
  /** The request's `tool_choice`, if it needs one. */
  readonly field: Fields
  /** Names of tools that a list of allowed tools leaves out. */
  readonly barred?: ReadonlySet<string> | undefined
  /** The choice, if only the provider can follow it. */
  readonly unconvertible?: string | undefined
}

/** Returns the names that a list of allowed tools leaves out. It cannot name deferred and search tools, which stay. */
export function barredBy(allowed: readonly string[], tools: readonly Fields[]): ReadonlySet<string> {
  const names = new Set(allowed)
  const open = tools.filter(
    ({ type, defer_loading: deferral }) => type === undefined && deferral === undefined,
  )
  return new Set(open.map(({ name }) => textOf(name)).filter((name) => !names.has(name)))
}

/** Reads a setting that must be a number; returns undefined if it is missing or null. */
export function numberIn(body: Fields, field: 'temperature' | 'top_p'): number | undefined {
  const value = body[field] ?? undefined
  if (value === undefined || typeof value === 'number') return value
  const message = `${field}: ${toJson(value).slice(0, 40)} is not a number; send one, or leave it out`
  throw refuseRequest(400, 'invalid_request_error', message)
}

/** Parses the arguments of a call. Models write invalid ones at times; the model sees them again as text. */
export function callInput(json: unknown): Fields {
  const text = typeof json === 'string' ? json : toJson(json ?? {})
  return inputOf(text, parseExact) ?? { invalid_arguments: text }
}

/** Returns the words for a refusal that Claude only gave as its reason to stop; empty if there was none. */
export function refusalIn({ stop_reason: reason, stop_details: details }: Fields): string {
  if (reason !== 'refusal' || !isFields(details)) return ''
  return textOf(details.explanation) || 'The model refused to answer.'
}

const DATA_URL = /^data:([\w.+/-]+)(?:;[\w=.-]+)*;base64,/

/** Returns the source of an image or document: a URL, or the content of a data URL. */
export function mediaSource(url: string): Fields {
  const [start, type] = DATA_URL.exec(url) ?? []
  if (start === undefined) return { type: 'url', url }
  return { type: 'base64', media_type: type, data: url.slice(start.length) }
}

/** Adds a first user message if the model begins the conversation, which OpenAI's APIs accept and the Messages API does not. */
export function startedByUser(messages: readonly Fields[]): readonly Fields[] {
  return messages[0]?.role === 'assistant' ? [BEGINNING, ...messages] : messages
}

const BEGINNING: Fields = Object.freeze({
  role: 'user',
  content: [{ type: 'text', text: '(The conversation begins.)' }],
})
