// Conversions of content that Chat Completions and Responses share.
import {
  type Fields,
  fieldsOf,
  hash,
  inputOf,
  isFields,
  listOf,
  parseJson,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { invalidRequest, reasonIn } from '../errors.ts'
import { parseExact } from '../json/exact.ts'
import type { Headers, HttpAnswer } from '../types.ts'
import { citedRange } from '../upstream/thoughts.ts'
import { systemReminder } from '../wire/lower.ts'

/** Most messages or items, calls included, of a request that is converted: more would hold up other requests. */
const MAX_ITEMS = 20_000

/** Throws a refusal if a request has too many messages or items to convert. */
export function refuseTooMany(field: 'messages' | 'input', count: number): void {
  if (count <= MAX_ITEMS) return
  const message = `${field}: at most ${MAX_ITEMS} messages, calls and outputs can be converted, but there are ${count}; summarize the conversation`
  throw invalidRequest(message)
}

export type ToolChoice = {
  /** The request's `tool_choice`, if it needs one. */
  readonly field: Fields
  /** Names of tools that a list of allowed tools leaves out. */
  readonly barred?: ReadonlySet<string> | undefined
  /** The choice, if only the provider can follow it. */
  readonly unconvertible?: string | undefined
}

/** What a choice can name. */
type Choosable = {
  /** The tools in the Messages shape. */
  readonly list: readonly Fields[]
  /** Types of tools that only the provider runs. */
  readonly hosted?: ReadonlySet<string>
  /** The name inside the gateway of a tool that the choice names. */
  readonly nameIn: (tool: Fields) => string
  readonly has: (name: string) => boolean
  /** The name for errors, if it is another. */
  readonly saidIn?: (tool: Fields) => string
}

/** Converts `tool_choice`, as the Responses API writes it, and `parallel_tool_calls`. */
export function fromToolChoice(
  { tool_choice: choice, parallel_tool_calls: isParallel }: Fields,
  { list, hosted = new Set(), nameIn, has, saidIn = nameIn }: Choosable,
): ToolChoice {
  const single = isParallel === false ? { disable_parallel_tool_use: true } : {}
  const auto: Fields = isParallel === false ? { tool_choice: { type: 'auto', ...single } } : {}
  const required = { tool_choice: { type: 'any', ...single } }
  if (!isGiven(choice) || choice === 'auto') return { field: auto }
  if (choice === 'none') return { field: { tool_choice: { type: 'none' } } }
  if (choice === 'required') return { field: required }
  if (!isFields(choice)) throw wrongChoice(`"${String(choice).slice(0, 40)}" is not known`)
  if (choice.type === 'allowed_tools') {
    const allowed = listOf(choice.tools).map(fieldsOf).map(nameIn)
    const barred = barredBy(allowed, list)
    if (barred.size === list.length && hosted.size === 0)
      throw wrongChoice('none of the allowed tools is in "tools"')
    return { barred, field: choice.mode === 'required' ? required : auto }
  }
  const name = nameIn(choice)
  if (has(name)) return { field: { tool_choice: { type: 'tool', name, ...single } } }
  const type = textOf(choice.type)
  if (hosted.has(type)) return { field: {}, unconvertible: `tool_choice: ${type}, which only OpenAI runs` }
  throw wrongChoice(`there is no tool "${saidIn(choice).slice(0, 80)}" in "tools"`)
}

export function wrongChoice(what: string) {
  const expected = 'send "auto", "none", "required", or an object that names one of the tools'
  return invalidRequest(`tool_choice: ${what}; ${expected}`)
}

/** Returns the names that a list of allowed tools leaves out. It cannot name deferred and search tools, which stay. */
function barredBy(allowed: readonly string[], tools: readonly Fields[]): ReadonlySet<string> {
  const names = new Set(allowed)
  const open = tools.filter(
    ({ type, defer_loading: deferral }) => type === undefined && deferral === undefined,
  )
  return new Set(open.map(({ name }) => textOf(name)).filter((name) => !names.has(name)))
}

/** Returns the description and schema of a function. */
export function fromFunction({ description, parameters, strict }: Fields): Fields {
  return {
    ...(textOf(description) === '' ? {} : { description }),
    input_schema: isFields(parameters) ? { type: 'object', ...parameters } : EMPTY_SCHEMA,
    ...(strict === true ? { strict } : {}),
  }
}

const EMPTY_SCHEMA = { type: 'object', properties: {} }

/** Returns the settings that both APIs have; each has its own name for the limit. */
export function samplingOf(body: Fields, maxTokens: unknown, stops: readonly unknown[] = []): Fields {
  const [temperature, top_p] = [numberIn(body, 'temperature'), numberIn(body, 'top_p')]
  const userId = textOf(body.safety_identifier) || textOf(body.user)
  return {
    ...(isGiven(maxTokens) ? { max_tokens: maxTokens } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(stops.length > 0 ? { stop_sequences: stops } : {}),
    ...(userId === '' ? {} : { metadata: { user_id: userId } }),
  }
}

/** The instruction in place of the format `json_object`, which the Messages API does not have. */
export const JSON_ONLY = 'Reply with one JSON object and nothing else.'

/** Adds the format of the reply to the settings of the thinking, which have a field in common. */
export function withFormat(thinking: Fields, type: unknown, schema: unknown): Fields {
  const { output_config: config, ...rest } = thinking
  const format = type === 'json_schema' ? { format: { type, schema } } : {}
  const joined = { ...fieldsOf(config), ...format }
  return { ...rest, ...(Object.keys(joined).length > 0 ? { output_config: joined } : {}) }
}

/** Reads a setting that must be a number; returns undefined if it is missing or null. */
function numberIn(body: Fields, field: 'temperature' | 'top_p'): number | undefined {
  const value = body[field] ?? undefined
  if (value === undefined || typeof value === 'number') return value
  const message = `${field}: ${toJson(value).slice(0, 40)} is not a number; send one, or leave it out`
  throw invalidRequest(message)
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

/** Returns the source of a file: a data URL, or the base64 of a PDF file. */
export function fileSource(data: string): Fields {
  return mediaSource(data.startsWith('data:') ? data : `data:application/pdf;base64,${data}`)
}

export function textBlocks(text: unknown): Fields[] {
  return textOf(text) === '' ? [] : [{ type: 'text', text }]
}

/** Makes a message; undefined if it says nothing, because no API accepts an empty one. */
export function messageOf(role: string, content: readonly Fields[]): Fields | undefined {
  return content.length === 0 ? undefined : Object.freeze({ role, content })
}

/** Makes the user message for words of the system at a place where no system message may be. */
export function reminderOf(text: string): Fields | undefined {
  return messageOf('user', text === '' ? [] : textBlocks(systemReminder(text)))
}

/** Adds a first user message if the model begins the conversation, which OpenAI's APIs accept and the Messages API does not. */
export function startedByUser(messages: readonly Fields[]): readonly Fields[] {
  return messages[0]?.role === 'assistant' ? [BEGINNING, ...messages] : messages
}

const BEGINNING: Fields = Object.freeze({
  role: 'user',
  content: [{ type: 'text', text: '(The conversation begins.)' }],
})

/** Efforts that both APIs name alike. */
const EFFORTS = new Set(['low', 'medium', 'high', 'xhigh', 'max'])

/** Returns the fields for an effort; none if the client names none, so that the model decides. */
export function toThinking(effort: string | undefined): Fields {
  if (effort === undefined) return {}
  if (effort === 'none' || effort === 'minimal') return { thinking: { type: 'disabled' } }
  return { thinking: { type: 'adaptive' }, ...(EFFORTS.has(effort) ? { output_config: { effort } } : {}) }
}

const MAX_NAME_LENGTH = 128

/** Returns the name itself if the Messages API accepts it, else a stable replacement. */
export function insideName(name: string): string {
  if (/^[\w-]{1,128}$/.test(name)) return name
  const digest = hash(name)
  return `${name.replace(/[^\w-]/g, '_').slice(0, MAX_NAME_LENGTH - digest.length - 1)}_${digest}`
}

/**
 * Returns the citations with an address, of a block that takes up this range, each with the range of characters that its
 * source supports; the Messages API cites for a whole block instead.
 */
export function urlCitationsOf(citations: unknown, start: number, end: number) {
  return listOf(citations)
    .map(fieldsOf)
    .flatMap((citation) => {
      const url = addressOf(citation)
      const [from, to] = citedRange(citation) ?? [0, end - start]
      const range = { start_index: Math.min(end, start + from), end_index: Math.min(end, start + to) }
      return url === '' ? [] : [{ url, title: textOf(citation.title) || url, ...range }]
    })
}

/** Results of a client's own search name any source; only addresses count. */
function addressOf({ url, source }: Fields): string {
  return textOf(url) || (/^https?:\/\//.test(textOf(source)) ? textOf(source) : '')
}

/** Computes once per list of frozen objects and owner; found again by the first object of the list. */
export function oncePerRun<Owner extends object, Value>(
  compute: (run: readonly Fields[], owner: Owner) => Value,
): (run: readonly Fields[], owner: Owner) => Value {
  const known = new WeakMap<Owner, WeakMap<Fields, { run: readonly Fields[]; value: Value }>>()
  return (run, owner) => {
    const [first] = run
    if (!first || !run.every(Object.isFrozen)) return compute(run, owner)
    const ofOwner = known.get(owner) ?? new WeakMap()
    known.set(owner, ofOwner)
    const entry = ofOwner.get(first)
    if (entry && isSame(entry.run, run)) return entry.value
    const value = compute(run, owner)
    ofOwner.set(first, { run: [...run], value })
    return value
  }
}

export function isSame(one: readonly Fields[], other: readonly Fields[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index])
}

/** Codes that agents act on; a conversation that is too long makes them compact it. */
const TOO_LONG =
  /prompt is too long|context (window|length)|exceed(s|ed)? .*context|too many (input )?tokens/i

const ERRORS: { readonly [type: string]: { readonly type: string; readonly code: string | null } } = {
  invalid_request_error: { type: 'invalid_request_error', code: null },
  request_too_large: { type: 'invalid_request_error', code: 'request_too_large' },
  authentication_error: { type: 'invalid_request_error', code: 'invalid_api_key' },
  permission_error: { type: 'invalid_request_error', code: 'permission_denied' },
  not_found_error: { type: 'invalid_request_error', code: 'not_found' },
  rate_limit_error: { type: 'rate_limit_exceeded', code: 'rate_limit_exceeded' },
  billing_error: { type: 'insufficient_quota', code: 'insufficient_quota' },
  timeout_error: { type: 'server_error', code: 'timeout' },
  overloaded_error: { type: 'server_error', code: 'server_overloaded' },
  api_error: { type: 'server_error', code: null },
}

/** Returns the error object of OpenAI's APIs for a response in the Messages envelope. */
export function toOpenaiError({ status, body }: HttpAnswer): Fields {
  const { type, param } = errorIn(body)
  const message = reasonIn(body)
  const name = textOf(type)
  const otherwise = status < 500 ? 'invalid_request_error' : 'api_error'
  const known = ERRORS[Object.hasOwn(ERRORS, name) ? name : otherwise]
  const code = status < 500 && TOO_LONG.test(message) ? 'context_length_exceeded' : known?.code
  return { message, type: known?.type, param: param ?? paramIn(message), code: code ?? null }
}

/** Converts an error response; statuses that only Anthropic uses become OpenAI's. */
export function toOpenaiAnswer(answer: HttpAnswer): HttpAnswer {
  return {
    status: answer.status === 529 ? 503 : answer.status,
    headers: toOpenaiHeaders(answer.headers),
    body: JSON.stringify({ error: toOpenaiError(answer) }),
  }
}

function errorIn(body: string): Fields {
  return fieldsOf(fieldsOf(parseJson(body)).error)
}

/** The parameter that a message starts with, as in `messages.0.content: …`. */
function paramIn(message: string): string | null {
  return /^([a-z_]+(?:[.[][\w.\]]*)?): /.exec(message)?.[1] ?? null
}

const LIMITS = ['limit', 'remaining', 'reset'] as const

/** Adds OpenAI's names for the request id and for rate limits; removes Anthropic's. */
export function toOpenaiHeaders(headers: Headers): Headers {
  const { 'request-id': id, ...rest } = headers
  const kept = Object.entries(rest).filter(([name]) => !name.startsWith('anthropic-'))
  return {
    ...(id === undefined ? {} : { 'x-request-id': id }),
    ...rateLimits(headers),
    ...Object.fromEntries(kept),
  }
}

function rateLimits(headers: Headers): Headers {
  const renamed: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'])
    for (const limit of LIMITS) {
      const value = headers[`anthropic-ratelimit-${kind}-${limit}`]
      if (value !== undefined)
        renamed[`x-ratelimit-${limit}-${kind}`] = limit === 'reset' ? waitOf(value) : value
    }
  return renamed
}

/** Converts the time of a reset, as Anthropic sends it, to the duration until then, as OpenAI sends it. */
function waitOf(time: string): string {
  const milliseconds = Date.parse(time) - Date.now()
  return Number.isNaN(milliseconds) ? time : `${Math.max(0, Math.ceil(milliseconds / 1000))}s`
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

export function areFields(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
}
