// Exports events as OpenTelemetry traces and metrics over OTLP/HTTP, configured by the standard environment variables.
import { randomBytes } from 'node:crypto'
import {
  type Attributes,
  type Meter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Trace } from '@toolshelf/core'
import {
  type ConversationKind,
  cut,
  dropOldest,
  promptTokens,
  SEARCH_TOOL,
  type TraceRecord,
  toJson,
} from '@toolshelf/core/internal'
import { agentFor, withTimeout } from '@toolshelf/core/internal/node'

export type TelemetryOptions = {
  /** Toolshelf's version. */
  readonly version: string
  readonly environment: { readonly [name: string]: string | undefined }
  /** Hides secrets in a text. */
  readonly redact: (text: string) => string
  /** Called once when exports fail, and again only after an export succeeded. */
  readonly notify: (message: string) => void
}

/** A reader of events that exports them. */
export type Telemetry = ReturnType<typeof openTelemetry>

const MAX_CLOSE_MS = 2000
const METRICS_INTERVAL_MS = 60_000

/** Starts exporting; returns the reader of events. */
export function openTelemetry({ version, environment, redact, notify }: TelemetryOptions) {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'toolshelf', 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }))
  const watch = createWatch(notify)
  const readers: ((record: TraceRecord) => void)[] = []
  const closers: (() => Promise<void>)[] = []
  if (environment.OTEL_TRACES_EXPORTER !== 'none') {
    const ids: NextIds = { traceId: '', spanId: '' }
    const sampler = samplerIn(environment)
    const isSampled = (traceId: string) =>
      sampler.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED
    const provider = new TracerProvider({
      resource,
      sampler,
      idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: watch.exporter(new OTLPTraceExporter({ httpAgentOptions: agentFor })),
        }),
      ],
    })
    const hasContent = environment.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true'
    readers.push(
      createSpansReader(provider.getTracer('toolshelf', version), { ids, redact, hasContent, isSampled }),
    )
    closers.push(() => provider.shutdown())
  }
  if (environment.OTEL_METRICS_EXPORTER !== 'none') {
    const interval = Number(environment.OTEL_METRIC_EXPORT_INTERVAL ?? METRICS_INTERVAL_MS)
    const exportIntervalMillis = interval > 0 ? interval : METRICS_INTERVAL_MS
    const reader = new PeriodicExportingMetricReader({
      exporter: watch.exporter(new OTLPMetricExporter({ httpAgentOptions: agentFor })),
      exportIntervalMillis,
      exportTimeoutMillis: Math.min(exportIntervalMillis, 30_000),
    })
    const provider = new MeterProvider({ resource, readers: [reader] })
    readers.push(createMetricsReader(provider.getMeter('toolshelf', version), redact))
    closers.push(() => provider.shutdown())
  }
  return {
    read(record: TraceRecord) {
      for (const read of readers) read(record)
    },
    /** Exports the rest. Gives up after two seconds and returns false; the export may then continue for a while. */
    async close() {
      const rest = Promise.allSettled(closers.map((close) => close()))
      try {
        await withTimeout(rest, MAX_CLOSE_MS, `no answer within ${MAX_CLOSE_MS / 1000} s`)
        return true
      } catch (error) {
        watch.failed(error as Error)
        return false
      }
    },
  }
}

type Exporter<Items> = { export(items: Items, done: (result: ExportResult) => void): void }

/** Reports failures once, until an export succeeds. */
function createWatch(notify: (message: string) => void) {
  let isFailing = false
  const failed = (error: Error | undefined) => {
    if (!isFailing)
      notify(`events do not reach the OpenTelemetry collector: ${error?.message || 'no reason given'}`)
    isFailing = true
  }
  // Without this, the packages would log other errors, too.
  setGlobalErrorHandler((error) => failed(error as Error))
  const watched = <Items, Given extends Exporter<Items>>(exporter: Given & Exporter<Items>): Given => {
    const send = exporter.export.bind(exporter)
    exporter.export = (items: Items, done: (result: ExportResult) => void) =>
      send(items, (result) => {
        if (result.code === ExportResultCode.SUCCESS) isFailing = false
        else failed(result.error)
        done({ code: ExportResultCode.SUCCESS })
      })
    return exporter
  }
  return { failed, exporter: watched }
}

