// Makes one model call: prepares it with the shelf, marks it for the cache, sends it, reads the reply (streamed or whole), and retries if useful.

import type { Prepared, RequestLike, Shelf, Trace, TraceListener } from '@toolshelf/core'
import {
  billedTokens,
  createCollector,
  cut,
  eventsOf,
  type Fields,
  fieldsOf,
  hasCacheMarks,
  isFields,
  isShallow,
  listOf,
  type StreamEvent,
  textOf,
} from '@toolshelf/core/internal'
import type { AgentEvent, MessagesClient } from './types.ts'
import { explainUnreachable } from './unreachable.ts'
import { replyUsage } from './usage.ts'

/** What all model calls of an agent share. */
type ModelCallOptions = {
  readonly client: MessagesClient
  readonly shelf: Shelf
  readonly retries: number
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Set once the API refuses cache breakpoints; later requests have none. */
  readonly cacheMarks: { isRefused: boolean }
  readonly trace: TraceListener | undefined
}

/**
 * The reply or an error. If `isReadable` is false, some call's input is lost. `history` is the conversation as sent,
 * with the shelf's notes.
 */
export type ModelOutcome =
  | { readonly reply: Fields; readonly isReadable: boolean; readonly history: Prepared['history'] }
  | { readonly error: ModelError; readonly said: string }

/** Why a model call failed. */
export type ModelError = { readonly kind: Kind; readonly message: string }

type Kind = 'stopped' | 'too-long' | 'image' | 'thinking' | 'cache-marks' | 'failed'

/** Calls the model, with retries; yields its text as events and returns the reply or an error. */
export async function* callModel(
  request: RequestLike,
  { client, shelf, retries, wait, cacheMarks, trace }: ModelCallOptions,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ModelOutcome> {
  let prepared = await shelf.prepare(request)
  const address = textOf(fieldsOf(client).baseURL)
  let isRecovered = false
  for (let attempt = 1; ; attempt++) {
    const { decision, loaded, headers } = prepared
    const sent = cacheMarks.isRefused ? prepared.request : withCacheMarks(prepared.request)
    yield { type: 'request', sent: { request: sent, decision, loaded } }
    const collector = createCollector()
    const startedAt = performance.now()
    const ended = (reply: Fields, error?: string) =>
      trace?.(sampledEvent(request.model, reply, performance.now() - startedAt, error))
    try {
      // `Client` accepts the clients of any SDK version, so that no request has its type.
      const answer = await client.messages.create({ ...sent, stream: true } as never, { headers, signal })
      for await (const event of eventsFrom(answer)) {
        collector.add(event)
        const piece = pieceOf(event)
        if (piece) yield piece
      }
      const reply = collector.message()
      if (!isShallow(reply, MAX_DEPTH))
        throw new Error(`the reply is nested more than ${MAX_DEPTH} levels deep`)
      const isReadable = collector.isReadable()
      if (textOf(reply.stop_reason) === '') throw new Error(brokenOff(reply, address))
      ended(reply)
      return { reply, isReadable, history: prepared.history }
    } catch (error) {
      const broken = collector.message()
      const said = textOfReply(broken)
      if (broken.type !== undefined) yield { type: 'broken-off', usage: replyUsage(broken) }
      const fault = faultOf(error, address)
      ended(broken, signal.aborted ? 'stopped' : fault.reason)
      if (signal.aborted) return { error: { kind: 'stopped', message: 'stopped' }, said }
      if (fault.kind === 'cache-marks' && !cacheMarks.isRefused) {
        cacheMarks.isRefused = true
        continue
      }
      const again = isRecovered ? undefined : await shelf.recover(error, request, prepared)
      if (again) {
        isRecovered = true
        prepared = again
        continue
      }
      if (!fault.isTransient || attempt > retries) return { error: fault, said }
      const milliseconds = fault.retryAfter ?? Math.min(30_000, 500 * 2 ** (attempt - 1))
      yield { type: 'retry', reason: fault.reason, attempt, attempts: retries + 1, milliseconds }
      await wait(milliseconds, signal).catch(() => {})
      if (signal.aborted) return { error: { kind: 'stopped', message: 'stopped' }, said }
    }
  }
}

function sampledEvent(model: string, reply: Fields, milliseconds: number, error: string | undefined): Trace {
  const stopReason = textOf(reply.stop_reason) || undefined
  return {
    type: 'sampled',
    model,
    api: 'messages',
    usage: billedTokens(fieldsOf(reply.usage)),
    stopReason,
    milliseconds,
    error,
  }
}

/** Reads events from a stream, or from a complete message. */
export async function* eventsFrom(answer: unknown): AsyncGenerator<StreamEvent> {
  if (isStream(answer)) {
    for await (const event of answer) {
      if (event.type === 'error')
        throw Object.assign(new Error(textOf(fieldsOf(event.error).message)), { error: event })
      yield event
    }
  } else yield* eventsOf(fieldsOf(answer))
}

function isStream(value: unknown): value is AsyncIterable<StreamEvent> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function pieceOf({ type, delta }: StreamEvent): AgentEvent | undefined {
  const { type: kind, text, thinking } = fieldsOf(delta)
  if (type !== 'content_block_delta') return undefined
  if (kind === 'text_delta') return { type: 'text', text: textOf(text) }
  return kind === 'thinking_delta' ? { type: 'thinking', text: textOf(thinking) } : undefined
}

/** Returns the text of a reply, without thinking and calls. */
export function textOfReply({ content }: Fields): string {
  const blocks = Array.isArray(content) ? content.map(fieldsOf) : []
  return blocks.map(({ text }) => textOf(text)).join('')
}

/** Maximum nesting of a call's input: deeper values could not be serialised. */
const MAX_DEPTH = 200

const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529])

