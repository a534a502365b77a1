// Turns events into spans when what they report has ended: model responses, calls, searches and requests of clients.
import { randomBytes } from 'node:crypto'
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { ConversationKind, TraceRecord } from '../core/index.ts'
import { cut, dropOldest, SEARCH_TOOL, toJson } from '../lib/index.ts'
import {
  chatAttributes,
  type ResultEvent,
  type SampledEvent,
  toolAttributes,
  usageAttributes,
} from './attributes.ts'

/** The ids of the next span, which the provider's id generator returns. */
export type NextIds = { traceId: string; spanId: string }

/** Options of `createSpansReader`. */
export type SpansOptions = {
  readonly ids: NextIds
  readonly redact: (text: string) => string
  /** Whether to add arguments and results of calls. */
  readonly hasContent: boolean
  /** Returns whether spans of a trace without a remote parent are exported. */
  readonly isSampled: (traceId: string) => boolean
}

/** Conversations and calls to remember until they end. */
const MAX_REMEMBERED = 10_000
/** Spans that may wait for the span of their request. */
const MAX_WAITING = 100
const MAX_CONTENT_LENGTH = 16_000
const MAX_SUBJECT_LENGTH = 100

type Conversation = {
  readonly id: string
  readonly kind: ConversationKind
  /** Spans below the request in progress, whose own span comes last and determines their trace. */
  waiting: { readonly record: TraceRecord; readonly input: SpanInput }[]
  readonly calls: Map<string, Extract<TraceRecord, { type: 'call' }>>
  /** The span of the agent's current turn, which ends last. */
  turnSpan?: string | undefined
}

type SpanInput = {
  /** The operation's name. */
  readonly operation: string
  /** The tool, model or route; the span's name ends with it. */
  readonly subject: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  readonly milliseconds?: number | undefined
  readonly error?: string | undefined
  readonly traceparent?: string | undefined
  readonly spanId?: string | undefined
  readonly parentSpan?: string | undefined
}

/** Returns a reader of records that creates spans with the tracer. */
export function createSpansReader(tracer: Tracer, options: SpansOptions): (record: TraceRecord) => void {
  const { ids, redact, hasContent, isSampled } = options
  const known = new Map<string, Conversation>()

  function conversationOf(record: TraceRecord & { readonly conversation: string }): Conversation {
    const { conversation: id } = record
    let conversation = known.get(id)
    if (!conversation) {
      const kind = record.type === 'opened' ? record.kind : 'library'
      conversation = { id, kind, waiting: [], calls: new Map() }
      keepRecent(known, id, conversation)
    }
    return conversation
  }

  function add(record: TraceRecord, conversation: Conversation, input: SpanInput): void {
    const end = Date.parse(record.time)
    const [traceId, remote] = parentIn(input.traceparent)
    ids.traceId = traceId ?? conversation.id
    ids.spanId = input.spanId ?? newSpanId()
    const parentContext = contextOf(ids.traceId, input.parentSpan ?? remote, input, isSampled)
    const startTime = end - (input.milliseconds ?? 0)
    const attributes = { ...hidden(input.attributes, redact), 'gen_ai.conversation.id': conversation.id }
    const span = tracer.startSpan(
      nameOf(input, redact),
      { kind: input.kind, startTime, attributes },
      parentContext,
    )
    if (input.error !== undefined)
      span.setStatus({ code: SpanStatusCode.ERROR, message: cut(redact(input.error), 500) })
    span.end(end)
  }

  return (record) => {
    if (record.conversation === undefined) return
    const conversation = conversationOf(record as TraceRecord & { conversation: string })
    switch (record.type) {
      case 'call':
        return keepRecent(conversation.calls, record.id, record)
      case 'result': {
        const call = conversation.calls.get(record.id)
        conversation.calls.delete(record.id)
        const content = hasContent ? contentOf(call?.content, record.content, redact) : {}
        return addBelow(record, conversation, callSpan(record, conversation, call, content))
      }
      case 'sampled':
        return addBelow(record, conversation, chatSpan(record))
      case 'searched':
        return addBelow(record, conversation, searchSpan(record, hasContent))
      case 'turn': {
        const spanId = conversation.turnSpan
        conversation.turnSpan = undefined
        return add(record, conversation, { ...turnSpan(record), spanId })
      }
      case 'answered': {
        const spanId = newSpanId()
        const { waiting } = conversation
        conversation.waiting = []
        for (const below of waiting)
          add(below.record, conversation, {
            ...below.input,
            traceparent: record.traceparent,
            parentSpan: spanId,
          })
        return add(record, conversation, { ...requestSpan(record), spanId })
      }
    }
  }

  /** Adds a span below the request of a client of `serve`, or below the turn of an agent. */
  function addBelow(record: TraceRecord, conversation: Conversation, input: SpanInput): void {
    const { kind } = conversation
    if (kind === 'chat' || kind === 'run') {
      conversation.turnSpan ??= newSpanId()
      add(record, conversation, { ...input, parentSpan: conversation.turnSpan })
    } else if (kind !== 'serve') add(record, conversation, input)
    else if (conversation.waiting.length < MAX_WAITING) conversation.waiting.push({ record, input })
  }
}

function searchSpan(record: Extract<TraceRecord, { type: 'searched' }>, hasContent: boolean): SpanInput {
  const { ranker, matched, searchable, found, query } = record
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': SEARCH_TOOL,
    'toolshelf.search.ranker': ranker,
    'toolshelf.search.matched': matched,
    'toolshelf.search.searchable': searchable,
    'toolshelf.search.found': [...found],
    ...(hasContent ? { 'toolshelf.search.query': query } : {}),
  }
  return { operation: 'execute_tool', subject: SEARCH_TOOL, kind: SpanKind.INTERNAL, attributes }
}