/** Returns the sampler that the environment selects; for unknown names the standard's default, `parentbased_always_on`. */
function samplerIn(environment: { readonly [name: string]: string | undefined }): Sampler {
  const name = environment.OTEL_TRACES_SAMPLER ?? ''
  const [, isByParent, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? []
  const share = Number(environment.OTEL_TRACES_SAMPLER_ARG ?? 1)
  const root = rootSampler(kind, share >= 0 && share <= 1 ? share : 1)
  return kind !== undefined && isByParent === undefined ? root : new ParentBasedSampler({ root })
}

function rootSampler(kind: string | undefined, share: number): Sampler {
  if (kind === 'always_off') return new AlwaysOffSampler()
  return kind === 'traceidratio' ? new TraceIdRatioBasedSampler(share) : new AlwaysOnSampler()
}

type ResultEvent = Extract<Trace, { type: 'result' }>
/** The event of a finished model response. */
type SampledEvent = Extract<Trace, { type: 'sampled' }>

/** Returns the attributes of a model request. The provider is the one that defined the API, not the one that runs the model. */
function chatAttributes({ model, api }: SampledEvent): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': api === 'messages' ? 'anthropic' : 'openai',
    'gen_ai.request.model': model,
  }
}

/** Returns the attributes of a response's token usage. */
function usageAttributes({ usage, stopReason }: SampledEvent): Attributes {
  return {
    ...(stopReason === undefined ? {} : { 'gen_ai.response.finish_reasons': [stopReason] }),
    ...(usage && {
      'gen_ai.usage.input_tokens': promptTokens(usage),
      'gen_ai.usage.output_tokens': usage.output,
      'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
      'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite + usage.cacheWrite1h,
    }),
  }
}

/** Returns the attributes of a call through the MCP gateway, or of one that the agent runs. */
function toolAttributes({ name, server, outcome }: ResultEvent, isGateway: boolean): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    ...(isGateway ? { 'mcp.method.name': 'tools/call' } : {}),
    ...(server === undefined ? {} : { 'toolshelf.server': server }),
    ...(outcome === 'done' ? {} : { 'error.type': ERROR_TYPES[outcome] }),
  }
}

/** Error types by outcome; `tool_error` is the conventions' word for a result that is an error. */
const ERROR_TYPES = {
  failed: 'tool_error',
  refused: 'toolshelf.refused',
  stopped: 'toolshelf.stopped',
} as const

const TOKEN_BOUNDARIES = Array.from({ length: 14 }, (_, power) => 4 ** power)
const CHAT_BOUNDARIES = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)
const CALL_BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