/** Matches the context-length errors of Anthropic's API and compatible ones. */
const TOO_LONG =
  /too long|too large|context (length|window|limit|size)|maximum context|maximum number of tokens/i

/** Returns the error for a response that is not a complete reply of the Messages API. */
function brokenOff({ type }: Fields, address: string): string {
  if (type !== undefined) return 'the reply broke off'
  return `${address || 'the endpoint'} did not answer like the Messages API`
}

const REMEDIES: { readonly [status: number]: (address: string) => string } = {
  401: () => '. The key was refused: check ANTHROPIC_API_KEY, then send the message again.',
  403: () => '. The key is not allowed to do this: check its permissions, or use another one.',
  404: (address) =>
    `. Check the name of the model and the address of the API${address && `, ${address}, to which /v1/messages is added`}.`,
}

type Fault = ModelError & {
  /** The message without the remedy. */
  readonly reason: string
  readonly isTransient: boolean
  readonly retryAfter: number | undefined
}

/** Maximum characters of an API's error text; a proxy may answer with a whole page. */
const MAX_REASON_LENGTH = 1000

/** Describes an SDK error. An error without a status never reached the model. */
export function faultOf(error: unknown, address = ''): Fault {
  const { status, headers, message, error: body } = fieldsOf(error)
  const lost = status === undefined ? explainUnreachable(error, address) : undefined
  if (lost) {
    const { reason, remedy, isTransient } = lost
    return { kind: 'failed', reason, message: `${reason} ${remedy}`, isTransient, retryAfter: undefined }
  }
  const inner = textOf(fieldsOf(fieldsOf(body).error).message)
  const text = inner || textOf(message) || String(error)
  const code = typeof status === 'number' ? status : undefined
  const kind = kindOf(code, text)
  const isTransient = code === undefined ? !isOurs(error, text) : PASSING.has(code)
  const shortened = cut(text, MAX_REASON_LENGTH)
  const reason = code === undefined ? shortened : `${shortened} (status ${code})`
  return {
    kind,
    reason,
    message: reason + (REMEDIES[code ?? 0]?.(address) ?? ''),
    isTransient,
    retryAfter: retryAfter(headers),
  }
}

function kindOf(code: number | undefined, text: string): Kind {
  if (code === 413 || (code === 400 && TOO_LONG.test(text))) return 'too-long'
  if ((code === 400 || code === 422) && /cache_control/.test(text)) return 'cache-marks'
  if (code === 400 && /signature.*thinking/i.test(text)) return 'thinking'
  return code === 400 && /\bimage/i.test(text) ? 'image' : 'failed'
}

/**
 * Returns whether the error is a local mistake that a retry cannot fix: a wrong call of the client, or a missing key. `fetch`
 * also throws a TypeError for a lost connection, but with a cause.
 */
function isOurs(error: unknown, text: string): boolean {
  const isWrongCall = error instanceof TypeError && error.cause === undefined
  return isWrongCall || /authentication method/i.test(text)
}

function retryAfter(headers: unknown): number | undefined {
  const get = fieldsOf(headers).get
  const given =
    typeof get === 'function' ? get.call(headers, 'retry-after') : fieldsOf(headers)['retry-after']
  const seconds = Number(given ?? Number.NaN)
  return seconds >= 0 && seconds <= 120 ? seconds * 1000 : undefined
}

const MARK = { type: 'ephemeral' } as const
/** How many of the newest user messages get a breakpoint: the API looks back 20 blocks, and one turn may have more. */
const MARKED_MESSAGES = 2
const MARKABLE = new Set(['text', 'image', 'document', 'search_result', 'tool_result'])

/**
 * Adds breakpoints to the last tool, the system prompt and the newest two user messages, at most four. Strings become
 * blocks everywhere, so that the next request differs only in breakpoints. A request with its own breakpoints keeps them.
 */
function withCacheMarks<Request extends object>(request: Request): Request {
  if (hasCacheMarks(request)) return request
  const { tools, system, messages } = fieldsOf(request)
  return {
    ...request,
    ...(Array.isArray(tools) ? { tools: withMark(tools, (tool) => tool.defer_loading !== true) } : {}),
    ...(system === undefined ? {} : { system: withMark(asBlocks(system), isMarkable) }),
    messages: markedMessages(listOf(messages).map(fieldsOf)),
  }
}

function markedMessages(messages: readonly Fields[]): Fields[] {
  const users = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  const marked = new Set(users.slice(-MARKED_MESSAGES))
  return messages.map((message, index) => {
    const content = asBlocks(message.content)
    const next = marked.has(index) ? withMark(content, isMarkable) : content
    return next === message.content ? message : { ...message, content: next }
  })
}

/** Turns text into a block, except empty text, which the API would refuse as a block. */
function asBlocks(content: unknown): unknown {
  return textOf(content).trim() === '' ? content : [{ type: 'text', text: content }]
}

/** Adds a breakpoint to the last entry that can have one. */
function withMark(entries: unknown, canBeMarked: (entry: Fields) => boolean): unknown {
  if (!Array.isArray(entries)) return entries
  const last = entries.findLastIndex((entry) => isFields(entry) && canBeMarked(entry))
  return entries.map((entry, index) => (index === last ? { ...entry, cache_control: MARK } : entry))
}

function isMarkable({ type, text }: Fields): boolean {
  return MARKABLE.has(textOf(type)) && (type !== 'text' || textOf(text).trim() !== '')
}
