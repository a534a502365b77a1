// Exports events as OpenTelemetry traces and metrics over OTLP/HTTP, configured by the standard environment variables.
import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api'
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
import { BatchSpanProcessor, SamplingDecision, TracerProvider } from '@opentelemetry/sdk-trace'
import type { TraceRecord } from '../core/index.ts'
import { agentFor } from '../node/index.ts'
import { createMetricsReader } from './metrics.ts'
import { samplerIn } from './sampler.ts'
import { createSpansReader, type NextIds } from './spans.ts'

/** Options of `openTelemetry`. */
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
export type Telemetry = {
  readonly read: (record: TraceRecord) => void
  /** Exports the rest. Gives up after two seconds and returns false; the export may then continue for a while. */
  readonly close: () => Promise<boolean>
}

const MAX_CLOSE_MS = 2000
const METRICS_INTERVAL_MS = 60_000

/** Starts exporting; returns the reader of events. */
export function openTelemetry({ version, environment, redact, notify }: TelemetryOptions): Telemetry {
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
    read(record) {
      for (const read of readers) read(record)
    },
    async close() {
      const isDone = await withinLimit(Promise.allSettled(closers.map((close) => close())))
      if (!isDone) watch.failed(new Error(`no answer within ${MAX_CLOSE_MS / 1000} s`))
      return isDone
    },
  }
}

/** Resolves to false if the work takes too long. */
async function withinLimit(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), MAX_CLOSE_MS)
  })
  const isDone = await Promise.race([work.then(() => true), limit])
  clearTimeout(timer)
  return isDone
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