function createMetricsReader(meter: Meter, redact: (text: string) => string): (record: TraceRecord) => void {
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } })
  const measured = {
    tokenUsage: histogram('gen_ai.client.token.usage', '{token}', TOKEN_BOUNDARIES),
    chatDuration: histogram('gen_ai.client.operation.duration', 's', CHAT_BOUNDARIES),
    gatewayCallDuration: histogram('mcp.server.operation.duration', 's', CALL_BOUNDARIES),
    toolDuration: histogram('gen_ai.execute_tool.duration', 's', CALL_BOUNDARIES),
    searches: meter.createCounter('toolshelf.searches', { unit: '{search}' }),
    prefixes: meter.createCounter('toolshelf.prefixes', { unit: '{request}' }),
    requestTokens: meter.createCounter('toolshelf.request.tokens', { unit: '{token}' }),
  }
  const kinds = new Map<string, ConversationKind>()

  function sampled(record: Extract<TraceRecord, { type: 'sampled' }>): void {
    const { usage, milliseconds = 0, error } = record
    const chat = { ...chatAttributes(record), 'gen_ai.request.model': redact(record.model) }
    const failure = error === undefined ? {} : { 'error.type': '_OTHER' }
    measured.chatDuration.record(milliseconds / 1000, { ...chat, ...failure })
    if (!usage) return
    measured.tokenUsage.record(promptTokens(usage), { ...chat, 'gen_ai.token.type': 'input' })
    measured.tokenUsage.record(usage.output, { ...chat, 'gen_ai.token.type': 'output' })
  }

  return (record) => {
    switch (record.type) {
      case 'opened': {
        if (record.conversation !== undefined) keepRecent(kinds, record.conversation, record.kind)
        return
      }
      case 'sampled':
        return sampled(record)
      case 'result': {
        const isGateway = kinds.get(record.conversation ?? '') === 'mcp'
        const attributes = { ...toolAttributes(record, isGateway), 'gen_ai.tool.name': redact(record.name) }
        const duration = isGateway ? measured.gatewayCallDuration : measured.toolDuration
        return duration.record((record.milliseconds ?? 0) / 1000, attributes)
      }
      case 'searched':
        return measured.searches.add(1, { 'toolshelf.search.ranker': record.ranker })
      case 'prefix':
        return measured.prefixes.add(1, {
          'toolshelf.prefix.kept': record.isKept,
          ...(record.causes[0] ? { 'toolshelf.prefix.cause': record.causes[0].kind } : {}),
        })
      case 'answered': {
        const { tokensWith, tokensWithout, mode } = record
        const add = (tokens: number | undefined, kind: string) =>
          tokens !== undefined &&
          measured.requestTokens.add(tokens, { 'toolshelf.mode': mode, 'toolshelf.tokens.kind': kind })
        add(tokensWith, 'with')
        add(tokensWithout, 'without')
      }
    }
  }
}

/** The ids of the next span, which the provider's id generator returns. */
type NextIds = { traceId: string; spanId: string }

type SpansOptions = {
  readonly ids: NextIds
  readonly redact: TelemetryOptions['redact']
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

function createSpansReader(tracer: Tracer, options: SpansOptions): (record: TraceRecord) => void {
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
    const [, traceId = conversation.id, remote, flags = '01'] = input.traceparent?.split('-') ?? []
    ids.traceId = traceId
    ids.spanId = input.spanId ?? newSpanId()
    const parent = input.parentSpan ?? remote
    // Our own parent span ends later, so this decides in advance, as the sampler will, whether it is exported.
    const traceFlags = input.traceparent ? Number.parseInt(flags, 16) & 1 : Number(isSampled(traceId))
    const isRemote = input.parentSpan === undefined
    const startTime = end - (input.milliseconds ?? 0)
    const attributes = { ...hidden(input.attributes, redact), 'gen_ai.conversation.id': conversation.id }
    const span = tracer.startSpan(
      `${input.operation} ${cut(redact(input.subject), MAX_SUBJECT_LENGTH)}`,
      { kind: input.kind, startTime, attributes },
      parent
        ? trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parent, traceFlags, isRemote })
        : ROOT_CONTEXT,
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
  return { operation: 'chat', subject: model, kind: SpanKind.CLIENT, attributes, milliseconds, error, spanId }
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

function hidden(attributes: Attributes, redact: (text: string) => string): Attributes {
  const hide = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(hide)
    return typeof value === 'string' ? redact(value) : value
  }
  const entries = Object.entries(attributes).map(([name, value]) => [name, hide(value)])
  return Object.fromEntries(entries) as Attributes
}

const SPAN_ID = /^[0-9a-f]{16}$/

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

function keepRecent<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  dropOldest(map, MAX_REMEMBERED)
}