function callSpan(
  record: ResultEvent,
  { kind }: Conversation,
  call: { readonly traceparent?: string | undefined; readonly spanId?: string | undefined } | undefined,
  content: Attributes,
): SpanInput {
  const isGateway = kind === 'mcp'
  return {
    operation: isGateway ? 'tools/call' : 'execute_tool',
    subject: record.name,
    kind: isGateway ? SpanKind.SERVER : SpanKind.INTERNAL,
    attributes: {
      ...toolAttributes(record, isGateway),
      ...(isGateway ? {} : { 'gen_ai.tool.call.id': record.id }),
      'toolshelf.result.size': record.size,
      ...content,
    },
    milliseconds: record.milliseconds,
    error: record.outcome === 'done' ? undefined : record.outcome,
    traceparent: call?.traceparent,
    // The server received this id as the parent of its own spans.
    spanId: call?.spanId ?? (SPAN_ID.test(record.id) ? record.id : undefined),
  }
}

function chatSpan(record: SampledEvent): SpanInput {
  const { model, milliseconds, error, spanId } = record
  const failure = error === undefined ? {} : { 'error.type': '_OTHER' }
  const attributes = { ...chatAttributes(record), ...usageAttributes(record), ...failure }
  return {
    operation: 'chat',
    subject: model,
    kind: SpanKind.CLIENT,
    attributes,
    milliseconds,
    error,
    spanId,
  }
}

function turnSpan({ reason, milliseconds, error }: Extract<TraceRecord, { type: 'turn' }>): SpanInput {
  const isFailed = reason === 'failed' || reason === 'limit'
  return {
    operation: 'invoke_agent',
    subject: 'toolshelf',
    kind: SpanKind.INTERNAL,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'toolshelf',
      'toolshelf.turn.reason': reason,
      ...(isFailed ? { 'error.type': '_OTHER' } : {}),
    },
    milliseconds,
    error: isFailed ? (error ?? reason) : undefined,
  }
}

const ROUTES: { readonly [api: string]: string } = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
}

function requestSpan(record: Extract<TraceRecord, { type: 'answered' }>): SpanInput {
  const { status, api, mode, wire, model = '', milliseconds, traceparent, error } = record
  const route = ROUTES[api] ?? '/'
  return {
    operation: 'POST',
    subject: route,
    kind: SpanKind.SERVER,
    attributes: {
      'http.request.method': 'POST',
      'http.route': route,
      'http.response.status_code': status,
      'gen_ai.request.model': model,
      'toolshelf.mode': mode,
      'toolshelf.searches': record.searches,
      ...(wire === undefined ? {} : { 'toolshelf.wire': wire }),
      'toolshelf.tools.given': record.toolsGiven,
      'toolshelf.tools.visible': record.toolsVisible,
      ...(record.tokensWithout === undefined
        ? {}
        : {
            'toolshelf.tokens.without': record.tokensWithout,
            'toolshelf.tokens.with': record.tokensWith ?? 0,
          }),
      ...(status >= 500 ? { 'error.type': String(status) } : {}),
    },
    milliseconds,
    error: status >= 500 ? (error ?? `status ${status}`) : undefined,
    traceparent,
  }
}

/** Hides secrets before cutting; otherwise half of one could remain. */
function contentOf(input: unknown, output: unknown, redact: (text: string) => string): Attributes {
  return {
    'gen_ai.tool.call.arguments': cut(redact(toJson(input)), MAX_CONTENT_LENGTH),
    'gen_ai.tool.call.result': cut(redact(toJson(output)), MAX_CONTENT_LENGTH),
  }
}

function nameOf({ operation, subject }: SpanInput, redact: (text: string) => string): string {
  return `${operation} ${cut(redact(subject), MAX_SUBJECT_LENGTH)}`
}

function hidden(attributes: Attributes, redact: (text: string) => string): Attributes {
  const entries = Object.entries(attributes).map(([name, value]) => [
    name,
    typeof value === 'string'
      ? redact(value)
      : Array.isArray(value)
        ? value.map((one) => (typeof one === 'string' ? redact(one) : one))
        : value,
  ])
  return Object.fromEntries(entries)
}

const SPAN_ID = /^[0-9a-f]{16}$/

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

/** Returns the trace id and the span id of a valid `traceparent`. */
function parentIn(traceparent: string | undefined): readonly [string?, string?] {
  const [, traceId, spanId] = traceparent?.split('-') ?? []
  return traceId === undefined || spanId === undefined ? [] : [traceId, spanId]
}

/**
 * Returns the context of a parent. Our own parent span ends later, so this decides in advance, as the sampler will,
 * whether it is exported.
 */
function contextOf(
  traceId: string,
  spanId: string | undefined,
  { traceparent, parentSpan }: SpanInput,
  isSampled: SpansOptions['isSampled'],
): Context {
  if (spanId === undefined) return ROOT_CONTEXT
  const traceFlags = traceparent === undefined ? Number(isSampled(traceId)) : flagsIn(traceparent)
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags,
    isRemote: parentSpan === undefined,
  })
}

/** Returns the flag `sampled` of a valid `traceparent`. */
function flagsIn(traceparent: string): number {
  return Number.parseInt(traceparent.split('-')[3] ?? '01', 16) & 1
}

function keepRecent<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  dropOldest(map, MAX_REMEMBERED)
}
